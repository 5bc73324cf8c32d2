"""A table of claims that compares the answer and the reference with the chunks and each other.

Each row is a claim from the answer or the reference. The columns are the chunks and the other text:
the reference for the answer's claims, and the answer for the reference's claims. The table is
filled in once per sample, and every metric is computed from it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar, Unpack

from pydantic import Field

from rag_evals.base import Grader, JudgedGrader, PromptOptions
from rag_evals.core import (
    About,
    ByCode,
    Chunk,
    Claim,
    Finding,
    Flow,
    JudgeModel,
    Message,
    OptionalList,
    Result,
    Sample,
    SampleField,
    Verdict,
    Verifier,
    check_verdicts,
    require_positive,
)
from rag_evals.errors import NotScorableReason
from rag_evals.grading import (
    ExtractedStatement,
    SentenceExtractor,
    VerifiedFaithfulness,
    language_warning,
    require_fields,
)
from rag_evals.grading.grader import side_by_side
from rag_evals.prompt import Prompt
from rag_evals.response_models import ByStatement, StatementEvaluation
from rag_evals.response_models.statements import finding_of
from rag_evals.stats import average_precision, hit_at, ndcg_at, reciprocal_rank
from rag_evals.text import plain_form, words

__all__ = ["ComparedText", "MatrixClaim", "MatrixGrader", "MatrixResult", "claim_finding"]

# Claims contradict each other only if they share at least this fraction of the shorter one's words.
_SAME_SUBJECT = 0.5
# In a verifier's reasons, the other text is called chunk 0.
_ONLY_CHUNK = {
    "any chunk": "{english}",
    "no chunk shares": "nothing in {english} shares",
    "chunk 0": "{english}",
    "фрагмент 0": "{russian}",
}
_REFERENCE = {"english": "the reference", "russian": "эталон"}
_ANSWER = {"english": "the answer", "russian": "ответ"}
R = TypeVar("R", bound="MatrixResult")


class ComparedStatement(StatementEvaluation):
    because: ByCode[str | None] = Field(default=None, description="Why nothing supports it.")


class ComparedText(ByStatement):
    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    statements: list[ComparedStatement] = Field(description="In order.")


class MatrixClaim(JudgeModel):
    """A claim, with the sources that support or contradict it.

    Attributes:
        is_in_other: True if the other text supports the claim; None if there is no other text.
        is_contradicted: True if the other text makes a different claim about the same subject.
        fault: Why the claim is unverified; otherwise None.
    """

    statement: str
    reasoning: str | None = None
    chunk_ids: OptionalList[int] = Field(default_factory=list)
    is_in_other: bool | None = None
    is_contradicted: bool = False
    sentence_id: int | None = None
    start: int | None = None
    end: int | None = None
    fault: str | None = None


_SHARED = StatementEvaluation.model_fields.keys() & MatrixClaim.model_fields.keys()


class MatrixResult(Result):
    """A sample's claims, and the metrics computed from them.

    Metrics are between 0 and 1, or None if the denominator is zero. Precision, recall, claim
    recall, chunk precision, context utilization, noise sensitivity, hallucination, self-knowledge
    and faithfulness follow RAGChecker (Ru et al. 2024), which reports 0 instead of None.

    Attributes:
        reference_claims: None if there is no reference.
        chunk_count: Number of chunks; None if the chunks were not read.
        beta: Weight of recall in the F-score.
        left_out: Ids of sentences that the judge skipped.
        verifier: Name of the verifier; None if a judge gave the verdicts.
        is_unread: True if the verifier does not support the language.
    """

    requires: ClassVar[tuple[SampleField, ...]] = ("answer",)

    claims: list[MatrixClaim]
    reference_claims: list[MatrixClaim] | None = None
    chunk_count: int | None = None
    beta: float = 1.0
    drift: OptionalList[str] = Field(default_factory=list)
    left_out: OptionalList[int] = Field(default_factory=list)
    is_same_text: bool = False
    verifier: str | None = None
    language_warning: str | None = None
    is_unread: bool = False

    @property
    def precision(self) -> float | None:
        """Share of the answer's claims that are supported by the reference."""
        return None if self.reference_claims is None else _share_in_other(self.claims)

    @property
    def recall(self) -> float | None:
        """Share of the reference's claims that are supported by the answer."""
        return _share_in_other(self.reference_claims or ())

    @property
    def f_score(self) -> float | None:
        """F-score of precision p and recall r: `(1 + b²)·p·r / (b²·p + r)`, where b is `beta`."""
        precision, recall, weight = self.precision, self.recall, self.beta**2
        if precision is None or recall is None:
            return None
        if precision == recall == 0:
            return 0.0
        return (1 + weight) * precision * recall / (weight * precision + recall)

    @property
    def faithfulness(self) -> float | None:
        """Share of the answer's claims that are supported by the chunks."""
        return self._of_claims(bool(one.chunk_ids) for one in self.claims)

    @property
    def claim_recall(self) -> float | None:
        """Share of the reference's claims that are supported by the chunks."""
        return self._of_claims(bool(one.chunk_ids) for one in self.reference_claims or ())

    @property
    def relevant_chunks(self) -> list[bool]:
        """Whether each chunk, in order, supports at least one of the reference's claims."""
        return self._support_any(self.reference_claims or ())

    @property
    def chunk_precision(self) -> float | None:
        """Share of the chunks that support at least one of the reference's claims."""
        return _share(self.relevant_chunks) if self.reference_claims else None

    @property
    def chunk_use(self) -> float | None:
        """Share of the chunks that support at least one of the answer's claims."""
        return _share(self._support_any(self.claims)) if self.claims else None

    @property
    def rank_precision(self) -> float | None:
        """Average precision of the chunk ranking: 1 if all relevant chunks come first."""
        return self._of_ranks(average_precision(self.relevant_chunks))

    @property
    def reciprocal_rank(self) -> float | None:
        """1 divided by the rank of the first relevant chunk."""
        return self._of_ranks(reciprocal_rank(self.relevant_chunks))

    def hit_at(self, k: int) -> float | None:
        """1.0 if any of the first k chunks is relevant, else 0.0."""
        return self._of_ranks(hit_at(self.relevant_chunks, k))

    def ndcg_at(self, k: int) -> float | None:
        """Discounted cumulative gain of the first k chunks, divided by that of the ideal order."""
        return self._of_ranks(ndcg_at(self.relevant_chunks, k))

    def recall_at(self, k: int) -> float | None:
        """Share of the reference's claims that are supported by the first k chunks."""
        rows = self.reference_claims or ()
        return self._of_claims(any(number < k for number in one.chunk_ids) for one in rows)

    @property
    def context_utilization(self) -> float | None:
        """Of the reference's claims supported by the chunks, the share that the answer contains."""
        return _share_in_other(one for one in self.reference_claims or () if one.chunk_ids)

    @property
    def noise_sensitivity_relevant(self) -> float | None:
        """Share of the answer's claims supported by a relevant chunk but not by the reference."""
        return self._against_reference(self._is_of_relevant)

    @property
    def noise_sensitivity_irrelevant(self) -> float | None:
        """Share of answer claims supported only by irrelevant chunks, not by the reference."""
        return self._against_reference(
            lambda one: bool(one.chunk_ids) and not self._is_of_relevant(one)
        )

    @property
    def hallucination(self) -> float | None:
        """Share of the answer's claims supported by neither the chunks nor the reference."""
        return self._against_reference(lambda one: not one.chunk_ids)

    @property
    def self_knowledge(self) -> float | None:
        """Share of the answer's claims supported by the reference but by no chunk."""
        if self.reference_claims is None:
            return None
        return self._of_claims(bool(one.is_in_other and not one.chunk_ids) for one in self.claims)

    @property
    def wrong(self) -> list[MatrixClaim]:
        """The answer's claims that contradict the reference."""
        return [one for one in self.claims if one.is_in_other is False and one.is_contradicted]

    @property
    def extra(self) -> list[MatrixClaim]:
        """The answer's claims that the reference does not mention."""
        return [one for one in self.claims if one.is_in_other is False and not one.is_contradicted]

    @property
    def missing(self) -> list[MatrixClaim]:
        """The reference's claims that are missing from the answer."""
        return [one for one in self.reference_claims or () if not one.is_in_other]

    @property
    def not_scorable(self) -> NotScorableReason | None:
        if self.left_out:
            return "answer_not_covered"
        if not self.claims:
            return "no_statements"
        if self.reference_claims == []:
            return "no_reference_statements"
        return "unread_language" if self.is_unread else None

    @property
    def warnings(self) -> list[str]:
        same = ["answer and reference are the same text"] if self.is_same_text else []
        if self.reference_claims is None and self.chunk_count is not None:
            same = ["no reference, so the metrics that need one are left out"]
        return [*self.drift, *same, *filter(None, [self.language_warning])]

    def _of_claims(self, counts: Iterable[bool]) -> float | None:
        return None if self.chunk_count is None else _share(counts)

    def _of_ranks(self, number: float | None) -> float | None:
        # If no chunk supports the reference, retrieval failed, so the metric is 0 rather than None.
        return (number or 0.0) if self.reference_claims and self.chunk_count is not None else None

    def _against_reference(self, counts: Callable[[MatrixClaim], bool]) -> float | None:
        if self.reference_claims is None:
            return None
        return self._of_claims(not one.is_in_other and counts(one) for one in self.claims)

    def _support_any(self, rows: Sequence[MatrixClaim]) -> list[bool]:
        named = {number for one in rows for number in one.chunk_ids}
        return [number in named for number in range(self.chunk_count or 0)]

    def _is_of_relevant(self, one: MatrixClaim) -> bool:
        relevant = self.relevant_chunks
        return any(relevant[number] for number in one.chunk_ids)


