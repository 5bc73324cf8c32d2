"""Does the context support the answer, and can the judge prove it? With checked quotes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, get_args

from rag_evals.base import ContextEvaluation, JudgedGrader
from rag_evals.core import Flow, Quote, Sample
from rag_evals.errors import CanaryError, ConfigurationError
from rag_evals.grading import claiming_sentences, require_fields
from rag_evals.prompt import Prompt
from rag_evals.response_models import (
    AuditedClaim,
    AuditedFaithfulnessResult,
    AuditedStatement,
    AuditReply,
    CanaryVerdict,
    ClaimedQuote,
    CountsAgainst,
    NoClaimSentence,
    NumberedVerdict,
    VerdictOfThree,
    VerdictsReply,
    distinct_statements,
    quotes_of,
    why_unverified,
)
from rag_evals.text import has_russian, split_sentences

__all__ = [
    "AuditReply",
    "AuditedFaithfulness",
    "AuditedFaithfulnessResult",
    "AuditedGrader",
    "AuditedStatement",
    "NoClaimSentence",
    "Quote",
]


# People, places and treaties that do not exist, so that no context can speak of them.
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
    """A sample whose answer has one false sentence more, at the place `sentence_id` from 0."""

    sample: Sample
    sentences: tuple[str, ...]
    sentence: str
    sentence_id: int

    def original_id(self, sentence_id: int) -> int:
        """Return the place that a sentence has in the answer as it was given."""
        return sentence_id - 1 if sentence_id > self.sentence_id else sentence_id


class _Judged(NamedTuple):
    """What was found out about one statement."""

    claim: AuditedClaim
    verdict: VerdictOfThree
    reasoning: str | None
    evidence: Sequence[ClaimedQuote]
    agreement: float | None


class AuditedGrader(JudgedGrader[AuditedFaithfulnessResult, AuditReply]):
    """Faithfulness whose judge must show its work, and code checks the work.

    Attributes:
        samples: How often verdicts are asked; 1 takes those of the first call.
        canary: A false sentence is added to the answer, to see whether the judge supports it.
        counts_against: What lowers the score.
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
        """Return the same grader with other options; None keeps the present one.

        Args:
            samples: How often the verdicts of the numbered statements are asked, at least 1. From 2
                on they are asked in calls of their own, side by side, and the majority counts; of
                equally frequent verdicts the one that is worst for the answer.
            canary: Add a false sentence to the answer; a judge that supports it fails the row.
            counts_against: `"unsupported"` (ours and ragas' reading: every statement that is not
                supported lowers the score) or `"contradicted"` (deepeval's: only these do).
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
        """Two when verdicts are asked again in calls of their own."""
        return 1 if self.samples == 1 else 2

    def verdict_grader(self) -> ContextEvaluation[VerdictsReply]:
        """Return what asks the verdicts of numbered statements, by this grader's criteria."""
        return self._verdicts._copy_with(
            model=self.model, language=self.language, _hardened=self._hardened
        )

    def flow(self, sample: Sample) -> Flow[AuditedFaithfulnessResult]:
        """Ask for statements and verdicts, then for more samples of the verdicts, if any.

        Raises:
            CanaryError: The judge supports the sentence that was made up.
        """
        require_fields(sample, self.requires)
        sentences = [span.text for span in split_sentences(sample.answer or "")]
        if not sentences:
            return AuditedFaithfulnessResult(statements=[], counts_against=self.counts_against)
        planted = _plant(sample, sentences) if self.canary else None
        if planted is None:
            claiming = {"claiming_sentences": claiming_sentences(sample.answer or "")}
            asked, call = sample, self.call(sample, sentences=sentences, facts=claiming)
        else:
            # The claim of the false sentence must be told apart from those of the answer.
            own = {"own_sentence_ids": [planted.sentence_id]}
            asked = planted.sample
            call = self.call(asked, sentences=planted.sentences, facts=own)
        (answered,) = yield [call]
        reply = call.read(answered)
        places, drift = distinct_statements(reply.extracted, reply.no_claim_sentences, call.facts)
        reply = reply.model_copy(update={"statements": [reply.statements[n] for n in places]})
        if self.samples == 1 or not reply.statements:
            judged = [
                _Judged(claim, claim.verdict, claim.reasoning, claim.evidence, None)
                for claim in reply.statements
            ]
        else:
            judged = yield from self._sampled(asked, reply.statements)
        result = self._result(sample, reply, judged, planted, len(sentences))
        return result.model_copy(update={"drift": drift})

    def _sampled(self, sample: Sample, claims: Sequence[AuditedClaim]) -> Flow[list[_Judged]]:
        texts = [claim.statement for claim in claims]
        asked = self.verdict_grader()
        # At our usual 0, all samples would be the same one.
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
        sentence_count: int,
    ) -> AuditedFaithfulnessResult:
        chunks = [chunk.text for chunk in sample.context]
        passed_over = reply.no_claim_sentences
        said: CanaryVerdict | None = None
        if planted is not None:
            of_canary = [j for j in judged if planted.sentence_id in j.claim.sentence_ids]
            said = _said_of_canary(of_canary, planted)
            judged = [j for j in judged if j not in of_canary]
            passed_over = [s for s in passed_over if s.sentence_id != planted.sentence_id]
        place = (lambda number: number) if planted is None else planted.original_id
        return AuditedFaithfulnessResult(
            statements=[
                _statement(one, chunks, [place(n) for n in one.claim.sentence_ids])
                for one in judged
            ],
            no_claim_sentences=[
                NoClaimSentence(sentence_id=place(s.sentence_id), reason=s.reason)
                for s in passed_over
            ],
            sentence_count=sentence_count,
            counts_against=self.counts_against,
            canary=said,
        )


