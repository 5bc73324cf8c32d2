"""When is enough graded? A run asks its policy before each row, and shows it each outcome."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.summary import Summary

Admission = Literal["begin", "wait", "stop"]
"""A row may begin; it may once another grading has ended; or no row after it is needed."""


class RunPolicy(Protocol):
    """Decides how many rows of a run are graded. One object serves one run."""

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Say whether all graders of a row may begin; asked again after `"wait"`.

        Args:
            position: Place in the data of the next row that the run would grade.
            resumed: An earlier start has outcomes of it; then it always begins.
        """

    def ended(self, outcome: Outcome) -> None:
        """Count an outcome, of this start or an earlier one; rows end in any order."""

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        """Complete the numbers of a run that graded all that it had to.

        Returns:
            What the manifest says of it, by key; empty for a run of all rows.
        """


class EveryRow:
    """Grades all rows of a plan."""

    def __init__(self, plan: object, lost_usd: float = 0.0) -> None:
        del plan, lost_usd

    def admits(self, position: int, *, resumed: bool) -> Admission:
        """Begin."""
        del position, resumed
        return "begin"

    def ended(self, outcome: Outcome) -> None:
        """Count nothing."""

    def finish(self, summary: Summary) -> Mapping[str, Any]:
        """Say nothing."""
        del summary
        return {}
