"""Computes all metrics for a RAG row from one table, and diagnoses retrieval and the answer."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, get_args

from rag_evals.core import Finding, Sample, SampleField, Tallies
from rag_evals.errors import UnknownNameError
from rag_evals.matrix import MatrixClaim, MatrixGrader, MatrixResult, claim_finding

__all__ = ["Rag", "RagGrader", "RagResult"]

Diagnosis = Literal[
    "retrieval missed it",
    "retrieved and ignored",
    "invented",
    "from a chunk, not in the reference",
    "right but not from the sources",
]
"""Faults in the reference's claims, then in the answer's; the first match is the diagnosis."""

# Lower is better, so the score is 1 minus the metric.
_FAULTS = (
    "noise_sensitivity_relevant",
    "noise_sensitivity_irrelevant",
    "hallucination",
    "self_knowledge",
)
NUMBERS = (
    *("faithfulness", "precision", "recall", "f_score"),
    *("claim_recall", "chunk_precision", "rank_precision", "reciprocal_rank"),
    *("context_utilization", "chunk_use"),
    *_FAULTS,
)


class RagResult(MatrixResult):
    """The claims in the answer and the reference, the chunks that support them, and all metrics.

    Attributes:
        number: The metric used as the score. If None, the score is the F-score of correctness if
            there is a reference, or faithfulness otherwise.
    """

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "context")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question", "reference")

    number: str | None = None

    @property
    def score(self) -> float:
        """The chosen metric, 0 to 1; a metric for which lower is better is subtracted from 1."""
        if self.number is None:
            value = self.f_score if self.reference_claims is not None else self.faithfulness
        else:
            value = getattr(self, self.number)
        if value is not None and self.number in _FAULTS:
            value = 1 - value
        return value or 0.0

    @property
    def further_scores(self) -> Mapping[str, float]:
        if self.number is not None:
            return {}
        found = {name: getattr(self, name) for name in NUMBERS}
        return {name: value for name, value in found.items() if value is not None}

    @property
    def diagnosis(self) -> Diagnosis | None:
        """The first fault, checking retrieval before the answer; None if there is no fault."""
        labels = self._labels()
        return next((one for one in get_args(Diagnosis) if labels[one]), None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        fault = self.diagnosis
        # The diagnosis summarises the claims, so it has no separate verdict.
        first = Finding("first fault", None, fault or "as it should be")
        return first, *self._claim_findings()

    @property
    def tallies(self) -> Tallies:
        labels, claims = self._labels(), len(self.claims)
        own = len(self.reference_claims or ())
        search = get_args(Diagnosis)[:2]
        return {
            name: (labels[name], own if name in search else claims)
            for name in get_args(Diagnosis)
            if self.reference_claims is not None
        }

    def _claim_findings(self) -> Iterator[Finding]:
        for one in self.claims:
            if self.reference_claims is None:
                is_supported = bool(one.chunk_ids)
                label = "supported" if is_supported else "not supported"
                yield claim_finding(one, label, verdict=is_supported)
            else:
                yield claim_finding(one, _label(one))
        for one in self.reference_claims or ():
            lost = "retrieved and ignored" if one.chunk_ids else "retrieval missed it"
            yield claim_finding(one, "said" if one.is_in_other else lost, about="reference")

    def _labels(self) -> Counter[str]:
        labels = Counter(one.label for one in self._claim_findings())
        if self.reference_claims is None:
            labels["invented"] = labels.pop("not supported", 0)
        return labels


def _label(one: MatrixClaim) -> str:
    if one.is_in_other:
        return "correct" if one.chunk_ids else "right but not from the sources"
    return "from a chunk, not in the reference" if one.chunk_ids else "invented"


class RagGrader(MatrixGrader[RagResult]):
    shapes: ClassVar[tuple[str, ...]] = (*MatrixGrader.shapes, "number")
    shipped = "score_rag"
    result_model = RagResult
    reads_chunks = True
    number: str | None = None

    def _result(self, sample: Sample, rows: Sequence[list[MatrixClaim]], **more: Any) -> RagResult:
        return super()._result(sample, rows, number=self.number, **more)

    def only(self, number: str) -> Self:
        """Return a grader that uses one of the metrics as its score and name.

        If a run uses several of these graders, they share their calls. Metrics for which lower is
        better are subtracted from 1.

        Raises:
            UnknownNameError: No metric has this name.
        """
        if number not in NUMBERS:
            raise UnknownNameError.of("number", str(number), NUMBERS)
        return self._copy_with(number=number, name=number)


Rag = RagGrader()
"""All metrics for a row from one table; the score is the F-score of correctness."""
