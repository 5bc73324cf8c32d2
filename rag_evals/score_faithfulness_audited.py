"""Faithfulness with evidence: the judge quotes the chunks, and code verifies the quotes.

A reply is valid only if it covers every sentence and each quote occurs in its chunk; otherwise the
judge is asked again. If a quote is still wrong on the last try, its statement counts as unverified.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import ClassVar, Literal, NamedTuple, Self

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.base import JudgedGrader
from rag_evals.core import (
    ChunkId,
    Finding,
    Flow,
    JudgeModel,
    OptionalList,
    Phrases,
    Quote,
    Reasoning,
    Sample,
    SampleField,
    SentenceId,
    StatementText,
    Tallies,
    facts_of,
    phrases,
)
from rag_evals.core.result import is_last_attempt
from rag_evals.grading import require_fields
from rag_evals.grading.guarding import Guard, GuardedCall, ask_guarded
from rag_evals.prompt import Prompt
from rag_evals.response_models import (
    FaithfulnessResult,
    NoClaimSentence,
    StatementEvaluation,
    check_every_sentence,
)
from rag_evals.response_models.statements import Stated
from rag_evals.text import Span, has_russian, numbers_of, split_sentences
from rag_evals.text.quotes import MIN_QUOTE_LETTERS, Quotable

__all__ = [
    "AuditReply",
    "AuditedFaithfulness",
    "AuditedFaithfulnessResult",
    "AuditedGrader",
    "AuditedStatement",
    "NoClaimSentence",
    "Quote",
]

VerdictOfThree = Literal["supported", "contradicted", "not_in_context"]
"""A judge's verdict on a statement."""

AuditedVerdict = VerdictOfThree | Literal["unverified"]
"""A verdict in a result; `unverified` if no valid quote supports the judge's verdict."""

# A reply quotes only a few chunks, but each of them is searched several times.
_quotable = lru_cache(maxsize=32)(Quotable)
_WISHES = {
    "absent": "copy the chunk's own words, whole words only",
    "denial": "also quote the words in between",
    "short": f"quote at least {MIN_QUOTE_LETTERS} letters, including a meaningful word, or the "
    "whole chunk",
}


class ClaimedQuote(JudgeModel):
    """A quote cited as evidence for a verdict, as the judge copied it."""

    chunk_id: ChunkId = Field(description="The chunk's id, as given.")
    quote: str = Field(
        description="Words of that chunk, copied letter for letter; ... stands for words left out."
    )

    @model_validator(mode="after")
    def _occurs(self, info: ValidationInfo) -> Self:
        facts = facts_of(info)
        if facts is None or is_last_attempt(info):
            return self
        chunks: Sequence[str] = facts["chunks"]
        fault = _fault_of(self, chunks)
        if fault is not None:
            others = [n for n, text in enumerate(chunks) if _quotable(text).find(self.quote)]
            elsewhere = fault.kind == "absent" and others
            hint = f"; it occurs in chunk {others[0]}" if elsewhere else ""
            raise ValueError(f"{fault.told(phrases())}{hint}; {_WISHES[fault.kind]}")
        return self


class AuditedClaim(JudgeModel):
    """A claim from the answer, with its sentences and verdict."""

    sentence_ids: list[SentenceId] = Field(
        description="Ids of the sentences that the claim comes from."
    )
    statement: StatementText = Field(
        description="One claim of the answer that can be checked by itself."
    )
    reasoning: Reasoning = Field(default=None, description="Why, in one or two sentences.")
    evidence: OptionalList[ClaimedQuote] = Field(
        default_factory=list,
        description="Quotes that decide it; empty list when the chunks do not speak of it.",
    )
    verdict: VerdictOfThree = Field(
        description="supported: the chunks show all of it. contradicted: they show that some of it "
        "is wrong. not_in_context: they do not speak of some of it, and contradict nothing."
    )

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        if facts_of(info) is None:
            return self
        if not self.sentence_ids:
            raise ValueError("sentence_ids is empty; name the sentences the claim comes from")
        if self.verdict == "not_in_context":
            if self.evidence:
                raise ValueError(
                    "the verdict is not_in_context, yet evidence is quoted; leave evidence empty, "
                    "or change the verdict"
                )
        elif not self.evidence and not is_last_attempt(info):
            raise ValueError(
                f"the verdict is {self.verdict}, yet evidence is empty; quote the words of a chunk "
                "that show it, or change the verdict to not_in_context"
            )
        return self


