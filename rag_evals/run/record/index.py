"""The index of a run: one SQLite row for each line of its log, found without reading the log.

`index.sqlite` may be deleted at any time: it is built again from `results.jsonl` and
`samples.jsonl`. It keeps the hash of the lines that it covers, so a file that was changed behind
its back is noticed, and its index is built again, never believed.
"""

import marshal
import sqlite3
import weakref
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from filelock import FileLock, Timeout
from pydantic_core import from_json, to_json

from rag_evals.core import Usage
from rag_evals.run.record.facts import FACTS, RowFacts, RowTable, stable_hash
from rag_evals.run.record.lines import PRIVATE, Written, hash_beginning, placed_lines
from rag_evals.run.record.outcome import ErrorRecord, Outcome
from rag_evals.run.record.samples import SAMPLES, SampleKey, read_sample_key
from rag_evals.run.record.stored_types import OUTCOME

INDEX = "index.sqlite"
RESULTS = "results.jsonl"
POSITIONS = "positions"
"""Note: the hash of the data in which every line's `index` is the place of its row."""
LOCK = ".lock"
_DOUBTED = "doubted"
_MOST_DOUBTED = 10_000
_VERSION = 3
_COMMIT_ROWS = 200
_FETCHED = 1_000
_BETWEEN = ", "
_MAP_BYTES = 1 << 22
_PRIME = 4_294_967_291
"""Sums of numbers below it fit into SQLite's whole numbers for two thousand million rows."""
_USAGE = tuple(field.name for field in fields(Usage))
_NUMBERS = (*_USAGE, *FACTS)
_read_usage = attrgetter(*_USAGE)
_read_facts = attrgetter(*FACTS)

_SCHEMA = f"""
CREATE TABLE covered (file TEXT PRIMARY KEY, size INTEGER NOT NULL, hash TEXT NOT NULL,
    rows INTEGER NOT NULL, numbers INTEGER NOT NULL, texts INTEGER NOT NULL);
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT);
CREATE TABLE word (number INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL);
CREATE TABLE outcome (
    place INTEGER PRIMARY KEY, position INTEGER NOT NULL, sample INTEGER NOT NULL,
    content INTEGER NOT NULL, grader INTEGER NOT NULL, fingerprint INTEGER NOT NULL,
    status INTEGER NOT NULL, score REAL, ranking_score REAL, reason INTEGER, error INTEGER,
    judge INTEGER, seconds REAL, cost_usd REAL, {" INTEGER, ".join(_NUMBERS)} INTEGER,
    sample_id TEXT NOT NULL, more BLOB
);
CREATE TABLE sample (
    place INTEGER PRIMARY KEY, sample INTEGER NOT NULL, content INTEGER NOT NULL,
    in_data INTEGER NOT NULL, line INTEGER NOT NULL, sample_id TEXT NOT NULL
);
PRAGMA user_version = {_VERSION};
"""
# Which line is the one that counts: the last of its sample and grader that is of the sample as
# it is now. A sample that was not kept cannot have changed.
_NOW = """
CREATE TEMP TABLE now (sample INTEGER PRIMARY KEY, place INTEGER, content, in_data, began);
INSERT INTO now SELECT last.*, first.place
    FROM (SELECT sample, MAX(place), content, in_data FROM main.sample GROUP BY sample) AS last
    JOIN (SELECT sample, MIN(place) AS place FROM main.sample GROUP BY sample) AS first
    USING (sample);
"""
_SHOWN = """
CREATE TEMP TABLE shown (n INTEGER PRIMARY KEY, place INTEGER, grader INTEGER, sample INTEGER);
INSERT INTO shown (place, grader, sample)
    SELECT line.place, line.grader, line.sample FROM (
        SELECT MAX(o.place) AS place FROM outcome o LEFT JOIN now ON now.sample = o.sample
        WHERE now.sample IS NULL OR (now.in_data AND now.content = o.content)
        GROUP BY o.sample, o.grader
    ) AS last JOIN outcome AS line ON line.place = last.place
    JOIN rank ON rank.grader = line.grader ORDER BY line.position, rank.place;
CREATE INDEX temp.shown_grader ON shown (grader);
CREATE INDEX temp.shown_sample ON shown (sample, grader);
"""
# What came before this start, for whoever looks for single rows. Temporary: an index of SQLite that
# is damaged would not be noticed.
_EARLIER = """
CREATE TEMP TABLE earlier AS SELECT sample, grader, place FROM outcome WHERE {lines};
CREATE INDEX temp.earlier_sample ON earlier (sample, grader, place);
CREATE TEMP TABLE kept (sample INTEGER PRIMARY KEY, line INTEGER);
INSERT OR REPLACE INTO kept SELECT sample, line FROM main.sample WHERE {samples} ORDER BY place;
CREATE TEMP TABLE came (sample INTEGER PRIMARY KEY);
"""
STATUSES: tuple[Literal["failed", "scored", "not_scorable"], ...] = (
    "failed",
    "scored",
    "not_scorable",
)
_COLUMNS = (
    "o.place, o.position, o.sample_id, g.text, o.status, o.score, o.ranking_score, r.text, "
    f"e.text, o.seconds, o.cost_usd, {', '.join(f'o.{name}' for name in _NUMBERS)}, o.more"
)
_JOINED = (
    "outcome o JOIN word g ON g.number = o.grader LEFT JOIN word r ON r.number = o.reason "
    "LEFT JOIN word e ON e.number = o.error"
)


