"""Context recall: checks whether the context supports each statement in the reference."""

from typing import ClassVar, Literal

from pydantic import Field

from rag_evals.base import ContextEvaluation
from rag_evals.core import (
    ByCode,
    ChunkId,
    Finding,
    JudgeModel,
    OptionalList,
    Reasoning,
    SampleField,
    StatementText,
    yes_or_no,
)
from rag_evals.prompt import Prompt
from rag_evals.response_models import ByStatement
from rag_evals.response_models.statements import finding_of

__all__ = ["ContextRecall", "ContextRecallResult", "ReferenceStatement"]


class ReferenceStatement(JudgeModel):
    statement: StatementText = Field(
        description="One claim of the reference that can be checked by itself."
    )
    reasoning: Reasoning = Field(
        default=None, description="Why the chunks do or do not cover it, in one or two sentences."
    )
    supporting_chunk_ids: OptionalList[ChunkId] = Field(
        default_factory=list,
        description="Ids of the chunks that cover it; empty list when none does.",
    )
    is_covered: bool = Field(description="True when the chunks alone show it to be so.")
    sentence_id: ByCode[int | None] = None
    start: ByCode[int | None] = None
    end: ByCode[int | None] = None
    fault: ByCode[str | None] = None


class ContextRecallResult(ByStatement):
    """The reference's statements, and whether the context covers them."""

    requires: ClassVar[tuple[SampleField, ...]] = ("reference", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)
    statements_of: ClassVar[Literal["answer", "reference"]] = "reference"
    verdict_name: ClassVar[str] = "is_covered"

    statements: list[ReferenceStatement] = Field(
        description="Every claim of the reference, in its order."
    )

    @property
    def findings(self) -> tuple[Finding, ...]:
        found = []
        for one in self.statements:
            label, ids = yes_or_no("covered", one.is_covered), one.supporting_chunk_ids
            found.append(finding_of(one, ids, label, verdict=one.is_covered, about="reference"))
        return tuple(found)


ContextRecall = ContextEvaluation(
    prompt=Prompt.shipped("score_recall"), response_model=ContextRecallResult
)
"""The share of the reference's statements that are covered by the context."""
