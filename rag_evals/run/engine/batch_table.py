"""SQLite store of a run's batches and their results.

A request's key is a hash of its content. A part is a file of requests for one endpoint and model,
and later the provider's batch. Each step is recorded before it is taken, so a kill loses nothing.
"""

import os
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import IO, Any, Self

from filelock import FileLock, Timeout

from rag_evals.errors import ConfigurationError, PendingError
from rag_evals.judge.batches import BatchHost, BatchResult
from rag_evals.run.record.lines import PRIVATE
from rag_evals.run.record.store import BATCH

_FILE = "attempts.sqlite3"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS attempts (
    key TEXT NOT NULL, n INTEGER NOT NULL, reply TEXT, status INTEGER, fault TEXT NOT NULL,
    PRIMARY KEY (key, n)
);
CREATE TABLE IF NOT EXISTS requests (
    key TEXT PRIMARY KEY, owner TEXT NOT NULL, part INTEGER
);
CREATE INDEX IF NOT EXISTS requests_part ON requests (part);
CREATE TABLE IF NOT EXISTS parts (
    number INTEGER PRIMARY KEY, name TEXT NOT NULL, endpoint TEXT NOT NULL, model TEXT NOT NULL,
    requests INTEGER NOT NULL, ended INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL,
    file TEXT, batch TEXT, is_taken INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS command (options TEXT NOT NULL);
"""
_ATTEMPT = "INSERT OR REPLACE INTO attempts (key, n, reply, status, fault) VALUES (?, ?, ?, ?, ?)"
_COLUMNS = "number, name, endpoint, model, requests, ended, status, file, batch"

# A part that is SENDING may or may not have been sent. The user runs vLLM on a part that is GIVEN.
WRITTEN, SENDING, GIVEN = "written", "sending", "given"


@dataclass(frozen=True, slots=True)
class BatchPart:
    """A file of requests.

    Attributes:
        ended: Requests that the provider has processed.
        status: `written`, `sending`, `given` or the provider's status.
        file: The provider's id of the uploaded file.
        batch: The provider's id of the batch.
    """

    number: int
    name: str
    endpoint: str
    model: str
    requests: int
    ended: int
    status: str
    file: str | None
    batch: str | None


class BatchTable:
    """The batches of a run folder, locked for one process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / BATCH
        self._lock = FileLock(self.folder / ".lock", timeout=0)

    def __enter__(self) -> Self:
        """Raise `ConfigurationError` if the folder is in use or damaged."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            path = self.folder / _FILE
            path.touch(PRIVATE)
        except Timeout:
            raise ConfigurationError(
                f"the batches in {str(self.folder)!r} are in use by another program; wait for it"
            ) from None
        except OSError as error:
            raise ConfigurationError(
                f"{str(self.folder)!r} cannot be used: {error.strerror or error}"
            ) from error
        try:
            self._connection = sqlite3.connect(path)
            self._connection.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            self._lock.release()
            raise ConfigurationError(f"{str(path)!r} cannot be used: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._lock.release()

    def path_of(self, part: int, kind: str = "") -> Path:
        return self.folder / f"part-{part}{kind}.jsonl"

    def attempt(self, key: str) -> BatchResult | None:
        """Return the latest result of a request, or None."""
        rows = self._read(
            "SELECT key, reply, status, fault, n FROM attempts WHERE key = ? "
            "ORDER BY n DESC LIMIT 1",
            key,
        )
        return BatchResult(*rows[0]) if rows else None

    def owner(self, key: str) -> str | None:
        """Return the grading that first sent a request; None if none did."""
        rows = self._read("SELECT owner FROM requests WHERE key = ?", key)
        return rows[0][0] if rows else None

    def waits(self, key: str) -> bool:
        """True if a request has been written or sent and its result is still missing."""
        rows = self._read(
            "SELECT 1 FROM requests JOIN parts ON part = number WHERE key = ? AND NOT is_taken", key
        )
        return bool(rows)

    def keys(self, part: BatchPart) -> frozenset[str]:
        found = self._read("SELECT key FROM requests WHERE part = ?", part.number)
        return frozenset(key for (key,) in found)

    def drop_written(self) -> None:
        unsent = "(SELECT number FROM parts WHERE status = ? AND NOT is_taken)"
        with self._connection as connection:
            connection.execute(
                f"UPDATE requests SET part = NULL WHERE part IN {unsent}", (WRITTEN,)
            )
            connection.execute(f"DELETE FROM parts WHERE number IN {unsent}", (WRITTEN,))

    def next_part(self) -> int:
        (row,) = self._read("SELECT coalesce(max(number), 0) + 1 FROM parts")
        return int(row[0])

    def add_part(self, part: BatchPart, requests: Iterable[tuple[str, str]]) -> None:
        with self._connection as connection:
            connection.execute(
                f"INSERT INTO parts ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                astuple(part),
            )
            connection.executemany(
                "INSERT INTO requests (key, owner, part) VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET part = excluded.part",
                ((key, owner, part.number) for key, owner in requests),
            )

    def parts(self) -> list[BatchPart]:
        """Return the parts whose results are still missing."""
        query = f"SELECT {_COLUMNS} FROM parts WHERE NOT is_taken ORDER BY number"
        return [BatchPart(*row) for row in self._read(query)]

    def note(self, part: int, **columns: object) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        with self._connection as connection:
            connection.execute(
                f"UPDATE parts SET {names} WHERE number = ?", (*columns.values(), part)
            )

    def take(self, part: BatchPart, status: str, results: Iterable[BatchResult]) -> None:
        """Store the results of a part in one transaction."""
        with self._connection as connection:
            rows = connection.execute(
                "SELECT r.key, coalesce(max(n), 0) + 1 FROM requests r LEFT JOIN attempts a "
                "ON a.key = r.key WHERE part = ? GROUP BY r.key",
                (part.number,),
            )
            asked: dict[str, int] = dict(rows.fetchall())
            read: dict[str, bool] = {}
            for found in results:
                # Each request counts once; a reply wins over an error.
                if found.key in asked and not read.get(found.key):
                    read[found.key] = found.reply is not None
                    row = (found.key, asked[found.key], *found[1:4])
                    connection.execute(_ATTEMPT, row)
            why = f"the batch is {status} and has no reply to it"
            lost = asked.keys() - read.keys()
            connection.executemany(_ATTEMPT, [(key, asked[key], None, None, why) for key in lost])
            self._end(connection, part.number, status)

    def release(self, part: BatchPart, status: str) -> None:
        """Free the requests of a part that was not processed, for another part."""
        with self._connection as connection:
            connection.execute("UPDATE requests SET part = NULL WHERE part = ?", (part.number,))
            self._end(connection, part.number, status)

    def _end(self, connection: sqlite3.Connection, part: int, status: str) -> None:
        connection.execute(
            "UPDATE parts SET status = ?, is_taken = 1 WHERE number = ?", (status, part)
        )

    @property
    def command(self) -> str | None:
        """JSON of the options of the command that started the batches."""
        rows = self._read("SELECT options FROM command")
        return rows[0][0] if rows else None

    @command.setter
    def command(self, options: str) -> None:
        with self._connection as connection:
            connection.execute("DELETE FROM command")
            connection.execute("INSERT INTO command (options) VALUES (?)", (options,))

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()


def has_batches(folder: Path) -> bool:
    try:
        return (folder / BATCH / _FILE).exists()
    except OSError:
        return False  # For example a name that is too long; creating the folder reports it.


def parts_under_way(folder: Path) -> Sequence[BatchPart]:
    """Return the parts of a run folder that were sent and have no results yet."""
    if not has_batches(folder):
        return ()
    with BatchTable(folder) as table:
        return [part for part in table.parts() if part.status != WRITTEN]


@contextmanager
def open_batches(folder: Path) -> Iterator[BatchTable]:
    """Open the batches of a run folder; raise `ConfigurationError` if it has none."""
    if not has_batches(folder):
        raise ConfigurationError(
            f"{str(folder)!r} has no batch; `rag-evals grade DATA --judge PROVIDER/MODEL --batch` "
            "begins one"
        )
    with BatchTable(folder) as table:
        yield table


grading_now: ContextVar[str] = ContextVar("grading_now", default="")
"""Sample id and grader of the current task, separated by a newline."""


class RoundAnswers:
    """Answers requests from collected results, and writes the missing requests into parts."""

    def __init__(
        self, table: BatchTable, *, max_requests: int | None = None, max_bytes: int | None = None
    ) -> None:
        self._table = table
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._next_part = table.next_part()
        self._noted: set[bytes] = set()
        self._open: dict[tuple[str, str], _PartFile] = {}

    def attempt(self, key: str) -> BatchResult | None:
        """Return the result of a request; None if it has none yet."""
        return None if self._table.waits(key) else self._table.attempt(key)

    def is_paid_here(self, key: str) -> bool:
        """True if the current grading was the first to send the request."""
        return self._table.owner(key) in (None, grading_now.get())

    def note(self, missing: PendingError) -> None:
        name = bytes.fromhex(missing.key)
        if name in self._noted or self._table.waits(missing.key):
            return
        self._noted.add(name)
        host = BatchHost.of(missing.endpoint)
        line = host.line(missing.key, missing.body)
        place = (missing.endpoint, str(missing.body["model"]))
        file = self._open.get(place)
        if file and (len(file.requests) >= file.most or len(line) > file.bytes_left):
            self._close(file)
            file = None
        if file is None:
            file = self._open[place] = self._new(place, host)
        file.file.write(line)
        file.bytes_left -= len(line)
        file.requests.append((missing.key, grading_now.get()))

    @contextmanager
    def writing(self) -> Iterator["RoundAnswers"]:
        """Save the new parts unless the block raises."""
        try:
            yield self
        except BaseException:
            for file in self._open.values():
                file.file.close()
            raise
        for file in self._open.values():
            self._close(file)

    def _new(self, place: tuple[str, str], host: BatchHost) -> "_PartFile":
        number, self._next_part = self._next_part, self._next_part + 1
        most = min(host.max_requests, self._max_requests or host.max_requests)
        size = min(host.max_bytes, self._max_bytes or host.max_bytes)
        path = self._table.path_of(number)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        return _PartFile(number, place, os.fdopen(descriptor, "wb"), most, size)

    def _close(self, file: "_PartFile") -> None:
        file.file.flush()
        os.fsync(file.file.fileno())
        file.file.close()
        name = f"rag-evals-{uuid.uuid4().hex}"
        endpoint, model = file.place
        count = len(file.requests)
        part = BatchPart(file.number, name, endpoint, model, count, 0, WRITTEN, None, None)
        self._table.add_part(part, file.requests)


@dataclass(slots=True)
class _PartFile:
    """A part that is being written; `requests` holds pairs of key and grading."""

    number: int
    place: tuple[str, str]
    file: IO[bytes]
    most: int
    bytes_left: int
    requests: list[tuple[str, str]] = field(default_factory=list)
