"""What does a faithfulness grader say? Statements of the answer, each supported or not."""

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.errors import NotScorableReason
from rag_evals.result import JudgeModel, Reasoning, Result, SampleField, check_statement, facts_of


class StatementEvaluation(JudgeModel):
    """A statement and its verdict."""

    statement: str = Field(description="One claim.")
    reasoning: Reasoning = Field(
        None,
        description="Why, from the chunks.",
    )
    supporting_chunk_ids: list[int] = Field(
        default_factory=list,
        description="None if unsupported.",
    )
    is_supported: bool = Field(description="The chunks alone show it.")

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            check_statement(self.statement, self.supporting_chunk_ids, facts)
        return self


class FaithfulnessResult(Result):
    """The statements of the answer."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    statements: list[StatementEvaluation] = Field(description="In order.")

    @property
    def score(self) -> float:
        """Supported statements divided by all, 0 to 1; 0.0 when there are none."""
        if not self.statements:
            return 0.0
        return sum(s.is_supported for s in self.statements) / len(self.statements)

    @property
    def not_scorable(self) -> NotScorableReason | None:
        """`no_statements` for an answer that claims nothing."""
        return None if self.statements else "no_statements"

    @property
    def unsupported(self) -> Sequence[StatementEvaluation]:
        """The statements that the context does not support, in order."""
        return [s for s in self.statements if not s.is_supported]

    @property
    def warnings(self) -> list[str]:
        """Supported statements without chunk ids, unsupported ones with ids."""
        found = []
        for number, statement in enumerate(self.statements):
            if statement.is_supported and not statement.supporting_chunk_ids:
                found.append(f"statement {number} is supported but cites no chunk")
            if not statement.is_supported and statement.supporting_chunk_ids:
                found.append(f"statement {number} is unsupported but cites chunks")
        return found
