"""The cache's SQLite database, shared by threads and processes."""

import logging
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rag_evals.core import cache_variables
from rag_evals.errors import ConfigurationError

FOLDER_VARIABLE = "RAG_EVALS_CACHE_DIR"

CALLS_TABLE, STATEMENTS_TABLE = _TABLES = "answers", "statements"

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS {CALLS_TABLE} (
    key TEXT PRIMARY KEY, reply TEXT NOT NULL, created REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS {CALLS_TABLE}_created ON {CALLS_TABLE} (created);
CREATE TABLE IF NOT EXISTS {STATEMENTS_TABLE} (
    grp TEXT NOT NULL,
    statement TEXT NOT NULL,
    text TEXT NOT NULL,
    verdict TEXT NOT NULL,
    created REAL NOT NULL,
    frame TEXT,
    embedder TEXT,
    vector BLOB,
    PRIMARY KEY (grp, statement)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS {STATEMENTS_TABLE}_created ON {STATEMENTS_TABLE} (created);
CREATE INDEX IF NOT EXISTS {STATEMENTS_TABLE}_frame ON {STATEMENTS_TABLE} (grp, frame, created);
"""

_log = logging.getLogger(__name__)
_FILE = "cache.sqlite3"
_PRIVATE = 0o600
_BUSY_SECONDS = 30.0
_SECONDS_BETWEEN_TRIES = 0.01
_MEGABYTE = 10**6


def default_path() -> Path:
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        return Path(named) / _FILE
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "rag_evals" / _FILE


class Database:
    """A SQLite database that deletes its oldest entries when it exceeds `RAG_EVALS_CACHE_MAX_MB`.

    A new file is private (mode 0600). If the file cannot be used, `ConfigurationError` is raised.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._max_bytes = cache_variables().megabytes * _MEGABYTE
        # This lock is for threads; SQLite locks the file between processes.
        self._lock = threading.Lock()
        self._opened: dict[int, sqlite3.Connection] = {}
        # Close the connections if the owner forgets to.
        weakref.finalize(self, _close, self._opened).atexit = False
        if path is not None:
            self._make_private(path)
        with self._lock:
            self._connection()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the path, because each process needs its own connection."""
        if self.path is None:
            raise ConfigurationError(
                "an in-memory cache cannot be shared between processes; pass it a file path"
            )
        return type(self), (self.path,)

    def read(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._lock:
                return self._connection().execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def write(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute a statement for every row, in one transaction.

        A full disk or a locked file is only logged: the reply was paid for and must not be lost.
        """
        try:
            with self._lock, self._connection() as connection:
                connection.executemany(statement, rows)
                _forget_oldest(connection, self._max_bytes)
        except sqlite3.OperationalError as error:
            _log.warning("nothing was stored in the cache file %s: %s", self.path, error)
        except sqlite3.Error as error:
            raise self._broken(error) from error

    def _broken(self, error: sqlite3.Error) -> ConfigurationError:
        return ConfigurationError(
            f"cache file {str(self.path or ':memory:')!r} cannot be used ({error}); open it again, "
            f"or set another folder in {FOLDER_VARIABLE}"
        )

    def close(self) -> None:
        _close(self._opened)

    def _connection(self) -> sqlite3.Connection:
        # After a fork, the two processes must not share a connection.
        if (process := os.getpid()) not in self._opened:
            self._opened[process] = self._connect(str(self.path or ":memory:"))
        return self._opened[process]

    def _connect(self, name: str) -> sqlite3.Connection:
        connection = sqlite3.connect(name, timeout=_BUSY_SECONDS, check_same_thread=False)
        # Treat invalid UTF-8 as a cache miss, not as an error.
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        try:
            _write_ahead(connection)
            # A crash may lose the most recent replies, but cannot corrupt the file.
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            connection.close()
            raise ConfigurationError(
                f"cache file {name!r} cannot be used ({error}); remove it, or set another folder "
                f"in {FOLDER_VARIABLE}"
            ) from error
        return connection

    def _make_private(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, _PRIVATE))
        except OSError as error:
            raise ConfigurationError(
                f"cache file {str(path)!r} cannot be created: {error.strerror or error}; set "
                f"another folder in {FOLDER_VARIABLE}"
            ) from error


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn on WAL, so that readers never wait; retry if locked, because SQLite does not retry."""
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_SECONDS_BETWEEN_TRIES)
        else:
            return


def _forget_oldest(connection: sqlite3.Connection, max_bytes: float) -> None:
    """Delete the oldest tenth of each table, repeatedly, until the database is small enough."""
    while _bytes_used(connection) > max_bytes:
        deleted = 0
        for table in _TABLES:
            deleted += connection.execute(
                f"DELETE FROM {table} WHERE created <= (SELECT created FROM {table} "
                f"ORDER BY created LIMIT 1 OFFSET (SELECT count(*) / 10 FROM {table}))"
            ).rowcount
        if not deleted:
            return


def _bytes_used(connection: sqlite3.Connection) -> int:
    pages, free, size = (
        int(connection.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size


def _close(opened: dict[int, sqlite3.Connection]) -> None:
    # Connections opened before a fork belong to the parent process.
    if (connection := opened.get(os.getpid())) is not None:
        connection.close()