class _Sums(NamedTuple):
    """What a table of the index adds up to: a damaged or edited file adds up to something else."""

    rows: int = 0
    numbers: int = 0
    texts: int = 0


_NO_SUMS = _Sums()


def _mixed(columns: str) -> str:
    """Write an expression in which a change of any one number of a row shows."""
    values = [
        f"CAST(COALESCE({name}, -77) * 1e12 AS INTEGER)"
        if name in ("score", "ranking_score", "seconds", "cost_usd")
        else f"(COALESCE({name}, -77) % {_PRIME})"
        for name in columns.split()
    ]
    mixed = " + ".join(f"{number} * {value}" for number, value in enumerate(values, 1))
    return f"(({mixed}) % {_PRIME})"


_MIXED = {
    "outcome": _mixed(
        "place position sample content grader fingerprint status reason error judge score "
        f"ranking_score seconds cost_usd {' '.join(_NUMBERS)}"
    ),
    "sample": _mixed("place sample content in_data line"),
}


def models_in(answered_by: Iterable[str]) -> tuple[str, ...]:
    """Return the models that answered, each once, without the fingerprints of their systems."""
    return tuple(sorted({said.partition(" ")[0] for said in answered_by}))


class IndexedLine(NamedTuple):
    """One line of the log as the index has it.

    Attributes:
        place: The byte of `results.jsonl` at which it begins.
        outcome: The outcome without its result, findings and fingerprints.
    """

    place: int
    outcome: Outcome


class Spent(NamedTuple):
    """What all starts of a run used together, outcomes that were graded again among them.

    Attributes:
        usage: Calls and tokens.
        cost_usd: List price in US dollars; None where no price is known.
        lost_usd: The part of it that failed gradings cost.
        is_answered: Whether a judge took part in a line that did not fail.
    """

    usage: Usage
    cost_usd: float | None
    lost_usd: float = 0.0
    is_answered: bool = False


class Ended(NamedTuple):
    """Which lines of earlier starts are asked for: those that did not fail.

    Attributes:
        fingerprints: Of each grader, as outcomes have it; lines of other graders are left out.
        only_current: Lines about rows that changed, or that the data lacks, are left out.
    """

    fingerprints: Mapping[str, str]
    only_current: bool = False


class Tally(NamedTuple):
    """Totals over the lines of one grader.

    Attributes:
        grader: Its name.
        ends: How often each status and reason, or type of error, came without a score.
        scores: Of the lines that have one.
        rows: Facts of all lines that did not fail.
        noted: Outcomes with warnings, tallies, further scores or repeats, to be counted singly.
    """

    grader: str
    ends: Counter[tuple[str, str]]
    scores: "array[float]"
    rows: RowTable
    noted: Iterator[IndexedLine]


