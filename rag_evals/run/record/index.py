"""The index of a run: a SQLite database with one row for each line of the run's logs.

`index.sqlite` may be deleted at any time, because it can be rebuilt from `results.jsonl` and
`samples.jsonl`. It stores a hash of the lines it covers, and a file next to it stores a hash of
the index. If either hash does not match, the index is rebuilt.
"""

import sqlite3
import weakref
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from filelock import FileLock, Timeout
from pydantic_core import from_json, to_json

from rag_evals.core import Usage
from rag_evals.run.record.facts import (
    FACTS,
    HASHES,
    RowFacts,
    RowTable,
    StoredFacts,
    stable_hash,
)
from rag_evals.run.record.lines import PRIVATE, Written, hash_beginning, placed_lines, replace_file
from rag_evals.run.record.outcome import OUTCOME, Outcome
from rag_evals.run.record.samples import SAMPLES, SampleKey, read_sample_key
from rag_evals.run.record.summary import GraderSummary, Summary, models_in
from rag_evals.stats.intervals import are_clustered

INDEX = "index.sqlite"
RESULTS = "results.jsonl"
POSITIONS = "positions"
"""Name of the note that stores the hash of the data that the index's positions refer to."""
LOCK = ".lock"
_SEAL = f"{INDEX}-seal"
_DOUBTED = "doubted"
_MOST_DOUBTED = 10_000
_VERSION = 5
_COMMIT_ROWS = 200
_FETCHED = 1_000
_BETWEEN = ", "
_SETTLED = "settled"
# Updating SQLite's indexes costs 40 µs per line; building them at the end, 2 µs.
_MOST_ADDED = 10_000
_USAGE = tuple(field.name for field in fields(Usage))
_NUMBERS = (*_USAGE, *FACTS)
_read_usage = attrgetter(*_USAGE)
_read_facts = attrgetter(*FACTS)

_SCHEMA = f"""
BEGIN;
CREATE TABLE covered (file TEXT PRIMARY KEY, size INTEGER NOT NULL, hash TEXT NOT NULL);
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
CREATE TABLE stale (place INTEGER PRIMARY KEY);
CREATE TABLE settled (grader INTEGER PRIMARY KEY, independent INTEGER NOT NULL);
PRAGMA user_version = {_VERSION};
COMMIT;
"""
# A line is current if it is the last one for its sample and grader, and the sample has not changed
# since. Samples without a line in `samples.jsonl` are treated as unchanged. In most runs, every
# line is current.
_INDEXES = """
CREATE INDEX IF NOT EXISTS outcome_row ON outcome (sample, grader, content);
CREATE INDEX IF NOT EXISTS sample_row ON sample (sample, content, in_data);
"""
_SETTLE = f"""
{_INDEXES}
DELETE FROM stale;
DELETE FROM settled;
CREATE TEMP TABLE suspect AS
    SELECT sample FROM outcome GROUP BY sample, grader HAVING COUNT(*) > 1
    UNION SELECT sample FROM main.sample GROUP BY sample HAVING COUNT(*) > 1 OR NOT in_data
    UNION SELECT o.sample FROM outcome o JOIN main.sample s ON s.sample = o.sample
    WHERE s.content != o.content;
INSERT INTO stale SELECT place FROM outcome WHERE sample IN suspect EXCEPT
    SELECT MAX(o.place) FROM outcome o LEFT JOIN (
        SELECT sample, MAX(place), content, in_data FROM main.sample WHERE sample IN suspect
        GROUP BY sample
    ) AS now ON now.sample = o.sample
    WHERE o.sample IN suspect
        AND (now.sample IS NULL OR (now.in_data AND now.content = o.content))
    GROUP BY o.sample, o.grader;
DROP TABLE suspect;
"""
_LAST_SAMPLE = (
    "in_data AND NOT EXISTS (SELECT 1 FROM main.sample later WHERE later.sample = s.sample "
    "AND later.place > s.place)"
)
_COUNTS = "o.place NOT IN (SELECT place FROM stale)"
STATUSES: tuple[Literal["failed", "scored", "not_scorable"], ...] = (
    "failed",
    "scored",
    "not_scorable",
)
# The columns of a line, keyed by the field of its record.
_SELECTED = {
    "place": "o.place",
    "index": "o.position",
    "sample_id": "o.sample_id",
    "grader": "g.text",
    "reason": "r.text",
    "error": "e.text",
    **{name: f"o.{name}" for name in ("status", "score", "ranking_score", "seconds", "cost_usd")},
    **{name: f"o.{name}" for name in (*_NUMBERS, "more")},
}
_COLUMNS = ", ".join(_SELECTED.values())
_NO_DETAILS: Mapping[str, Any] = {
    "warnings": (),
    "tallies": {},
    "further_scores": {},
    "repeats": (),
    "message": "",
}
_JOINED = (
    "outcome o JOIN word g ON g.number = o.grader LEFT JOIN word r ON r.number = o.reason "
    "LEFT JOIN word e ON e.number = o.error"
)


