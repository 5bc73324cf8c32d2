"""What did an earlier run in this folder grade? Its outcomes, for rows that have not changed."""

from dataclasses import replace

from rag_evals.dataset import NumberedSample
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.refusals import Refusals
from rag_evals.run.results import type_name
from rag_evals.run.store import RunStore


class EarlierOutcomes:
    """The outcomes of an earlier run, each taken once."""

    def __init__(self) -> None:
        # A row that changed and changed back has two; the one that fits is used.
        self._by_row: dict[tuple[str, str], dict[tuple[str, ...], Outcome]] = {}
        self._changed: set[int] = set()

    def add(self, outcome: Outcome) -> None:
        """Note one outcome; a later one of the same key counts."""
        of_row = self._by_row.setdefault((outcome.sample_id, outcome.grader), {})
        of_row[outcome.key] = outcome

    def take(self, row: NumberedSample, grader: str, fingerprint: str) -> Outcome | None:
        """Return the outcome of a row that need not be graded again, in its place of today.

        Args:
            row: The row as it is now.
            grader: Name of the grader.
            fingerprint: What the grader is now, as outcomes have it.

        Returns:
            None where there is none, it failed, or row or grader are not what they were.
        """
        of_row = self._by_row.pop((row.name, grader), None)
        if of_row is None:
            return None
        found = of_row.get((row.name, grader, row.fingerprint, fingerprint))
        if found is None:
            self._changed.add(row.position)
            return None
        return None if found.status == "failed" else replace(found, index=row.position)

    @property
    def changed(self) -> int:
        """Rows of which there are outcomes, and none for what the row is now."""
        return len(self._changed)

    def left_out(self) -> set[str]:
        """Return the ids of rows that were graded and did not come: the data has them no more."""
        return {sample_id for sample_id, _ in self._by_row}


def read_earlier_outcomes(
    plan: Plan, store: RunStore | None, refusals: Refusals, *, keep: bool
) -> EarlierOutcomes:
    """Read what an earlier run of this folder ended.

    Args:
        plan: The run.
        store: Its folder; None where nothing is kept.
        refusals: Is told of every outcome.
        keep: Whether results are to be read as well.
    """
    earlier = EarlierOutcomes()
    if store is None:
        return earlier
    # With results left out nothing is looked for; a run's own graders know their classes.
    models = {type_name(grader.result_model): grader.result_model for grader in plan.graders}
    for outcome in store.outcomes(models if keep else None):
        refusals.remember(outcome)
        earlier.add(outcome)
    return earlier