def _share(counts: Iterable[bool]) -> float | None:
    verdicts = [*counts]
    return sum(verdicts) / len(verdicts) if verdicts else None


def _share_in_other(rows: Iterable[MatrixClaim]) -> float | None:
    return _share(bool(one.is_in_other) for one in rows)


class MatrixGrader(JudgedGrader[R, ComparedText]):
    """Judges the answer in one call and the reference, if there is one, in a second call.

    Each call passes the other text as the last source, so replies look like those of Faithfulness.

    Args:
        prompt: Instructions for samples that have a reference; by default, the shipped prompt.
        beta: Weight of recall relative to precision in the score; greater than 0.
        options: See `PromptOptions`.

    Attributes:
        shipped: Stem of the shipped prompt.
        reads_chunks: True if claims are also compared with the chunks. In that case, samples
            without a reference are graded as in `Faithfulness`.
    """

    shapes: ClassVar[tuple[str, ...]] = (*JudgedGrader.shapes, "beta", "reads_chunks", "_alone")
    shipped: ClassVar[str]
    reads_chunks: bool = False

    def __init__(
        self, prompt: Prompt | None = None, *, beta: float = 1.0, **options: Unpack[PromptOptions]
    ) -> None:
        model = type(self).result_model
        super().__init__(prompt or Prompt.shipped(self.shipped), ComparedText, model, **options)
        self.beta = require_positive("beta", beta, otherwise=", such as 1 or 2")
        self._alone = Prompt.shipped("score_faithfulness") if self.reads_chunks else None
        self.requires = model.requires

    def with_beta(self, beta: float) -> Self:
        """Return a copy that weights recall `beta` times as much as precision."""
        return self._copy_with(beta=require_positive("beta", beta, otherwise=", such as 1 or 2"))

    def _verified_form(self, verifier: Verifier) -> Grader[Any]:
        made = VerifiedMatrix(extractor=SentenceExtractor(), verifier=verifier, name=self.name)
        return made.for_grader(self)

    def messages(
        self,
        sample: Sample,
        *,
        sentences: Sequence[str] | None = None,
        statements: Sequence[str] = (),
    ) -> tuple[Message, ...]:
        if sample.reference is not None:
            sample = _row(sample, self.reads_chunks, sample.answer, sample.reference)
        return super().messages(sample, sentences=sentences, statements=statements)

    def flow(self, sample: Sample) -> Flow[R]:
        require_fields(sample, self.requires)
        answer, reference = sample.answer, given(sample.reference)
        pairs = [(answer, reference)] + ([(reference, answer)] if reference else [])
        asker = self if reference or self._alone is None else self._copy_with(_prompt=self._alone)
        compared = yield from side_by_side(
            [
                asker._by_sentence(_row(sample, self.reads_chunks, *pair), is_shared=True)
                for pair in pairs
            ]
        )
        count = len(sample.context) if self.reads_chunks else 0
        rows = [
            [_judged(one, count, bool(reference)) for one in side.statements] for side in compared
        ]
        return self._result(
            sample,
            rows,
            drift=[line for side in compared for line in side.drift],
            left_out=[number for side in compared for number in side.left_out],
        )

    def _result(self, sample: Sample, rows: Sequence[list[MatrixClaim]], **more: Any) -> R:
        reference = given(sample.reference)
        same = reference is not None and plain_form(sample.answer or "") == plain_form(reference)
        if same:
            # A text supports its own claims, whatever the judge says.
            rows = [[one.model_copy(update={"is_in_other": True}) for one in side] for side in rows]
        return self.result_model(
            claims=rows[0],
            reference_claims=rows[1] if len(rows) > 1 else None,
            chunk_count=len(sample.context) if self.reads_chunks else None,
            beta=self.beta,
            is_same_text=same,
            **more,
        )