class IndexedLine(NamedTuple):
    """The offset of a line in `results.jsonl`, and the line's fields that the index stores."""

    place: int
    record: Mapping[str, Any]


class ScoredRow(NamedTuple):
    """The fields of an outcome used by comparisons; `reason` may be an error type."""

    sample_id: str
    status: str
    score: float | None
    reason: str | None
    facts: RowFacts


class Spent(NamedTuple):
    """Usage and cost of a run, including those of outcomes that were later graded again.

    `is_answered` is true if a judge replied for at least one row that did not fail.
    """

    usage: Usage
    cost_usd: float | None
    is_answered: bool = False


class Ended(NamedTuple):
    """Selects lines of certain graders that did not fail, except those of samples in doubt."""

    fingerprints: Mapping[str, str]
    # Whether to exclude rows that changed or are no longer in the data.
    only_current: bool = False


class RunIndex:
    """The index of one run folder.

    The writing process locks the folder and adds each line as it is logged. `RunIndex.read`
    updates the index before returning it.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._database = connection
        self._outcomes: list[tuple[Any, ...]] = []
        self._samples: list[tuple[Any, ...]] = []
        self._words: dict[str, int] = {}
        self._marked: list[tuple[int]] = []
        self._shown: Sequence[str] = ()
        self._rank = "0"
        self._added = 0
        self._began = 0
        self._looks_back = self._is_lent = False
        self._seal: Path | None = None
        weakref.finalize(self, connection.close)

    @classmethod
    def write(cls, folder: Path, hash_file: Callable[[Path, int], str] = hash_beginning) -> Self:
        """Open the index, and bring it up to date; the caller must have locked the folder.

        Raises:
            DataError: A line of the log is broken.
        """
        if not _fits_seal(folder):
            remove_index(folder)
        seal = folder / _SEAL
        try:
            return cls._current(folder, _opened(folder / INDEX), hash_file, seal)
        except sqlite3.DatabaseError:
            remove_index(folder)
            return cls._current(folder, _opened(folder / INDEX), hash_file, seal)

    @classmethod
    def _current(
        cls,
        folder: Path,
        database: sqlite3.Connection,
        hash_file: Callable[[Path, int], str],
        seal: Path | None = None,
    ) -> Self:
        index = cls(folder, database)
        index._seal = seal
        try:
            index._catch_up(hash_file)
        except BaseException:
            # With an open transaction, the next reader would wait for five seconds and then fail.
            database.close()
            raise
        return index

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Open the index for reading, and bring it up to date.

        If the folder is locked or read-only, a temporary copy of the index is used instead.

        Raises:
            DataError: A line of the log is broken.
        """
        try:
            with FileLock(folder / LOCK, timeout=0):
                index = cls.write(folder)
                index.seal()
                return index
        except (Timeout, OSError):
            private = sqlite3.connect("", check_same_thread=False)
            if _fits_seal(folder):
                with suppress(sqlite3.Error):
                    with sqlite3.connect(f"file:{folder / INDEX}?mode=ro", uri=True) as shared:
                        shared.backup(private)
                    shared.close()
            index = cls._current(folder, _prepared(private), hash_beginning)
            index.settle()
            return index

    @classmethod
    def in_memory(cls, outcomes: Iterable[Outcome]) -> Self:
        """Index outcomes that are not in a log; their positions serve as offsets."""
        index = cls(Path(), _prepared(sqlite3.connect("", check_same_thread=False)))
        for place, outcome in enumerate(outcomes):
            index.add(outcome, place)
        index.settle()
        return index

    @classmethod
    def open_unchecked(cls, folder: Path) -> Self | None:
        """Open a settled index without hashing the log; takes one second for a million rows.

        Return None if there is no index, or if the size of a log has changed since.
        """
        try:
            path = (folder / INDEX).absolute().as_uri()
            database = sqlite3.connect(f"{path}?mode=ro", uri=True, check_same_thread=False)
            index = cls(folder, database)
            covered = dict(database.execute("SELECT file, size FROM covered").fetchall())
            is_settled = index.is_settled
        except sqlite3.Error:
            return None
        files = {name: folder / name for name in (RESULTS, SAMPLES)}
        sizes = {name: path.stat().st_size if path.exists() else 0 for name, path in files.items()}
        return index if is_settled and covered == sizes else None

    def seal(self) -> None:
        """Settle the index, and write its hash to the file next to it."""
        self.settle()
        path = self.folder / INDEX
        if self._seal is not None and not self._seal.exists():
            is_busy, *_ = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not is_busy:
                content = hash_beginning(path, path.stat().st_size).encode()
                replace_file(self._seal, content, sync=False)

    def close(self) -> None:
        """Close the file, unless a `RowTable` still needs it."""
        if not self._is_lent:
            self._database.close()

    def _break_seal(self) -> None:
        if self._seal is not None:
            self._seal.unlink(missing_ok=True)

    def add(self, outcome: Outcome, place: int) -> None:
        self._outcomes.append(self._row(outcome, place))

    def add_sample(self, key: SampleKey, place: int) -> None:
        sample, content = stable_hash(key.sample_id), stable_hash(key.fingerprint)
        self._samples.append((place, sample, content, key.in_data, key.line, key.sample_id))

    @property
    def is_due(self) -> bool:
        """True if enough lines have been added to be worth a commit."""
        return len(self._outcomes) >= _COMMIT_ROWS

    def commit(self, results: Written, samples: Written) -> None:
        self._flush()
        self._break_seal()
        rows = [(RESULTS, *results), (SAMPLES, *samples)]
        self._database.executemany("INSERT OR REPLACE INTO covered VALUES (?, ?, ?)", rows)
        self._database.commit()

    def note(self, name: str, value: str | None = None) -> None:
        """Store a note about the run, which is lost when the index is rebuilt."""
        self._break_seal()
        self._database.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (name, value))
        self._database.commit()

    def noted(self, name: str) -> str | None:
        value: str | None = self._first("SELECT value FROM note WHERE name = ?", name)
        return value

    def doubted(self) -> frozenset[int]:
        """Return the hashes of samples that a killed process wrote after its last commit.

        The positions stored with these samples may not match the data.
        """
        return frozenset(map(int, (self.noted(_DOUBTED) or "").split()))

    def trust_positions(self, key: str | None) -> None:
        """Record which data the positions in the index refer to; None if unknown."""
        self.note(POSITIONS, key)
        self.note(_DOUBTED)

    def spent(self) -> Spent:
        sums = ", ".join(f"COALESCE(SUM({name}), 0)" for name in _USAGE)
        *used, cost, is_answered = next(
            self._rows(f"SELECT {sums}, SUM(cost_usd), MAX(status > 0 AND calls > 0) FROM outcome")
        )
        return Spent(Usage(*used), cost, bool(is_answered))

    def ended(self, chosen: Ended, grader: str) -> Iterator[int]:
        """Yield the position in the data of each of a grader's selected lines."""
        return self._column(
            f"SELECT position FROM outcome o WHERE {self._where(chosen)} "
            f"AND grader = {self._find_word(grader)}"
        )

    def ended_places(self, chosen: Ended) -> Iterator[int]:
        """Yield the offset of each selected line, in log order."""
        where = self._where(chosen)
        return self._column(f"SELECT o.place FROM outcome o WHERE {where} ORDER BY o.place")

    def kept_without_outcome(self) -> Iterator[tuple[int, int]]:
        """Yield the id and line hashes of stored samples whose outcomes, if any, all failed."""
        return self._rows(
            "SELECT sample, line FROM main.sample WHERE sample NOT IN (SELECT sample FROM outcome "
            f"WHERE status > 0 AND sample NOT IN ({self._doubted_numbers()})) ORDER BY place"
        )

    def fill(self, summary: Summary, chosen: Ended | None = None) -> None:
        """Add each grader's selected lines to the summary; by default, the current lines."""
        self._is_lent = True
        # Row metadata is read later, when this process may already have added lines to the index.
        where = _COUNTS if chosen is None else f"{self._where(chosen)} AND o.place < {self._began}"
        for name in self.graders(self._shown):
            number = self._find_word(name)
            plain = f"FROM outcome o WHERE o.grader = {number} AND {where}"
            lines = f"{_JOINED} WHERE o.grader = {number} AND {where}"
            facts = StoredFacts(
                self._rows, f"{plain} AND o.status > 0", self._are_independent(number)
            )
            scores = self._column(f"SELECT o.score {plain} AND o.score IS NOT NULL")
            found = GraderSummary(name, array("d", scores), rows=RowTable(stored=facts))
            unscored = self._rows(
                f"SELECT o.status, r.text, e.text, COUNT(*) FROM {lines} AND o.score IS NULL "
                "GROUP BY o.status, o.reason, o.error"
            )
            for status, reason, error, count in unscored:
                ends = found.not_scorable if status else found.failed
                ends[reason or error or ""] += count
            for line in self._read(f"SELECT {_COLUMNS} FROM {lines} AND o.more IS NOT NULL"):
                found.add_details(Outcome.from_record(line.record))
                error = line.record["error"] or {}
                summary.first_failure = summary.first_failure or error.get("message", "")
            if found.total:
                summary.graders[name] = found
                summary.failed += found.failed.total()

    def _are_independent(self, grader: int) -> bool:
        query = "SELECT independent FROM settled WHERE grader = ?"
        return self.is_settled and bool(self._first(query, grader))

    def _where(self, chosen: Ended) -> str:
        pairs = (
            f"(o.grader = {self._find_word(name)} "
            f"AND o.fingerprint = {self._find_word(fingerprint)})"
            for name, fingerprint in chosen.fingerprints.items()
        )
        where = (
            f"o.status > 0 AND ({' OR '.join(pairs) or '0'}) "
            f"AND o.sample NOT IN ({self._doubted_numbers()})"
        )
        if not chosen.only_current:
            return where
        self.settle()
        return f"{where} AND {_COUNTS}"

    def find(self, key: tuple[str, str, str, str]) -> IndexedLine | None:
        """Return a grading's last line, ignoring lines that this process wrote."""
        sample_id, grader, sample_print, grader_print = key
        found = self._read(
            f"SELECT {_COLUMNS} FROM {_JOINED} WHERE o.sample = ? AND o.grader = ? "
            "AND o.content = ? AND o.fingerprint = ? AND o.sample_id = ? AND o.place < ? "
            "ORDER BY o.place DESC LIMIT 1",
            stable_hash(sample_id),
            self._find_word(grader),
            stable_hash(sample_print),
            self._find_word(grader_print),
            sample_id,
            self._look_back(),
        )
        return next(found, None)

    def was_graded(self, sample_id: str, grader: str) -> bool:
        """True if the row has an outcome from any version of the grader."""
        found = self._first(
            "SELECT 1 FROM outcome WHERE sample = ? AND grader = ? AND place < ? LIMIT 1",
            stable_hash(sample_id),
            self._find_word(grader),
            self._look_back(),
        )
        return found is not None

    def kept_line(self, sample_id: str) -> int | None:
        """Return the hash of a sample's last line; None if the sample is not stored."""
        self._look_back()
        line: int | None = self._first(
            "SELECT line FROM main.sample WHERE sample = ? ORDER BY place DESC LIMIT 1",
            stable_hash(sample_id),
        )
        return line

    def mark(self, sample_id: str) -> None:
        """Record that a row still occurs in the data."""
        self._look_back()
        self._marked.append((stable_hash(sample_id),))
        if len(self._marked) >= _COMMIT_ROWS:
            self._flush()

    def unmarked(self) -> list[tuple[str, bool]]:
        """Return the id of each unmarked row, and whether the row was graded."""
        self._look_back()
        rows = self._rows(
            "SELECT sample_id, MAX(graded) FROM (SELECT sample, sample_id, 1 AS graded "
            "FROM main.outcome UNION SELECT sample, sample_id, 0 FROM main.sample) "
            "WHERE sample NOT IN (SELECT sample FROM came) GROUP BY sample_id"
        )
        return [(name, bool(graded)) for name, graded in rows]

    @property
    def is_settled(self) -> bool:
        """True if `settle` has processed every committed line."""
        return self.noted(_SETTLED) == self._extent()

    def _extent(self) -> str:
        return str(self._database.execute("SELECT size FROM covered ORDER BY file").fetchall())

    def settle(self) -> None:
        """Find outdated lines, and the graders whose rows share no question or context."""
        self._flush()
        if self.is_settled:
            return
        self._break_seal()
        self._database.executescript(_SETTLE)
        for (grader,) in self._database.execute("SELECT DISTINCT grader FROM outcome").fetchall():
            counts = (
                self._database.execute(
                    "SELECT TOTAL(size), TOTAL(size * many), TOTAL(many) FROM (SELECT COUNT(*) AS "
                    f"size, {fact} IS NOT NULL AND COUNT(*) > 1 AS many FROM outcome o "
                    f"WHERE grader = ? AND status > 0 AND {_COUNTS} GROUP BY {fact})",
                    (grader,),
                ).fetchone()
                for fact in HASHES
            )
            independent = not any(are_clustered(*each) for each in counts)
            self._database.execute("INSERT INTO settled VALUES (?, ?)", (grader, independent))
        self.note(_SETTLED, self._extent())

    def _look_back(self) -> int:
        """Prepare lookups, and return the offset of the first line that this process wrote."""
        if not self._looks_back:
            self._flush()
            self._break_seal()
            self._database.executescript(
                f"{_INDEXES} CREATE TEMP TABLE came (sample INTEGER PRIMARY KEY);"
            )
            self._looks_back = True
        return self._began

    def _doubted_numbers(self) -> str:
        return ", ".join(map(str, sorted(self.doubted())))

    # The methods below read only current lines, in the order of the data.

    def show(self, graders: Sequence[str]) -> None:
        """Set the order of graders within a row."""
        ranks = (f"WHEN {self._find_word(name)} THEN {place}" for place, name in enumerate(graders))
        self._shown = graders
        self._rank = f"CASE o.grader {' '.join(ranks)} END" if graders else "0"

    def graders(self, named: Sequence[str]) -> list[str]:
        """Return the names in `named`, followed by graders found only in the log."""
        self._flush()
        source = "settled" if self.is_settled else "outcome"
        found = self._column(
            f"SELECT text FROM word WHERE number IN (SELECT grader FROM {source}) ORDER BY number"
        )
        return list(dict.fromkeys([*named, *found]))

    def count(self, grader: str | None = None) -> int:
        where = self._where_counts(grader)
        return int(self._first(f"SELECT COUNT(*) FROM outcome o WHERE {where}"))

    def shown(
        self, grader: str | None = None, begin: int = 0, most: int = -1
    ) -> Iterator[IndexedLine]:
        """Read the current lines, ordered by row and then by grader."""
        order = f"o.position, {self._rank}"
        return self._ordered(order, self._where_counts(grader), most=most, begin=begin)

    def shown_places(self) -> Iterator[int]:
        """Yield the offset of each current line, in the same order as `shown`."""
        order = f"ORDER BY o.position, {self._rank}"
        return self._column(f"SELECT o.place FROM outcome o WHERE {_COUNTS} {order}")

    def scored_rows(self, grader: str) -> Iterator[ScoredRow]:
        """Read a grader's current lines, in the order of the data."""
        words = dict(self._database.execute("SELECT number, text FROM word"))
        rows = self._rows(
            "SELECT sample_id, status, score, COALESCE(reason, error), "
            f"{', '.join(FACTS)} FROM outcome o WHERE {self._where_counts(grader)} "
            "ORDER BY position"
        )
        for sample_id, status, score, why, *facts in rows:
            yield ScoredRow(sample_id, STATUSES[status], score, words.get(why), RowFacts(*facts))

    def answering(self) -> set[str]:
        """Return the models that answered, with their system fingerprints."""
        said = self._rows(
            "SELECT text FROM word WHERE number IN (SELECT DISTINCT judge FROM outcome o "
            f"WHERE {_COUNTS})"
        )
        return {one for (text,) in said for one in text.split(_BETWEEN)}

    def lowest(self, most: int, begin: int = 0) -> list[IndexedLine]:
        """Return failed rows, then scored rows by ascending score, then unscorable rows."""
        order = f"o.status, o.score, o.position, {self._rank}"
        return list(self._ordered(order, _COUNTS, most=most, begin=begin))

    def of_sample(self, sample_id: str) -> list[IndexedLine]:
        where, hashed = f"{_COUNTS} AND o.sample = ? AND o.sample_id = ?", stable_hash(sample_id)
        return list(self._ordered(self._rank, where, hashed, sample_id))

    def _where_counts(self, grader: str | None) -> str:
        return _COUNTS if grader is None else f"{_COUNTS} AND o.grader = {self._find_word(grader)}"

    def _ordered(
        self, order: str, where: str, *values: object, most: int = -1, begin: int = 0
    ) -> Iterator[IndexedLine]:
        """Read lines in the given order; SQLite sorts only their offsets, not whole rows."""
        return self._read(
            f"SELECT {_COLUMNS} FROM (SELECT o.place AS n FROM outcome o WHERE {where} "
            f"ORDER BY {order} LIMIT ? OFFSET ?) c CROSS JOIN {_JOINED} WHERE o.place = c.n",
            *values,
            most,
            begin,
        )

    def usage(self) -> dict[str, float]:
        """Return the total calls, tokens, cost and seconds of current lines, omitting zeros."""
        names = (*_USAGE, "cost_usd", "seconds")
        sums = ", ".join(f"SUM({name})" for name in names)
        found = next(self._rows(f"SELECT {sums} FROM outcome o WHERE {_COUNTS}"))
        return {name: value for name, value in zip(names, found, strict=True) if value}

    def left_out(self) -> int:
        """Count the graded rows that lack a current line for some grader."""
        count: int = self._first(
            "SELECT COUNT(DISTINCT o.sample) FROM stale JOIN outcome o ON o.place = stale.place "
            "WHERE NOT EXISTS (SELECT 1 FROM outcome c WHERE c.sample = o.sample "
            "AND c.grader = o.grader AND c.place NOT IN (SELECT place FROM stale))"
        )
        return count

    def sample_ids(self) -> Iterator[str]:
        """Yield the id of each sample in the data, in log order."""
        return self._column(
            f"SELECT sample_id FROM main.sample s WHERE {_LAST_SAMPLE} ORDER BY "
            "(SELECT MIN(place) FROM main.sample first WHERE first.sample = s.sample)"
        )

    def sample_place(self, sample_id: str) -> int | None:
        query = f"SELECT place FROM main.sample s WHERE {_LAST_SAMPLE} AND sample = ?"
        place: int | None = self._first(
            f"{query} AND sample_id = ?", stable_hash(sample_id), sample_id
        )
        return place

    def sample_count(self) -> int:
        return int(self._first(f"SELECT COUNT(*) FROM main.sample s WHERE {_LAST_SAMPLE}"))

    def answered(self) -> dict[str, Counter[tuple[str, ...]]]:
        """Count each grader's rows by the models that answered; empty if the models never vary."""
        pairs = f"SELECT o.grader, o.judge, COUNT(*) AS count FROM outcome o WHERE {_COUNTS}"
        said = "JOIN word g ON g.number = c.grader JOIN word j ON j.number = c.judge"
        every = self._rows(
            f"SELECT g.text, j.text FROM (SELECT DISTINCT grader, judge FROM outcome) c {said}"
        )
        kinds = {(grader, models_in(judge.split(_BETWEEN))) for grader, judge in every}
        if len(kinds) == len({grader for grader, _ in kinds}):
            return {}
        self.settle()
        found: dict[str, Counter[tuple[str, ...]]] = {}
        for grader, judge, count in self._rows(
            f"SELECT g.text, j.text, c.count FROM ({pairs} GROUP BY o.grader, o.judge) c {said}"
        ):
            found.setdefault(grader, Counter())[models_in(judge.split(_BETWEEN))] += count
        return found

    def _catch_up(self, hash_file: Callable[[Path, int], str]) -> None:
        """Index new lines, or every line if the index does not match the logs."""
        sizes = self._fitting(hash_file)
        covered = dict(sizes)
        readers: dict[str, Callable[[bytes], Any]] = {
            RESULTS: OUTCOME.validate_json,
            SAMPLES: read_sample_key,
        }
        for name, read in readers.items():
            for place, end, found in placed_lines(self.folder / name, read, sizes[name]):
                if isinstance(found, SampleKey):
                    self.add_sample(found, place)
                else:
                    self.add(Outcome.from_record(found), place)
                sizes[name] = end
                if len(self._outcomes) + len(self._samples) >= _COMMIT_ROWS:
                    self._flush()
        self._began = sizes[RESULTS]
        if sizes != covered:
            self._doubt(covered)
            results, samples = (
                Written(sizes[name], hash_file(self.folder / name, sizes[name]))
                for name in (RESULTS, SAMPLES)
            )
            self.commit(results, samples)

    def _doubt(self, covered: Mapping[str, int]) -> None:
        """Mark the samples of new lines as in doubt; if there are too many, doubt all positions."""
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
        """Return the indexed size of each file; clear the index if a hash differs."""
        sizes = {RESULTS: 0, SAMPLES: 0}
        for name, size, digest in self._rows("SELECT * FROM covered"):
            if hash_file(self.folder / name, size) != digest:
                self._break_seal()
                for table in ("covered", "note", "outcome", "sample", "word"):
                    self._database.execute(f"DELETE FROM {table}")
                self._words.clear()
                return {RESULTS: 0, SAMPLES: 0}
            sizes[name] = size
        return sizes

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

    def _find_word(self, text: str) -> int:
        """Return a word's number in the index; -1 if it has none."""
        return int(self._first("SELECT number FROM word WHERE text = ?", text) or -1)

    def _word(self, text: str | None) -> int | None:
        """Return a word's number in the index; add the word if it is new."""
        if text is None:
            return None
        if text not in self._words:
            self._database.execute("INSERT OR IGNORE INTO word (text) VALUES (?)", (text,))
            self._words[text] = self._find_word(text)
        return self._words[text]

    def _flush(self) -> None:
        for table, rows in (("outcome", self._outcomes), ("sample", self._samples)):
            if rows:
                self._break_seal()
                marks = ", ".join("?" * len(rows[0]))
                self._database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
                self._added += len(rows)
                rows.clear()
        if self._added > _MOST_ADDED and not self._looks_back:
            self._added = 0
            for name in ("outcome_row", "sample_row"):
                self._database.execute(f"DROP INDEX IF EXISTS {name}")
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

    # The type of the values depends on the query.
    def _column(self, query: str) -> Iterator[Any]:
        """Read one column without running Python for each row."""
        self._flush()
        return map(itemgetter(0), self._database.execute(query))

    def _first(self, query: str, *values: object) -> Any:
        """Return the first column of the first row; None if there are no rows."""
        self._flush()
        found = self._database.execute(query, values).fetchone()
        return None if found is None else found[0]


