"""What is graded? A sample: question, answer and the chunks it should rest on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_evals.core.arguments import named_arguments
from rag_evals.core.fingerprint import fingerprint
from rag_evals.errors import DataError
from rag_evals.text import lone_surrogate

ContextInput = str | Iterable[Any] | None
"""One text, or a list of texts, mappings with `text`/`page_content`/`content`, or such objects."""

_ID_DIGITS = 16
_TEXT_NAMES = ("text", "page_content", "content")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One retrieved passage.

    Attributes:
        id: Its place in the context, from 0; the judge cites it.
        text: The passage, kept byte for byte.
        metadata: Whatever came with it; a prompt may show it.
    """

    id: int
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, init=False)
class Sample:
    """One row to grade.

    Attributes:
        question: What was asked, or None.
        answer: What the RAG system said, or None.
        context: The chunks it was given, numbered from 0 in the order given.
        reference: The right answer, where one is known.
        id: The row's name in results; None lets the run make one from the content.
        language: Two-letter code of the answer's language, or None.
    """

    question: str | None
    answer: str | None
    context: tuple[Chunk, ...]
    reference: str | None
    id: str | None
    language: str | None

    @named_arguments
    def __init__(
        self,
        *,
        question: str | None = None,
        answer: str | None = None,
        context: ContextInput = None,
        reference: str | None = None,
        id: str | None = None,
        language: str | None = None,
    ) -> None:
        """Check every field and number the chunks.

        Raises:
            DataError: A field is not text, or holds a lone surrogate.
        """
        texts = {"question": question, "answer": answer, "reference": reference, "id": id}
        for name, value in (texts | {"language": language}).items():
            object.__setattr__(self, name, None if value is None else _text(value, name))
        object.__setattr__(self, "context", chunks_from(context))

    def content_hash(self) -> str:
        """Return 16 hex digits that name the content: the same for the same row anywhere."""
        return fingerprint(*self._texts())[:_ID_DIGITS]

    def fingerprint(self) -> str:
        """Return 16 hex digits over all that a prompt may show: texts, language, metadata.

        Raises:
            DataError: The metadata of a chunk refers to itself, or is nested too deeply.
        """
        more = [self.language, [dict(chunk.metadata) for chunk in self.context]]
        try:
            return fingerprint(*self._texts(), *more)[:_ID_DIGITS]
        except (ValueError, RecursionError) as error:
            raise DataError(f"the metadata of a chunk cannot be written as JSON: {error}") from None

    def _texts(self) -> list[Any]:
        return [self.question, self.answer, [c.text for c in self.context], self.reference]


def chunks_from(context: ContextInput) -> tuple[Chunk, ...]:
    """Number the chunks of a context from 0.

    Args:
        context: A string is one chunk; None is no chunk.

    Raises:
        DataError: An element has no text.
    """
    if context is None:
        return ()
    if isinstance(context, str):
        return (Chunk(0, _text(context, "context")),)
    if isinstance(context, Mapping):
        return (_chunk(0, context),)
    if not isinstance(context, Iterable) or isinstance(context, bytes):
        raise DataError(f"context is {_shown(context)}; expected text or a list of texts")
    return tuple(_chunk(number, element) for number, element in enumerate(context))


def _chunk(number: int, element: object) -> Chunk:
    place = f"context[{number}]"
    if isinstance(element, Chunk):
        return Chunk(number, _text(element.text, place), element.metadata)
    if isinstance(element, str):
        return Chunk(number, _text(element, place))
    for name in _TEXT_NAMES:
        if isinstance(element, Mapping):
            if element.get(name) is not None:
                rest = {key: value for key, value in element.items() if key != name}
                metadata = rest.pop("metadata", rest) if len(rest) == 1 else rest
                return Chunk(number, _text(element[name], f"{place}.{name}"), _mapping(metadata))
        elif isinstance(getattr(element, name, None), str):
            metadata = getattr(element, "metadata", None)
            return Chunk(number, _text(getattr(element, name), place), _mapping(metadata))
    raise DataError(
        f"{place} is {_shown(element)}; expected text, or something with 'text', "
        "'page_content' or 'content'"
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _text(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise DataError(f"{place} is {_shown(value)}; expected text")
    offset = lone_surrogate(value)
    if offset is not None:
        raise DataError(
            f"{place} has a lone surrogate {value[offset]!a} at character {offset}; "
            "it cannot be sent as UTF-8"
        )
    return value


def _shown(value: object) -> str:
    shown = ascii(value)
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} ({type(value).__name__})"