class AuditReply(JudgeModel):
    """Every sentence of the answer, either with its claims or marked as having none."""

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
        if facts is not None:
            claimed = {number for claim in self.statements for number in claim.sentence_ids}
            check_every_sentence(claimed, self.no_claim_sentences, facts)
        return self

    @property
    def stated(self) -> tuple[list[Stated], list[int]]:
        """The statements with their sentence ids, and the ids of sentences without statements."""
        stated = [
            Stated(one.statement, tuple(one.sentence_ids), one.verdict == "supported")
            for one in self.statements
        ]
        return stated, [one.sentence_id for one in self.no_claim_sentences]


class AuditedStatement(StatementEvaluation):
    """A statement from the answer with its verdict and the quotes found in the chunks.

    Attributes:
        sentence_ids: Indexes of the answer's sentences that the statement comes from.
        verdict: `unverified` if no valid quote supports the judge's verdict.
        evidence: Quotes found in the chunks; empty for `not_in_context`.
    """

    sentence_ids: OptionalList[int] = Field(default_factory=list)
    verdict: AuditedVerdict
    evidence: OptionalList[Quote] = Field(default_factory=list)

    @property
    def finding(self) -> Finding:
        """The finding, with the quotes as evidence."""
        return replace(
            super().finding,
            label=self.verdict.replace("_", " "),
            quotes=tuple(self.evidence),
            sentence_ids=tuple(self.sentence_ids),
        )

    @property
    def missing_numbers(self) -> list[str]:
        """The numbers in a supported statement that are not in its quotes, sorted."""
        if self.verdict != "supported":
            return []
        quoted = numbers_of(" ".join(quote.text for quote in self.evidence))
        return sorted(numbers_of(self.statement) - quoted)


class AuditedFaithfulnessResult(FaithfulnessResult):
    """The answer's statements, with verdicts and quotes."""

    # Lists are invariant, but these results contain only this type of statement.
    statements: list[AuditedStatement]  # type: ignore[assignment]
    sentence_count: int = 0

    @property
    def contradiction_rate(self) -> float:
        """Share of contradicted statements, 0 to 1; 0.0 if there are no statements."""
        contradicted, total = self.tallies["contradicted"]
        return contradicted / total if total else 0.0

    @property
    def coverage(self) -> float:
        """Share of sentences with a statement, 0 to 1; 0.0 if there are no sentences."""
        covered, total = self.tallies["sentences covered"]
        return covered / total if total else 0.0

    @property
    def warnings(self) -> list[str]:
        """Unverified statements, and numbers missing from the quotes."""
        found = []
        for number, one in enumerate(self.statements):
            if one.verdict == "unverified":
                found.append(f"statement {number} is unverified: {one.fault}")
            if missing := ", ".join(one.missing_numbers):
                found.append(f"statement {number} is supported, but its quotes lack {missing}")
        return [*found, *map(str, self.unread), *self.drift]

    @property
    def tallies(self) -> Tallies:
        """Counts of contradicted statements and covered sentences."""
        contradicted = sum(statement.verdict == "contradicted" for statement in self.statements)
        covered = {number for statement in self.statements for number in statement.sentence_ids}
        return {
            "contradicted": (contradicted, len(self.statements)),
            "sentences covered": (len(covered), self.sentence_count),
        }


class _Fault(NamedTuple):
    """Why a quote is not valid evidence."""

    kind: Literal["absent", "denial", "short"]
    quote: str
    chunk_id: int
    denial: str | None = None

    def told(self, say: Phrases) -> str:
        return say(f"audited.{self.kind}", **self._asdict())


