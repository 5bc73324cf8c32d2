"""The outcomes and samples of a run, read on demand from its folder or from memory.

A run folder may have a million rows. The index answers most questions; a line of the log is read
only for fields that the index lacks, such as findings.
"""

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import index as place_of
from pathlib import Path
from typing import Any, overload

from pydantic_core import from_json

from rag_evals.run.record.facts import read_facts
from rag_evals.run.record.index import (
    RESULTS,
    STATUSES,
    IndexedLine,
    RunIndex,
    ScoredRow,
)
from rag_evals.run.record.lines import read_line_at
from rag_evals.run.record.outcome import Outcome, reason_of
from rag_evals.run.record.samples import SAMPLES, StoredSample, read_stored_sample
from rag_evals.run.record.stored_types import OUTCOME
from rag_evals.run.record.summary import Summary

Record = Mapping[str, Any]
"""One outcome as in `results.jsonl`; `result` is a mapping or None."""

AnsweringModels = Mapping[str, Counter[tuple[str, ...]]]
"""For each grader, the number of outcomes by the models that answered."""
_IN_INDEX = frozenset(
    "index sample_id grader status score ranking_score reason attempts seconds cost_usd "
    "warnings tallies further_scores repeats".split()
)


class LogFile:
    """A log whose lines are read by their offsets."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)

    def outcome(self, place: int) -> Mapping[str, Any]:
        """Read one line of the log of outcomes."""
        return read_line_at(self._file, self.path, place, OUTCOME.validate_json)

    def sample(self, place: int) -> StoredSample:
        """Read one line of the log of samples."""
        return read_line_at(self._file, self.path, place, read_stored_sample)


class IndexedRecord(Mapping[str, Any]):
    """One outcome, read from the index, and from its line if a field is not in the index."""

    __slots__ = ("_fields", "_line", "_log")

    def __init__(self, line: IndexedLine, log: LogFile) -> None:
        self._line = line
        self._log = log
        self._fields: Mapping[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        """Return a field as in the line."""
        if self._fields is None:
            outcome = self._line.outcome
            if name in _IN_INDEX:
                return getattr(outcome, name)
            if name == "error":
                return outcome.error and asdict(outcome.error)
            if name == "usage":
                return asdict(outcome.usage)
            if name == "facts":
                return asdict(outcome.facts)
            self._fields = self._log.outcome(self._line.place)
        return self._fields[name]

    def _whole(self) -> Mapping[str, Any]:
        if self._fields is None:
            self._fields = self._log.outcome(self._line.place)
        return self._fields

    def __iter__(self) -> Iterator[str]:
        """Yield the field names."""
        return iter(self._whole())

    def __len__(self) -> int:
        """Count the fields."""
        return len(self._whole())

    def __repr__(self) -> str:
        """Return the record as a dictionary's text."""
        return repr(dict(self._whole()))


class IndexedRecords(Sequence[Record]):
    """The records of a folder, read one at a time."""

    def __init__(self, index: RunIndex, log: LogFile, grader: str | None) -> None:
        self._index = index
        self._log = log
        self._grader = grader
        self._count = index.count(grader)

    def __len__(self) -> int:
        """Count them."""
        return self._count

    def __iter__(self) -> Iterator[Record]:
        """Read them in the order of the data."""
        return (IndexedRecord(line, self._log) for line in self._index.shown(self._grader))

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
        """Read one, or some."""
        if isinstance(place, slice):
            return list(self)[place]
        wanted = place_of(place)
        wanted += len(self) if wanted < 0 else 0
        found = list(self._index.shown(self._grader, wanted, 1)) if wanted >= 0 else []
        if not found:
            raise IndexError(f"no record {place} of {len(self)}")
        return IndexedRecord(found[0], self._log)


class IndexedSamples(Mapping[str, StoredSample]):
    """The samples of a folder by id, read one at a time."""

    def __init__(self, index: RunIndex, log: LogFile | None) -> None:
        self._index = index
        self._log = log

    def __getitem__(self, sample_id: str) -> StoredSample:
        """Read one."""
        place = self._index.sample_place(sample_id)
        if place is None or self._log is None:
            raise KeyError(sample_id)
        return self._log.sample(place)

    def __iter__(self) -> Iterator[str]:
        """Yield the ids in the order in which samples were stored."""
        return (sample_id for sample_id, _ in self._index.sample_places())

    def __len__(self) -> int:
        """Count them."""
        return self._index.sample_count()

    def __contains__(self, sample_id: object) -> bool:
        """Return whether the data has a sample with this id."""
        return isinstance(sample_id, str) and self._index.sample_place(sample_id) is not None


