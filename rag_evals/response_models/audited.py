"""Which evidence must a judge give for its verdicts, and how does code check it?

`AuditReply` and `VerdictsReply` are what a judge fills; a reply is accepted only when every
sentence is covered and every quote is found. `AuditedFaithfulnessResult` is what a user gets.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.core import (
    Finding,
    JudgeModel,
    OptionalList,
    Quote,
    Reasoning,
    SampleField,
    SentenceId,
    StatementText,
    Tallies,
    check_each_once,
    facts_of,
)
from rag_evals.response_models.drift import Extracted, check_drift, passed_over_ids
from rag_evals.response_models.evidence import ClaimedQuote, VerdictOfThree, check_agreement
from rag_evals.response_models.statements import (
    FaithfulnessResult,
    NoClaimSentence,
    StatementEvaluation,
    check_every_sentence,
)
from rag_evals.text import numbers_of

AuditedVerdict = VerdictOfThree | Literal["unverified"]
"""What a result says of a statement: a verdict, or that no quote shows what the judge says."""

CanaryVerdict = VerdictOfThree | Literal["no_claim"]
"""What a judge may say of a false sentence that was planted."""

CountsAgainst = Literal["unsupported", "contradicted"]
"""What lowers the score: every statement that is not supported, or contradicted ones only."""

_EVIDENCE = "Quotes that decide it; empty list when the chunks do not speak of it."
_VERDICT = (
    "supported: the chunks show all of it. contradicted: they show that some of it is wrong. "
    "not_in_context: they do not speak of some of it, and contradict nothing."
)
_REASONING = "Why, in one or two sentences."


class AuditedClaim(JudgeModel):
    """One claim of the answer, where it stands, and what the chunks say of it."""

    sentence_ids: list[SentenceId] = Field(
        description="Ids of the sentences that the claim comes from."
    )
    statement: StatementText = Field(
        description="One claim of the answer that can be checked by itself."
    )
    reasoning: Reasoning = Field(default=None, description=_REASONING)
    evidence: OptionalList[ClaimedQuote] = Field(default_factory=list, description=_EVIDENCE)
    verdict: VerdictOfThree = Field(description=_VERDICT)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            if not self.sentence_ids:
                raise ValueError("sentence_ids is empty; name the sentences the claim comes from")
            check_agreement(self.verdict, self.evidence, info)
        return self


class AuditReply(JudgeModel):
    """Every sentence of the answer: broken into claims, or said to claim nothing."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)
    numbered_sentences: ClassVar[bool] = True

    statements: list[AuditedClaim] = Field(
        description="Every claim of the answer, in the order of the answer."
    )
    no_claim_sentences: OptionalList[NoClaimSentence] = Field(
        default_factory=list, description="Every sentence that gave no statement."
    )

    @model_validator(mode="after")
    def _every_sentence_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is None:
            return self
        claimed = {number for claim in self.statements for number in claim.sentence_ids}
        check_every_sentence(claimed, self.no_claim_sentences, facts)
        _check_unmixed(self.statements, facts.get("own_sentence_ids", ()))
        check_drift(self.extracted, passed_over_ids(self.no_claim_sentences), info)
        return self

    @property
    def extracted(self) -> list[Extracted]:
        """The statements with their sentences, to be compared with them."""
        return [Extracted(one.statement, tuple(one.sentence_ids)) for one in self.statements]


class NumberedVerdict(JudgeModel):
    """What the chunks say of one numbered statement."""

    statement_id: int = Field(description="The statement's id, as given.")
    reasoning: Reasoning = Field(default=None, description=_REASONING)
    evidence: OptionalList[ClaimedQuote] = Field(default_factory=list, description=_EVIDENCE)
    verdict: VerdictOfThree = Field(description=_VERDICT)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        if facts_of(info) is not None:
            check_agreement(self.verdict, self.evidence, info)
        return self