def _fault_of(claimed: ClaimedQuote, chunks: Sequence[str]) -> _Fault | None:
    named = _quotable(chunks[claimed.chunk_id])
    if named.find(claimed.quote) is None:
        denial = named.denial_left_out(claimed.quote)
        kind: Literal["absent", "denial"] = "denial" if denial else "absent"
        return _Fault(kind, claimed.quote, claimed.chunk_id, denial)
    if not named.is_long_enough(claimed.quote):
        return _Fault("short", claimed.quote, claimed.chunk_id)
    return None


def _quotes(evidence: Sequence[ClaimedQuote], chunks: Sequence[str]) -> list[Quote]:
    """Locate valid quotes in their chunks; a quote with gaps yields several spans."""
    return [
        Quote(chunk_id=claimed.chunk_id, start=span.start, end=span.end, text=span.text)
        for claimed in evidence
        if _fault_of(claimed, chunks) is None
        for span in _quotable(chunks[claimed.chunk_id]).find(claimed.quote) or ()
    ]


def _why_unverified(claim: AuditedClaim, chunks: Sequence[str]) -> str | None:
    """Explain in the statement's language why the verdict is unverified; None if it is not."""
    if claim.verdict == "not_in_context":
        return None
    say = phrases("ru" if has_russian(claim.statement) else "en")
    faults = [fault for one in claim.evidence if (fault := _fault_of(one, chunks)) is not None]
    if claim.evidence and not faults:
        return None
    told = faults[0].told(say) if faults else say("audited.none")
    return say("audited.unverified", verdict=say.named("audited", claim.verdict), fault=told)


class AuditedGrader(JudgedGrader[AuditedFaithfulnessResult, AuditReply]):
    """Faithfulness with quotes that are verified by code."""

    def __init__(self, prompt: str | Prompt, *, name: str | None = None) -> None:
        super().__init__(prompt, AuditReply, AuditedFaithfulnessResult, name=name)

    def flow(self, sample: Sample) -> Flow[AuditedFaithfulnessResult]:
        """Ask for statements and verdicts in one call; make no call if there are no sentences."""
        require_fields(sample, self.requires)
        spans = split_sentences(sample.answer or "")
        if not spans:
            return AuditedFaithfulnessResult(statements=[])
        call = self.call(sample, sentences=[span.text for span in spans])
        guarded = GuardedCall(call, Guard.of(sample), lambda reply: reply.stated)
        (found,) = yield from ask_guarded([guarded])
        claims, unverified = found.reply.statements, found.unverified
        chunks = [chunk.text for chunk in sample.context]
        return AuditedFaithfulnessResult(
            statements=[
                _statement(claims[place], unverified.get(place), chunks, spans)
                for place in found.places
            ],
            no_claim_sentences=found.reply.no_claim_sentences,
            sentence_count=len(spans),
            drift=found.drift,
            left_out=found.left_out,
        )


def _statement(
    claim: AuditedClaim, fault: str | None, chunks: Sequence[str], spans: Sequence[Span]
) -> AuditedStatement:
    evidence = _quotes(claim.evidence, chunks)
    fault = fault or _why_unverified(claim, chunks)
    supported = claim.verdict == "supported" and fault is None
    cited = dict.fromkeys(quote.chunk_id for quote in evidence)
    first, last = min(claim.sentence_ids), max(claim.sentence_ids)
    return AuditedStatement(
        statement=claim.statement,
        reasoning=claim.reasoning,
        supporting_chunk_ids=list(cited) if supported else [],
        is_supported=supported,
        sentence_ids=list(dict.fromkeys(claim.sentence_ids)),
        sentence_id=first,
        start=spans[first].start,
        end=spans[last].end,
        verdict=claim.verdict if fault is None else "unverified",
        evidence=evidence,
        fault=fault,
    )


AuditedFaithfulness = AuditedGrader(Prompt.shipped("score_faithfulness_audited"))
"""The share of the answer's statements that are supported by verified quotes."""
