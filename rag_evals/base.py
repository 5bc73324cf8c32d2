"""How do a prompt and a response model make a grader? `ContextEvaluation` puts them together."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from rag_evals.errors import PromptError
from rag_evals.grader import Grader, R, require_fields
from rag_evals.judge import JudgeCall, Message
from rag_evals.prompt import Prompt
from rag_evals.result import SampleField
from rag_evals.sample import Chunk, Sample
from rag_evals.verify import Flow, Verifier

__all__ = ["ContextEvaluation", "Example", "Grader"]

ExampleInput = Mapping[str, Any]
"""A few-shot example: `result`, and any of `question`, `answer`, `context`, `reference`."""


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example that the judge is shown, as a template sees it.

    Attributes:
        question: As in a sample, or None.
        answer: As in a sample, or None.
        chunks: Numbered from 0.
        reference: As in a sample, or None.
        result: The right reply, as JSON.
    """

    question: str | None
    answer: str | None
    chunks: tuple[Chunk, ...]
    reference: str | None
    result: str


class ContextEvaluation(Grader[R]):
    """A grader made of a prompt and a response model.

    Attributes:
        name: What results call it; from the prompt file, else from the response model.
        requires: The response model's `requires`; fields that must not be empty.
        response_model: What the judge fills.
        model: Model to ask when `grade` names none.
    """

    def __init__(
        self,
        prompt: str | Path | Prompt,
        response_model: type[R],
        *,
        examples: Sequence[ExampleInput] | None = None,
        chunk_template: str | Path | Prompt | None = None,
        model: str | None = None,
        name: str | None = None,
        verified: Callable[[Verifier], Grader[R]] | None = None,
    ) -> None:
        """Check the prompt and the examples; nothing is sent.

        Args:
            prompt: Instructions, or a template that places the data itself; text or a `Path`.
            response_model: A pydantic model; a subclass of `rag_evals.Result` has a score.
            examples: Few-shot examples; None takes those of the prompt file.
            chunk_template: The data block that follows instructions; None takes the shipped one.
            model: Model to ask when `grade` names none.
            name: What results call the grader.
            verified: Makes the form of this grader that asks a verifier; None when there is none.

        Raises:
            PromptError: The prompt does not parse, or an example does not fit the response model.
        """
        self._prompt = Prompt.load(prompt)
        self._block = _shipped_block() if chunk_template is None else Prompt.load(chunk_template)
        self.response_model = response_model
        self.result_model = response_model
        self.model = model
        self.name = name or self._prompt.header.name or _name_of(response_model)
        self.requires: tuple[SampleField, ...] = getattr(response_model, "requires", ("answer",))
        accepts: tuple[SampleField, ...] = getattr(
            response_model, "accepts", ("question", "context", "reference")
        )
        self._shown = frozenset(self.requires + accepts)
        self._verified = verified
        given = self._prompt.header.examples if examples is None else examples
        self._examples = [
            _read_example(number, example, response_model) for number, example in enumerate(given)
        ]

    @property
    def prompt(self) -> str:
        """The prompt's own text, to read, change and pass to another `ContextEvaluation`."""
        return self._prompt.text

    @property
    def description(self) -> str:
        """What it measures, in one line; empty when the prompt file does not say."""
        return self._prompt.header.description or ""

    def fingerprint(self) -> str:
        """Return a hash of instructions, template, reply schema and examples."""
        parts = {
            "prompt": self._prompt.sources(),
            "chunk_template": [] if self._prompt.places_data else self._block.sources(),
            "schema": self.response_model.model_json_schema(),
            "examples": [repr(example) for example in self._examples],
            "fields": sorted(self._shown),
        }
        packed = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()

    def with_verifier(self, verifier: Verifier) -> Grader[R]:
        """Return the form that asks a verifier; only a shipped prompt has one."""
        return (
            super().with_verifier(verifier) if self._verified is None else self._verified(verifier)
        )

    def messages(self, sample: Sample) -> tuple[Message, ...]:
        """Render what the judge is sent for one sample."""
        tags = self._prompt.tags
        if self._prompt.places_data:
            content = self._prompt.render(self._variables(sample, tags))
            return (_message("user", content),)
        tags |= self._block.tags
        instructions = self._prompt.render(self._variables(sample, tags))
        if not instructions.strip():
            raise PromptError(f"{self._prompt.origin}: the prompt is empty")
        return (
            _message("system", instructions),
            _message("user", self._block.render(self._variables(sample, tags, self._shown))),
        )

    def flow(self, sample: Sample) -> Flow[R]:
        """Ask one call."""
        require_fields(sample, self.requires)
        call = JudgeCall(
            self.messages(sample), self.response_model, self._facts(sample), model=self.model
        )
        (reply,) = yield [call]
        return call.read(reply)

    def _variables(
        self,
        sample: Sample,
        tags: frozenset[str],
        fields: frozenset[SampleField] = frozenset(get_args(SampleField)),
    ) -> dict[str, Any]:
        """Name the data for a template; the shared data block shows only the model's own fields."""
        escape = TagEscaper(tags)
        shown = {name: getattr(sample, name) for name in fields}
        chunks = escape.chunks(shown.get("context", ()))
        return {
            "question": escape.text(shown.get("question")),
            "answer": escape.text(shown.get("answer")),
            "chunks": chunks,
            "context": chunks,
            "reference": escape.text(shown.get("reference")),
            "examples": [escape.example(example) for example in self._examples],
            "language": sample.language,
        }

    def _facts(self, sample: Sample) -> dict[str, Any]:
        return {
            "question": sample.question,
            "answer": sample.answer,
            "reference": sample.reference,
            "chunks": [chunk.text for chunk in sample.context],
            "chunk_count": len(sample.context),
        }


class TagEscaper:
    """Keeps data from forging the template's own tags: their `<` becomes `&lt;`, all else stays."""

    def __init__(self, tags: frozenset[str]) -> None:
        names = "|".join(re.escape(tag) for tag in sorted(tags))
        self._tag = (
            re.compile(rf"<(?=\s*/?\s*(?:{names})(?![\w:-]))", re.IGNORECASE) if tags else None
        )

    def text(self, text: str | None) -> str | None:
        """Escape one text; None stays None."""
        return text if text is None or self._tag is None else self._tag.sub("&lt;", text)

    def chunks(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Escape the texts of chunks and the texts in their metadata."""
        return [Chunk(c.id, self.text(c.text) or "", self._value(c.metadata)) for c in chunks]

    def example(self, example: Example) -> Example:
        """Escape every part of an example."""
        return Example(
            self.text(example.question),
            self.text(example.answer),
            tuple(self.chunks(example.chunks)),
            self.text(example.reference),
            self.text(example.result) or "",
        )

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._value(key): self._value(inner) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self._value(inner) for inner in value]
        return value


@cache
def _shipped_block() -> Prompt:
    return Prompt.shipped("chunk_template")


def _message(role: Any, content: str) -> Message:
    return {"role": role, "content": content}


def _name_of(model: type) -> str:
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", model.__name__.removesuffix("Result"))
    return words.lower() or "grader"


def _read_example(number: int, given: ExampleInput, model: type[R]) -> Example:
    known = {"question", "answer", "context", "reference", "result"}
    if "result" not in given or set(given) - known:
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
    sample = Sample(**{name: given[name] for name in known - {"result"} if name in given})
    return Example(
        sample.question,
        sample.answer,
        sample.context,
        sample.reference,
        result.model_dump_json(),
    )
