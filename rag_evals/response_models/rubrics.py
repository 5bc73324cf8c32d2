"""Response models for any rubric, and the base class of models with one label per chunk."""

from typing import ClassVar, Literal, Self

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
    """Whether an answer passes a rubric."""

    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    passed: bool = Field(description="True when the answer passes.")

    @property
    def score(self) -> float:
        """1.0 if the answer passes, else 0.0."""
        return float(self.passed)

    @property
    def findings(self) -> tuple[Finding, ...]:
        label = yes_or_no("passed", self.passed)
        return (Finding(_WHOLE, self.passed, label, self.reasoning),)


class RatingResult(Result):
    """The rating of an answer, from 1 to 5."""

    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    label: Literal[1, 2, 3, 4, 5] = Field(description="1 is the worst step, 5 the best.")

    @property
    def score(self) -> float:
        """The label scaled to 0 to 1."""
        return (self.label - 1) / _STEPS

    @property
    def findings(self) -> tuple[Finding, ...]:
        label = f"{self.label} of {_STEPS + 1}"
        return (Finding(_WHOLE, None, label, self.reasoning, support=self.score),)


class CriterionCheck(JudgeModel):
    criterion: str = Field(description="The criterion's name, as given.")
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    is_met: bool = Field(description="True when the answer meets the criterion.")


class ChecklistResult(Result):
    """The rubric's criteria, and whether the answer meets them."""

    needs_criteria: ClassVar[bool] = True

    checks: list[CriterionCheck] = Field(description="Every criterion exactly once.")

    _every_criterion_once = each_once(
        "checks", "criterion", "criteria", lambda facts: facts["criteria"]
    )

    @property
    def score(self) -> float:
        """Share of the criteria that are met, 0 to 1; 0.0 if there are no criteria."""
        return sum(c.is_met for c in self.checks) / len(self.checks) if self.checks else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(check.criterion, check.is_met, yes_or_no("met", check.is_met), check.reasoning)
            for check in self.checks
        )


class PerChunkResult(Result):
    """A label for each chunk, in a list declared by the subclass.

    Attributes:
        word: The label that counts towards the score, such as `relevant`.
        labels_in: Names of the list field, and of its items' chunk id and verdict fields.
    """

    word: ClassVar[str]
    labels_in: ClassVar[tuple[str, str, str]]

    @property
    def _labels(self) -> list[tuple[int, bool, str | None]]:
        """The chunk id, verdict and reasoning of each label."""
        labels, chunk_id, verdict = self.labels_in
        return [
            (getattr(one, chunk_id), getattr(one, verdict), one.reasoning)
            for one in getattr(self, labels)
        ]

    @model_validator(mode="after")
    def _every_chunk_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_each_once(
                "chunks",
                sorted(chunk_id for chunk_id, *_ in self._labels),
                range(facts["chunk_count"]),
                missing="are not graded",
                repeated="are graded twice",
                wish="grade every chunk exactly once",
            )
        return self

    @property
    def score(self) -> float:
        """Share of the chunks with a True verdict, 0 to 1; 0.0 if there are no chunks."""
        verdicts = [verdict for _, verdict, _ in self._labels]
        return sum(verdicts) / len(verdicts) if verdicts else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(
            Finding(
                text=f"chunk {chunk_id}",
                verdict=verdict,
                label=yes_or_no(self.word, verdict),
                reasoning=reasoning,
                chunk_ids=(chunk_id,),
                about="chunk",
            )
            for chunk_id, verdict, reasoning in self._labels
        )


class ChunkLabel(JudgeModel):
    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    passed: bool = Field(description="True when the chunk passes.")


class ChunkLabelsResult(PerChunkResult):
    """Whether each chunk passes a rubric."""

    requires: ClassVar[tuple[SampleField, ...]] = ("context",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question", "answer", "reference")
    word: ClassVar[str] = "passed"
    labels_in: ClassVar[tuple[str, str, str]] = ("labels", "chunk_id", "passed")

    labels: list[ChunkLabel] = Field(description="Every chunk exactly once.")
