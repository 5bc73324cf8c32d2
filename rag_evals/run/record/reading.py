"""The outcomes and samples of a run, read when they are asked for: from its folder, or from memory.

A run folder may hold a million rows. Its records are found in the index, and a line of the log is
read only where somebody asks for what the index lacks, such as findings.
"""

import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from operator import index as place_of
from pathlib import Path
from typing import Any, Protocol, overload

from pydantic_core import from_json

from rag_evals.core import Usage
from rag_evals.run.record.facts import RowFacts, read_facts
from rag_evals.run.record.index import RESULTS, STATUSES, IndexedLine, RunIndex, Tally
from rag_evals.run.record.lines import read_line_at
from rag_evals.run.record.outcome import Outcome
from rag_evals.run.record.samples import SAMPLES, StoredSample, read_stored_sample
from rag_evals.run.record.stored_types import OUTCOME

Record = Mapping[str, Any]
"""One outcome as its line in `results.jsonl` has it; `result` is a mapping or None."""

AnsweringModels = Mapping[str, Counter[tuple[str, ...]]]
"""For each grader, how many of its outcomes which models answered."""
_IN_INDEX = frozenset(
    "index sample_id grader status score ranking_score reason attempts seconds cost_usd "
    "warnings tallies further_scores repeats".split()
)


class OutcomeCounts(Protocol):
    """What is written of a `Summary`."""

    usage: Usage
    cost_usd: float | None

    def add(self, outcome: Outcome) -> None:
        """Count an outcome, and what it cost."""

    def add_tally(self, tally: Tally) -> None:
        """Count the outcomes of a grader."""


class RunRecords(Protocol):
    """What a run has: its folder's files, or what memory keeps."""

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What `manifest.json` holds; empty in memory."""

    @property
    def graders(self) -> list[str]:
        """Names of the graders, in order."""

    @property
    def samples(self) -> Mapping[str, StoredSample]:
        """The samples by id."""

    @property
    def left_out(self) -> int:
        """Rows that were graded and do not count."""

    @property
    def answered(self) -> AnsweringModels:
        """How often which models answered, where a folder's index has counted them."""

    def records(self, grader: str | None = None) -> Sequence[Record]:
        """Return the outcomes of a grader, or of all, in the order of the data."""

    def lowest(self, most: int) -> Sequence[Record]:
        """Return failed outcomes, then the lowest scores, then rows without one."""

    def of_row(self, sample_id: str) -> Sequence[Record]:
        """Return the outcomes of one row, in the order of the graders."""

    def fill(self, summary: OutcomeCounts) -> None:
        """Count all outcomes in a summary."""


