"""Answer correctness: compares the answer's claims with the reference's, in both directions."""

from collections.abc import Iterator
from typing import ClassVar

from rag_evals.core import Finding, SampleField, Tallies
from rag_evals.matrix import MatrixGrader, MatrixResult, claim_finding

__all__ = ["AnswerCorrectness", "AnswerCorrectnessResult", "CorrectnessGrader"]


class AnswerCorrectnessResult(MatrixResult):
    """The claims shared by the answer and the reference, and those found in only one of them."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "reference")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    @property
    def score(self) -> float:
        """F-score of precision and recall, 0 to 1; 0.0 if either text has no claims."""
        return self.f_score or 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(self._findings())

    @property
    def tallies(self) -> Tallies:
        claims, own = len(self.claims), len(self.reference_claims or ())
        return {
            "wrong": (len(self.wrong), claims),
            "extra": (len(self.extra), claims),
            "missing": (len(self.missing), own),
        }

    def _findings(self) -> Iterator[Finding]:
        for one in self.claims:
            label = "wrong" if one.is_contradicted else "extra"
            yield claim_finding(one, "correct" if one.is_in_other else label)
        for one in self.reference_claims or ():
            yield claim_finding(one, "said" if one.is_in_other else "missing", about="reference")


class CorrectnessGrader(MatrixGrader[AnswerCorrectnessResult]):
    """Compares the answer with the reference; accepts the arguments of `MatrixGrader`."""

    shipped = "score_correctness"
    result_model = AnswerCorrectnessResult


AnswerCorrectness = CorrectnessGrader()
"""F-score of precision and recall over the claims in the answer and the reference."""