class RunIndex:
    """The index of one run folder.

    A writer holds the folder's lock and follows the log line by line; a reader opens it with
    `RunIndex.read`, and brings it up to date first.
    """

    COUNTED = (
        "SELECT g.text, o.status, o.score, COALESCE(r.text, e.text), o.count FROM ("
        # One number to sort by takes half the time of two: no score is above 1.
        "SELECT grader, status, score, NULL AS reason, NULL AS error, COUNT(*) AS count "
        "FROM outcome WHERE status = 1 GROUP BY grader * 2 + score UNION ALL "
        "SELECT grader, status, NULL, reason, error, COUNT(*) FROM outcome WHERE status != 1 "
        "GROUP BY grader, status, reason, error) o JOIN word g ON g.number = o.grader "
        "LEFT JOIN word r ON r.number = o.reason LEFT JOIN word e ON e.number = o.error"
    )
    """Query: grader, status, score, reason or error, and how many lines are so."""
    WORST = "SELECT place, sample FROM outcome ORDER BY status, score, place LIMIT ? OFFSET ?"
    """Query: places and samples of lines, failed ones and the lowest scores first."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._database = connection
        self._outcomes: list[tuple[Any, ...]] = []
        self._samples: list[tuple[Any, ...]] = []
        self._words: dict[str, int] = {}
        self._sums = {"outcome": _NO_SUMS, "sample": _NO_SUMS}
        self._marked: list[tuple[int]] = []
        self._is_shown = self._has_now = self._looks_back = False
        weakref.finalize(self, connection.close)

    @classmethod
    def write(cls, folder: Path, hash_file: Callable[[Path, int], str] = hash_beginning) -> Self:
        """Open the index of a folder whose lock this process holds, and bring it up to date.

        Raises:
            DataError: A line of the log is broken.
        """
        try:
            return cls._current(folder, _opened(folder / INDEX), hash_file)
        except sqlite3.DatabaseError:
            remove_index(folder)
            return cls._current(folder, _opened(folder / INDEX), hash_file)

    @classmethod
    def _current(
        cls, folder: Path, database: sqlite3.Connection, hash_file: Callable[[Path, int], str]
    ) -> Self:
        index = cls(folder, database)
        try:
            index._catch_up(hash_file)
        except BaseException:
            # A transaction left open lets the next reader wait five seconds, and fail.
            database.close()
            raise
        return index

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Open the index of a folder for reading, and bring it up to date.

        Where a run is being graded in the folder, or the folder cannot be written to, the work is
        done in a private copy.

        Raises:
            DataError: A line of the log is broken.
        """
        try:
            with FileLock(folder / LOCK, timeout=0):
                return cls.write(folder)
        except (Timeout, OSError):
            private = sqlite3.connect("", check_same_thread=False)
            with suppress(sqlite3.Error):
                with sqlite3.connect(f"file:{folder / INDEX}?mode=ro", uri=True) as shared:
                    shared.backup(private)
                shared.close()
            return cls._current(folder, _prepared(private), hash_beginning)

    def close(self) -> None:
        """Write what is not written yet, and close the file."""
        self._flush()
        self._database.close()

    def add(self, outcome: Outcome, place: int) -> None:
        """Add a line of the log that was just written."""
        self._outcomes.append(self._row(outcome, place))

    def add_sample(self, key: SampleKey, place: int) -> None:
        """Add a line of the log of samples that was just written; arguments as for `add`."""
        self._samples.append(_sample_row(key, place))

    @property
    def is_due(self) -> bool:
        """Whether enough lines were added to write them."""
        return len(self._outcomes) >= _COMMIT_ROWS

    def commit(self, results: Written, samples: Written) -> None:
        """Write the added lines in one transaction."""
        self._flush()
        rows = [
            (RESULTS, *results, *self._sums["outcome"]),
            (SAMPLES, *samples, *self._sums["sample"]),
        ]
        self._database.executemany("INSERT OR REPLACE INTO covered VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._database.commit()

    def note(self, name: str, value: str | None = None) -> None:
        """Remember a word about the run in the index, until the index is built again."""
        self._database.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))
        self._database.commit()

    def noted(self, name: str) -> str | None:
        """Return what `note` remembered; None for nothing."""
        found = self._database.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return None if found is None else found[0]

    def doubted(self) -> frozenset[int]:
        """Return hashes of the samples whose last lines came after the last commit of their start.

        A killed start leaves them. Whether their positions are those of the data, nobody knows.
        """
        return frozenset(map(int, (self.noted(_DOUBTED) or "").split()))

    def trust_positions(self, key: str | None) -> None:
        """Note the data in which all lines have the places of their rows; None for no data."""
        self.note(POSITIONS, key)
        self.note(_DOUBTED)

    @property
    def lines(self) -> int:
        """Lines of the log, those that were graded again among them."""
        self._flush()
        (count,) = self._database.execute("SELECT COUNT(*) FROM outcome").fetchone()
        return int(count)

    def spent(self) -> Spent:
        """Add up what all lines cost, also those of outcomes that count no more."""
        sums = ", ".join(f"COALESCE(SUM({name}), 0)" for name in _USAGE)
        *used, cost, lost, is_answered = next(
            self._rows(
                f"SELECT {sums}, SUM(cost_usd), SUM(CASE WHEN status = 0 THEN cost_usd END), "
                "MAX(status > 0 AND calls > 0) FROM outcome"
            )
        )
        return Spent(Usage(*used), cost, lost or 0.0, bool(is_answered))

    def ended(self, chosen: Ended, grader: str) -> Iterator[int]:
        """Yield the position of each line of a grader that did not fail."""
        rows = self._rows(
            f"SELECT position FROM outcome o WHERE {self._where(chosen)} AND grader = ?",
            self._word(grader),
        )
        return (position for (position,) in rows)

    def ended_places(self, chosen: Ended) -> Iterator[int]:
        """Yield the place of each line of `ended`, in the order of the log."""
        rows = self._rows(
            f"SELECT o.place FROM {_JOINED} WHERE {self._where(chosen)} ORDER BY o.place"
        )
        return (int(place) for (place,) in rows)

    def kept_without_outcome(self) -> Iterator[tuple[int, int]]:
        """Yield hashes of id and line of samples without a line that did not fail.

        One in some dozens is missing among a million rows: their hashes are looked up in a map of
        few bytes a row, where SQLite would sort them.
        """
        graded = bytearray(_MAP_BYTES)
        where = f"status > 0 AND sample NOT IN ({self._doubted_numbers()})"
        for (sample,) in self._rows(f"SELECT sample FROM outcome WHERE {where}"):
            graded[sample >> 3 & _MAP_BYTES - 1] |= 1 << (sample & 7)
        for sample, line in self._rows("SELECT sample, line FROM main.sample ORDER BY place"):
            if not graded[sample >> 3 & _MAP_BYTES - 1] & 1 << (sample & 7):
                yield sample, line

    def tallies(self, chosen: Ended | None = None) -> Iterator[Tally]:
        """Add up the lines of each grader.

        Args:
            chosen: As for `ended`, whose lines are then added up; None adds up the lines that
                count, as `show` chose them.
        """
        if chosen is None:
            source, where = f"shown c CROSS JOIN {_JOINED}", "o.place = c.place"
            order = "ORDER BY c.n"
        else:
            source, where, order = _JOINED, self._where(chosen), ""
        for name in self.graders(()):
            lines = f"{source} WHERE {where} AND o.grader = {self._word(name)}"
            unscored = self._rows(
                f"SELECT o.status, r.text, e.text, COUNT(*) FROM {lines} AND o.score IS NULL "
                "GROUP BY o.status, o.reason, o.error"
            )
            ends: Counter[tuple[str, str]] = Counter()
            for status, reason, error, count in unscored:
                ends[STATUSES[status], reason or error or ""] += count
            scores = self._rows(f"SELECT o.score FROM {lines} AND o.score IS NOT NULL {order}")
            noted = self._read(f"SELECT {_COLUMNS} FROM {lines} AND o.more IS NOT NULL")
            facts = self._facts(f"{lines} AND o.status > 0 {order}")
            tally = Tally(name, ends, array("d", (score for (score,) in scores)), facts, noted)
            if tally.ends or tally.scores:
                yield tally

    def _facts(self, lines: str) -> RowTable:
        table, columns = RowTable(), ", ".join(f"o.{name}" for name in FACTS)
        cursor = self._database.execute(f"SELECT o.reason, {columns} FROM {lines}")
        words = dict(self._database.execute("SELECT number, text FROM word"))
        table.extend(iter(lambda: cursor.fetchmany(_FETCHED), []), words)
        return table

    def _where(self, chosen: Ended) -> str:
        pairs = (
            f"(o.grader = {self._word(name)} AND o.fingerprint = {self._word(fingerprint)})"
            for name, fingerprint in chosen.fingerprints.items()
        )
        where = (
            f"o.status > 0 AND ({' OR '.join(pairs) or '0'}) "
            f"AND o.sample NOT IN ({self._doubted_numbers()})"
        )
        if not chosen.only_current:
            return where
        self._need_now()
        return (
            f"{where} AND EXISTS (SELECT 1 FROM now WHERE now.sample = o.sample AND now.in_data "
            "AND now.content = o.content)"
        )

    def find(self, key: tuple[str, str, str, str]) -> IndexedLine | None:
        """Find the last line of a grading that was written before this start."""
        self._look_back()
        sample_id, grader, sample_print, grader_print = key
        found = self._read(
            f"SELECT {_COLUMNS} FROM earlier c CROSS JOIN {_JOINED} WHERE o.place = c.place "
            "AND c.sample = ? AND c.grader = ? AND o.content = ? AND o.fingerprint = ? "
            "AND o.sample_id = ? ORDER BY c.place DESC LIMIT 1",
            stable_hash(sample_id),
            self._word(grader),
            stable_hash(sample_print),
            self._word(grader_print),
            sample_id,
        )
        return next(found, None)

    def was_graded(self, sample_id: str, grader: str) -> bool:
        """Say whether a row has an outcome of a grader, whatever row and grader were then."""
        self._look_back()
        found = self._rows(
            "SELECT 1 FROM earlier WHERE sample = ? AND grader = ? LIMIT 1",
            stable_hash(sample_id),
            self._word(grader),
        )
        return next(found, None) is not None

    def kept_line(self, sample_id: str) -> int | None:
        """Return the hash of the last line about a sample; None where there is none."""
        self._look_back()
        found = self._rows("SELECT line FROM kept WHERE sample = ?", stable_hash(sample_id))
        return next((int(line) for (line,) in found), None)

    def mark(self, sample_id: str) -> None:
        """Note that a row is in the data."""
        self._look_back()
        self._marked.append((stable_hash(sample_id),))
        if len(self._marked) >= _COMMIT_ROWS:
            self._flush()

    def unmarked(self) -> list[tuple[str, bool]]:
        """Return the id of each row that has lines and was not marked, and if it was graded."""
        self._look_back()
        rows = self._rows(
            "SELECT sample_id, MAX(graded) FROM (SELECT sample, sample_id, 1 AS graded "
            "FROM main.outcome UNION SELECT sample, sample_id, 0 FROM main.sample) "
            "WHERE sample NOT IN (SELECT sample FROM came) GROUP BY sample_id"
        )
        return [(name, bool(graded)) for name, graded in rows]

    def _need_now(self) -> None:
        if not self._has_now:
            self._flush()
            self._database.executescript(_NOW)
            self._has_now = True

    def _look_back(self) -> None:
        if not self._looks_back:
            self._flush()
            lines = samples = "1"
            if self.noted(POSITIONS) is not None:
                # The rest is known by its position.
                samples = f"sample IN ({self._doubted_numbers()})"
                lines = f"status = 0 OR {samples}"
            self._database.executescript(_EARLIER.format(lines=lines, samples=samples))
            self._looks_back = True

    def _doubted_numbers(self) -> str:
        return ", ".join(map(str, sorted(self.doubted())))

    # What a reader asks: only the lines that count, in the order of the data.

    def show(self, graders: Sequence[str]) -> None:
        """Choose the lines that count, before any of the questions below is asked."""
        if self._is_shown:
            return
        self._flush()
        ranks = [(self._word(name), place) for place, name in enumerate(self.graders(graders))]
        self._database.execute("CREATE TEMP TABLE rank (grader INTEGER PRIMARY KEY, place INTEGER)")
        self._database.executemany("INSERT INTO rank VALUES (?, ?)", ranks)
        self._need_now()
        self._database.executescript(_SHOWN)
        self._is_shown = True

    def graders(self, named: Sequence[str]) -> list[str]:
        """Name the graders: those given first, then those that only the log has."""
        self._flush()
        found = self._database.execute(
            "SELECT w.text FROM (SELECT grader, MIN(place) AS first FROM outcome GROUP BY grader) "
            "JOIN word w ON w.number = grader ORDER BY first"
        )
        return list(dict.fromkeys([*named, *(name for (name,) in found)]))

    def count(self, grader: str | None = None) -> int:
        """Count the lines that count, of one grader or of all."""
        if grader is None:
            return self._number("SELECT COUNT(*) FROM shown")
        return self._number("SELECT COUNT(*) FROM shown WHERE grader = ?", self._word(grader))

    def shown(
        self, grader: str | None = None, begin: int = 0, most: int = -1
    ) -> Iterator[IndexedLine]:
        """Read the lines that count, in the order of the data, then of the graders."""
        where = "" if grader is None else f"AND c.grader = {self._word(grader)}"
        return self._read(
            f"SELECT {_COLUMNS} FROM shown c CROSS JOIN {_JOINED} WHERE o.place = c.place {where} "
            "ORDER BY c.n LIMIT ? OFFSET ?",
            most,
            begin,
        )

    def lowest(self, most: int) -> list[IndexedLine]:
        """Return the outcomes to look at first: failed ones, low scores, then rows without one."""
        return list(
            self._read(
                f"SELECT {_COLUMNS} FROM shown c CROSS JOIN {_JOINED} WHERE o.place = c.place "
                "ORDER BY o.status, o.score, c.n LIMIT ?",
                most,
            )
        )

    def of_sample(self, sample_id: str) -> list[IndexedLine]:
        """Return the lines that count of one sample, in the order of the graders."""
        return list(
            self._read(
                f"SELECT {_COLUMNS} FROM shown c CROSS JOIN {_JOINED} "
                "WHERE o.place = c.place AND c.sample = ? AND o.sample_id = ? ORDER BY c.n",
                stable_hash(sample_id),
                sample_id,
            )
        )

    def left_out(self) -> int:
        """Count the rows that were graded and have no line that counts."""
        return self._number(
            "SELECT COUNT(DISTINCT o.sample) FROM outcome o WHERE NOT EXISTS (SELECT 1 FROM shown "
            "WHERE shown.sample = o.sample AND shown.grader = o.grader)"
        )

    def sample_places(self) -> Iterator[tuple[str, int]]:
        """Yield id and place of each sample of the data, in the order in which they were kept."""
        return self._rows(
            "SELECT s.sample_id, s.place FROM now JOIN sample s ON s.place = now.place "
            "WHERE now.in_data ORDER BY now.began"
        )

    def sample_place(self, sample_id: str) -> int | None:
        """Return where the last line of a sample of the data begins; None for no such sample."""
        found = self._rows(
            "SELECT s.place FROM now JOIN sample s ON s.place = now.place "
            "WHERE now.sample = ? AND now.in_data AND s.sample_id = ?",
            stable_hash(sample_id),
            sample_id,
        )
        return next((int(place) for (place,) in found), None)

    def sample_count(self) -> int:
        """Count the samples of the data."""
        return self._number("SELECT COUNT(*) FROM now WHERE in_data")

    def answered(self, graders: Sequence[str]) -> dict[str, Counter[tuple[str, ...]]]:
        """Count the lines that count by the models that answered, for each grader; by `show`.

        Returns:
            Nothing where all lines say the same.
        """
        said = "JOIN word g ON g.number = o.grader JOIN word j ON j.number = o.judge"
        every = self._rows(f"SELECT DISTINCT g.text, j.text FROM outcome o {said}")
        if len(
            kinds := {(grader, models_in(judge.split(_BETWEEN))) for grader, judge in every}
        ) == len({grader for grader, _ in kinds}):
            return {}
        self.show(graders)
        found: dict[str, Counter[tuple[str, ...]]] = {}
        for grader, judge, count in self._rows(
            f"SELECT g.text, j.text, COUNT(*) FROM shown c CROSS JOIN outcome o {said} "
            "WHERE o.place = c.place GROUP BY g.text, j.text"
        ):
            found.setdefault(grader, Counter())[models_in(judge.split(_BETWEEN))] += count
        return found

    def _catch_up(self, hash_file: Callable[[Path, int], str]) -> None:
        """Add the lines that came after the last commit; all of them where it does not fit."""
        sizes = self._fitting(hash_file)
        covered = dict(sizes)
        for name, added in ((RESULTS, self._new_outcomes), (SAMPLES, self._new_samples)):
            for end in added(sizes[name]):
                sizes[name] = end
                if len(self._outcomes) + len(self._samples) >= _COMMIT_ROWS:
                    self._flush()
        if sizes != covered:
            self._doubt(covered)
            results, samples = (
                Written(sizes[name], hash_file(self.folder / name, sizes[name]))
                for name in (RESULTS, SAMPLES)
            )
            self.commit(results, samples)

    def _doubt(self, covered: Mapping[str, int]) -> None:
        """Have the samples of lines behind those covered looked up, and all where they are many."""
        if self.noted(POSITIONS) is None:
            return
        new = self._rows(
            "SELECT sample FROM outcome WHERE place >= ? UNION "
            f"SELECT sample FROM main.sample WHERE place >= ? LIMIT {_MOST_DOUBTED}",
            covered[RESULTS],
            covered[SAMPLES],
        )
        doubted = self.doubted().union(sample for (sample,) in new)
        if len(doubted) < _MOST_DOUBTED:
            self.note(_DOUBTED, " ".join(map(str, sorted(doubted))))
        else:
            self.trust_positions(None)

    def _fitting(self, hash_file: Callable[[Path, int], str]) -> dict[str, int]:
        """Return how far the index covers each file; empty it where it does not fit them."""
        sizes = {RESULTS: 0, SAMPLES: 0}
        tables = {RESULTS: "outcome", SAMPLES: "sample"}
        covered = self._rows("SELECT * FROM covered")
        for name, size, digest, *sums in covered:
            sizes[name] = size
            self._sums[tables[name]] = _Sums(*sums)
            if hash_file(self.folder / name, size) != digest:
                return self._emptied()
        for table in tables.values():
            if self._sums_since(table, 0) != self._sums[table]:
                return self._emptied()
        return sizes

    def _emptied(self) -> dict[str, int]:
        for table in ("covered", "note", "outcome", "sample", "word"):
            self._database.execute(f"DELETE FROM {table}")
        self._sums = {"outcome": _NO_SUMS, "sample": _NO_SUMS}
        self._words.clear()
        return {RESULTS: 0, SAMPLES: 0}

    def _sums_since(self, table: str, place: int, before: _Sums = _NO_SUMS) -> _Sums:
        """Add up what the lines of a table hold, those before a place excepted.

        SQLite adds up the numbers, in a fifth of the time that Python takes.
        """
        rows = f"FROM {table} WHERE place >= {place}"
        count, numbers = self._database.execute(
            f"SELECT COUNT(*), COALESCE(SUM({_MIXED[table]}), 0) {rows}"
        ).fetchone()
        texts = before.texts
        more = ", more" if table == "outcome" else ""
        cursor = self._database.execute(f"SELECT sample_id{more} {rows} ORDER BY place")
        while found := cursor.fetchmany(_FETCHED):
            # Behind the length of the list: so the sum does not depend on where lists end.
            texts = zlib.crc32(memoryview(marshal.dumps(found, 2))[5:], texts)
        return _Sums(before.rows + count, before.numbers + numbers, texts)

    def _new_outcomes(self, begin: int) -> Iterator[int]:
        for place, end, record in placed_lines(self.folder / RESULTS, OUTCOME.validate_json, begin):
            self.add(Outcome.from_record(record), place)
            yield end

    def _new_samples(self, begin: int) -> Iterator[int]:
        for place, end, key in placed_lines(self.folder / SAMPLES, read_sample_key, begin):
            self.add_sample(key, place)
            yield end

    def _row(self, outcome: Outcome, place: int) -> tuple[Any, ...]:
        error, judge = outcome.error, _BETWEEN.join(outcome.answered_by)
        more = {
            "attempts": outcome.attempts if outcome.attempts != outcome.usage.calls else None,
            "warnings": outcome.warnings,
            "tallies": outcome.tallies,
            "further_scores": outcome.further_scores,
            "repeats": outcome.repeats,
            "message": error and error.message,
        }
        said = {name: value for name, value in more.items() if value}
        return (
            place,
            outcome.index,
            stable_hash(outcome.sample_id),
            stable_hash(outcome.sample_fingerprint),
            self._word(outcome.grader),
            self._word(outcome.grader_fingerprint),
            STATUSES.index(outcome.status),
            outcome.score,
            outcome.ranking_score,
            self._word(outcome.reason),
            self._word(None if error is None else error.type),
            self._word(judge or None),
            outcome.seconds,
            outcome.cost_usd,
            *_read_usage(outcome.usage),
            *_read_facts(outcome.facts),
            outcome.sample_id,
            to_json(said) if said else None,
        )

    def _word(self, text: str | None) -> int | None:
        """Return the number that a word has in the index; words are few."""
        if text is None:
            return None
        if text not in self._words:
            self._database.execute("INSERT OR IGNORE INTO word (text) VALUES (?)", (text,))
            self._words[text] = self._number("SELECT number FROM word WHERE text = ?", text)
        return self._words[text]

    def _flush(self) -> None:
        for table, rows in (("outcome", self._outcomes), ("sample", self._samples)):
            if rows:
                marks, first = ", ".join("?" * len(rows[0])), rows[0][0]
                self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
                self._sums[table] = self._sums_since(table, first, self._sums[table])
                rows.clear()
        if self._marked:
            self._database.executemany("INSERT OR IGNORE INTO came VALUES (?)", self._marked)
            self._marked.clear()

    def _read(self, query: str, *values: object) -> Iterator[IndexedLine]:
        return (_line(row) for row in self._rows(query, *values))

    def _rows(self, query: str, *values: object) -> Iterator[tuple[Any, ...]]:
        self._flush()
        cursor = self._database.execute(query, values)
        while rows := cursor.fetchmany(_FETCHED):
            yield from rows

    def _number(self, query: str, *values: object) -> int:
        (found,) = next(self._rows(query, *values))
        return int(found)