class VerdictsReply(JudgeModel):
    """One verdict for each numbered statement."""

    requires: ClassVar[tuple[SampleField, ...]] = ("context",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)
    numbered_statements: ClassVar[bool] = True

    verdicts: list[NumberedVerdict] = Field(description="Every statement exactly once.")

    @model_validator(mode="after")
    def _every_statement_once(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is not None:
            ids = sorted(verdict.statement_id for verdict in self.verdicts)
            count = facts["statement_count"]
            wish = "give each statement exactly one verdict"
            check_each_once("statements", ids, range(count), wish=wish)
        return self


class AuditedStatement(StatementEvaluation):
    """One statement of the answer with its verdict and the places that decide it."""

    sentence_ids: OptionalList[int] = Field(
        default_factory=list, description="Places of its sentences in the answer, from 0."
    )
    verdict: AuditedVerdict = Field(
        description="What the chunks say of it; unverified: no quote shows what the judge says."
    )
    evidence: OptionalList[Quote] = Field(
        default_factory=list, description="Quotes found in the chunks; empty for not_in_context."
    )
    agreement: float | None = Field(
        default=None,
        description="Share of the samples that gave this verdict, above 0 to 1; None when it was "
        "asked once.",
    )
    fault: str | None = Field(
        default=None, description="Why it is unverified; None for every other verdict."
    )

    @property
    def finding(self) -> Finding:
        """The statement as results show it, with the quotes that decide it."""
        told = [f"{self.fault}."] if self.fault else []
        return replace(
            super().finding,
            label=self.verdict.replace("_", " "),
            reasoning=" ".join([*told, *filter(None, [self.reasoning])]) or None,
            quotes=tuple(self.evidence),
            sentence_ids=tuple(self.sentence_ids),
        )

    @property
    def missing_numbers(self) -> list[str]:
        """Numbers of a supported statement that its quotes do not have, sorted."""
        if self.verdict != "supported":
            return []
        quoted = numbers_of(" ".join(quote.text for quote in self.evidence))
        return sorted(numbers_of(self.statement) - quoted)


class AuditedFaithfulnessResult(FaithfulnessResult):
    """Which statements the context supports or contradicts, with the words that decide it."""

    # A list is invariant; nobody puts another kind of statement into a result.
    statements: list[AuditedStatement] = Field(  # type: ignore[assignment]
        description="Every claim of the answer, in the order of the answer."
    )
    no_claim_sentences: OptionalList[NoClaimSentence] = Field(
        default_factory=list, description="Sentences that claim nothing, with the judge's reason."
    )
    sentence_count: int = Field(default=0, description="Sentences of the answer.")
    counts_against: CountsAgainst = Field(
        default="unsupported", description="What lowers the score."
    )
    drift: OptionalList[str] = Field(
        default_factory=list,
        description="How statements differ from their sentences, though asked again.",
    )
    canary: CanaryVerdict | None = Field(
        default=None,
        description="What the judge said of the false sentence; None when there was none.",
    )

    @property
    def score(self) -> float:
        """Supported statements divided by all, or, by `counts_against`, those not contradicted.

        Unverified statements count as not supported in both readings.
        """
        if not self.statements:
            return 0.0
        return sum(map(self._counts, self.statements)) / len(self.statements)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each statement with its quotes; what counts against the score is up to the options."""
        return tuple(replace(s.finding, verdict=self._counts(s)) for s in self.statements)

    @property
    def contradiction_rate(self) -> float:
        """Contradicted statements divided by all, 0 to 1; 0.0 when there are none."""
        return self._contradicted / len(self.statements) if self.statements else 0.0

    @property
    def coverage(self) -> float:
        """Sentences that gave a statement divided by all, 0 to 1; 0.0 without a sentence."""
        return self._covered / self.sentence_count if self.sentence_count else 0.0

    @property
    def flip_rate(self) -> float | None:
        """Statements whose samples disagree divided by all; None when each was asked once."""
        sampled = [s.agreement for s in self.statements if s.agreement is not None]
        return sum(share < 1 for share in sampled) / len(sampled) if sampled else None

    @property
    def warnings(self) -> list[str]:
        """Unverified statements, numbers without evidence, and a canary that was passed over."""
        found = [
            f"statement {number} is unverified: {statement.fault}"
            for number, statement in enumerate(self.statements)
            if statement.verdict == "unverified"
        ]
        found += [
            f"statement {number} is supported, but its quotes lack "
            f"{', '.join(statement.missing_numbers)}"
            for number, statement in enumerate(self.statements)
            if statement.missing_numbers
        ]
        found += self.drift
        if self.canary == "no_claim":
            found.append("the judge says that the canary sentence claims nothing")
        return found

    @property
    def tallies(self) -> Tallies:
        """Contradicted statements, covered sentences, and statements whose samples disagree."""
        total = len(self.statements)
        counted = {
            "contradicted": (self._contradicted, total),
            "sentences covered": (self._covered, self.sentence_count),
        }
        flipped = self.flip_rate
        return (
            counted if flipped is None else counted | {"flipped": (round(flipped * total), total)}
        )

    def _counts(self, statement: AuditedStatement) -> bool:
        """Say whether a statement counts towards the score; an unverified one never does."""
        if self.counts_against == "contradicted":
            return statement.verdict not in ("contradicted", "unverified")
        return statement.verdict == "supported"

    @property
    def _contradicted(self) -> int:
        return sum(statement.verdict == "contradicted" for statement in self.statements)

    @property
    def _covered(self) -> int:
        return len({number for statement in self.statements for number in statement.sentence_ids})


def _check_unmixed(claims: Sequence[AuditedClaim], own: Sequence[int]) -> None:
    """Refuse claims that mix a sentence which must stand alone with others."""
    for claim in claims:
        for sentence_id in set(claim.sentence_ids) & set(own):
            if len(set(claim.sentence_ids)) > 1:
                raise ValueError(
                    f"the statement {claim.statement!r} mixes sentences {claim.sentence_ids}; give "
                    f"sentence {sentence_id} statements of its own"
                )
