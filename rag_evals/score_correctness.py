"""Is the answer correct? Its claims against those of the reference, in both directions."""

from collections.abc import Iterator
from typing import ClassVar, Unpack

from rag_evals.base import PromptOptions
from rag_evals.core import Finding, SampleField, Tallies
from rag_evals.matrix import MatrixGrader, MatrixResult, claim_finding
from rag_evals.prompt import Prompt

__all__ = ["AnswerCorrectness", "AnswerCorrectnessResult", "CorrectnessGrader"]


class AnswerCorrectnessResult(MatrixResult):
    """Which claims of the answer the reference says, and which of the reference the answer says."""

    requires: ClassVar[tuple[SampleField, ...]] = ("answer", "reference")
    accepts: ClassVar[tuple[SampleField, ...]] = ("question",)

    @property
    def score(self) -> float:
        """The F-score of precision and recall, 0 to 1; 0.0 where one of the texts claims nothing.

        A weight `beta` above 1 counts what is missing more than what is wrong or extra.
        """
        return self.f_score or 0.0

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Each claim of the answer: correct, wrong or extra; of the reference: said or missing."""
        return tuple(self._findings())

    @property
    def tallies(self) -> Tallies:
        """Claims that are wrong, extra and missing, of all claims of their text."""
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
    """Compares answer and reference with a prompt of your own.

    Args:
        prompt: Instructions for the comparison; None takes the shipped prompt.
        beta: As for `MatrixGrader`.
        options: As for every grader of a prompt.
    """

    def __init__(
        self,
        prompt: Prompt | None = None,
        *,
        beta: float = 1.0,
        **options: Unpack[PromptOptions],
    ) -> None:
        super().__init__(
            prompt or Prompt.shipped("score_correctness"),
            AnswerCorrectnessResult,
            reads_chunks=False,
            beta=beta,
            **options,
        )


AnswerCorrectness = CorrectnessGrader()
"""How far answer and reference make the same claims: the F-score of precision and recall."""
