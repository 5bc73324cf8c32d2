"""Opening data files, and reading JSON, CSV and TSV."""

import codecs
import csv
import gzip
import io
import logging
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice, repeat
from pathlib import Path
from typing import Any, cast

from pydantic_core import from_json

from rag_evals.dataset.columns import Row, check_header
from rag_evals.errors import ConfigurationError, DataError, MissingExtraError

_MAX_LINE_VARIABLE = "RAG_EVALS_MAX_LINE_MB"
_MAX_LINE_MB = 256


def required_module(name: str, extra: str, purpose: str) -> Any:
    """Import an optional library; if it is missing, raise an error that names the extra."""
    library = name.partition(".")[0]
    if find_spec(library) is None:
        raise MissingExtraError(
            f"{library} is needed to {purpose}, but is not installed: "
            f"pip install 'rag-evals[{extra}]'"
        )
    return import_module(name)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file with options for reading it.

    Attributes:
        path: A file, a folder of Parquet files, a pattern such as `"parts/*.parquet"`, `"-"` for
            standard input, or a URL such as `"hf://datasets/NAME/FILE.parquet"`.
        sheet: Name of an Excel sheet; by default, the only sheet.
        encoding: Encoding of a CSV or TSV file; detected by default.
        delimiter: Delimiter of a CSV file; by default, it is detected from the header.
    """

    path: str | Path
    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None


@dataclass(slots=True)
class Opened:
    """An open, uncompressed file.

    Attributes:
        path: Path to show in messages.
        limit: Maximum number of bytes to read at once.
        wanted: 1 for each row to read, 0 for each row to skip; None means all rows.
    """

    file: io.BufferedReader
    path: Path
    options: DataFile
    limit: int
    wanted: Iterator[int] | None = None

    def wants(self) -> bool:
        """True if the next row is wanted. Call this once per row, before parsing."""
        return self.wanted is None or bool(next(self.wanted, 0))

    def __iter__(self) -> Iterator[bytes]:
        number = 1
        while line := self.file.readline(self.limit + 1):
            if len(line) > self.limit:
                raise self.too_long(f"line {number}")
            # Windows editors write a byte order mark.
            yield line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            number += 1

    def read(self) -> bytes:
        content = self.file.read(self.limit + 1)
        if len(content) > self.limit:
            raise self.too_long("the file")
        return content.removeprefix(codecs.BOM_UTF8)

    def too_long(self, what: str) -> DataError:
        return DataError(
            f"{str(self.path)!r}: {what} is larger than {self.limit // 1_000_000} MB; "
            f"write one row per line, or raise {_MAX_LINE_VARIABLE}"
        )


def open_bytes(path: Path) -> io.BufferedReader:
    suffix = path.suffix.lower()
    if suffix == ".zst":
        packed = required_module("zstandard", "data", f"read {path.name!r}")
        return io.BufferedReader(packed.open(path, "rb"))
    # gzip's files also have `peek`.
    return cast("Any", gzip.open(path, "rb")) if suffix == ".gz" else path.open("rb")


def max_line_bytes() -> int:
    written = os.environ.get(_MAX_LINE_VARIABLE) or str(_MAX_LINE_MB)
    if not (written.isdecimal() and 0 < len(written) < 10 and int(written)):
        raise ConfigurationError(
            f"{_MAX_LINE_VARIABLE} is {written!r}; expected a whole number of megabytes, 1 or more"
        )
    return int(written) * 1_000_000


_DELIMITERS = (",", ";", "\t", "|")
# Encodings of older Windows and DOS programs in Russia and Western Europe.
_OLD_ENCODINGS = ["cp1251", "cp1252", "koi8_r", "cp866"]
_SAMPLE_LINES = 200


def read_jsonl(file: Opened) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        text = line.strip()
        if text and file.wants():
            place = f"line {number}"
            yield Row(place, _object(_parse(text, file, place), file, place))


def read_json(file: Opened) -> Iterator[Row]:
    content = file.read()
    if not content.strip():
        return
    loaded = _parse(content, file, None)
    if not isinstance(loaded, list):
        raise DataError(
            f"{str(file.path)!r} contains {type(loaded).__name__}; expected a list of objects"
        )
    for number, value in enumerate(loaded):
        if file.wants():
            place = f"row {number}"
            yield Row(place, _object(value, file, place))


def _parse(text: bytes, file: Opened, place: str | None) -> Any:
    try:
        return from_json(text)
    except ValueError as error:
        try:
            text.decode()
        except UnicodeDecodeError as fault:
            raise _not_in_encoding(file, place, "UTF-8", fault) from error
        said = f"{error}" if place is None else f"{error}".replace("line 1 ", "")
        where = f"{file.path}" if place is None else f"{file.path}, {place}"
        raise DataError(f"{where}: invalid JSON: {said}") from error


def _object(value: Any, file: Opened, place: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise DataError(
        f"{file.path}, {place}: {type(value).__name__}; expected an object with named fields"
    )


def read_csv(file: Opened) -> Iterator[Row]:
    usual = "\t" if ".tsv" in map(str.lower, file.path.suffixes) else None
    delimiter = usual if file.options.delimiter is None else file.options.delimiter
    # A cell may hold a whole context, but csv's limit is 128 kB. A character takes up to 4 bytes.
    csv.field_size_limit(file.limit // 4)
    lines, where = _decoded(file), repr(str(file.path))
    if delimiter is None:
        delimiter, lines = _split_off_delimiter(lines)
    elif len(delimiter) != 1:
        raise ConfigurationError(f"delimiter is {delimiter!r}; expected one character, such as ';'")
    reader = csv.reader(lines, strict=True, delimiter=delimiter)
    header: list[str] | None = None
    try:
        for cells in reader:
            place = f"line {reader.line_num}"
            if not cells:
                continue
            if header is None:
                header = [name.strip() for name in cells]
                check_header(header, where)
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{where}, {place}: {len(cells)} cells, but the header has {len(header)}; "
                    f"columns are {', '.join(header)}"
                )
            if file.wants():
                named = zip(header, cells, strict=True)
                yield Row(place, {name: _cell(cell) for name, cell in named if name})
    except csv.Error as error:
        if "field limit" in str(error):
            raise file.too_long(f"a cell that ends in line {reader.line_num}") from error
        raise DataError(f"{where}, line {reader.line_num}: {error}") from error


def _split_off_delimiter(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """Return the delimiter that splits the header into the most columns, and the lines to read."""
    blank, first = next(((n, line) for n, line in enumerate(lines) if line.strip()), (0, ""))
    if first.lower().startswith("sep=") and len(first.strip()) == len("sep=;"):
        # The line is meant for Excel. An empty one in its place keeps the numbers of the others.
        return first.strip()[-1], chain(repeat("\n", blank + 1), lines)
    split = max(_DELIMITERS, key=lambda sign: _columns(first, sign))
    return split, chain(repeat("\n", blank), [first], lines)


def _columns(header: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:
        return 0  # the error is raised when the file is read


def _cell(cell: str) -> Any:
    """Parse a cell that contains a JSON list or object."""
    bare = cell.strip()
    if bare[:1] + bare[-1:] not in ("[]", "{}"):
        return cell
    try:
        return from_json(bare.encode())
    except ValueError:
        # "[1] A footnote" is text; a Python list is parsed later, if it is a context.
        return cell


def _decoded(file: Opened) -> Iterator[str]:
    encoding = file.options.encoding
    if encoding is None:
        has_mark = file.file.peek(2)[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        if not has_mark:
            return _in_utf8_or_older(file)
        encoding = "UTF-16"
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        raise ConfigurationError(
            f"encoding {encoding!r} is unknown; expected an encoding such as utf-8 or cp1251"
        ) from None
    if codec.name.startswith(("utf-16", "utf-32")):
        return _wide_lines(file, encoding)
    return _in_encoding(enumerate(file, 1), file, encoding)


def _in_encoding(
    numbered: Iterable[tuple[int, bytes]], file: Opened, encoding: str
) -> Iterator[str]:
    for number, line in numbered:
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            raise _not_in_encoding(file, f"line {number}", encoding, error) from error


def _in_utf8_or_older(file: Opened) -> Iterator[str]:
    """Decode UTF-8, or detect the encoding if the first non-ASCII line is not UTF-8."""
    numbered = enumerate(file, 1)
    for number, line in numbered:
        if not line.isascii():
            seen = [(number, line), *islice(numbered, _SAMPLE_LINES)]
            encoding = _guessed(seen)
            if encoding != "UTF-8":
                _report_guess(file.path, encoding)
            yield from _in_encoding(chain(seen, numbered), file, encoding)
            return
        yield line.decode("ascii")


def _guessed(numbered: Sequence[tuple[int, bytes]]) -> str:
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few files need it

    sample = b"".join(line for _, line in numbered)
    try:
        numbered[0][1].decode("utf-8")
    except UnicodeDecodeError:
        best = None if b"\0" in sample else from_bytes(sample, cp_isolation=_OLD_ENCODINGS).best()
        return "UTF-8" if best is None else best.encoding
    return "UTF-8"


@cache  # files are read twice, for checking and for grading
def _report_guess(path: Path, encoding: str) -> None:
    logging.getLogger(__name__).warning(
        "%s: not UTF-8, read as %s; specify another encoding with --encoding", path, encoding
    )


def _wide_lines(file: Opened, encoding: str) -> Iterator[str]:
    # In UTF-16 and UTF-32, a newline takes several bytes, so decode before splitting into lines.
    text = io.TextIOWrapper(file.file, encoding, newline="\n")
    number = 1
    try:
        while line := text.readline(file.limit + 1):
            if len(line) > file.limit:
                raise file.too_long(f"line {number}")
            yield line.removeprefix("\ufeff") if number == 1 else line
            number += 1
    except UnicodeDecodeError as error:
        raise _not_in_encoding(file, f"line {number}", encoding, error) from error
    finally:
        text.detach()  # the caller closes the file


def _not_in_encoding(
    file: Opened, place: str | None, encoding: str, error: UnicodeDecodeError
) -> DataError:
    where = str(file.path) if place is None else f"{file.path}, {place}"
    # UTF-16 is decoded in blocks, not lines.
    if encoding in ("UTF-8", "utf-8"):
        where += f", byte {error.start}"
    return DataError(
        f"{where}: not {encoding} (byte {error.object[error.start]:#04x}); save the file as UTF-8, "
        "or specify its encoding, as in --encoding cp1251"
    )
