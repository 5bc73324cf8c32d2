"""Response models for any rubric, and the base of models with one label for each chunk."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import (
    ChunkId,
    Finding,
    JudgeModel,
    Reasoning,
    Result,
    SampleField,
    check_each_once,
    facts_of,
    yes_or_no,
)
from rag_evals.response_models.statements import each_once

_STEPS = 4
_WHOLE = "the answer"


class PassFailResult(Result):
    """Whether the answer passes a rubric."""

    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    passed: bool = Field(description="True when the answer passes.")

    @property
    def score(self) -> float:
        """1.0 if the answer passes, else 0.0."""
        return float(self.passed)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The answer, passed or not."""
        label = yes_or_no("passed", self.passed)
        return (Finding(_WHOLE, self.passed, label, self.reasoning),)


class RatingResult(Result):
    """How good the answer is by a rubric, in five steps."""

    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    label: Literal[1, 2, 3, 4, 5] = Field(description="1 is the worst step, 5 the best.")

    @property
    def score(self) -> float:
        """The label from 0 to 1: 1 is 0.0, 2 is 0.25, 5 is 1.0."""
        return (self.label - 1) / _STEPS

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The answer with its step."""
        label = f"{self.label} of {_STEPS + 1}"
        return (Finding(_WHOLE, None, label, self.reasoning, support=self.score),)


class CriterionCheck(JudgeModel):
    """Whether the answer meets one criterion."""

    criterion: str = Field(description="The criterion's name, as given.")
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    is_met: bool = Field(description="True when the answer meets the criterion.")


class ChecklistResult(Result):
    """Which of the rubric's criteria the answer meets."""

    needs_criteria: ClassVar[bool] = True

    checks: list[CriterionCheck] = Field(description="Every criterion exactly once.")

    _every_criterion_once = each_once(
        "checks", "criterion", "criteria", lambda facts: facts["criteria"]
    )

    @property
    def score(self) -> float:
        """Criteria met divided by all, 0 to 1; 0.0 if there are none."""
        return sum(c.is_met for c in self.checks) / len(self.checks) if self.checks else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each criterion, met or not."""
        return tuple(
            Finding(check.criterion, check.is_met, yes_or_no("met", check.is_met), check.reasoning)
            for check in self.checks
        )


class LabelledChunk(NamedTuple):
    """One chunk with the judge's label.

    Attributes:
        chunk_id: Number of the chunk in the context, from 0.
        verdict: Whether it counts towards the score.
        reasoning: The judge's reasoning, or None.
    """

    chunk_id: int
    verdict: bool
    reasoning: str | None


class PerChunkResult(Result):
    """One label for each chunk; a subclass has the list that a judge fills.

    Attributes:
        word: Label of a chunk that counts towards the score, such as `relevant`.
    """

    word: ClassVar[str]

    @abstractmethod
    def labelled_chunks(self) -> Iterator[LabelledChunk]:
        """Yield the labels in the order of the reply."""

    @model_validator(mode="after")
    def _every_chunk_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_each_once(
                "chunks",
                sorted(chunk.chunk_id for chunk in self.labelled_chunks()),
                range(facts["chunk_count"]),
                missing="are not graded",
                repeated="are graded twice",
                wish="grade every chunk exactly once",
            )
        return self

    @property
    def score(self) -> float:
        """Chunks that count divided by all, 0 to 1; 0.0 if there are none."""
        verdicts = [chunk.verdict for chunk in self.labelled_chunks()]
        return sum(verdicts) / len(verdicts) if verdicts else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each chunk with its label."""
        return tuple(
            Finding(
                text=f"chunk {chunk.chunk_id}",
                verdict=chunk.verdict,
                label=yes_or_no(self.word, chunk.verdict),
                reasoning=chunk.reasoning,
                chunk_ids=(chunk.chunk_id,),
                about="chunk",
            )
            for chunk in self.labelled_chunks()
        )


class ChunkLabel(JudgeModel):
    """Whether one chunk passes a rubric."""

    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    passed: bool = Field(description="True when the chunk passes.")


class ChunkLabelsResult(PerChunkResult):
    """Which of the chunks pass a rubric."""

    requires: ClassVar[tuple[SampleField, ...]] = ("context",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question", "answer", "reference")
    word: ClassVar[str] = "passed"

    labels: list[ChunkLabel] = Field(description="Every chunk exactly once.")

    def labelled_chunks(self) -> Iterator[LabelledChunk]:
        """Yield the labels in the order of the reply."""
        for label in self.labels:
            yield LabelledChunk(label.chunk_id, label.passed, label.reasoning)
