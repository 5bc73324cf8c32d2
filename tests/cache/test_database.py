"""The cache file is shared by threads and processes, private, and never a traceback."""

import multiprocessing
import pickle
import sqlite3
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rag_evals.cache import StatementCache
from rag_evals.cache.database import (
    Database,
    _bytes_used,
    _forget_oldest,
    _write_ahead,
    default_path,
)
from rag_evals.cache.statements import StatementKey
from rag_evals.core import Claim, Verdict
from rag_evals.errors import ConfigurationError

SELECT = "SELECT reply FROM answers WHERE key = ?"
INSERT = "INSERT OR REPLACE INTO answers VALUES (?, ?, 1.0)"


def fill(path: Path, name: str) -> None:
    """Write 200 rows one by one, as a process of its own."""
    database = Database(path)
    for number in range(200):
        database.write(INSERT, [(f"{name}-{number}", "v")])
    database.close()


@pytest.mark.slow
def test_processes_write_to_one_file_at_once() -> None:
    """No row of four writers is lost."""
    path = Path("c.sqlite3").absolute()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=fill, args=(path, str(n))) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()

    database = Database(path)
    assert database.read("SELECT COUNT(*) FROM answers") == [(800,)]
    database.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("path", [Path("c.sqlite3"), None])
def test_threads_share_a_database(path: Path | None) -> None:
    """File or memory: what one thread writes another reads."""
    database = Database(path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: database.write(INSERT, [(str(n), "v")]), range(100)))
        found = list(
            pool.map(
                lambda n: database.read("SELECT reply FROM answers WHERE key=?", [str(n)]),
                range(100),
            )
        )

    assert found == [[("v",)]] * 100
    database.close()


class Held:
    """A connection to a file that another process holds for the first few tries."""

    def __init__(self, *faults: str) -> None:
        self.faults = list(faults)
        self.tries = 0

    def execute(self, statement: str) -> None:
        """Fail, until all faults have come up."""
        assert statement == "PRAGMA journal_mode=WAL"
        self.tries += 1
        if self.faults:
            raise sqlite3.OperationalError(self.faults.pop(0))


