"""How does a few-shot example become something that a template can show? Checked, and numbered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from rag_evals.core import Chunk, Sample
from rag_evals.errors import PromptError

ExampleInput = Mapping[str, Any]
"""A few-shot example: `result`, and any of `question`, `answer`, `context`, `reference`."""

_DATA = ("question", "answer", "context", "reference")


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example that the judge is shown.

    Attributes:
        sample: Its data.
        result: The right reply, as JSON.
    """

    sample: Sample
    result: str


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
    """

    question: str | None
    answer: str | None
    chunks: list[Chunk]
    sentences: list[Chunk] | None
    reference: str | None
    result: str


def read_example(number: int, given: ExampleInput, model: type[BaseModel]) -> Example:
    """Check one example.

    Args:
        number: Its place in the list, from 0; errors name it.
        given: What the user wrote.
        model: The response model that `result` must fit.

    Raises:
        PromptError: A key is missing or unknown, or the result does not fit.
    """
    if "result" not in given or set(given) - {"result", *_DATA}:
        raise PromptError(
            f"example {number} has {sorted(given)}; it needs 'result' and may have "
            "'question', 'answer', 'context' and 'reference'"
        )
    try:
        result = model.model_validate(given["result"])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in ("result", *first["loc"]))
        raise PromptError(f"example {number}: {place}: {first['msg']}") from error
    sample = Sample(**{name: given[name] for name in _DATA if name in given})
    return Example(sample, result.model_dump_json())
