"""What is a grader? A name, a fingerprint and a flow; grading one answer is the same for all."""

import os
from abc import ABC, abstractmethod
from typing import Any, Generic, Self, TypeVar

from pydantic import BaseModel

from rag_evals.drive import drive, drive_async
from rag_evals.errors import ConfigurationError, NotScorableError, NotScorableReason
from rag_evals.judge import Client, Meter, async_judge_for, judge_for
from rag_evals.result import SampleField
from rag_evals.sample import ContextInput, Sample
from rag_evals.verify import EMBEDDED, EMBEDDED_GRADERS, Flow, Verifier, from_string

R = TypeVar("R", bound=BaseModel)

JUDGE_VARIABLE = "RAG_EVALS_JUDGE"
"""Environment variable with the judge to use where none is named."""

_EMPTY: dict[SampleField, NotScorableReason] = {
    "question": "empty_question",
    "answer": "empty_answer",
    "context": "empty_context",
    "reference": "empty_reference",
}


class Grader(ABC, Generic[R]):
    """Base of every grader; a subclass says what to ask and how to read the answer.

    Attributes:
        name: What results call it.
        requires: Fields without which a sample is not scorable.
        result_model: What `grade` returns.
        model: Model to ask when `grade` names none, or None.
    """

    name: str
    requires: tuple[SampleField, ...] = ("answer",)
    result_model: type[R]
    model: str | None = None

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of all that shapes a result, the judge left out."""

    @abstractmethod
    def flow(self, sample: Sample) -> Flow[R]:
        """Describe the work on one sample; see `rag_evals.verify.Flow`."""

    def with_verifier(self, verifier: Verifier) -> "Grader[R]":
        """Return the form of this grader that asks a verifier instead of a judge.

        Raises:
            ConfigurationError: It has none.
        """
        raise ConfigurationError(
            f"grader {self.name!r} asks a judge model and has no form for {verifier.name!r}, which "
            "decides statements and reads no prompt; pass a client such as 'openai/gpt-4o-mini', "
            f"or use {' or '.join(map(repr, EMBEDDED_GRADERS))}"
        )

    def with_language(self, language: str) -> Self:
        """Return the same grader for samples that do not name their language.

        Args:
            language: Code such as `ru`; a grader that asks no prompt stays as it is.
        """
        del language
        return self

    def grade(
        self,
        question: str | None = None,
        answer: str | None = None,
        context: ContextInput = None,
        client: Client = None,
        *,
        reference: str | None = None,
        language: str | None = None,
        model: str | None = None,
    ) -> R:
        """Grade one answer.

        Args:
            question: What was asked; some graders need it.
            answer: What the RAG system said.
            context: The chunks it was given: texts, or things with `text`, `page_content` or
                `content`.
            client: A sync instructor client, a string such as `"openai/gpt-4o-mini"`, or
                `"embedded"`; None takes `RAG_EVALS_JUDGE`, else `"embedded"`.
            reference: The right answer, where one is known.
            language: Two-letter code of the answer's language.
            model: Model to ask; None takes the grader's, else the client's own.

        Returns:
            The validated result; its `score` runs from 0 to 1.

        Raises:
            NotScorableError: A required field is empty.
            GradingError: No valid reply; the subclass says why.
            ConfigurationError: The client or the model does not fit.
            DataError: A field is not text.
        """
        sample = Sample(
            question=question,
            answer=answer,
            context=context,
            reference=reference,
            language=language,
        )
        grader, judge_client = resolve(self, client, model)
        judge = None if judge_client is None else judge_for(judge_client, model)
        return drive(grader.flow(sample), judge, Meter())

    async def agrade(
        self,
        question: str | None = None,
        answer: str | None = None,
        context: ContextInput = None,
        client: Client = None,
        *,
        reference: str | None = None,
        language: str | None = None,
        model: str | None = None,
    ) -> R:
        """Grade one answer with an async client; as `grade` otherwise."""
        sample = Sample(
            question=question,
            answer=answer,
            context=context,
            reference=reference,
            language=language,
        )
        grader, judge_client = resolve(self, client, model)
        judge = None if judge_client is None else await async_judge_for(judge_client, model)
        return await drive_async(grader.flow(sample), judge, Meter())


def resolve(
    grader: Grader[R], client: Client, model: str | None = None
) -> tuple[Grader[R], Client]:
    """Find out who decides: the grader as it is with a client, or its form with a verifier.

    Returns:
        The grader to drive, and the client it needs; None when a verifier decides alone.

    Raises:
        ConfigurationError: The grader has no form for the verifier, or a model is named for it.
    """
    if client is None:
        client = default_judge()
    verifier = from_string(client) if isinstance(client, str) else None
    if verifier is None:
        return grader, client
    if model is not None:
        raise ConfigurationError(
            f"model {model!r} is named, but the judge {client!r} asks no model"
        )
    return grader.with_verifier(verifier), None


def default_judge() -> str:
    """Return the judge that is used where none is named."""
    return os.environ.get(JUDGE_VARIABLE) or EMBEDDED


def require_fields(sample: Sample, fields: tuple[SampleField, ...]) -> None:
    """Stop before any call when a field has nothing in it.

    Raises:
        NotScorableError: The first empty field, in the order of `fields`.
    """
    for name in fields:
        value: Any = getattr(sample, name)
        texts = [chunk.text for chunk in value] if name == "context" else [value or ""]
        if not any(text.strip() for text in texts):
            raise NotScorableError(_EMPTY[name])
