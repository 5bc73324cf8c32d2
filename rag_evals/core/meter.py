"""What did one grading cost? The usage of all its calls, by the judge that was asked."""

from collections.abc import Iterable

from rag_evals.core.flow import Usage


class Meter:
    """Adds up the usage of one grading, also of calls that failed in the end.

    Attributes:
        by_judge: What was used so far, by endpoint and model as calls name them; None stands for
            the judge that grades, and for the model that it asks by itself.
        answered_by: Models that replies say they are from, each once; empty where none says so.
        waited_seconds: How long replies were waited for so far, the run's gate left out.
        row_seconds: For all calls of the grading together; None where somebody else, such as the
            session of a run, sees to that.
    """

    def __init__(self, row_seconds: float | None = None) -> None:
        self.by_judge: dict[tuple[str | None, str | None], Usage] = {}
        self.answered_by: dict[str, None] = {}
        self.waited_seconds = 0.0
        self.row_seconds = row_seconds

    @property
    def seconds_left(self) -> float | None:
        """The seconds left for further calls of the grading; None without a limit."""
        return None if self.row_seconds is None else self.row_seconds - self.waited_seconds

    @property
    def total(self) -> Usage:
        """What was used so far, of all judges."""
        used = tuple(self.by_judge.values())
        return used[0] if len(used) == 1 else sum(used, Usage())

    def add(
        self,
        usage: Usage,
        *,
        endpoint: str | None = None,
        model: str | None = None,
        answered_by: Iterable[str] = (),
    ) -> None:
        """Count one reply, or several, of a call that names this endpoint and this model."""
        asked = (endpoint, model)
        before = self.by_judge.get(asked)
        self.by_judge[asked] = usage if before is None else before + usage
        self.answered_by.update(dict.fromkeys(answered_by))
