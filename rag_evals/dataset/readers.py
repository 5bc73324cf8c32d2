"""What rows does a file hold? One row at a time, whatever its kind, plain or compressed."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import compress
from pathlib import Path
from typing import Any

from rag_evals.core import Phrase, fault_of
from rag_evals.dataset.arrow_files import read_arrow, read_parquet
from rag_evals.dataset.delimited import not_in_encoding, read_csv, read_tsv
from rag_evals.dataset.excel import read_excel
from rag_evals.dataset.json_text import UnusableJsonError, loaded_json
from rag_evals.dataset.opened import (
    COMPRESSED,
    Opened,
    ReadOptions,
    max_line_bytes,
    open_bytes,
)
from rag_evals.dataset.row import Row
from rag_evals.errors import DataError


def read_rows(
    path: Path,
    options: ReadOptions | None = None,
    notes: list[Phrase] | None = None,
    wanted: Iterator[int] | None = None,
) -> Iterator[Row]:
    """Read a file row by row.

    Args:
        path: A file of one of the kinds in `READERS`, with `.gz` or `.zst` behind it when packed.
        options: What its name does not say.
        notes: Is given what the reader found out and a user should know, such as an encoding.
        wanted: For each row 1, or 0 for one that is passed over; None takes all.

    Raises:
        DataError: Missing, empty, not of these kinds, or broken at a line that the message names.
        ConfigurationError: A library that reads this kind is not installed.
    """
    reader = _reader_for(path)
    try:
        yield from _rows_in(path, reader, options or ReadOptions(), notes, wanted)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{str(path)!r} is not a complete gzip file: {error}") from error
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise DataError(f"{str(path)!r} is not a complete zstd file: {error}") from error


def _rows_in(
    path: Path,
    reader: "Callable[[Opened, Path], Iterator[Row]]",
    options: ReadOptions,
    notes: list[Phrase] | None,
    wanted: Iterator[int] | None,
) -> Iterator[Row]:
    limit, notes = max_line_bytes(), [] if notes is None else notes
    with open_bytes(path) as file:
        rows = reader(Opened(file, path, limit, options, notes, wanted), path)
        if wanted is not None:
            yield from rows if reader in _PASSING_OVER else compress(rows, wanted)
            return
        first = next(rows, None)
        if first is None:
            raise DataError(f"{str(path)!r} has no rows")
        yield first
        yield from rows


def _reader_for(path: Path) -> "Callable[[Opened, Path], Iterator[Row]]":
    fault = fault_of(path)
    if fault is not None:
        expected = f"; expected a {_kinds()} file" if path.is_dir() else ""
        raise DataError(f"{str(path)!r} {fault}{expected}")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = bool(suffixes) and suffixes[-1] in COMPRESSED
    kind = suffixes[-2:-1] if packed else suffixes[-1:]
    reader = READERS.get(kind[0] if kind else "")
    if reader is None:
        raise DataError(
            f"{path.name!r} is not a file that can be read; "
            f"expected {_kinds()}, or one of them with {' or '.join(COMPRESSED)}"
        )
    return reader


def _kinds() -> str:
    *first, last = READERS
    return f"{', '.join(first)} or {last}"


def _read_jsonl(file: Opened, path: Path) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        # A byte order mark is what Windows editors write first.
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if text and file.wants():
            place = f"line {number}"
            yield Row(place, _object(_parse(text, path, place), path, place))


def _read_json(file: Opened, path: Path) -> Iterator[Row]:
    content = file.read().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        return
    loaded = _parse(content, path, None)
    if not isinstance(loaded, list):
        raise DataError(f"{str(path)!r} holds {type(loaded).__name__}; expected a list of objects")
    for number, value in enumerate(loaded):
        place = f"row {number}"
        yield Row(place, _object(value, path, place))


def _parse(text: bytes, path: Path, place: str | None) -> Any:
    where = str(path) if place is None else f"{path}, {place}"
    try:
        return loaded_json(text)
    except UnusableJsonError as error:
        raise DataError(f"{where}: {error}") from error
    except UnicodeDecodeError as error:
        raise not_in_encoding(path, place, "UTF-8", error) from error
    except json.JSONDecodeError as error:
        at = (
            f"line {error.lineno}, column {error.colno}"
            if place is None
            else f"column {error.colno}"
        )
        raise DataError(f"{where}: broken JSON: {error.msg} at {at}") from error


def _object(value: Any, path: Path, place: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise DataError(
        f"{path}, {place}: {type(value).__name__}; expected an object with named fields"
    )


READERS: dict[str, Callable[[Opened, Path], Iterator[Row]]] = {
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".xlsx": read_excel,
}
"""How a file is read, by the end of its name."""

_PASSING_OVER = {_read_jsonl, read_csv, read_tsv, read_parquet, read_arrow}
"""Readers that ask which rows are wanted before they parse them."""