def test_a_new_file_is_private_and_readers_never_wait() -> None:
    """Writers keep a log beside it; turning that on is tried again while the file is held."""
    path = Path("c.sqlite3")
    database = Database(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert database.read("PRAGMA journal_mode") == [("wal",)]
    database.close()
    held: Any = Held("database is locked", "database is locked")
    _write_ahead(held)
    assert held.tries == 3
    broken: Any = Held("disk I/O error")
    with pytest.raises(sqlite3.OperationalError, match="disk I/O"):
        _write_ahead(broken)
    assert broken.tries == 1


def test_a_cache_that_is_smaller_than_one_entry_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends when nothing is left to forget."""
    monkeypatch.setenv("RAG_EVALS_CACHE_MAX_MB", "0.00001")
    database = Database(None)
    database.write(INSERT, [("a", "v"), ("b", "v")])

    assert database.read("SELECT COUNT(*) FROM answers") == [(0,)]


def test_a_file_that_is_no_database_is_one_clear_error() -> None:
    """The message names the file and what to do."""
    Path("c.sqlite3").write_text("this is no database, only some text that is long enough")

    with pytest.raises(
        ConfigurationError, match=r"'c.sqlite3' cannot be used .*RAG_EVALS_CACHE_DIR"
    ):
        Database(Path("c.sqlite3"))


def test_a_folder_that_cannot_be_made_is_one_clear_error() -> None:
    """A file in the way is named."""
    Path("file").touch()

    with pytest.raises(ConfigurationError, match="cannot be created"):
        Database(Path("file/c.sqlite3"))


def test_the_place_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """RAG_EVALS_CACHE_DIR first, then the user's cache folder."""
    monkeypatch.delenv("RAG_EVALS_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert default_path() == Path("caches/rag_evals/cache.sqlite3")
    monkeypatch.setenv("RAG_EVALS_CACHE_DIR", "mine")
    assert default_path() == Path("mine/cache.sqlite3")


def test_a_full_cache_forgets_its_oldest_entries(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`RAG_EVALS_CACHE_MAX_MB` bounds the file; what is new is always there."""
    monkeypatch.setenv("RAG_EVALS_CACHE_MAX_MB", "0.2")
    path = tmp_path / "cache.sqlite3"
    cache = StatementCache(path)
    verdict = Verdict(1.0, True, (0,), "r" * 500, decided_by="embedded")
    keys = [StatementKey.of(Claim(f"Statement {number}.")) for number in range(400)]
    for first in range(0, 400, 20):
        cache.store("g", dict.fromkeys(keys[first : first + 20], verdict))
        assert None not in cache.look_up("g", keys[first : first + 20])

    assert cache.look_up("g", keys[:20]) == [None] * 20
    assert 50 < cache.count() < 400
    cache.close()
    assert path.stat().st_size < 300_000


@contextmanager
def numbered(ages: list[float]) -> Iterator[sqlite3.Connection]:
    """Open a cache with a large entry of each age in both tables."""
    database = Database(None)
    connection = database._connection()
    rows = [(f"{place}", "v" * 5_000, age) for place, age in enumerate(ages)]
    connection.executemany("INSERT INTO answers (key, reply, created) VALUES (?, ?, ?)", rows)
    connection.executemany(
        "INSERT INTO statements (grp, statement, text, verdict, created) VALUES ('g', ?, '', ?, ?)",
        rows,
    )
    yield connection
    database.close()


def left(connection: sqlite3.Connection) -> list[list[float]]:
    """Return the ages that are left in each table."""
    return [
        [age for (age,) in connection.execute(f"SELECT created FROM {table} ORDER BY created")]
        for table in ("answers", "statements")
    ]


@pytest.mark.parametrize(
    ("ages", "kept"),
    [
        ([*range(20)], [*range(3, 20)]),
        ([*range(9)], [*range(1, 9)]),
        ([*range(29)], [*range(3, 29)]),
        ([5, 5, 5, 5, 9], [9]),
        ([7, 3, 5], [5, 7]),
    ],
)
def test_the_oldest_tenth_is_forgotten_first(ages: list[float], kept: list[float]) -> None:
    """Of each table, and one more; what is as old as that goes with it."""
    with numbered(ages) as connection:
        _forget_oldest(connection, _bytes_used(connection))
        assert left(connection) == [sorted(ages)] * 2
        _forget_oldest(connection, _bytes_used(connection) - 1)
        assert left(connection) == [kept] * 2


def test_as_much_is_forgotten_as_it_takes() -> None:
    """Tenth after tenth, until the rest is small enough; only pages that are used count."""
    with numbered([*range(50)]) as connection:
        before = _bytes_used(connection)
        _forget_oldest(connection, before / 2)
        (answers, statements), used = left(connection), _bytes_used(connection)

    assert before > 50 * 2 * 5_000
    assert before * 0.35 < used <= before / 2
    assert answers == statements == [*range(50 - len(answers), 50)]
    assert 17 < len(answers) < 25


@pytest.mark.parametrize("emptied", ["answers", "statements"])
def test_a_table_without_entries_ends_nothing(emptied: str) -> None:
    """As long as the other one has some."""
    with numbered([*range(50)]) as connection:
        connection.execute(f"DELETE FROM {emptied}")
        before = _bytes_used(connection)
        _forget_oldest(connection, before / 4)
        assert 0 < sum(map(len, left(connection))) < 15
        assert _bytes_used(connection) <= before / 4


def test_a_megabyte_is_a_million_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As everywhere in the package."""
    monkeypatch.setenv("RAG_EVALS_CACHE_MAX_MB", "2.5")
    assert Database(None)._max_bytes == 2_500_000


def test_another_process_opens_the_file_anew() -> None:
    """In a folder that is made for it; what is in memory cannot be taken along."""
    database = Database(Path("a/b/c.sqlite3"))
    database.write(INSERT, [("a", "v"), ("b", "w"), ("a", "x")])
    again = pickle.loads(pickle.dumps(database))

    assert again.path == database.path
    assert [again.read(SELECT, [name]) for name in "abc"] == [[("x",)], [("w",)], []]
    for one in (database, again):
        one.close()
    with pytest.raises(ConfigurationError, match="in-memory cache cannot be shared"):
        pickle.dumps(Database(None))


def test_without_variables_the_place_is_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Empty variables count as none."""
    monkeypatch.setenv("HOME", "/srv/someone")
    for name in ("RAG_EVALS_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, "")

    assert default_path() == Path("/srv/someone/.cache/rag_evals/cache.sqlite3")


def test_text_that_is_no_text_is_read_all_the_same() -> None:
    """Whoever asked for it then finds that it is no reply."""
    database = Database(None)
    database.write("INSERT INTO answers VALUES ('a', CAST(? AS TEXT), 1.0)", [(b"\xff",)])

    assert database.read(SELECT, ["a"]) == [("\udcff",)]
    database.close()
