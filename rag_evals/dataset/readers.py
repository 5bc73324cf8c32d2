"""What rows does a file hold? JSONL, JSON and CSV, plain or gzip'ed, one row at a time."""

import csv
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from rag_evals.core import fault_of
from rag_evals.dataset.json_text import UnusableJsonError, loaded_json
from rag_evals.errors import ConfigurationError, DataError

MAX_LINE_VARIABLE = "RAG_EVALS_MAX_LINE_MB"
"""Environment variable with the most megabytes that are read in one piece: a line, a JSON file."""

_MAX_LINE_MB = 256


class Row(NamedTuple):
    """One row of a file.

    Attributes:
        place: What messages call it, such as `line 7`.
        values: Column to value.
    """

    place: str
    values: Mapping[str, Any]


def read_rows(path: Path) -> Iterator[Row]:
    """Read a file row by row.

    Args:
        path: `.jsonl`, `.ndjson`, `.json` or `.csv`, with `.gz` behind it when compressed.

    Raises:
        DataError: Missing, empty, not of these kinds, or broken at a line that the message names.
    """
    reader = _reader_for(path)
    limit = max_line_bytes()
    try:
        with _opened(path) as file:
            rows = reader(_Bounded(file, path, limit), path)
            first = next(rows, None)
            if first is None:
                raise DataError(f"{str(path)!r} has no rows")
            yield first
            yield from rows
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{str(path)!r} is not a complete gzip file: {error}") from error
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def max_line_bytes() -> int:
    """Return how much is read in one piece: 256 MB, or what `RAG_EVALS_MAX_LINE_MB` says.

    Raises:
        ConfigurationError: The variable is no whole number from 1.
    """
    written = os.environ.get(MAX_LINE_VARIABLE) or str(_MAX_LINE_MB)
    if not (written.isdecimal() and 0 < len(written) < 10 and int(written)):
        raise ConfigurationError(
            f"{MAX_LINE_VARIABLE} is {written!r}; expected a whole number of megabytes, 1 or more"
        )
    return int(written) * 1_000_000


class _Bounded:
    """The lines of a file, or all of it; a piece that could fill the memory is an error."""

    def __init__(self, file: IO[bytes], path: Path, limit: int) -> None:
        self._file = file
        self._path = path
        self.limit = limit

    def __iter__(self) -> Iterator[bytes]:
        number = 1
        while line := self._file.readline(self.limit + 1):
            if len(line) > self.limit:
                raise self.too_long(f"line {number}")
            yield line
            number += 1

    def read(self) -> bytes:
        content = self._file.read(self.limit + 1)
        if len(content) > self.limit:
            raise self.too_long("the file")
        return content

    def too_long(self, what: str) -> DataError:
        return DataError(
            f"{str(self._path)!r}: {what} has more than {self.limit // 1_000_000} MB in one piece; "
            f"write one row a line, or raise {MAX_LINE_VARIABLE}"
        )


def _opened(path: Path) -> IO[bytes]:
    # typeshed has no common type for the two; both are binary files.
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115 - the caller closes it
    return cast("IO[bytes]", opened)


def _reader_for(path: Path) -> "Callable[[_Bounded, Path], Iterator[Row]]":
    fault = fault_of(path)
    if fault is not None:
        expected = f"; expected a {_kinds()} file" if path.is_dir() else ""
        raise DataError(f"{str(path)!r} {fault}{expected}")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    reader = READERS.get(kind[0] if kind else "")
    if reader is None:
        raise DataError(
            f"{path.name!r} is not a file that can be read; "
            f"expected {_kinds()}, or one of them with .gz"
        )
    return reader


def _kinds() -> str:
    *first, last = READERS
    return f"{', '.join(first)} or {last}"


def _read_jsonl(file: _Bounded, path: Path) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        # A byte order mark is what Windows editors write first.
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if text:
            place = f"line {number}"
            yield Row(place, _object(_parse(text, path, place), path, place))


def _read_json(file: _Bounded, path: Path) -> Iterator[Row]:
    content = file.read().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        return
    loaded = _parse(content, path, None)
    if not isinstance(loaded, list):
        raise DataError(f"{str(path)!r} holds {type(loaded).__name__}; expected a list of objects")
    for number, value in enumerate(loaded):
        place = f"row {number}"
        yield Row(place, _object(value, path, place))


def _read_csv(file: _Bounded, path: Path) -> Iterator[Row]:
    # Whole contexts stand in one cell; csv's own limit is 128 kB. It keeps 4 bytes a character.
    csv.field_size_limit(file.limit // 4)
    reader = csv.reader(_decoded_lines(file, path), strict=True)
    header: list[str] | None = None
    try:
        for cells in reader:
            place = f"line {reader.line_num}"
            if not cells:
                continue
            if header is None:
                header = cells
                _check_header(header, path)
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{str(path)!r}, {place}: {len(cells)} cells, the header has {len(header)}; "
                    f"columns are {', '.join(header)}"
                )
            values = zip(header, cells, strict=True)
            yield Row(place, {name: _cell(cell, path, place) for name, cell in values})
    except csv.Error as error:
        if "field limit" in str(error):
            raise file.too_long(f"a cell that ends in line {reader.line_num}") from error
        raise DataError(f"{str(path)!r}, line {reader.line_num}: {error}") from error


def _check_header(header: list[str], path: Path) -> None:
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise DataError(f"{str(path)!r}: the header names {', '.join(map(repr, twice))} twice")


def _cell(cell: str, path: Path, place: str) -> Any:
    """Read a list or an object that was written as JSON; any other cell is text."""
    bare = cell.strip()
    if bare[:1] + bare[-1:] not in ("[]", "{}"):
        return cell
    try:
        return loaded_json(bare.encode("utf-8"))
    except UnusableJsonError as error:
        raise DataError(f"{str(path)!r}, {place}: a cell cannot be read: {error}") from error
    except ValueError:
        if bare.startswith(("['", '["', "[{'", "{'")):
            raise DataError(
                f"{str(path)!r}, {place}: the cell {bare[:40]!r} looks like a Python list; "
                "write lists as JSON, with double quotes"
            ) from None
        # "[1] A footnote" and the like are text.
        return cell


def _decoded_lines(file: _Bounded, path: Path) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(path, f"line {number}", error) from error


def _parse(text: bytes, path: Path, place: str | None) -> Any:
    where = str(path) if place is None else f"{path}, {place}"
    try:
        return loaded_json(text)
    except UnusableJsonError as error:
        raise DataError(f"{where}: {error}") from error
    except UnicodeDecodeError as error:
        raise _not_utf8(path, place, error) from error
    except json.JSONDecodeError as error:
        at = (
            f"line {error.lineno}, column {error.colno}"
            if place is None
            else f"column {error.colno}"
        )
        raise DataError(f"{where}: broken JSON: {error.msg} at {at}") from error


def _not_utf8(path: Path, place: str | None, error: UnicodeDecodeError) -> DataError:
    where = str(path) if place is None else f"{path}, {place}"
    return DataError(
        f"{where}: not UTF-8 (byte {error.object[error.start]:#04x}); save the file as UTF-8"
    )


def _object(value: Any, path: Path, place: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise DataError(
        f"{path}, {place}: {type(value).__name__}; expected an object with named fields"
    )


READERS: dict[str, Callable[[_Bounded, Path], Iterator[Row]]] = {
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
}
"""How a file is read, by the end of its name."""
