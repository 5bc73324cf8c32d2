"""How does a large run go on in seconds? By a checkpoint: which rows ended, and their scores.

`.checkpoint.rows` has 24 bytes for each outcome, `.checkpoint.json` the rest of the numbers and how
far each file of the run was written, with a hash of it. Lines behind that are read one by one. A
checkpoint that does not fit is passed over: then all lines are read, and a new one is made.
"""

import hashlib
import os
import struct
from array import array
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic takes Python's own from 3.12 on

from rag_evals.core import Usage
from rag_evals.dataset import FileData, KeptCheck
from rag_evals.run.lines import PRIVATE, Written, replace_file
from rag_evals.run.outcome import Outcome
from rag_evals.run.plan import Plan
from rag_evals.run.repeats import RepeatNumbers
from rag_evals.run.store import CHECKPOINT, ENDED, RunStore
from rag_evals.run.summary import GraderSummary, Summary

_FORMAT = 1
_EVERY_ROWS = 1_000
# Place of the line, score, row, grader, status.
_RECORD = struct.Struct("<QdIHBx")
_STATUSES = ("failed", "scored", "not_scorable")
_FAILED, _SCORED = 0, 1
_FLIP = bytes.maketrans(b"\0\1", b"\1\0")


class _Counts(TypedDict):
    """What a `GraderSummary` counts beside the scores; failures are graded again."""

    not_scorable: dict[str, int]
    warnings: int
    drift: dict[str, int]
    tallies: dict[str, tuple[int, int]]
    repeats: RepeatNumbers


@dataclass(frozen=True, slots=True)
class _State:
    """What `.checkpoint.json` holds.

    Attributes:
        format: Version of the two files.
        reading: Of the data's check, as is `content`.
        content: As above.
        graders: Name to fingerprint as outcomes have it, in order.
        results: How far the outcomes are counted here.
        samples: How far the samples were written then.
        ended: How far `.checkpoint.rows` counts.
        under_way: Places of rows whose samples are kept and that have not ended.
        answered: The endpoint took part in a row.
        left_out: As in the summary.
        counts: Of each grader.
        usage: Of outcomes that did not fail.
        cost_usd: As above.
    """

    format: int
    reading: str
    content: str
    graders: dict[str, str]
    results: Written
    samples: Written
    ended: Written
    under_way: list[int]
    answered: bool
    left_out: int
    counts: dict[str, _Counts]
    usage: Usage
    cost_usd: float | None


class EndedLine(NamedTuple):
    """A row that ended, in the order of the table that shows the worst.

    Attributes:
        kind: 1 for a score, 2 for none.
        score: 0 without one.
        position: Of the row.
        grader: Its place among the graders.
        place: Where its line stands in the results.
    """

    kind: int
    score: float
    position: int
    grader: int
    place: int