def given(text: str | None) -> str | None:
    """Return the text, or None if it is blank."""
    return text if text and text.strip() else None


def _row(sample: Sample, reads_chunks: bool, text: str | None, other: str | None) -> Sample:
    chunks = list(sample.context) if reads_chunks else []
    sources = [*chunks, *([Chunk(0, other)] if other else [])]
    return Sample(question=sample.question, answer=text, context=sources, language=sample.language)


def _judged(one: ComparedStatement, count: int, has_other: bool) -> MatrixClaim:
    return MatrixClaim(
        **one.model_dump(include=_SHARED),
        chunk_ids=[number for number in one.supporting_chunk_ids if number < count],
        is_in_other=count in one.supporting_chunk_ids if has_other else None,
        is_contradicted=one.because == "contradicted",
    )


class VerifiedMatrix(VerifiedFaithfulness):
    """Verifies each sentence of both texts against the chunks and the other text.

    A local verifier also checks the chunks one by one; a judge cites the supporting chunks.
    """

    shapes: ClassVar[tuple[str, ...]] = (*VerifiedFaithfulness.shapes, "_grader")

    def for_grader(self, grader: MatrixGrader[Any]) -> Self:
        return self._copy_with(
            _grader=grader, result_model=grader.result_model, requires=grader.requires
        )

    def flow(self, sample: Sample) -> Flow[Any]:
        grader: MatrixGrader[Any] = self.__dict__["_grader"]
        require_fields(sample, self.requires)
        verifier = self._verifier_for(sample)
        reference = given(sample.reference)
        chunks = [chunk.text for chunk in sample.context] if grader.reads_chunks else []
        sides = [(sample.answer or "", reference, _REFERENCE)]
        sides += [(reference, sample.answer, _ANSWER)] if reference else []
        rows = yield from side_by_side(
            [self._side(verifier, sample, chunks, *side) for side in sides]
        )
        _find_contradicted(rows)
        sources = [*chunks, *filter(None, [reference])]
        language = self._language_of(sample, sources)
        read = verifier.traits.languages
        return grader._result(
            sample,
            rows,
            verifier=self.verifier.name,
            language_warning=language_warning(verifier, sample, language, sources),
            is_unread=read is not None and language not in read,
        )

    def _side(
        self,
        verifier: Verifier,
        sample: Sample,
        chunks: Sequence[str],
        text: str,
        other: str | None,
        names: Mapping[str, str],
    ) -> Flow[list[MatrixClaim]]:
        row = Sample(question=sample.question, answer=text, context=sample.context)
        extraction = yield from self.extractor.flow(row)
        found = extraction.statements
        if not found:
            return []
        claims = [one.claim for one in found]
        columns = [own for own in (chunks, [other] if other else []) if own]
        columns += [] if verifier.traits.batches else [[chunk] for chunk in chunks]
        decided = yield from side_by_side([_verdicts(verifier, claims, own) for own in columns])
        together = decided.pop(0) if chunks else None
        elsewhere = decided.pop(0) if other else None
        return [
            _verified(
                statement,
                together[n] if together else None,
                elsewhere[n] if elsewhere else None,
                [place for place, own in enumerate(decided) if own[n].is_supported],
                names,
            )
            for n, statement in enumerate(found)
        ]