def _line(row: tuple[Any, ...]) -> IndexedLine:
    place, position, sample_id, grader, status, score, ranking, reason, error, seconds, cost = row[
        :11
    ]
    more: dict[str, Any] = {} if row[-1] is None else from_json(row[-1])
    usage, facts = Usage(*row[11 : -1 - len(FACTS)]), RowFacts(*row[-1 - len(FACTS) : -1])
    return IndexedLine(
        place,
        Outcome(
            position,
            sample_id,
            grader,
            STATUSES[status],
            score=score,
            ranking_score=ranking,
            reason=reason,
            error=None if error is None else ErrorRecord(error, more.get("message", "")),
            attempts=more.get("attempts", usage.calls),
            seconds=seconds,
            usage=usage,
            cost_usd=cost,
            warnings=tuple(more.get("warnings", ())),
            tallies={
                name: (part, whole) for name, (part, whole) in more.get("tallies", {}).items()
            },
            further_scores=dict(more.get("further_scores", {})),
            repeats=tuple(more.get("repeats", ())),
            facts=facts,
        ),
    )


def _sample_row(key: SampleKey, place: int) -> tuple[Any, ...]:
    content = stable_hash(key.fingerprint)
    return place, stable_hash(key.sample_id), content, int(key.in_data), key.line, key.sample_id


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file; one that is no index of this version is made again."""
    path.touch(PRIVATE)
    try:
        return _prepared(sqlite3.connect(path, check_same_thread=False))
    except sqlite3.DatabaseError:
        remove_index(path.parent)
        path.touch(PRIVATE)
        return _prepared(sqlite3.connect(path, check_same_thread=False))


def remove_index(folder: Path) -> None:
    """Delete the index of a run; it is built again when it is needed."""
    for suffix in ("", "-wal", "-shm"):
        (folder / f"{INDEX}{suffix}").unlink(missing_ok=True)


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    try:
        database.execute("PRAGMA journal_mode = WAL")
        # A loss of power may take the last lines of the index: they are in the log.
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            # Fails, as it should, where tables of another version are there.
            database.executescript(_SCHEMA)
    except BaseException:
        database.close()
        raise
    return database