@dataclass(slots=True)
class EndedRows:
    """What an earlier start ended, as its checkpoint has it.

    Attributes:
        state: The rest of the checkpoint.
        flags: For each grader a byte for each row: 1 where it ended.
        scores: For each grader the scores, in the order in which they came.
        kept: A byte for each row: 1 where its sample is kept.
        failed: Where the lines of failed gradings stand.
        lowest: The outcomes with the lowest scores, the worst first.
    """

    state: _State
    flags: dict[str, bytearray]
    scores: dict[str, "array[float]"]
    kept: bytearray
    failed: list[int] = field(default_factory=list)
    lowest: list[EndedLine] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Gradings that ended."""
        return sum(flags.count(1) for flags in self.flags.values())

    def has(self, grader: str, position: int) -> bool:
        """Say whether a grading ended; a row that the data does not have counts as one."""
        flags = self.flags.get(grader, b"")
        return position >= len(flags) or flags[position] == 1

    def wanted(self) -> bytes:
        """Return 1 for each row that is still to be graded, else 0."""
        first, *others = self.flags.values()
        ended = bytes(map(min, first, *others)) if others else bytes(first)
        return ended.translate(_FLIP)

    def fill(self, summary: Summary) -> None:
        """Count all of it in a new summary."""
        summary.usage, summary.cost_usd = self.state.usage, self.state.cost_usd
        for name, counts in self.state.counts.items():
            of_grader = summary.graders[name] = GraderSummary(
                name,
                not_scorable=Counter(counts["not_scorable"]),
                warnings=counts["warnings"],
                drift=Counter(counts["drift"]),
                tallies=dict(counts["tallies"]),
                repeats=counts["repeats"],
            )
            of_grader.scores.extend(self.scores.pop(name))

    def read(self, records: Iterable[tuple[int, float, int, int, int]], most: int) -> None:
        """Take in what `.checkpoint.rows` holds.

        Args:
            records: As `_RECORD` has them.
            most: So many of the lowest are held.

        Raises:
            ValueError: It cannot be of this run.
            IndexError: As above.
        """
        names = list(self.flags)
        worst: tuple[float, ...] = ()
        flags_of, scores_of = list(self.flags.values()), list(self.scores.values())
        for place, score, position, grader, status in records:
            self.kept[position] = 1
            if status == _FAILED:
                self.failed.append(place)
                continue
            flags = flags_of[grader]
            if flags[position]:
                raise ValueError(f"row {position} ended twice with {names[grader]}")
            flags[position] = 1
            if status == _SCORED:
                scores_of[grader].append(score)
            if most and (len(self.lowest) < most or (status, score, position) < worst):
                insort(self.lowest, EndedLine(status, score, position, grader, place))
                del self.lowest[most:]
                worst = self.lowest[-1]


class Checkpoint:
    """Writes the checkpoint of a run while it goes on; held by whoever holds the store."""

    def __init__(self, store: RunStore, check: KeptCheck, graders: Mapping[str, str]) -> None:
        """Begin with nothing read or written.

        Args:
            store: The run, opened.
            check: What is known of its data.
            graders: Name to fingerprint as outcomes have it, in order.
        """
        self._store = store
        self._check = check
        self._graders = dict(graders)
        self._numbers = {name: number for number, name in enumerate(graders)}
        self._path = store.folder / CHECKPOINT
        self._rows_path = store.folder / ENDED
        self._digest = hashlib.sha256()
        self._size = 0
        self._records = bytearray()
        self._unsaved = 0
        self._usage = Usage()
        self._cost_usd: float | None = None

    def read(self, most: int) -> EndedRows | None:
        """Return what an earlier start ended; None where no checkpoint says it for sure.

        Args:
            most: How many of the outcomes with the lowest scores are asked for.
        """
        try:
            state = _adapter().validate_json(self._path.read_bytes())
            if not self._fits(state):
                return None
            records = self._rows_path.read_bytes()[: state.ended.size]
            digest = hashlib.sha256(records)
            if Written(len(records), digest.hexdigest()) != state.ended:
                return None
            rows = self._check.checked.count
            ended = EndedRows(
                state,
                {name: bytearray(rows) for name in self._graders},
                {name: array("d") for name in self._graders},
                bytearray(rows),
            )
            for position in state.under_way:
                ended.kept[position] = 1
            ended.read(_RECORD.iter_unpack(records), most)
        except (OSError, ValueError, IndexError, struct.error):
            # Damaged, or no checkpoint at all: the lines themselves say it.
            return None
        self._digest, self._size = digest, len(records)
        self._usage, self._cost_usd = state.usage, state.cost_usd
        return ended

    def _fits(self, state: _State) -> bool:
        """Say whether it is of this data and these graders, and no file was changed since."""
        ours = (_FORMAT, self._check.reading, self._check.content, list(self._graders.items()))
        theirs = (state.format, state.reading, state.content, list(state.graders.items()))
        if ours != theirs:
            return False
        return self._store.follow(state.results.size, state.samples.size) == (
            state.results.content,
            state.samples.content,
        )

    def begin(self, ended: EndedRows | None) -> None:
        """Go on with what was read, or begin anew."""
        if ended is None:
            self._path.unlink(missing_ok=True)
            self._digest, self._size = hashlib.sha256(), 0
            self._usage, self._cost_usd = Usage(), None
            self._store.follow(0, 0)
        file = os.open(self._rows_path, os.O_WRONLY | os.O_CREAT, PRIVATE)
        # What stands behind was written before a kill, and is counted nowhere.
        os.ftruncate(file, self._size)
        os.close(file)

    def add(self, outcome: Outcome, place: int) -> None:
        """Take in an outcome whose line is written, before it is counted in the summary.

        Args:
            outcome: In its place of today.
            place: The byte at which its line begins.
        """
        status, grader = _STATUSES.index(outcome.status), self._numbers[outcome.grader]
        self._records += _RECORD.pack(place, outcome.score or 0.0, outcome.index, grader, status)
        self._unsaved += 1
        if status != _FAILED:
            self._usage = self._usage + outcome.usage
            if outcome.cost_usd is not None:
                self._cost_usd = (self._cost_usd or 0.0) + outcome.cost_usd

    @property
    def is_due(self) -> bool:
        """Whether enough rows ended since the last one."""
        return self._unsaved >= _EVERY_ROWS

    def write_rows(self) -> None:
        """Write the outcomes that were taken in; they count once `save` says so."""
        self._unsaved = 0
        # A run does not end because its checkpoint cannot be written: the hashes tell it.
        with suppress(OSError), self._rows_path.open("ab") as file:
            file.write(self._records)
        self._digest.update(self._records)
        self._size += len(self._records)
        self._records.clear()

    def save(
        self, summary: Summary, under_way: Iterable[int], *, answered: bool, left_out: int
    ) -> None:
        """Write where the run stands; all lines of its folder are accounted for.

        Args:
            summary: Of all outcomes that were taken in.
            under_way: As in `_State`.
            answered: As in `_State`.
            left_out: As in the summary.
        """
        self.write_rows()
        results, samples = self._store.written
        state = _State(
            _FORMAT,
            self._check.reading,
            self._check.content,
            self._graders,
            results,
            samples,
            Written(self._size, self._digest.hexdigest()),
            sorted(under_way),
            answered,
            left_out,
            {name: _counts(each) for name, each in summary.graders.items()},
            self._usage,
            self._cost_usd,
        )
        with suppress(OSError):
            replace_file(self._path, _adapter().dump_json(state), sync=False)

    def drop(self) -> None:
        """Remove it: the next start reads all lines."""
        self._path.unlink(missing_ok=True)


def checkpoint_of(
    plan: Plan, store: RunStore | None, graders: Mapping[str, str]
) -> Checkpoint | None:
    """Return what keeps a checkpoint; None where none can be.

    Args:
        plan: The run; all rows of a file, in their order, each asked about at once.
        store: Its folder; None where nothing is kept.
        graders: As for `Checkpoint`.
    """
    check = plan.data.kept_check if isinstance(plan.data, FileData) else None
    if store is None or check is None or plan.drawn is not None or plan.batched:
        return None
    return Checkpoint(store, check, graders)


def _counts(of_grader: GraderSummary) -> _Counts:
    return _Counts(
        not_scorable=dict(of_grader.not_scorable),
        warnings=of_grader.warnings,
        drift=dict(of_grader.drift),
        tallies=of_grader.tallies,
        repeats=of_grader.repeats,
    )


@cache
def _adapter() -> TypeAdapter[_State]:
    return TypeAdapter(_State)
