"""How does a few-shot example become something that a template can show? Checked, and numbered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from rag_evals.core import Chunk, Sample
from rag_evals.errors import PromptError
from rag_evals.prompt.escaping import TagEscaper
from rag_evals.prompt.template import Prompt
from rag_evals.text import split_sentences

ExampleInput = Mapping[str, Any]
"""A few-shot example: `result`, and any of `question`, `answer`, `context`, `reference` and, where
statements are decided, `statements`."""

_DATA = ("question", "answer", "context", "reference")
_STATEMENTS = "statements"


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example that the judge is shown.

    Attributes:
        sample: Its data.
        result: The right reply, as JSON.
        statements: Those that the reply decides; empty where it decides none.
    """

    sample: Sample
    result: str
    statements: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownExample:
    """One worked example as a template sees it.

    Attributes:
        question: As in a sample, or None.
        answer: As in a sample, or None.
        chunks: Numbered from 0.
        sentences: Those of the answer, numbered from 0; None where they are not shown.
        reference: As in a sample, or None.
        result: The right reply, as JSON.
        statements: Those that the reply decides, numbered from 0.
    """

    question: str | None
    answer: str | None
    chunks: list[Chunk]
    sentences: list[Chunk] | None
    reference: str | None
    result: str
    statements: list[Chunk]


def read_example(number: int, given: ExampleInput, model: type[BaseModel]) -> Example:
    """Check one example.

    Args:
        number: Its place in the list, from 0; errors name it.
        given: What the user wrote.
        model: The response model that `result` must fit.

    Raises:
        PromptError: A key is missing or unknown, or the result does not fit.
    """
    if "result" not in given or set(given) - {"result", _STATEMENTS, *_DATA}:
        raise PromptError(
            f"example {number} has {sorted(given)}; it needs 'result' and may have "
            "'question', 'answer', 'context', 'reference' and 'statements'"
        )
    statements = given.get(_STATEMENTS, ())
    if isinstance(statements, str) or not all(isinstance(text, str) for text in statements):
        raise PromptError(
            f"example {number}: statements is {statements!r}; expected a list of texts"
        )
    try:
        result = model.model_validate(given["result"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in ("result", *first["loc"]))
        raise PromptError(f"example {number}: {place}: {first['msg']}") from error
    sample = Sample(**{name: given[name] for name in _DATA if name in given})
    return Example(sample, result.model_dump_json(), tuple(statements))


def examples_of(
    prompt: Prompt,
    given: Sequence[ExampleInput] | None,
    model: type[BaseModel],
    *,
    needs: Sequence[str],
) -> list[Example]:
    """Read the examples that a step of a grader shows: those given, else those of its prompt.

    Args:
        prompt: What shows them.
        given: What the user wrote; None takes the prompt's own.
        model: The response model that each `result` must fit.
        needs: Keys without which an example shows nothing.

    Raises:
        PromptError: An example does not fit, or the prompt does not show any.
    """
    shown = prompt.header.examples if given is None else given
    if shown and not prompt.uses("examples"):
        raise PromptError(
            f"{prompt.origin}: examples are given, but the template does not show them; write "
            "{% for example in examples %}{{ example.result }}{% endfor %}"
        )
    for number, example in enumerate(shown):
        missing = [name for name in needs if not example.get(name)]
        if missing:
            raise PromptError(f"example {number} has no {missing[0]!r}, which it is to show")
    return [read_example(number, example, model) for number, example in enumerate(shown)]


def shown_examples(examples: Sequence[Example], prompt: Prompt) -> list[ShownExample]:
    """Return examples as a template sees them, all their data included."""
    escape = TagEscaper(prompt.tags)
    return [
        ShownExample(
            question=escape.text(one.sample.question),
            answer=escape.text(one.sample.answer),
            chunks=escape.chunks(one.sample.context),
            sentences=escape.texts(
                [span.text for span in split_sentences(one.sample.answer or "")]
            ),
            reference=escape.text(one.sample.reference),
            result=escape.text(one.result) or "",
            statements=escape.texts(one.statements),
        )
        for one in examples
    ]