def _line(row: tuple[Any, ...]) -> IndexedLine:
    record = dict(zip(_SELECTED, row, strict=True))
    place, error, more = record.pop("place"), record.pop("error"), record.pop("more")
    usage, facts = ({name: record.pop(name) for name in names} for names in (_USAGE, FACTS))
    details = {"attempts": usage["calls"], **_NO_DETAILS, **from_json(more or b"{}")}
    message, status = details.pop("message"), STATUSES[record["status"]]
    error = error and {"type": error, "message": message}
    found = {"status": status, "error": error, "usage": usage, "facts": facts}
    return IndexedLine(place, record | details | found)


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(PRIVATE)
    return _prepared(sqlite3.connect(path, check_same_thread=False))


def remove_index(folder: Path) -> None:
    for name in (INDEX, f"{INDEX}-wal", f"{INDEX}-shm", _SEAL):
        (folder / name).unlink(missing_ok=True)


def _fits_seal(folder: Path) -> bool:
    """True if the index matches its seal, or is unsealed (for example, after a kill)."""
    path, log = folder / INDEX, folder / f"{INDEX}-wal"
    try:
        seal = (folder / _SEAL).read_text()
    except OSError:
        return True
    is_alone = not log.exists() or not log.stat().st_size
    size = path.stat().st_size if path.exists() else 0
    return is_alone and hash_beginning(path, size) == seal


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    try:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            # If the database already contains another version's tables, this fails, as intended.
            # Empty tables need not be on the disk yet, which makes creating them five times faster.
            database.executescript(f"PRAGMA synchronous = OFF; {_SCHEMA}")
        database.execute("PRAGMA journal_mode = WAL")
        # After a power failure, the log may contain lines that the index lacks.
        database.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        database.close()
        raise
    return database
