"""What stands for a metric of another tool? A grader of ours, and how its score is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rag_evals.base import ContextEvaluation
from rag_evals.catalog import grader_named
from rag_evals.core import Finding, findings_lines
from rag_evals.grading import Grader


def plain_score(score: float, findings: Sequence[Finding]) -> float:
    """Take our own score."""
    del findings
    return score


def ranked_precision(score: float, findings: Sequence[Finding]) -> float:
    """Weigh relevant chunks by their rank, as both tools do: the mean of precision@k at each.

    Args:
        score: The plain share of relevant chunks, which says nothing of ranks.
        findings: One for each chunk.

    Returns:
        0 to 1; 1 where all relevant chunks come first, 0 where there is none.
    """
    del score
    in_order = sorted(findings, key=lambda finding: finding.chunk_ids)
    hits, total = 0, 0.0
    for rank, finding in enumerate(in_order, 1):
        if finding.verdict:
            hits += 1
            total += hits / rank
    return total / hits if hits else 0.0


@dataclass(frozen=True, slots=True)
class Counterpart:
    """What stands for a metric.

    Attributes:
        key: What the other tool's results call the metric.
        grader: Name of a shipped grader, or one of the user's own words.
        differs: Where the two are not the same, in a clause; empty where they are.
        read: Makes the other tool's score of our score and findings.
    """

    key: str
    grader: str | Grader[Any]
    differs: str = ""
    read: Callable[[float, Sequence[Finding]], float] = plain_score

    def made(self) -> Grader[Any]:
        """Return the grader itself."""
        return grader_named(self.grader) if isinstance(self.grader, str) else self.grader

    def spelled(self) -> str:
        """Write the grader as an argument of `evaluate`."""
        if isinstance(self.grader, str):
            return repr(self.grader)
        model = getattr(self.grader, "response_model", self.grader.result_model)
        assert isinstance(self.grader, ContextEvaluation), "made of the user's words"
        return f"base.ContextEvaluation(prompt=..., response_model={model.__name__})"

    def differing(self) -> str:
        """Return the clause for a warning."""
        return f"; {self.differs}" if self.differs else ""


def reason_in(findings: Sequence[Finding]) -> str:
    """Say in lines why a score is what it is; what counts against it comes first."""
    ordered = sorted(findings, key=lambda finding: not finding.counts_against)
    return "\n".join(line.strip() for line in findings_lines(ordered))
