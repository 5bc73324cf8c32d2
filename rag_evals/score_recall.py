"""Does the context support the reference answer? Statement by statement."""

from typing import ClassVar

from pydantic import Field

from rag_evals.base import ContextEvaluation
from rag_evals.core import (
    ChunkId,
    Finding,
    JudgeModel,
    OptionalList,
    Reasoning,
    Result,
    SampleField,
    StatementText,
    yes_or_no,
)
from rag_evals.errors import NotScorableReason
from rag_evals.prompt import Prompt

__all__ = ["ContextRecall", "ContextRecallResult", "ReferenceStatement"]


class ReferenceStatement(JudgeModel):
    """One statement of the reference and whether the chunks cover it."""

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


class ContextRecallResult(Result):
    """Which statements of the reference the context covers."""

    requires: ClassVar[tuple[SampleField, ...]] = ("reference", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    statements: list[ReferenceStatement] = Field(
        description="Every claim of the reference, in its order."
    )

    @property
    def score(self) -> float:
        """Covered statements divided by all, 0 to 1; 0.0 when there are none."""
        if not self.statements:
            return 0.0
        return sum(s.is_covered for s in self.statements) / len(self.statements)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each statement of the reference, covered or not."""
        return tuple(
            Finding(
                text=statement.statement,
                verdict=statement.is_covered,
                label=yes_or_no("covered", statement.is_covered),
                reasoning=statement.reasoning,
                chunk_ids=tuple(statement.supporting_chunk_ids),
                about="reference",
            )
            for statement in self.statements
        )

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """`no_statements` for a reference that claims nothing."""
        return None if self.statements else "no_statements"

    @property
    def warnings(self) -> list[str]:
        """Covered statements without chunk ids, others with ids."""
        found = []
        for number, statement in enumerate(self.statements):
            if statement.is_covered and not statement.supporting_chunk_ids:
                found.append(f"statement {number} is covered but cites no chunk")
            if not statement.is_covered and statement.supporting_chunk_ids:
                found.append(f"statement {number} is not covered but cites chunks")
        return found


ContextRecall = ContextEvaluation(
    prompt=Prompt.shipped("score_recall"), response_model=ContextRecallResult
)
"""The share of the reference's statements that the context covers."""
