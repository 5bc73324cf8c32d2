"""A run's outcomes and samples, read on demand.

A run may have a million rows. Most queries need only the index; a log line is read only for fields
that the index does not contain, such as findings.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import index as place_of
from pathlib import Path
from typing import Any, Self, overload

from rag_evals.run.record.index import RESULTS, IndexedLine, RunIndex
from rag_evals.run.record.lines import LogReader
from rag_evals.run.record.outcome import Record
from rag_evals.run.record.samples import SAMPLES, StoredSample
from rag_evals.run.record.store import read_manifest

ReadRecord = Callable[[int], Record]
"""Reads a log line, given its `place` in the index."""


class IndexedRecord(Mapping[str, Any]):
    """An outcome from the index; fields missing from the index are read from the log."""

    def __init__(self, line: IndexedLine, read: ReadRecord) -> None:
        self._line = line
        self._read = read

    @cached_property
    def _whole(self) -> Mapping[str, Any]:
        return self._read(self._line.place)

    def __getitem__(self, name: str) -> Any:
        indexed = self._line.record
        return indexed[name] if name in indexed else self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexedRecord):
            return dict(self) == other
        # The log is read only if the fields in the index are equal.
        return self._line.record == other._line.record and self._whole == other._whole

    def __repr__(self) -> str:
        return repr(dict(self._whole))


class IndexedRecords(Sequence[Record]):
    """A run's records in the order of the data, each read when needed."""

    def __init__(self, index: RunIndex, read: ReadRecord, grader: str | None) -> None:
        self._index = index
        self._read = read
        self._grader = grader
        self._count = index.count(grader)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Record]:
        return (IndexedRecord(line, self._read) for line in self._index.shown(self._grader))

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
        return IndexedRecord(found[0], self._read)


class IndexedSamples(Mapping[str, StoredSample]):
    """A run folder's samples by id, each read when needed."""

    def __init__(self, index: RunIndex, log: LogReader) -> None:
        self._index = index
        self._log = log

    def __getitem__(self, sample_id: str) -> StoredSample:
        place = self._index.sample_place(sample_id)
        if place is None:
            raise KeyError(sample_id)
        return StoredSample.of_line(self._log.read_at(place))

    def __iter__(self) -> Iterator[str]:
        return self._index.sample_ids()

    def __len__(self) -> int:
        return self._index.sample_count()

    def __contains__(self, sample_id: object) -> bool:
        return isinstance(sample_id, str) and self._index.sample_place(sample_id) is not None


@dataclass(slots=True)
class RunRecords:
    index: RunIndex
    manifest: Mapping[str, Any]
    read_whole: ReadRecord
    samples: Mapping[str, StoredSample]
    graders: list[str] = field(init=False)

    def __post_init__(self) -> None:
        named = self.manifest.get("identity", {}).get("graders", {})
        self.graders = self.index.graders(list(named))
        self.index.show(self.graders)

    @classmethod
    def of_folder(cls, folder: Path, *, unchecked: bool) -> Self:
        """Open the index of a run folder; `unchecked` skips hash verification if possible.

        Raises:
            DataError: The manifest or a log line is invalid.
        """
        manifest = read_manifest(folder)
        index = (RunIndex.open_unchecked(folder) if unchecked else None) or RunIndex.read(folder)
        samples = IndexedSamples(index, LogReader(folder / SAMPLES))
        return cls(index, manifest, LogReader(folder / RESULTS).read_at, samples)

    def records(self, grader: str | None = None) -> Sequence[Record]:
        return IndexedRecords(self.index, self.read_whole, grader)

    def wholes(self) -> Iterator[Record]:
        """Read all records from the log, in the order of the data."""
        return map(self.read_whole, self.index.shown_places())

    def read(self, lines: Iterable[IndexedLine]) -> Sequence[Record]:
        return [IndexedRecord(line, self.read_whole) for line in lines]
