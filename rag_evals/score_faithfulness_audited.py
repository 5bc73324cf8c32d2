"""Faithfulness with proof: the judge quotes the chunks, and code checks the quotes.

The judge fills `AuditReply` or `VerdictsReply`. A reply is valid only if it covers every sentence
and every quote occurs in its chunk; otherwise the judge is asked again with the fault. If a quote
still fails at the last attempt, its statement is unverified. `AuditedFaithfulnessResult` is the
result.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar, Literal, NamedTuple, Self, get_args

from pydantic import Field, ValidationInfo, model_validator

from rag_evals.base import ContextEvaluation, JudgedGrader
from rag_evals.core import (
    ChunkId,
    Finding,
    Flow,
    JudgeModel,
    OptionalList,
    Quote,
    Reasoning,
    Sample,
    SampleField,
    SentenceId,
    StatementText,
    Tallies,
    facts_of,
)
from rag_evals.core.result import is_last_attempt
from rag_evals.errors import CanaryError, ConfigurationError
from rag_evals.grading import require_fields
from rag_evals.grading.guarding import Guard, GuardedCall, Stated, ask_guarded, claiming_sentences
from rag_evals.prompt import Prompt
from rag_evals.response_models import (
    FaithfulnessResult,
    NoClaimSentence,
    StatementEvaluation,
    check_every_sentence,
    each_once,
)
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
"""A verdict in a result; `unverified` if no quote proves the judge's verdict."""

CanaryVerdict = VerdictOfThree | Literal["no_claim"]
"""A judge's verdict on the planted false sentence."""

CountsAgainst = Literal["unsupported", "contradicted"]
"""What lowers the score: every unsupported statement, or only contradicted ones."""

# A reply quotes few chunks, and each is looked up several times.
_quotable = lru_cache(maxsize=32)(Quotable)
_WISHES = {
    "absent": "copy the chunk's own words, whole words only",
    "denial": "quote the words between as well",
    "short": f"quote at least {MIN_QUOTE_LETTERS} letters with a word that says something, or the "
    "whole chunk",
}
_ENGLISH = {
    "absent": "the quote {quote!r} does not occur in chunk {chunk_id}",
    "denial": "the quote {quote!r} leaves out {denial!r}, which reverses its meaning",
    "short": "the quote {quote!r} is too short to show anything",
    "none": "it quotes nothing",
    "unverified": "the judge says {verdict}, but {fault}",
}
_RUSSIAN = {
    "absent": "цитаты «{quote}» нет во фрагменте {chunk_id}",
    "denial": "цитата «{quote}» пропускает слово «{denial}», и смысл меняется",
    "short": "цитата «{quote}» слишком коротка и ничего не показывает",
    "none": "не приводит цитаты",
    "unverified": "судья отвечает «{verdict}», но {fault}",
    "supported": "подтверждено",
    "contradicted": "опровергнуто",
}
_EVIDENCE = "Quotes that decide it; empty list when the chunks do not speak of it."
_VERDICT = (
    "supported: the chunks show all of it. contradicted: they show that some of it is wrong. "
    "not_in_context: they do not speak of some of it, and contradict nothing."
)
_REASONING = "Why, in one or two sentences."


class ClaimedQuote(JudgeModel):
    """A quote that decides a statement, as the judge copied it."""

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
            hint = f"; it stands in chunk {others[0]}" if elsewhere else ""
            raise ValueError(f"{fault.told(_ENGLISH)}{hint}; {_WISHES[fault.kind]}")
        return self


class AuditedClaim(JudgeModel):
    """One claim of the answer with its sentences and verdict."""

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
            _check_agreement(self.verdict, self.evidence, info)
        return self


class AuditReply(JudgeModel):
    """Every sentence of the answer, with its claims or marked as claiming nothing."""

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
        return self

    @property
    def stated(self) -> tuple[list[Stated], list[int]]:
        """The statements with their sentences, and the ids of sentences without statements."""
        stated = [
            Stated(one.statement, tuple(one.sentence_ids), one.verdict == "supported")
            for one in self.statements
        ]
        return stated, [one.sentence_id for one in self.no_claim_sentences]


class NumberedVerdict(JudgeModel):
    """The verdict on one numbered statement."""

    statement_id: int = Field(description="The statement's id, as given.")
    reasoning: Reasoning = Field(default=None, description=_REASONING)
    evidence: OptionalList[ClaimedQuote] = Field(default_factory=list, description=_EVIDENCE)
    verdict: VerdictOfThree = Field(description=_VERDICT)

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Self:
        if facts_of(info) is not None:
            _check_agreement(self.verdict, self.evidence, info)
        return self


