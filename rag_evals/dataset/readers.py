"""Rows of a path: a file of any kind, a folder of Parquet files, or a pattern."""

import glob
import gzip
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, compress
from pathlib import Path

from rag_evals.core import fault_of
from rag_evals.dataset.columns import Row
from rag_evals.dataset.files import (
    DataFile,
    Opened,
    max_line_bytes,
    open_bytes,
    read_csv,
    read_json,
    read_jsonl,
)
from rag_evals.dataset.tables import read_excel, read_parquet
from rag_evals.errors import DataError

READERS: dict[str, Callable[[Opened], Iterator[Row]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".xlsx": read_excel,
}
"""Readers by the suffix of the file's name."""

# Readers that skip unwanted rows without parsing them.
_SKIPPING = {read_jsonl, read_csv, read_parquet}
_PATTERN_SIGNS = frozenset("*?[")


def read_rows(file: Path | DataFile, wanted: Iterator[int] | None = None) -> Iterator[Row]:
    """Read one file row by row.

    Args:
        file: A file of a kind in `READERS`, optionally with `.gz` after it.
        wanted: For each row 1, or 0 to skip it; None for all rows.

    Raises:
        DataError: The file is missing, empty, of another kind, or broken.
        ConfigurationError: A library that reads this kind is not installed.
    """
    options = file if isinstance(file, DataFile) else DataFile(file)
    path = Path(options.path)
    reader = _reader_for(path)
    try:
        with open_bytes(path) as opened:
            rows = reader(Opened(opened, path, options, max_line_bytes(), wanted))
            if wanted is not None:
                yield from rows if reader in _SKIPPING else compress(rows, wanted)
                return
            first = next(rows, None)
            if first is None:
                raise DataError(f"{str(path)!r} has no rows")
            yield from chain([first], rows)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{str(path)!r} is not a complete gzip file: {error}") from error
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def _reader_for(path: Path) -> Callable[[Opened], Iterator[Row]]:
    kinds = f"{', '.join(READERS)}, or one of them with .gz"
    fault = fault_of(path)
    if fault is not None:
        expected = f"; expected a file that ends in {kinds}" if path.is_dir() else ""
        raise DataError(f"{str(path)!r} {fault}{expected}")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    reader = READERS.get(suffixes[-1] if suffixes else "")
    if reader is None:
        raise DataError(f"{path.name!r} cannot be read; expected a file that ends in {kinds}")
    return reader


@dataclass(frozen=True, slots=True)
class Located:
    """The files of a path, in reading order. `name` is for messages."""

    name: Path
    files: Sequence[Path]
    options: DataFile

    def rows(self, wanted: Iterator[int] | None = None) -> Iterator[Row]:
        several = len(self.files) > 1
        for file in self.files:
            for row in read_rows(replace(self.options, path=file), wanted):
                yield row._replace(place=f"{file.name}, {row.place}") if several else row


def locate(data: str | Path | DataFile) -> Located:
    file = data if isinstance(data, DataFile) else DataFile(data)
    written = os.fspath(file.path)
    if "://" in written:
        raise DataError(f"{written!r} is an address; download the file, and name it")
    path = Path(written)
    if path.is_dir():
        return Located(path, sorted(path.rglob("*.parquet")) or [path], file)
    if _PATTERN_SIGNS & set(written) and not path.exists():
        matching = [Path(name) for name in sorted(glob.glob(written, recursive=True))]  # noqa: PTH207 - the pattern may be absolute
        if not matching:
            raise DataError(f"no file matches {written!r}")
        name = Path(*[part for part in path.parts if not _PATTERN_SIGNS & set(part)] or ["files"])
        return Located(name, matching, file)
    return Located(path, [path], file)
