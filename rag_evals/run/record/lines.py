"""JSON Lines files that are written line by line, and repaired after a kill."""

import hashlib
import os
import weakref
from collections.abc import Callable, Iterator
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import IO, Any, NamedTuple, Self, TypeVar

from pydantic import ValidationError
from pydantic_core import from_json

from rag_evals.errors import DataError

PRIVATE = 0o600
"""File mode: only the owner may read a run's files, because they contain user data."""

_MAX_LINE_BYTES = 256 * 2**20
_BLOCK_BYTES = 1 << 20

T = TypeVar("T")


class Written(NamedTuple):
    """A file's size, and a hash of its content."""

    size: int
    content: str


class LineLog:
    """A file to which one process appends lines; a kill can tear only the last line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._size = 0
        self._digest = hashlib.sha256()

    def __enter__(self) -> Self:
        """Open the file, and cut off a torn last line."""
        if self.path.exists():
            with self.path.open("rb+") as file:
                if file.seek(0, os.SEEK_END):
                    with mmap(file.fileno(), 0, access=ACCESS_READ) as content:
                        end = content.rfind(b"\n") + 1
                    file.truncate(end)
        self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, PRIVATE)
        self._size = os.fstat(self._file).st_size
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def append(self, line: bytes) -> int:
        """Write one line without buffering, and return its byte offset."""
        assert self._file is not None, "the file is not open"
        begins = self._size
        self._size += len(line)
        self._digest.update(line)
        # Usually a single write; after a kill, the last line is either complete or torn.
        while line:
            line = line[os.write(self._file, line) :]
        return begins

    def follow(self, up_to: int = 0) -> str:
        """Hash the file's content, and then all lines appended to it.

        Returns:
            The hash of the first `up_to` bytes.
        """
        self._digest = hashlib.sha256()
        with self.path.open("rb", buffering=0) as file:
            _hash_bytes(file, self._digest, up_to)
            first = self._digest.hexdigest()
            _hash_bytes(file, self._digest, self._size - up_to)
        return first

    @property
    def size(self) -> int:
        return self._size

    @property
    def written(self) -> Written:
        """Size and hash; call `follow` first if the file already existed."""
        return Written(self._size, self._digest.hexdigest())


def placed_lines(
    path: Path, read: Callable[[bytes], T], begins: int = 0
) -> Iterator[tuple[int, int, T]]:
    """Yield the start, end and parsed value of each line; skip blank and incomplete lines.

    `read` parses one line, and raises `ValueError` if it is invalid; `begins` is the offset of the
    first line to read. A missing file yields nothing.

    Raises:
        DataError: The file cannot be read, or a line is invalid; the message has its line number.
    """
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            file.seek(begins)
            while line := file.readline(_MAX_LINE_BYTES):
                if not line.endswith(b"\n"):
                    if len(line) < _MAX_LINE_BYTES:
                        return
                    error = ValueError(f"longer than {_MAX_LINE_BYTES} bytes")
                    raise _not_read(file, path, begins, error)
                if not line.isspace():
                    try:
                        yield begins, begins + len(line), read(line)
                    except ValueError as fault:
                        raise _not_read(file, path, begins, fault) from fault
                begins += len(line)
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def replace_file(path: Path, content: bytes, *, sync: bool) -> None:
    """Replace a file atomically: after a kill, it has either the old or the new content."""
    temporary = path.with_suffix(".tmp")
    temporary.touch(PRIVATE)
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    temporary.replace(path)


def fault_of(error: ValueError) -> str:
    """Describe invalid JSON in one line, without quoting user data."""
    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(map(str, fault["loc"]))
    return f"{place}: {fault['msg']}" if place else fault["msg"]


def hash_beginning(path: Path, size: int) -> str:
    """Hash the first `size` bytes of a file, or the whole file if it is shorter."""
    digest = hashlib.sha256()
    if size and path.exists():
        with path.open("rb", buffering=0) as file:
            _hash_bytes(file, digest, size)
    return digest.hexdigest()


class LogReader:
    """Reads lines at given offsets; opens the file on the first read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def _file(self) -> IO[bytes]:
        file = self.path.open("rb")
        weakref.finalize(self, file.close)
        return file

    def read_at(self, begins: int) -> Any:
        """Parse the line at an offset; the index has already validated it."""
        self._file.seek(begins)
        try:
            return from_json(self._file.readline(_MAX_LINE_BYTES))
        except ValueError as error:
            raise _not_read(self._file, self.path, begins, error) from error


def _hash_bytes(file: IO[bytes], digest: "hashlib._Hash", count: int) -> None:
    while count > 0 and (block := file.read(min(count, _BLOCK_BYTES))):
        count -= len(block)
        digest.update(block)


def _not_read(file: IO[bytes], path: Path, begins: int, error: ValueError) -> DataError:
    file.seek(0)
    number = 1
    while file.tell() < begins:
        file.readline()
        number += 1
    return DataError(f"{str(path)!r}, line {number}: {fault_of(error)}")
