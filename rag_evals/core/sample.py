"""What is graded? A sample: question, answer and the chunks it should rest on."""

from dataclasses import dataclass
from typing import Any

from rag_evals.core.chunk import Chunk, ContextInput, chunks_from
from rag_evals.core.fingerprint import fingerprint, fingerprint_of_texts
from rag_evals.core.plain_text import required_text, text_of
from rag_evals.errors import DataError
from rag_evals.text import shortened

_ID_DIGITS = 16

TextInput = str | object | None
"""A text, or a reply in the form of the library that made it, such as `AIMessage`."""


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

    def __init__(
        self,
        *,
        question: TextInput = None,
        answer: TextInput = None,
        context: ContextInput = None,
        reference: TextInput = None,
        id: str | None = None,
        language: str | None = None,
    ) -> None:
        """Check every field and number the chunks.

        Raises:
            DataError: A field has no text, or holds a lone surrogate.
        """
        for name, value in (("question", question), ("answer", answer), ("reference", reference)):
            object.__setattr__(self, name, None if value is None else text_of(value, name))
        for name, word in (("id", id), ("language", language)):
            object.__setattr__(self, name, None if word is None else required_text(word, name))
        object.__setattr__(self, "context", chunks_from(context))

    def __repr__(self) -> str:
        """One line; long texts are cut, and chunks counted."""
        return f"Sample({', '.join(f'{name}={value}' for name, value in self._parts())})"

    def _parts(self) -> list[tuple[str, str]]:
        texts = {
            "id": self.id,
            "question": self.question,
            "answer": self.answer,
            "reference": self.reference,
            "language": self.language,
        }
        parts = [(name, repr(shortened(text, 60))) for name, text in texts.items() if text]
        count = len(self.context)
        return [*parts, ("context", f"[{count} chunk{'' if count == 1 else 's'}]")]

    def content_hash(self) -> str:
        """Return 16 hex digits that name the content: the same for the same row anywhere."""
        return fingerprint(*self._texts())[:_ID_DIGITS]

    def fingerprint(self) -> str:
        """Return 16 hex digits over all that a prompt may show: texts, language, metadata.

        Raises:
            DataError: The metadata of a chunk refers to itself, or is nested too deeply.
        """
        more = [self.language, [dict(chunk.metadata) for chunk in self.context]]
        if not any(chunk.metadata for chunk in self.context):
            return fingerprint_of_texts(*self._texts(), *more)[:_ID_DIGITS]
        try:
            return fingerprint(*self._texts(), *more)[:_ID_DIGITS]
        except (ValueError, RecursionError) as error:
            raise DataError(f"the metadata of a chunk cannot be written as JSON: {error}") from None

    def _texts(self) -> list[Any]:
        return [self.question, self.answer, [c.text for c in self.context], self.reference]
