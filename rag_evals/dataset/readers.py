"""What rows does a file hold? JSONL, JSON and CSV, plain or gzip'ed, one row at a time."""

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from pydantic_core import from_json

from rag_evals.errors import DataError

# Whole contexts stand in one cell; csv's own limit is 128 kB.
csv.field_size_limit(2**31 - 1)


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
    try:
        with _opened(path) as file:
            rows = reader(file, path)
            first = next(rows, None)
            if first is None:
                raise DataError(f"{str(path)!r} has no rows")
            yield first
            yield from rows
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{str(path)!r} is not a complete gzip file: {error}") from error
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error


def _opened(path: Path) -> IO[bytes]:
    # typeshed has no common type for the two; both are binary files.
    opened = gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115 - the caller closes it
    return cast("IO[bytes]", opened)


def _reader_for(path: Path) -> "Callable[[IO[bytes], Path], Iterator[Row]]":
    if path.is_dir():
        raise DataError(f"{str(path)!r} is a folder; expected a .jsonl, .json or .csv file")
    if not path.exists():
        raise DataError(f"{str(path)!r} does not exist")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    reader = _READERS.get(kind[0] if kind else "")
    if reader is None:
        raise DataError(
            f"{path.name!r} is of no kind that can be read; "
            "expected .jsonl, .json or .csv, or one of them with .gz"
        )
    return reader


def _read_jsonl(file: IO[bytes], path: Path) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        # A byte order mark is what Windows editors write first.
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if text:
            place = f"line {number}"
            yield Row(place, _object(_parse(text, path, place), path, place))


def _read_json(file: IO[bytes], path: Path) -> Iterator[Row]:
    content = file.read().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        return
    loaded = _parse(content, path, None)
    if not isinstance(loaded, list):
        raise DataError(f"{str(path)!r} holds {type(loaded).__name__}; expected a list of objects")
    for number, value in enumerate(loaded):
        place = f"row {number}"
        yield Row(place, _object(value, path, place))


def _read_csv(file: IO[bytes], path: Path) -> Iterator[Row]:
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
        return json.loads(bare)
    except ValueError:
        if bare.startswith(("['", '["', "[{'", "{'")):
            raise DataError(
                f"{str(path)!r}, {place}: the cell {bare[:40]!r} looks like a Python list; "
                "write lists as JSON, with double quotes"
            ) from None
        # "[1] A footnote" and the like are text.
        return cell


def _decoded_lines(file: IO[bytes], path: Path) -> Iterator[str]:
    for number, line in enumerate(file, 1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(path, f"line {number}", error) from error


def _parse(text: bytes, path: Path, place: str | None) -> Any:
    where = str(path) if place is None else f"{path}, {place}"
    try:
        return from_json(text)
    except ValueError:
        pass
    # The standard parser is slower, takes what the fast one refuses (a lone surrogate, which the
    # sample then reports with its field), and says more about what is wrong.
    try:
        return json.loads(text.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _not_utf8(path, place, error) from error
    except json.JSONDecodeError as error:
        at = (
            f"line {error.lineno}, column {error.colno}"
            if place is None
            else f"column {error.colno}"
        )
        raise DataError(f"{where}: broken JSON: {error.msg} at {at}") from error
    except RecursionError as error:
        raise DataError(f"{where}: JSON nested too deeply") from error


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


_READERS: dict[str, Callable[[IO[bytes], Path], Iterator[Row]]] = {
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".json": _read_json,
    ".csv": _read_csv,
}