class VerdictsReply(JudgeModel):
    """One verdict for each numbered statement."""

    requires: ClassVar[tuple[SampleField, ...]] = ("context",)
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)
    numbered_statements: ClassVar[bool] = True

    verdicts: list[NumberedVerdict] = Field(description="Every statement exactly once.")

    _every_statement_once = each_once("verdicts", "statement_id")


class AuditedStatement(StatementEvaluation):
    """One statement of the answer with its verdict and quotes."""

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

    @property
    def finding(self) -> Finding:
        """The finding, with the quotes that decide it."""
        return replace(
            super().finding,
            label=self.verdict.replace("_", " "),
            quotes=tuple(self.evidence),
            sentence_ids=tuple(self.sentence_ids),
        )

    @property
    def missing_numbers(self) -> list[str]:
        """Numbers of a supported statement that do not occur in its quotes, sorted."""
        if self.verdict != "supported":
            return []
        quoted = numbers_of(" ".join(quote.text for quote in self.evidence))
        return sorted(numbers_of(self.statement) - quoted)


class AuditedFaithfulnessResult(FaithfulnessResult):
    """Which statements the context supports or contradicts, with quotes."""

    # list is invariant; results contain only this kind of statement.
    statements: list[AuditedStatement] = Field(  # type: ignore[assignment]
        description="Every claim of the answer, in the order of the answer."
    )
    sentence_count: int = Field(default=0, description="Sentences of the answer.")
    counts_against: CountsAgainst = Field(
        default="unsupported", description="What lowers the score."
    )
    canary: CanaryVerdict | None = Field(
        default=None,
        description="What the judge said of the false sentence; None when there was none.",
    )

    @property
    def score(self) -> float:
        """Supported statements divided by all; or those not contradicted, see `counts_against`.

        Unverified statements never count as supported.
        """
        if not self.statements:
            return 0.0
        total = len(self.statements) + len(self.left_out)
        return sum(map(self._counts, self.statements)) / total

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each statement with its quotes; `counts_against` decides which lower the score."""
        return self.with_turns(
            [replace(s.finding, verdict=self._counts(s)) for s in self.statements]
        )

    @property
    def contradiction_rate(self) -> float:
        """Contradicted statements divided by all, 0 to 1; 0.0 without statements."""
        return self._contradicted / len(self.statements) if self.statements else 0.0

    @property
    def coverage(self) -> float:
        """Sentences with a statement divided by all, 0 to 1; 0.0 without sentences."""
        return self._covered / self.sentence_count if self.sentence_count else 0.0

    @property
    def flip_rate(self) -> float | None:
        """Statements whose samples disagree divided by all; None if each was asked once."""
        sampled = [s.agreement for s in self.statements if s.agreement is not None]
        return sum(share < 1 for share in sampled) / len(sampled) if sampled else None

    @property
    def warnings(self) -> list[str]:
        """Unverified statements, numbers without evidence, and an ignored canary."""
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
        found += [*map(str, self.unread), *self.drift]
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
        """True if a statement raises the score; an unverified one never does."""
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
    """Reject claims that combine the planted sentence with others."""
    for claim in claims:
        for sentence_id in set(claim.sentence_ids) & set(own):
            if len(set(claim.sentence_ids)) > 1:
                raise ValueError(
                    f"the statement {claim.statement!r} mixes sentences {claim.sentence_ids}; give "
                    f"sentence {sentence_id} statements of its own"
                )


class _Fault(NamedTuple):
    """Why a quote is not evidence."""

    kind: Literal["absent", "denial", "short"]
    quote: str
    chunk_id: int
    denial: str | None = None

    def told(self, words: dict[str, str]) -> str:
        return words[self.kind].format(**self._asdict())


def _fault_of(claimed: ClaimedQuote, chunks: Sequence[str]) -> _Fault | None:
    named = _quotable(chunks[claimed.chunk_id])
    if named.find(claimed.quote) is None:
        denial = named.denial_left_out(claimed.quote)
        kind: Literal["absent", "denial"] = "denial" if denial else "absent"
        return _Fault(kind, claimed.quote, claimed.chunk_id, denial)
    if not named.is_long_enough(claimed.quote):
        return _Fault("short", claimed.quote, claimed.chunk_id)
    return None


def _check_agreement(
    verdict: VerdictOfThree, evidence: Sequence[ClaimedQuote], info: ValidationInfo
) -> None:
    """Reject a verdict whose evidence is missing or should be empty.

    Raises:
        ValueError: The message tells the judge what to change.
    """
    if verdict == "not_in_context" and evidence:
        raise ValueError(
            "the verdict is not_in_context, yet evidence is quoted; leave evidence empty, or "
            "change the verdict"
        )
    if verdict != "not_in_context" and not evidence and not is_last_attempt(info):
        raise ValueError(
            f"the verdict is {verdict}, yet evidence is empty; quote the words of a chunk that "
            "show it, or change the verdict to not_in_context"
        )


def quotes_of(evidence: Sequence[ClaimedQuote], chunks: Sequence[str]) -> list[Quote]:
    """Find quotes in their chunks; a quote with gaps has several places, a failed one none."""
    return [
        Quote(chunk_id=claimed.chunk_id, start=span.start, end=span.end, text=span.text)
        for claimed in evidence
        if _fault_of(claimed, chunks) is None
        for span in _quotable(chunks[claimed.chunk_id]).find(claimed.quote) or ()
    ]


def why_unverified(
    statement: str,
    verdict: VerdictOfThree,
    evidence: Sequence[ClaimedQuote],
    chunks: Sequence[str],
) -> str | None:
    """Return why the quotes do not prove the verdict, in the statement's language.

    Returns:
        None if all quotes are found or none is needed.
    """
    if verdict == "not_in_context":
        return None
    words = _RUSSIAN if has_russian(statement) else _ENGLISH
    faults = [fault for one in evidence if (fault := _fault_of(one, chunks)) is not None]
    if evidence and not faults:
        return None
    told = faults[0].told(words) if faults else words["none"]
    return words["unverified"].format(verdict=words.get(verdict, verdict), fault=told)


# Invented people, places and treaties, which no context mentions.
_MADE_UP = {
    "en": (
        "The Ostrelian census of 1794 counted 6,217 windmills in the province of Vardel.",
        "Professor Ilmane Todrescu measured the depth of Lake Quorvin at 3,482 metres.",
        "The Treaty of Brenhollow was signed on 9 March 1641 by eleven duchies of Saravia.",
    ),
    "ru": (
        "По переписи 1794 года в провинции Вардель Острелийского княжества было 6217 мельниц.",
        "Профессор Ильмана Тодреску измерила глубину озера Кворвин: 3482 метра.",
        "Бренхоллоуский договор подписали 9 марта 1641 года одиннадцать герцогств Саравии.",
    ),
}


@dataclass(frozen=True, slots=True)
class _Planted:
    """A sample whose answer contains an additional false sentence, number `sentence_id` from 0."""

    sample: Sample
    sentences: tuple[str, ...]
    sentence: str
    sentence_id: int

    def original_id(self, sentence_id: int) -> int:
        """Return the number of a sentence in the original answer."""
        return sentence_id - 1 if sentence_id > self.sentence_id else sentence_id


class _Judged(NamedTuple):
    """The verdict on one statement, combined from all samples."""

    claim: AuditedClaim
    verdict: VerdictOfThree
    reasoning: str | None
    evidence: Sequence[ClaimedQuote]
    agreement: float | None
    drift: str | None = None


class AuditedGrader(JudgedGrader[AuditedFaithfulnessResult, AuditReply]):
    """Faithfulness with quotes that code checks.

    Attributes:
        samples: How often the judge is asked for verdicts; 1 uses those of the first call.
        canary: True adds a false sentence to the answer, to see whether the judge supports it.
        counts_against: Which statements lower the score.
    """

    shapes = (*JudgedGrader.shapes, "_verdicts", "samples", "canary", "counts_against")

    def __init__(self, prompt: str | Prompt, *, name: str | None = None) -> None:
        super().__init__(prompt, AuditReply, AuditedFaithfulnessResult, name=name)
        self.samples = 1
        self.canary = False
        self.counts_against: CountsAgainst = "unsupported"
        self._verdicts = ContextEvaluation(_verdict_prompt(self._prompt), VerdictsReply)

    def with_options(
        self,
        *,
        samples: int | None = None,
        canary: bool | None = None,
        counts_against: CountsAgainst | None = None,
    ) -> Self:
        """Return the same grader with different options; None keeps an option.

        Args:
            samples: How often the judge is asked for the verdicts, at least 1. From 2 on, separate
                calls run in parallel and the majority counts; of equally frequent verdicts, the
                worst for the answer.
            canary: Add a false sentence to the answer; the row fails if the judge supports it.
            counts_against: `"unsupported"` (every statement that is not supported lowers the
                score, as in ragas) or `"contradicted"` (only contradicted ones, as in deepeval).
        """
        known = get_args(CountsAgainst)
        if samples is not None and samples < 1:
            raise ConfigurationError(f"samples is {samples!r}; expected at least 1")
        if counts_against is not None and counts_against not in known:
            raise ConfigurationError(f"counts_against is {counts_against!r}; one of {known}")
        given = {"samples": samples, "canary": canary, "counts_against": counts_against}
        return self._copy_with(**{name: v for name, v in given.items() if v is not None})

    @property
    def judge_rounds(self) -> int:  # type: ignore[override]  # depends on the options here
        """Two if the verdicts take separate calls."""
        return 1 if self.samples == 1 else 2

    def verdict_grader(self) -> ContextEvaluation[VerdictsReply]:
        """Return the grader that asks for verdicts on numbered statements."""
        return self._verdicts._copy_with(
            model=self.model, language=self.language, _hardened=self._hardened
        )

    def flow(self, sample: Sample) -> Flow[AuditedFaithfulnessResult]:
        """Ask for statements and verdicts, then for further samples of the verdicts, if any.

        Raises:
            CanaryError: The judge supports the invented sentence.
        """
        require_fields(sample, self.requires)
        spans = split_sentences(sample.answer or "")
        sentences = [span.text for span in spans]
        if not sentences:
            return AuditedFaithfulnessResult(statements=[], counts_against=self.counts_against)
        planted = _plant(sample, sentences) if self.canary else None
        # The claim of the false sentence must be separate from the others.
        own = {} if planted is None else {"own_sentence_ids": [planted.sentence_id]}
        asked = sample if planted is None else planted.sample
        shown = sentences if planted is None else planted.sentences
        call = self.call(asked, sentences=shown, facts=own)
        claiming = partial(_claiming, sample.answer or "", planted)
        chunks = [chunk.text for chunk in sample.context]
        guard = Guard(shown, sample.question, chunks, claiming)
        guarded = GuardedCall(call, guard, lambda reply: reply.stated)
        (found,) = yield from ask_guarded([guarded])
        reply = found.reply
        drift = [found.unverified.get(place) for place in found.places]
        kept = [reply.statements[n] for n in found.places]
        reply = reply.model_copy(update={"statements": kept})
        if self.samples == 1 or not reply.statements:
            judged = [
                _Judged(claim, claim.verdict, claim.reasoning, claim.evidence, None)
                for claim in reply.statements
            ]
        else:
            judged = yield from self._sampled(asked, reply.statements)
        judged = [one._replace(drift=told) for one, told in zip(judged, drift, strict=True)]
        result = self._result(sample, reply, judged, planted, spans)
        place = _same if planted is None else planted.original_id
        left_out = [place(number) for number in found.left_out]
        return result.model_copy(update={"drift": found.drift, "left_out": left_out})

    def _sampled(self, sample: Sample, claims: Sequence[AuditedClaim]) -> Flow[list[_Judged]]:
        texts = [claim.statement for claim in claims]
        asked = self.verdict_grader()
        # With the default temperature of 0, all samples would be equal.
        settings = {"temperature": None, **self.settings}
        calls = [
            asked.call(
                sample,
                statements=texts,
                settings=settings,
                sample_index=index,
            )
            for index in range(self.samples)
        ]
        replies = yield calls
        by_statement: list[list[NumberedVerdict]] = [[] for _ in claims]
        for call, reply in zip(calls, replies, strict=True):
            for verdict in call.read(reply).verdicts:
                by_statement[verdict.statement_id].append(verdict)
        chunks = [chunk.text for chunk in sample.context]
        return [_majority(*pair, chunks) for pair in zip(claims, by_statement, strict=True)]

    def _result(
        self,
        sample: Sample,
        reply: AuditReply,
        judged: Sequence[_Judged],
        planted: _Planted | None,
        spans: Sequence[Span],
    ) -> AuditedFaithfulnessResult:
        chunks = [chunk.text for chunk in sample.context]
        passed_over = reply.no_claim_sentences
        said: CanaryVerdict | None = None
        if planted is not None:
            of_canary = [j for j in judged if planted.sentence_id in j.claim.sentence_ids]
            said = _said_of_canary(of_canary, planted)
            judged = [j for j in judged if j not in of_canary]
            passed_over = [s for s in passed_over if s.sentence_id != planted.sentence_id]
        place = _same if planted is None else planted.original_id
        return AuditedFaithfulnessResult(
            statements=[
                _statement(one, chunks, [place(n) for n in one.claim.sentence_ids], spans)
                for one in judged
            ],
            no_claim_sentences=[
                NoClaimSentence(sentence_id=place(s.sentence_id), reason=s.reason)
                for s in passed_over
            ],
            sentence_count=len(spans),
            counts_against=self.counts_against,
            canary=said,
        )


def _same(number: int) -> int:
    return number


def _claiming(answer: str, planted: _Planted | None) -> set[int]:
    """Return the ids of sentences that claim something, including the planted one."""
    found = claiming_sentences(answer)
    if planted is None:
        return set(found)
    return {number + (number >= planted.sentence_id) for number in found}


def _verdict_prompt(prompt: Prompt) -> Prompt:
    """Return the prompt for verdicts, with the criteria of the prompt for statements."""
    name = "score_faithfulness_audited_verdicts"
    shipped = Prompt.shipped(name)
    # Without a task block to replace, the user's prompt would ask for statements again.
    if prompt.shipped_name is not None or prompt.places_data or "task" not in prompt.blocks():
        return shipped
    return shipped.in_language(prompt.header.language).on_top_of(prompt)


def _statement(
    judged: _Judged, chunks: Sequence[str], sentence_ids: Sequence[int], spans: Sequence[Span]
) -> AuditedStatement:
    evidence = quotes_of(judged.evidence, chunks)
    fault = judged.drift or why_unverified(
        judged.claim.statement, judged.verdict, judged.evidence, chunks
    )
    supported = judged.verdict == "supported" and fault is None
    cited = dict.fromkeys(quote.chunk_id for quote in evidence)
    return AuditedStatement(
        statement=judged.claim.statement,
        reasoning=judged.reasoning,
        supporting_chunk_ids=list(cited) if supported else [],
        is_supported=supported,
        sentence_ids=list(dict.fromkeys(sentence_ids)),
        sentence_id=min(sentence_ids),
        start=spans[min(sentence_ids)].start,
        end=spans[max(sentence_ids)].end,
        verdict=judged.verdict if fault is None else "unverified",
        evidence=evidence,
        agreement=judged.agreement,
        fault=fault,
    )


# Of equally frequent verdicts the one that is worst for the answer counts.
_WORST_FIRST: tuple[VerdictOfThree, ...] = ("contradicted", "not_in_context", "supported")


def _majority(
    claim: AuditedClaim, verdicts: Sequence[NumberedVerdict], chunks: Sequence[str]
) -> _Judged:
    counts = Counter(verdict.verdict for verdict in verdicts)
    chosen = max(_WORST_FIRST, key=lambda verdict: counts[verdict])
    said = [verdict for verdict in verdicts if verdict.verdict == chosen]
    # One sample with valid quotes is enough to prove the verdict.
    shown = min(
        said,
        key=lambda one: why_unverified(claim.statement, chosen, one.evidence, chunks) is not None,
    )
    agreement = counts[chosen] / len(verdicts)
    return _Judged(claim, chosen, shown.reasoning, shown.evidence, agreement)


def _plant(sample: Sample, sentences: Sequence[str]) -> _Planted:
    """Add a false sentence to an answer, at a position that the judge cannot predict.

    A sample always gets the same sentence at the same position, so that cached replies match.
    """
    number = int(sample.content_hash(), 16)
    language = "ru" if has_russian(sample.answer or "") else "en"
    candidates = _MADE_UP[language]
    sentence = candidates[number % len(candidates)]
    place = number // len(candidates) % (len(sentences) + 1)
    longer = (*sentences[:place], sentence, *sentences[place:])
    sent = replace(sample, answer="\n".join(longer))
    return _Planted(sent, longer, sentence, place)


def _said_of_canary(judged: Sequence[_Judged], planted: _Planted) -> CanaryVerdict:
    """Return the verdict on the canary; CanaryError if the judge supports any part of it."""
    for one in judged:
        if one.verdict == "supported":
            raise CanaryError(
                f"the judge supports a made-up sentence: {planted.sentence!r}; none of "
                "its verdicts on this sample can be trusted"
            )
    return judged[0].verdict if judged else "no_claim"


AuditedFaithfulness = AuditedGrader(Prompt.shipped("score_faithfulness_audited"))
"""The share of the answer's statements that checked quotes support."""
