"""What did an earlier run in this folder grade? Its outcomes, for rows that have not changed.

Of each line only its place in the file is held; it is read again when its row comes up.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from pydantic import BaseModel

from rag_evals.core import Places, key_of
from rag_evals.dataset import NumberedSample
from rag_evals.run.checkpoint import Checkpoint, EndedRows, checkpoint_of
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.refusals import Refusals
from rag_evals.run.results import type_name
from rag_evals.run.store import RunStore

_HERE = 1


class Taken(NamedTuple):
    """An outcome of an earlier run.

    Attributes:
        outcome: In its place of today.
        place: The byte at which its line begins.
    """

    outcome: Outcome
    place: int


class EarlierOutcomes:
    """The outcomes of an earlier run, each taken once.

    Attributes:
        changed: Rows of which there are outcomes, and none for what the row is now.
    """

    def __init__(
        self,
        store: RunStore,
        known: Mapping[str, type[BaseModel]] | None,
        ended: EndedRows | None = None,
    ) -> None:
        """Begin with none.

        Args:
            store: Where the outcomes are.
            known: As for `Outcome.from_record`.
            ended: What a checkpoint says of the first of them; those are not read.
        """
        self.changed = 0
        self._store = store
        self._known = known
        self._ended = ended
        self._begins = 0 if ended is None else ended.state.results.size
        room = 0 if ended else store.lines_about()
        self._rows = Places(room=room)
        # A row that changed and changed back has two; the one that fits is used.
        self._gradings = Places(room=room)
        self._last_changed = -1
        self._failed: dict[tuple[str, ...], tuple[Outcome, int | None]] = {}

    def read(self, refusals: Refusals) -> bool:
        """Note where each outcome stands; a later one of the same key counts.

        Args:
            refusals: Is told of every outcome.

        Returns:
            False where a line speaks of a row that ended before the checkpoint: no run of ours
            wrote it, so the checkpoint cannot be gone by.
        """
        ended = self._ended
        if ended is not None:
            refusals.answered_before |= ended.state.answered
            for place in ended.failed:
                refusals.remember(self._store.key_at(place))
        for place, key in self._store.line_keys(self._begins):
            if ended is not None and ended.has(key.grading[1], key.row):
                return False
            refusals.remember(key)
            self._rows.put(key_of(key.grading[:2]), _HERE)
            self._gradings.put(key_of(key.grading), place)
        return True

    def lowest(self) -> list[Outcome]:
        """Return the outcomes before the checkpoint that were asked for, the worst first."""
        lines = [] if self._ended is None else self._ended.lowest
        found = [(line, self._store.outcome_at(line.place, self._known)) for line in lines]
        return [replace(outcome, index=line.position) for line, outcome in found]

    @property
    def all_taken(self) -> bool:
        """Whether each outcome was taken, so that nothing of the folder is left."""
        return not self._rows

    def take(self, row: NumberedSample, grader: str, fingerprint: str) -> Taken | None:
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
        if found is None or place is None or found.key != grading:
            self._count_changed(row.position)
            return None
        if found.status == "failed":
            self._failed[grading] = found, place
            return None
        if found.index != row.position:
            found = replace(found, index=row.position)
        return Taken(found, place)

    def failed_so_at(self, outcome: Outcome) -> int | None:
        """Return where the line of the same failure stands, after as many tries; else None."""
        found, place = self._failed.get(outcome.key, (None, None))
        if found is None or (found.error, found.attempts) != (outcome.error, outcome.attempts):
            return None
        return place if found.usage == outcome.usage else None

    def left_out(self) -> set[str]:
        """Return the ids of rows that were graded and did not come: the data has them no more."""
        if not self._rows:
            return set()
        gradings = (key.grading for _, key in self._store.line_keys(self._begins))
        return {name for name, grader, *_ in gradings if key_of((name, grader)) in self._rows}

    def _count_changed(self, position: int) -> None:
        # The graders of a row come one behind the other.
        self.changed += position != self._last_changed
        self._last_changed = position


class NoEarlierOutcomes:
    """A run that is kept nowhere has none."""

    changed = 0
    all_taken = True

    def lowest(self) -> list[Outcome]:
        """Return no outcomes."""
        return []

    def take(self, row: NumberedSample, grader: str, fingerprint: str) -> None:
        """Return None."""

    def failed_so_at(self, outcome: Outcome) -> int | None:
        """Return None."""

    def left_out(self) -> set[str]:
        """Return no ids."""
        return set()


def opened_earlier(
    plan: Plan,
    store: RunStore | None,
    fingerprint_of: Callable[[str], str],
    refusals: Refusals,
    *,
    keep: bool,
    lowest: int | None,
) -> tuple[Checkpoint | None, EndedRows | None, EarlierOutcomes | NoEarlierOutcomes]:
    """Learn what an earlier run of this folder ended.

    Args:
        plan: The run.
        store: Its folder; None where nothing is kept.
        fingerprint_of: What a grader is now, as outcomes have it.
        refusals: Is told of every outcome that may matter to it.
        keep: Whether results are to be read as well.
        lowest: How many of the outcomes are asked for, those with the lowest scores; None for all.

    Returns:
        What keeps a checkpoint, what an earlier one said, and the outcomes behind that one.
    """
    if store is None:
        return None, None, NoEarlierOutcomes()
    graders = {grader.name: fingerprint_of(grader.name) for grader in plan.graders}
    checkpoint = checkpoint_of(plan, store, graders)
    # With results left out nothing is looked for; a run's own graders know their classes.
    models = {type_name(grader.result_model): grader.result_model for grader in plan.graders}
    ended = None if checkpoint is None or lowest is None else checkpoint.read(lowest)
    earlier = EarlierOutcomes(store, models if keep else None, ended)
    if not earlier.read(refusals):
        ended, earlier = None, EarlierOutcomes(store, models if keep else None)
        earlier.read(refusals)
    store.samples.learn(0 if ended is None else ended.state.samples.size)
    if checkpoint is not None:
        checkpoint.begin(ended)
    return checkpoint, ended, earlier
