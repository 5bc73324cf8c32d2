"""Is the answer correct? Its claims against those of the reference, in both directions."""

from collections.abc import Iterator
from typing import ClassVar

from rag_evals.core import Finding, SampleField, Tallies
from rag_evals.matrix import MatrixGrader, MatrixResult, claim_finding

__all__ = ["AnswerCorrectness", "AnswerCorrectnessResult", "CorrectnessGrader"]


class AnswerCorrectnessResult(MatrixResult):
    """The claims that answer and reference share, and those that only one of them has."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "reference")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    @property
    def score(self) -> float:
        """F-score of precision and recall, 0 to 1; 0.0 if one of the texts has no claims."""
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
    """Compares answer and reference; takes the arguments of `MatrixGrader`."""

    shipped = "score_correctness"
    result_model = AnswerCorrectnessResult


AnswerCorrectness = CorrectnessGrader()
"""F-score of precision and recall over the claims of answer and reference."""