class LogFile:
    """A log whose lines are read at their places; closed with its last user."""

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
    """One outcome: from the index, and from its line as soon as more is asked for."""

    __slots__ = ("_fields", "_line", "_log")

    def __init__(self, line: IndexedLine, log: LogFile) -> None:
        self._line = line
        self._log = log
        self._fields: Mapping[str, Any] | None = None

    def __getitem__(self, name: str) -> Any:
        """Return a field as the line has it."""
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

    @property
    def facts(self) -> RowFacts:
        """What the row shares with others, and how much its answer says."""
        return self._line.outcome.facts

    def _whole(self) -> Mapping[str, Any]:
        if self._fields is None:
            self._fields = self._log.outcome(self._line.place)
        return self._fields

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the fields."""
        return iter(self._whole())

    def __len__(self) -> int:
        """Count the fields."""
        return len(self._whole())

    def __repr__(self) -> str:
        """As a dictionary."""
        return repr(dict(self._whole()))


def facts_in(record: Record) -> RowFacts:
    """Return what a record says about its row besides the score."""
    if isinstance(record, IndexedRecord):
        return record.facts
    return read_facts(record.get("facts"))


class IndexedRecords(Sequence[Record]):
    """The records of a folder, one read at a time."""

    def __init__(self, index: RunIndex, log: LogFile, grader: str | None) -> None:
        self._index = index
        self._log = log
        self._grader = grader

    def __len__(self) -> int:
        """Count them."""
        return self._index.count(self._grader)

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
    """The samples of a folder by id, one read at a time; `items()` reads the log once."""

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
        """Yield the ids, in the order in which samples were kept."""
        return (sample_id for sample_id, _ in self._index.sample_places())

    def __len__(self) -> int:
        """Count them."""
        return self._index.sample_count()

    def __contains__(self, sample_id: object) -> bool:
        """Say whether the data has a sample of this id."""
        return isinstance(sample_id, str) and self._index.sample_place(sample_id) is not None


class FolderRecords:
    """What a run folder holds; an implementation of `RunRecords`."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """Open the index, brought up to date.

        Raises:
            DataError: A line of the log is broken.
        """
        self.manifest = manifest
        self.index = RunIndex.read(folder)
        self.graders = self.index.graders(list(manifest.get("identity", {}).get("graders", {})))
        self.index.show(self.graders)
        self._results = folder / RESULTS
        self._log: LogFile | None = None
        samples = folder / SAMPLES
        self.samples = IndexedSamples(self.index, LogFile(samples) if samples.exists() else None)
        self.left_out = self.index.left_out()
        self.answered: AnsweringModels = self.index.answered(self.graders)

    def records(self, grader: str | None = None) -> Sequence[Record]:
        """Return the outcomes of a grader, or of all, in the order of the data."""
        if not self._results.exists():
            return []
        return IndexedRecords(self.index, self._opened(), grader)

    def lowest(self, most: int) -> Sequence[Record]:
        """Return failed outcomes, then the lowest scores, then rows without one."""
        return [IndexedRecord(line, self._opened()) for line in self.index.lowest(most)]

    def of_row(self, sample_id: str) -> Sequence[Record]:
        """Return the outcomes of one row, in the order of the graders."""
        return [IndexedRecord(line, self._opened()) for line in self.index.of_sample(sample_id)]

    def fill(self, summary: OutcomeCounts) -> None:
        """Count all outcomes in a summary; what was spent is that of all starts."""
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
    """What a run without a folder keeps in memory; an implementation of `RunRecords`."""

    def __init__(
        self,
        records: Iterable[Record],
        samples: Mapping[str, StoredSample] | None = None,
        manifest: Mapping[str, Any] | None = None,
        left_out: int = 0,
    ) -> None:
        """Put records in order; of several of one sample and grader the last counts."""
        latest = {(record["sample_id"], record["grader"]): record for record in records}
        self.manifest: Mapping[str, Any] = manifest or {}
        named = list(self.manifest.get("identity", {}).get("graders", {}))
        self.graders = list(dict.fromkeys([*named, *(name for _, name in latest)]))
        self.samples: Mapping[str, StoredSample] = samples or {}
        self.left_out = left_out
        # Counted as outcomes are added to a summary.
        self.answered: AnsweringModels = {}
        order = {name: place for place, name in enumerate(self.graders)}
        self._records = sorted(
            latest.values(), key=lambda record: (record["index"], order[record["grader"]])
        )

    @classmethod
    def of(
        cls, outcomes: Iterable[Outcome], samples: Mapping[str, StoredSample]
    ) -> "MemoryRecords":
        """Keep the outcomes of a run, as a log would have them."""
        return cls((from_json(outcome.to_line()) for outcome in outcomes), samples)

    def records(self, grader: str | None = None) -> Sequence[Record]:
        """Return the outcomes of a grader, or of all, in the order of the data."""
        if grader is None:
            return self._records
        return [record for record in self._records if record["grader"] == grader]

    def lowest(self, most: int) -> Sequence[Record]:
        """Return failed outcomes, then the lowest scores, then rows without one."""

        def rank(record: Record) -> tuple[int, float]:
            return STATUSES.index(record["status"]), record["score"] or 0.0

        return sorted(self._records, key=rank)[:most]

    def of_row(self, sample_id: str) -> Sequence[Record]:
        """Return the outcomes of one row, in the order of the graders."""
        return [record for record in self._records if record["sample_id"] == sample_id]

    def fill(self, summary: OutcomeCounts) -> None:
        """Count all outcomes in a summary."""
        for record in self._records:
            summary.add(Outcome.from_record(record))
