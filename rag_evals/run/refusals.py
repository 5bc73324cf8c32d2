"""When does a refusal of the endpoint end a run, and when only fail its row?

A wrong key refuses every row, a content filter only some: both answer with 403. Before the first
reply of a run they cannot be told apart, so the run ends. After it only the row fails, until many
rows in succession are refused.
"""

from rag_evals.errors import GradingError, JudgeRejectedError, JudgeUnreachableError
from rag_evals.run.line_keys import LineKey
from rag_evals.run.outcome import Outcome

REFUSALS_IN_A_ROW = 10
"""So many refused gradings without one success between them end a run."""

Key = tuple[str, str, str, str]


class Refusals:
    """What the endpoint of one run has refused and answered.

    Attributes:
        answered_before: An earlier start of this run got a reply.
        refused_before: Gradings that an earlier start ended with; they are known, and end no other.
    """

    def __init__(self) -> None:
        self.answered_before = False
        self.refused_before: set[Key] = set()
        self._answered = False
        self._in_a_row = 0

    @property
    def has_answered(self) -> bool:
        """Whether the endpoint answered a row, in this start or in an earlier one."""
        return self._answered or self.answered_before

    def remember(self, key: LineKey) -> None:
        """Take note of an outcome of an earlier start; the last one of a grading counts."""
        if self.refused_before:
            self.refused_before.discard(key.grading)
        if key.error == JudgeRejectedError.__name__:
            self.refused_before.add(key.grading)
        self.answered_before |= key.answered

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
        if kind != JudgeRejectedError.__name__ or outcome.key in self.refused_before:
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
