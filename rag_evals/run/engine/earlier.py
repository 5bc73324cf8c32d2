"""Outcomes that earlier processes stored in a run folder."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from pydantic import BaseModel

from rag_evals.dataset import FileData, NumberedSample
from rag_evals.run.plan.plan import Plan
from rag_evals.run.record.facts import stable_hash
from rag_evals.run.record.index import POSITIONS, Ended
from rag_evals.run.record.outcome import Outcome, type_name
from rag_evals.run.record.samples import StoredSample
from rag_evals.run.record.store import RunStore
from rag_evals.run.record.summary import Summary

_LEFT_OUT = "left out"
_FLIP = bytes.maketrans(b"\0\1", b"\1\0")


class EarlierOutcomes:
    """Outcomes stored in the run folder before this process started.

    If the data is byte-for-byte identical, the index records which positions are done; only the
    last rows written before a run was killed are checked again. Otherwise, each row is looked up
    by its fingerprint and the grader's, and `done` is 0.
    """

    def __init__(self, plan: Plan, store: RunStore) -> None:
        self.changed = self.done = 0
        self.spent = store.index.spent()
        self._store = store
        self._plan = plan
        self._fingerprints = fingerprints = plan.fingerprints
        # Result classes of the run's graders; other classes are looked up by name.
        self._models: Mapping[str, type[BaseModel]] = {
            type_name(grader.result_model): grader.result_model for grader in plan.graders
        }
        self._ended = Ended(fingerprints)
        self._unfinished: dict[int, int] | None = None
        self._last_changed = -1
        self._has_moved = False
        check = plan.data.kept_check if isinstance(plan.data, FileData) else None
        is_whole = plan.drawn is None and not plan.batched
        # Identifies the data and how it is read; None if rows must be looked up.
        self._key = f"{check.reading} {check.content}" if check and is_whole else None
        if store.is_new:
            store.index.trust_positions(self._key)
        self._flags = self._positions()
        self._doubted = frozenset() if self._flags is None else store.index.doubted()
        if self._flags is None:
            # Until every row has been looked up, positions in the log refer to old and new data.
            self.forget_positions()

    def forget_positions(self) -> None:
        """Make the next run look up every row; called if the data has changed."""
        self._store.index.trust_positions(None)

    def find(self, outcome: Outcome) -> Outcome | None:
        """Return the last outcome stored for the same grading by an earlier process, if any."""
        found = None if self._store.is_new else self._store.index.find(outcome.key)
        return None if found is None else Outcome.from_record(found.record)

    def fill(self, summary: Summary) -> None:
        if self._store.is_new:
            return
        summary.usage, summary.cost_usd = self.spent.usage, self.spent.cost_usd
        if self._flags is not None:
            self._store.index.fill(summary, self._ended)

    def rows(self) -> Iterator[NumberedSample] | None:
        """Return the rows to grade, or None if all rows must be looked up."""
        if self._flags is None or not self.done or not isinstance(self._plan.data, FileData):
            return None
        first, *others = self._flags.values()
        done = bytes(map(min, first, *others)) if others else bytes(first)
        return self._plan.data.some(done.translate(_FLIP))

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcomes of finished rows in log order."""
        if self._flags is not None:
            for place in self._store.index.ended_places(self._ended):
                yield self._store.outcome_at(place, self._models)

    def is_done(self, row: NumberedSample, grader: str) -> bool:
        """True if the row at this position is known to have been graded."""
        # Use a slice, because the file may have grown, which the run checks at the end.
        here = slice(row.position, row.position + 1)
        return self._flags is not None and self._flags[grader][here] == b"\1"

    def take(self, row: NumberedSample, grader: str, *, results: bool) -> Outcome | None:
        """Return a row's stored outcome, or None if it failed or the row or grader has changed."""
        if self._store.is_new:
            return None
        if self._flags is None:
            self._store.index.mark(row.name)
        elif not self._doubted or stable_hash(row.name) not in self._doubted:
            return None
        key = row.name, grader, row.fingerprint, self._fingerprints[grader]
        found = self._store.index.find(key)
        if found is None:
            changed = row.position
            if changed != self._last_changed and self._store.index.was_graded(row.name, grader):
                self.changed += 1
                self._last_changed = changed
            return None
        if found.record["status"] == "failed":
            return None
        self._has_moved |= found.record["index"] != row.position
        if results:
            outcome = self._store.outcome_at(found.place, self._models)
        else:
            outcome = Outcome.from_record(found.record)
        return replace(
            outcome,
            index=row.position,
            sample_fingerprint=row.fingerprint,
            grader_fingerprint=self._fingerprints[grader],
        )

    def keep(self, row: NumberedSample) -> None:
        """Store a row's sample unless it is already stored."""
        sample = StoredSample.of_row(row)
        before = None if self._store.is_new else self._kept_line(row.name)
        if sample is None and before is not None:
            sample = StoredSample(row.name)
        if sample is not None:
            self._store.append_sample(*sample.keyed_line(), before)

    def leave_out(self) -> int:
        """Record the rows that are no longer in the data; return how many of them had outcomes."""
        index, gone = self._store.index, 0
        if self._flags is None and not self._store.is_new:
            for sample_id, was_graded in index.unmarked():
                gone += was_graded
                gone_sample = StoredSample(sample_id, in_data=False)
                self._store.append_sample(*gone_sample.keyed_line(), self._kept_line(sample_id))
            if not self._has_moved and self._key is not None:
                index.trust_positions(self._key)
                index.note(_LEFT_OUT, str(gone))
        if self._doubted and not self._has_moved:
            # Every row in doubt was looked up, so the next run need not do that again.
            index.trust_positions(self._key)
        return gone or int(index.noted(_LEFT_OUT) or 0)

    def _kept_line(self, sample_id: str) -> int | None:
        """Return the hash of a sample's last stored line, or None."""
        if self._flags is None:
            return self._store.index.kept_line(sample_id)
        if self._unfinished is None:
            self._unfinished = dict(self._store.index.kept_without_outcome())
        return self._unfinished.get(stable_hash(sample_id))

    def _positions(self) -> dict[str, bytearray] | None:
        """Return flags for finished rows by grader, or None if positions cannot be trusted."""
        index, rows = self._store.index, self._plan.rows
        if self._key is None or rows is None or index.noted(POSITIONS) != self._key:
            return None
        # Excluding changed and removed rows is slower, so first try without excluding them.
        for only_current in (False, True):
            self._ended = Ended(self._fingerprints, only_current)
            if (flags := self._flagged(rows)) is not None:
                self.done = sum(each.count(1) for each in flags.values())
                return flags
        return None

    def _flagged(self, rows: int) -> dict[str, bytearray] | None:
        """Return the flags for finished rows, or None if a row has two outcomes or was removed."""
        flags = {name: bytearray(rows) for name in self._fingerprints}
        for grader, done in flags.items():
            for position in self._store.index.ended(self._ended, grader):
                if position >= rows or done[position]:
                    return None
                done[position] = 1
        return flags
