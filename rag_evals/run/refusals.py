"""When does a refusal of the endpoint end a run, and when only fail its row?

A wrong key refuses every row, a content filter only some: both answer with 403. Before the first
reply of a run they cannot be told apart, so the run ends. After it only the row fails, until many
rows in succession are refused.
"""

from typing import Protocol

from rag_evals.errors import GradingError, JudgeRejectedError, JudgeUnreachableError
from rag_evals.run.outcome import Outcome

REFUSALS_IN_A_ROW = 10
"""So many refused gradings without one success between them end a run."""


class _Earlier(Protocol):
    """What earlier starts of the run met."""

    @property
    def is_answered(self) -> bool:
        """Whether the endpoint took part in a row that did not fail."""

    def was_refused(self, outcome: Outcome) -> bool:
        """Say whether an earlier start ended the same grading with a refusal."""


class Refusals:
    """What the endpoint of one run has refused and answered."""

    def __init__(self, earlier: _Earlier | None) -> None:
        """Begin with what earlier starts of the run met; None for a run that has none."""
        self._earlier = earlier
        self._answered = False
        self._answered_before = earlier is not None and earlier.is_answered
        self._in_a_row = 0

    @property
    def has_answered(self) -> bool:
        """Whether the endpoint answered a row, in this start or in an earlier one."""
        return self._answered or self._answered_before

    def count(self, outcome: Outcome) -> None:
        """Take note of an outcome of this start."""
        if _is_answered(outcome):
            self._answered = True
            self._in_a_row = 0

    def fatal(self, outcome: Outcome) -> GradingError | None:
        """Return the error that ends the run; None when this row has failed at most."""
        if outcome.error is None:
            return None
        kind, message = outcome.error.type, outcome.error.message
        if kind == JudgeUnreachableError.__name__:
            return None if self._answered else JudgeUnreachableError(message)
        if kind != JudgeRejectedError.__name__:
            return None
        if self._earlier is not None and self._earlier.was_refused(outcome):
            # It is known, and ends no other start.
            return None
        if not self.has_answered:
            return JudgeRejectedError(message)
        self._in_a_row += 1
        if self._in_a_row < REFUSALS_IN_A_ROW:
            return None
        return JudgeRejectedError(
            f"{self._in_a_row} gradings in a row were refused, so the run ends here; "
            f"the same call continues it; the last refusal: {message}"
        )


def _is_answered(outcome: Outcome) -> bool:
    """Say whether the endpoint took part; what was decided without it proves no key."""
    return outcome.status != "failed" and outcome.usage.calls > 0
