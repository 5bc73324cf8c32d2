"""The outcomes and samples of a run, read on demand.

A run may have a million rows. Most queries are answered from the index; a line of the log is only
read for fields that the index does not have, such as findings.
"""

import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from operator import index as place_of
from pathlib import Path
from typing import IO, Any, Protocol, Self, overload

from rag_evals.run.record.index import RESULTS, IndexedLine, RunIndex
from rag_evals.run.record.lines import read_line_at
from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.samples import SAMPLES, StoredSample, read_stored_sample
from rag_evals.run.record.stored_types import OUTCOME
from rag_evals.run.record.summary import Summary

Record = Mapping[str, Any]
"""One outcome as in `results.jsonl`; `result` is a mapping or None."""

_IN_INDEX = frozenset(
    "index sample_id grader status score ranking_score reason attempts seconds cost_usd "
    "warnings tallies further_scores repeats".split()
)


class Log(Protocol):
    """Reads lines by their `place` in the index."""

    def outcome(self, place: int, /) -> Record: ...


class LogFile:
    """A log file, opened when a line is first read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _file(self) -> IO[bytes]:
        file = self.path.open("rb")
        weakref.finalize(self, file.close)
        return file

    def outcome(self, place: int) -> Record:
        return read_line_at(self._file, self.path, place, OUTCOME.validate_json)

    def sample(self, place: int) -> StoredSample:
        return read_line_at(self._file, self.path, place, read_stored_sample)


@dataclass(frozen=True, slots=True)
class _ListLog:
    lines: Sequence[Record]

    def outcome(self, place: int) -> Record:
        return self.lines[place]


class IndexedRecord(Mapping[str, Any]):
    """An outcome from the index; its line is read for fields that the index does not have."""

    __slots__ = ("_fields", "_line", "_log")

    def __init__(self, line: IndexedLine, log: Log) -> None:
        self._line = line
        self._log = log
        self._fields: Mapping[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
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
        return self._whole()[name]

    def _whole(self) -> Mapping[str, Any]:
        if self._fields is None:
            self._fields = self._log.outcome(self._line.place)
        return self._fields

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole())

    def __len__(self) -> int:
        return len(self._whole())

    def __repr__(self) -> str:
        return repr(dict(self._whole()))


class IndexedRecords(Sequence[Record]):
    """The records of a run, read one at a time."""

    def __init__(self, index: RunIndex, log: Log, grader: str | None) -> None:
        self._index = index
        self._log = log
        self._grader = grader
        self._count = index.count(grader)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Record]:
        return (IndexedRecord(line, self._log) for line in self._index.shown(self._grader))

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> list[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | list[Record]:
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

    def __init__(self, index: RunIndex, log: LogFile) -> None:
        self._index = index
        self._log = log

    def __getitem__(self, sample_id: str) -> StoredSample:
        place = self._index.sample_place(sample_id)
        if place is None:
            raise KeyError(sample_id)
        return self._log.sample(place)

    def __iter__(self) -> Iterator[str]:
        return (sample_id for sample_id, _ in self._index.sample_places())

    def __len__(self) -> int:
        return self._index.sample_count()

    def __contains__(self, sample_id: object) -> bool:
        return isinstance(sample_id, str) and self._index.sample_place(sample_id) is not None


class RunRecords:
    def __init__(
        self,
        index: RunIndex,
        manifest: Mapping[str, Any],
        log: Log,
        samples: Mapping[str, StoredSample],
    ) -> None:
        self.index = index
        self.manifest = manifest
        self.graders = index.graders(list(manifest.get("identity", {}).get("graders", {})))
        index.show(self.graders)
        self.samples = samples
        self._log = log

    @classmethod
    def of_folder(cls, folder: Path, manifest: Mapping[str, Any], *, unchecked: bool) -> Self:
        """Open the index of a folder; `unchecked` skips the comparison of hashes if possible.

        Raises:
            DataError: A line of the log is broken.
        """
        found = RunIndex.open_unchecked(folder) if unchecked else None
        index = found or RunIndex.read(folder)
        samples = IndexedSamples(index, LogFile(folder / SAMPLES))
        return cls(index, manifest, LogFile(folder / RESULTS), samples)

    @classmethod
    def in_memory(
        cls,
        records: Sequence[Record],
        manifest: Mapping[str, Any],
        samples: Mapping[str, StoredSample],
    ) -> Self:
        """Index records without a folder; the last record of each sample and grader counts."""
        index = RunIndex.in_memory(map(Outcome.from_record, records))
        return cls(index, manifest, _ListLog(records), samples)

    def records(self, grader: str | None = None) -> Sequence[Record]:
        return IndexedRecords(self.index, self._log, grader)

    def read(self, lines: Iterable[IndexedLine]) -> Sequence[Record]:
        return [IndexedRecord(line, self._log) for line in lines]

    def fill(self, summary: Summary) -> None:
        """Count all outcomes; usage and cost include lines that no longer count."""
        spent = self.index.spent()
        summary.usage, summary.cost_usd = spent.usage, spent.cost_usd
        tallies = {tally.grader: tally for tally in self.index.tallies()}
        for grader in self.graders:
            if grader in tallies:
                summary.add_tally(tallies[grader])
