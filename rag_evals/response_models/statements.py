"""What does a faithfulness grader say? Statements of the answer, each supported or not."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import (
    ChunkId,
    Finding,
    JudgeModel,
    OptionalList,
    Reasoning,
    Result,
    SampleField,
    SentenceId,
    StatementText,
    check_each_once,
    facts_of,
    yes_or_no,
)
from rag_evals.errors import NotScorableReason


class StatementEvaluation(JudgeModel):
    """A statement and its verdict."""

    statement: StatementText = Field(description="One claim.")
    reasoning: Reasoning = Field(
        default=None,
        description="Why, from the chunks.",
    )
    supporting_chunk_ids: OptionalList[ChunkId] = Field(
        default_factory=list,
        description="Empty list if unsupported.",
    )
    is_supported: bool = Field(description="The chunks alone show it.")

    @property
    def finding(self) -> Finding:
        """The statement as results show it."""
        return Finding(
            text=self.statement,
            verdict=self.is_supported,
            label=yes_or_no("supported", self.is_supported),
            reasoning=self.reasoning,
            chunk_ids=tuple(self.supporting_chunk_ids),
            about="statement",
        )


class NoClaimSentence(JudgeModel):
    """A sentence of the answer that claims nothing, such as a greeting or a question."""

    sentence_id: SentenceId = Field(description="The sentence's id, as given.")
    reason: str = Field(description="Why it claims nothing.")

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None and not self.reason.strip():
            raise ValueError(f"sentence {self.sentence_id} is left out without a reason")
        return self


class PassedOverSentence(NoClaimSentence):
    """A sentence of the answer that claims nothing, with its words, so nothing was decided.

    The reason is a judge's own words, or one of `rag_evals.verify.NoClaim`, such as `question`.
    """

    text: str = Field(description="The sentence.")


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
    def findings(self) -> tuple[Finding, ...]:
        """Each statement, supported or not."""
        return tuple(statement.finding for statement in self.statements)

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


def check_every_sentence(
    claimed: Collection[int], no_claim: Sequence[NoClaimSentence], facts: Mapping[str, Any]
) -> None:
    """Refuse a reply that does not say of each sentence either what it claims, or why nothing.

    Args:
        claimed: Ids of the sentences that gave a statement.
        no_claim: The sentences that the judge passed over.
        facts: What is known of the call.

    Raises:
        ValueError: Sentences that are in neither list, in both, or passed over twice; the judge is
            told which.
    """
    passed_over = sorted(sentence.sentence_id for sentence in no_claim)
    check_each_once(
        "sentences",
        sorted([*set(claimed), *set(passed_over)]),
        range(len(facts["sentences"])),
        missing=(
            "have no statement; break them into statements, or list them in no_claim_sentences "
            "with a reason"
        ),
        repeated="have statements and are in no_claim_sentences",
    )
    twice = "are listed twice in no_claim_sentences"
    check_each_once("sentences", passed_over, set(passed_over), repeated=twice)