def _verdict_prompt(prompt: Prompt) -> Prompt:
    """Return the prompt that asks verdicts, with the criteria of the one that asked statements."""
    name = "score_faithfulness_audited_verdicts"
    shipped = Prompt.shipped(name)
    # Without a task to replace, the user's words would ask for statements once more.
    if prompt.shipped_name is not None or prompt.places_data or "task" not in prompt.blocks():
        return shipped
    return shipped.in_language(prompt.header.language).on_top_of(prompt)


def _statement(
    judged: _Judged, chunks: Sequence[str], sentence_ids: Sequence[int]
) -> AuditedStatement:
    evidence = quotes_of(judged.evidence, chunks)
    fault = why_unverified(judged.claim.statement, judged.verdict, judged.evidence, chunks)
    supported = judged.verdict == "supported" and fault is None
    cited = dict.fromkeys(quote.chunk_id for quote in evidence)
    return AuditedStatement(
        statement=judged.claim.statement,
        reasoning=judged.reasoning,
        supporting_chunk_ids=list(cited) if supported else [],
        is_supported=supported,
        sentence_ids=list(dict.fromkeys(sentence_ids)),
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
    # One sample whose quotes stand in the chunks is enough to show the verdict.
    shown = min(
        said,
        key=lambda one: why_unverified(claim.statement, chosen, one.evidence, chunks) is not None,
    )
    agreement = counts[chosen] / len(verdicts)
    return _Judged(claim, chosen, shown.reasoning, shown.evidence, agreement)


def _plant(sample: Sample, sentences: Sequence[str]) -> _Planted:
    """Add a false sentence to an answer, at a place that the judge cannot foresee.

    The same sample always gets the same sentence in the same place, so that a cached reply fits.
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
    """Return the judge's word on the canary; CanaryError where it supports any part of it."""
    for one in judged:
        if one.verdict == "supported":
            raise CanaryError(
                f"the judge supports a made-up sentence: {planted.sentence!r}; none of "
                "its verdicts on this sample can be trusted"
            )
    return judged[0].verdict if judged else "no_claim"


AuditedFaithfulness = AuditedGrader(Prompt.shipped("score_faithfulness_audited"))
"""The share of the answer's statements that quotes from the context support."""