class FolderRecords:
    """The records and samples of a run folder."""

    def __init__(
        self, folder: Path, manifest: Mapping[str, Any], *, unchecked: bool = False
    ) -> None:
        """Open the index.

        Args:
            folder: The run folder.
            manifest: Its manifest.
            unchecked: Use an index that covers the log without comparing hashes.

        Raises:
            DataError: A line of the log is broken.
        """
        self.manifest = manifest
        found = RunIndex.open_unchecked(folder) if unchecked else None
        self.index = found or RunIndex.read(folder)
        self.graders = self.index.graders(list(manifest.get("identity", {}).get("graders", {})))
        self.index.show(self.graders)
        self._results = folder / RESULTS
        self._log: LogFile | None = None
        samples = folder / SAMPLES
        self.samples = IndexedSamples(self.index, LogFile(samples) if samples.exists() else None)
        self.left_out = self.index.left_out()
        self.answered: AnsweringModels = self.index.answered()

    def records(self, grader: str | None = None) -> Sequence[Record]:
        """Return the outcomes of a grader, or of all, in the order of the data."""
        if not self._results.exists():
            return []
        return IndexedRecords(self.index, self._opened(), grader)

    def lowest(self, most: int, begin: int = 0) -> Sequence[Record]:
        """Return failed outcomes, then the lowest scores, then unscored outcomes."""
        return [IndexedRecord(line, self._opened()) for line in self.index.lowest(most, begin)]

    def scored_rows(self, grader: str) -> Iterator[ScoredRow]:
        """Read a grader's outcomes for a comparison, in the order of the data."""
        return self.index.scored_rows(grader)

    def answering(self) -> set[str]:
        """Return the models that answered, with their systems' fingerprints."""
        return self.index.answering()

    def usage(self) -> dict[str, float]:
        """Add up calls, tokens, cost and seconds of the outcomes, without zeros."""
        return self.index.usage()

    def of_row(self, sample_id: str) -> Sequence[Record]:
        """Return the outcomes of one row, in the order of the graders."""
        return [IndexedRecord(line, self._opened()) for line in self.index.of_sample(sample_id)]

    def fill(self, summary: Summary) -> None:
        """Count all outcomes in a summary; usage and cost are those of all starts."""
        spent = self.index.spent()
        summary.usage, summary.cost_usd = spent.usage, spent.cost_usd
        tallies = {tally.grader: tally for tally in self.index.tallies()}
        for grader in self.graders:
            if grader in tallies:
                summary.add_tally(tallies[grader])

    def _opened(self) -> LogFile:
        self._log = self._log or LogFile(self._results)
        return self._log


class MemoryRecords:
    """The records and samples of a run in memory."""

    def __init__(
        self,
        records: Iterable[Record],
        samples: Mapping[str, StoredSample] | None = None,
        manifest: Mapping[str, Any] | None = None,
        left_out: int = 0,
    ) -> None:
        """Sort the records; of several with the same sample and grader the last one counts."""
        latest = {(record["sample_id"], record["grader"]): record for record in records}
        self.manifest: Mapping[str, Any] = manifest or {}
        named = list(self.manifest.get("identity", {}).get("graders", {}))
        self.graders = list(dict.fromkeys([*named, *(name for _, name in latest)]))
        self.samples: Mapping[str, StoredSample] = samples or {}
        self.left_out = left_out
        # Counted when outcomes are added to a summary.
        self.answered: AnsweringModels = {}
        order = {name: place for place, name in enumerate(self.graders)}
        self._records = sorted(
            latest.values(), key=lambda record: (record["index"], order[record["grader"]])
        )

    @classmethod
    def of(
        cls, outcomes: Iterable[Outcome], samples: Mapping[str, StoredSample]
    ) -> "MemoryRecords":
        """Store the outcomes of a run as a log would."""
        return cls((from_json(outcome.to_line()) for outcome in outcomes), samples)

    def records(self, grader: str | None = None) -> Sequence[Record]:
        """Return the outcomes of a grader, or of all, in the order of the data."""
        if grader is None:
            return self._records
        return [record for record in self._records if record["grader"] == grader]

    def scored_rows(self, grader: str) -> Iterator[ScoredRow]:
        """Read a grader's outcomes for a comparison, in the order of the data."""
        for one in self.records(grader):
            facts = read_facts(one.get("facts"))
            yield ScoredRow(one["sample_id"], one["status"], one["score"], reason_of(one), facts)

    def answering(self) -> set[str]:
        """Return the models that answered, with their systems' fingerprints."""
        return {said for one in self._records for said in one.get("answered_by") or ()}

    def usage(self) -> dict[str, float]:
        """Add up calls, tokens, cost and seconds of the outcomes, without zeros."""
        total: Counter[str] = Counter()
        for record in self._records:
            more = {name: record.get(name) or 0 for name in ("cost_usd", "seconds")}
            total.update({**(record.get("usage") or {}), **more})
        return {name: value for name, value in total.items() if value}

    def lowest(self, most: int, begin: int = 0) -> Sequence[Record]:
        """Return failed outcomes, then the lowest scores, then unscored outcomes."""

        def rank(record: Record) -> tuple[int, float]:
            return STATUSES.index(record["status"]), record["score"] or 0.0

        return sorted(self._records, key=rank)[begin : begin + most]

    def of_row(self, sample_id: str) -> Sequence[Record]:
        """Return the outcomes of one row, in the order of the graders."""
        return [record for record in self._records if record["sample_id"] == sample_id]

    def fill(self, summary: Summary) -> None:
        """Count all outcomes in a summary."""
        for record in self._records:
            summary.add(Outcome.from_record(record))


RunRecords = FolderRecords | MemoryRecords
"""The records and samples of a run, wherever they are."""
