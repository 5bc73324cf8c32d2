"""Which reply can a prompt file ask for without Python? Response models that fit any rubric."""

from collections import Counter
from typing import ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import (
    ChunkId,
    Finding,
    JudgeModel,
    Reasoning,
    Result,
    SampleField,
    check_every_chunk_once,
    chunk_text,
    facts_of,
    yes_or_no,
)

_STEPS = 4
_WHOLE = "the answer"


class PassFailResult(Result):
    """Whether the answer passes a rubric."""

    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    passed: bool = Field(description="True when the answer passes.")

    @property
    def score(self) -> float:
        """1.0 when the answer passes, else 0.0."""
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
        """The answer with its step, which is no yes or no."""
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

    @model_validator(mode="after")
    def _every_criterion_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            wanted = list(facts["criteria"])
            counts = Counter(check.criterion for check in self.checks)
            for names, fault in (
                ([name for name in wanted if name not in counts], "are not answered"),
                ([name for name in counts if name not in wanted], "do not exist"),
                ([name for name, count in counts.items() if count > 1], "are answered twice"),
            ):
                if names:
                    raise ValueError(
                        f"criteria {names} {fault}; answer each of {wanted} exactly once"
                    )
        return self

    @property
    def score(self) -> float:
        """Criteria met divided by all, 0 to 1; 0.0 when there are none."""
        return sum(c.is_met for c in self.checks) / len(self.checks) if self.checks else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each criterion, met or not."""
        return tuple(
            Finding(check.criterion, check.is_met, yes_or_no("met", check.is_met), check.reasoning)
            for check in self.checks
        )


class ChunkLabel(JudgeModel):
    """Whether one chunk passes a rubric."""

    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    passed: bool = Field(description="True when the chunk passes.")


class ChunkLabelsResult(Result):
    """Which of the chunks pass a rubric."""

    requires: ClassVar[tuple[SampleField, ...]] = ("context",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question", "answer", "reference")

    labels: list[ChunkLabel] = Field(description="Every chunk exactly once.")

    @model_validator(mode="after")
    def _every_chunk_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_every_chunk_once([label.chunk_id for label in self.labels], facts)
        return self

    @property
    def score(self) -> float:
        """Chunks that pass divided by all, 0 to 1; 0.0 when there are none."""
        return sum(c.passed for c in self.labels) / len(self.labels) if self.labels else 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each chunk, passed or not."""
        return tuple(
            Finding(
                text=chunk_text(chunk.chunk_id),
                verdict=chunk.passed,
                label=yes_or_no("passed", chunk.passed),
                reasoning=chunk.reasoning,
                chunk_ids=(chunk.chunk_id,),
                about="chunk",
            )
            for chunk in self.labels
        )