def _verdicts(
    verifier: Verifier, claims: Sequence[Claim], chunks: Sequence[str]
) -> Flow[list[Verdict]]:
    verdicts = yield from verifier.flow(claims, chunks)
    check_verdicts(claims, chunks, verdicts)
    return verdicts


def _verified(
    statement: ExtractedStatement,
    together: Verdict | None,
    elsewhere: Verdict | None,
    single: list[int],
    names: Mapping[str, str],
) -> MatrixClaim:
    is_supported = together is not None and together.is_supported
    named = single or (list(together.chunk_ids) if together else [])
    verdict = elsewhere or together
    reason = verdict.reason if verdict else None
    if elsewhere and reason:
        for name, meant in _ONLY_CHUNK.items():
            reason = reason.replace(name, meant.format(**names))
    return MatrixClaim(
        statement=statement.text,
        reasoning=reason,
        chunk_ids=named if is_supported and statement.fault is None else [],
        is_in_other=None if elsewhere is None else elsewhere.is_supported and not statement.fault,
        sentence_id=statement.sentence_id,
        start=statement.span.start,
        end=statement.span.end,
        fault=statement.fault,
    )


def _find_contradicted(rows: Sequence[list[MatrixClaim]]) -> None:
    """Mark two claims as contradicted if they share a subject and neither text supports both."""
    if len(rows) < 2:
        return
    unsaid = [[one for one in side if not one.is_in_other] for side in rows]
    for own in unsaid[0]:
        for other in unsaid[1]:
            shared = _content(own.statement) & _content(other.statement)
            least = min(len(_content(own.statement)), len(_content(other.statement)))
            if least and len(shared) >= _SAME_SUBJECT * least:
                own.is_contradicted = other.is_contradicted = True


def _content(text: str) -> frozenset[str]:
    return frozenset(word.key for word in words(text) if word.kind in ("word", "number"))


def claim_finding(
    one: MatrixClaim, label: str, *, verdict: bool | None = None, about: About = "statement"
) -> Finding:
    verdict = bool(one.is_in_other) if verdict is None else verdict
    return finding_of(one, one.chunk_ids, label, verdict=verdict, about=about)
