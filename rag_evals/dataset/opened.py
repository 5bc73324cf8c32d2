"""How is a data file opened? Compressed or plain, and never more of it in one piece than fits."""

import gzip
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, cast

from rag_evals.core import Phrase
from rag_evals.errors import ConfigurationError, DataError, MissingExtraError

COMPRESSED = (".gz", ".zst")
"""Ends of names behind the kind of a file."""

_MAX_LINE_VARIABLE = "RAG_EVALS_MAX_LINE_MB"
_MAX_LINE_MB = 256


def required_module(name: str, extra: str, purpose: str) -> Any:
    """Import a library that one of our extras installs; `purpose` follows "needed to".

    Raises:
        MissingExtraError: It is not installed.
    """
    library = name.partition(".")[0]
    if find_spec(library) is None:
        raise MissingExtraError(
            f"{library} is not installed, which is needed to {purpose}: "
            f"pip install 'rag-evals[{extra}]'"
        )
    return import_module(name)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file, with what its name does not say.

    Attributes:
        path: A file, a folder of Parquet files, a pattern such as `"parts/*.parquet"`, `"-"` for
            standard input, or an address such as `"hf://datasets/NAME/FILE.parquet"`.
        sheet: Name of an Excel sheet; None takes the only one.
        encoding: Of a CSV or TSV file, such as `"cp1251"`; None finds it.
        delimiter: Sign between the cells of a CSV file; None finds it.
    """

    path: str | Path
    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None


@dataclass(slots=True)
class Opened:
    """The lines of a file, or all of it; a piece that could fill the memory is an error.

    Attributes:
        file: The bytes.
        path: Where they are.
        options: What the caller said of it.
        limit: Most bytes in one piece.
        notes: What a reader found out and a user should know.
        wanted: For each row 1, or 0 for one that is passed over; None for all rows.
    """

    file: IO[bytes]
    path: Path
    options: DataFile
    limit: int
    notes: list[Phrase] = field(default_factory=list)
    wanted: Iterator[int] | None = None

    def wants(self) -> bool:
        """Say whether the next row is wanted; asked once for each row, before it is parsed."""
        return self.wanted is None or bool(next(self.wanted, 0))

    def __iter__(self) -> Iterator[bytes]:
        """Read line by line.

        Raises:
            DataError: One is longer than the limit.
        """
        number = 1
        while line := self.file.readline(self.limit + 1):
            if len(line) > self.limit:
                raise self.too_long(f"line {number}")
            yield line
            number += 1

    def begin(self, count: int) -> bytes:
        """Return the first bytes without reading on; at most `count`, before anything was read."""
        peek = cast("io.BufferedReader", self.file).peek  # gzip's files have it too
        return peek(count)[:count]

    def read(self) -> bytes:
        """Read all of it.

        Raises:
            DataError: It is longer than the limit.
        """
        content = self.file.read(self.limit + 1)
        if len(content) > self.limit:
            raise self.too_long("the file")
        return content

    def too_long(self, what: str) -> DataError:
        """Make the error for a piece that is longer than the limit."""
        return DataError(
            f"{str(self.path)!r}: {what} has more than {self.limit // 1_000_000} MB in one piece; "
            f"write one row a line, or raise {_MAX_LINE_VARIABLE}"
        )


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked where its name says that it is packed."""
    # typeshed has no common type for these; all are binary files.
    opened: Any
    if path.suffix == ".gz":
        opened = gzip.open(path, "rb")  # noqa: SIM115 - the caller closes it
    elif path.suffix == ".zst":
        packed = required_module("zstandard", "data", f"read {path.name!r}")
        opened = io.BufferedReader(packed.open(path, "rb"))
    else:
        opened = path.open("rb")
    return cast("IO[bytes]", opened)


def max_line_bytes() -> int:
    """Return how much is read in one piece: 256 MB, or what `RAG_EVALS_MAX_LINE_MB` says."""
    written = os.environ.get(_MAX_LINE_VARIABLE) or str(_MAX_LINE_MB)
    if not (written.isdecimal() and 0 < len(written) < 10 and int(written)):
        raise ConfigurationError(
            f"{_MAX_LINE_VARIABLE} is {written!r}; expected a whole number of megabytes, 1 or more"
        )
    return int(written) * 1_000_000
