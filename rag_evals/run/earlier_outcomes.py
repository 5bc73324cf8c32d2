"""What did an earlier run in this folder grade? Its outcomes, for rows that have not changed.

Of each line only its place in the file is held; it is read again when its row comes up.
"""

from collections.abc import Mapping
from dataclasses import replace

from pydantic import BaseModel

from rag_evals.core import Places, key_of
from rag_evals.dataset import NumberedSample
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.refusals import Refusals
from rag_evals.run.results import type_name
from rag_evals.run.store import RunStore

_HERE = 1


class EarlierOutcomes:
    """The outcomes of an earlier run, each taken once.

    Attributes:
        changed: Rows of which there are outcomes, and none for what the row is now.
    """

    def __init__(self, store: RunStore, known: Mapping[str, type[BaseModel]] | None) -> None:
        """Begin with none.

        Args:
            store: Where the outcomes are.
            known: As for `Outcome.from_record`.
        """
        self.changed = 0
        self._store = store
        self._known = known
        room = store.lines_about()
        self._rows = Places(room=room)
        # A row that changed and changed back has two; the one that fits is used.
        self._gradings = Places(room=room)
        self._last_changed = -1

    def read(self, refusals: Refusals) -> None:
        """Note where each outcome stands; a later one of the same key counts.

        Args:
            refusals: Is told of every outcome.
        """
        for place, key in self._store.line_keys():
            refusals.remember(key)
            self._rows.put(key_of(key.grading[:2]), _HERE)
            self._gradings.put(key_of(key.grading), place)

    def take(self, row: NumberedSample, grader: str, fingerprint: str) -> Outcome | None:
        """Return the outcome of a row that need not be graded again, in its place of today.

        Args:
            row: The row as it is now.
            grader: Name of the grader.
            fingerprint: What the grader is now, as outcomes have it.

        Returns:
            None where there is none, it failed, or row or grader are not what they were.
        """
        if not self._rows or self._rows.pop(key_of((row.name, grader))) is None:
            return None
        grading = row.name, grader, row.fingerprint, fingerprint
        place = self._gradings.get(key_of(grading))
        found = None if place is None else self._store.outcome_at(place, self._known)
        if found is None or found.key != grading:
            self._count_changed(row.position)
            return None
        if found.status == "failed":
            return None
        return found if found.index == row.position else replace(found, index=row.position)

    def left_out(self) -> set[str]:
        """Return the ids of rows that were graded and did not come: the data has them no more."""
        if not self._rows:
            return set()
        gradings = (key.grading for _, key in self._store.line_keys())
        return {name for name, grader, *_ in gradings if key_of((name, grader)) in self._rows}

    def _count_changed(self, position: int) -> None:
        # The graders of a row come one behind the other.
        self.changed += position != self._last_changed
        self._last_changed = position


class NoEarlierOutcomes:
    """A run that is kept nowhere has none."""

    changed = 0

    def take(self, row: NumberedSample, grader: str, fingerprint: str) -> None:
        """Return None."""

    def left_out(self) -> set[str]:
        """Return no ids."""
        return set()


def read_earlier_outcomes(
    plan: Plan, store: RunStore | None, refusals: Refusals, *, keep: bool
) -> EarlierOutcomes | NoEarlierOutcomes:
    """Learn what an earlier run of this folder ended.

    Args:
        plan: The run.
        store: Its folder; None where nothing is kept.
        refusals: Is told of every outcome.
        keep: Whether results are to be read as well.
    """
    if store is None:
        return NoEarlierOutcomes()
    # With results left out nothing is looked for; a run's own graders know their classes.
    models = {type_name(grader.result_model): grader.result_model for grader in plan.graders}
    earlier = EarlierOutcomes(store, models if keep else None)
    earlier.read(refusals)
    return earlier
