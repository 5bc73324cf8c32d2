"""Opening data files, and reading JSON, CSV and TSV of any program, encoding and compression.

No piece larger than the limit is read into memory.
"""

import codecs
import csv
import gzip
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any, cast

from pydantic_core import from_json

from rag_evals.core import Phrase
from rag_evals.dataset.columns import Row, check_header
from rag_evals.errors import ConfigurationError, DataError, MissingExtraError

COMPRESSED = (".gz", ".zst")
"""Suffixes of compressed files, after the suffix of their kind."""

_MAX_LINE_VARIABLE = "RAG_EVALS_MAX_LINE_MB"
_MAX_LINE_MB = 256


def required_module(name: str, extra: str, purpose: str) -> Any:
    """Import an optional library; if it is missing, the error names the extra."""
    library = name.partition(".")[0]
    if find_spec(library) is None:
        raise MissingExtraError(
            f"{library} is not installed, which is needed to {purpose}: "
            f"pip install 'rag-evals[{extra}]'"
        )
    return import_module(name)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file with options for reading it.

    Attributes:
        path: A file, a folder of Parquet files, a pattern such as `"parts/*.parquet"`, `"-"` for
            standard input, or an address such as `"hf://datasets/NAME/FILE.parquet"`.
        sheet: Name of an Excel sheet; None for the only one.
        encoding: Encoding of a CSV or TSV file, such as `"cp1251"`; None detects it.
        delimiter: Separator of a CSV file; None detects it.
    """

    path: str | Path
    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None


@dataclass(slots=True)
class Opened:
    """An open file, read by line or whole, with a limit for the size of a piece.

    Attributes:
        file: The uncompressed bytes.
        path: Path of the file.
        options: Options for reading it.
        limit: Most bytes in one piece.
        notes: What a user should know about the file.
        wanted: For each row 1, or 0 to skip it; None for all rows.
    """

    file: IO[bytes]
    path: Path
    options: DataFile
    limit: int
    notes: list[Phrase] = field(default_factory=list)
    wanted: Iterator[int] | None = None

    def wants(self) -> bool:
        """True if the next row is wanted. Call it once per row, before parsing."""
        return self.wanted is None or bool(next(self.wanted, 0))

    def __iter__(self) -> Iterator[bytes]:
        number = 1
        while line := self.file.readline(self.limit + 1):
            if len(line) > self.limit:
                raise self.too_long(f"line {number}")
            yield line
            number += 1

    def begin(self, count: int) -> bytes:
        """Return up to `count` first bytes without consuming them."""
        peek = cast("io.BufferedReader", self.file).peek  # gzip's files have it too
        return peek(count)[:count]

    def read(self) -> bytes:
        content = self.file.read(self.limit + 1)
        if len(content) > self.limit:
            raise self.too_long("the file")
        return content

    def too_long(self, what: str) -> DataError:
        return DataError(
            f"{str(self.path)!r}: {what} has more than {self.limit // 1_000_000} MB in one piece; "
            f"write one row a line, or raise {_MAX_LINE_VARIABLE}"
        )


def open_bytes(path: Path) -> IO[bytes]:
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
    written = os.environ.get(_MAX_LINE_VARIABLE) or str(_MAX_LINE_MB)
    if not (written.isdecimal() and 0 < len(written) < 10 and int(written)):
        raise ConfigurationError(
            f"{_MAX_LINE_VARIABLE} is {written!r}; expected a whole number of megabytes, 1 or more"
        )
    return int(written) * 1_000_000


# The limit of the fast parser.
_MAX_LEVELS = 200
_TOO_DEEP = f"JSON nested too deeply; {_MAX_LEVELS} levels can be read"
_MAX_DIGITS = 4300
_LONG_NUMBER = re.compile(f"[0-9]{{{_MAX_DIGITS + 1}}}")
_DELIMITERS = (",", ";", "\t", "|")
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# Encodings of older Windows and DOS programs in Russia and Western Europe.
_OLD_ENCODINGS = ("cp1251", "cp1252", "koi8_r", "cp866")
_SAMPLE_LINES = 200


def read_jsonl(file: Opened) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        # Windows editors write a byte order mark.
        text = line.removeprefix(b"\xef\xbb\xbf").strip() if number == 1 else line.strip()
        if text and file.wants():
            place = f"line {number}"
            yield Row(place, _object(_parse(text, file, place), file, place))


def read_json(file: Opened) -> Iterator[Row]:
    content = file.read().removeprefix(b"\xef\xbb\xbf")
    if not content.strip():
        return
    loaded = _parse(content, file, None)
    if not isinstance(loaded, list):
        raise DataError(
            f"{str(file.path)!r} contains {type(loaded).__name__}; expected a list of objects"
        )
    for number, value in enumerate(loaded):
        place = f"row {number}"
        yield Row(place, _object(value, file, place))


def _parse(text: bytes, file: Opened, place: str | None) -> Any:
    where = str(file.path) if place is None else f"{file.path}, {place}"
    try:
        return _loaded_json(text)
    except _UnusableJsonError as error:
        raise DataError(f"{where}: {error}") from error
    except UnicodeDecodeError as error:
        raise _not_in_encoding(file, place, "UTF-8", error) from error
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, " if place is None else ""
        at += f"column {error.colno}"
        raise DataError(f"{where}: broken JSON: {error.msg} at {at}") from error


def _object(value: Any, file: Opened, place: str) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise DataError(
        f"{file.path}, {place}: {type(value).__name__}; expected an object with named fields"
    )


class _UnusableJsonError(ValueError):
    """Valid JSON that is too deep, or has a number with too many digits."""


def _loaded_json(text: bytes) -> Any:
    """Parse JSON; raises the errors of `json.loads`, or `_UnusableJsonError`."""
    try:
        loaded = from_json(text)
        if len(text) <= _MAX_DIGITS or not _LONG_NUMBER.search(text.decode("utf-8")):
            return loaded
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _UnusableJsonError(_TOO_DEEP) from error
    try:
        # The standard parser is slower, accepts lone surrogates (the sample then reports the field)
        # and has better messages.
        loaded = json.loads(text.decode("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError as error:
        raise _UnusableJsonError(_TOO_DEEP) from error
    except ValueError as error:
        message = f"a number has more than {sys.get_int_max_str_digits()} digits; write it as text"
        raise _UnusableJsonError(message) from error
    # Deeper values would exhaust the stack when they are written again.
    if _is_deep(loaded, _MAX_LEVELS):
        raise _UnusableJsonError(_TOO_DEEP)
    return loaded


def _is_deep(value: Any, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels < 0 or any(_is_deep(one, levels - 1) for one in inner)


def read_csv(file: Opened) -> Iterator[Row]:
    usual = "\t" if ".tsv" in map(str.lower, file.path.suffixes) else None
    delimiter = usual if file.options.delimiter is None else file.options.delimiter
    # A cell may be a whole context; csv's own limit is 128 kB. It needs 4 bytes per character.
    csv.field_size_limit(file.limit // 4)
    lines, where = _decoded(file), repr(str(file.path))
    if delimiter is None:
        delimiter, lines = _delimiter_of(lines, file)
    elif len(delimiter) != 1:
        raise ConfigurationError(f"delimiter is {delimiter!r}; expected one sign, such as ';'")
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
                    f"{where}, {place}: {len(cells)} cells, the header has {len(header)}; "
                    f"columns are {', '.join(header)}"
                )
            if not file.wants():
                continue
            values = zip(header, cells, strict=True)
            yield Row(
                place, {name: _cell(cell, f"{where}, {place}") for name, cell in values if name}
            )
    except csv.Error as error:
        if "field limit" in str(error):
            raise file.too_long(f"a cell that ends in line {reader.line_num}") from error
        raise DataError(f"{where}, line {reader.line_num}: {error}") from error


def _delimiter_of(lines: Iterator[str], file: Opened) -> tuple[str, Iterator[str]]:
    """Return the delimiter that splits the header most, and the lines to read."""
    first = next((line for line in lines if line.strip()), "")
    if first.lower().startswith("sep=") and len(first.strip()) == len("sep=;"):
        return first.strip()[-1], lines  # a line that Excel reads
    best = max(_DELIMITERS, key=lambda sign: _columns(first, sign))
    if best != ",":
        file.notes.append(
            Phrase("notes.tabs")
            if best == "\t"
            else Phrase("notes.separated", (("sign", repr(best)),))
        )
    return best, chain([first], lines)


def _columns(header: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([header], delimiter=delimiter), []))
    except csv.Error:
        return 0  # reading the file raises the error


def _cell(cell: str, place: str) -> Any:
    """Parse a cell that holds a JSON list or object."""
    bare = cell.strip()
    if bare[:1] + bare[-1:] not in ("[]", "{}"):
        return cell
    try:
        return _loaded_json(bare.encode("utf-8"))
    except _UnusableJsonError as error:
        raise DataError(f"{place}: a cell cannot be read: {error}") from error
    except ValueError:
        # "[1] A footnote" is text; a Python list is parsed later, if it is a context.
        return cell


def _decoded(file: Opened) -> Iterator[str]:
    encoding = file.options.encoding
    if encoding is None:
        begin = file.begin(4)
        encoding = _UTF_16.get(begin[:2]) or ("utf-16-le" if begin[1:4:2] == b"\0\0" else None)
        if encoding is None:
            return _in_utf8_or_older(file)
        file.notes.append(Phrase("notes.utf16"))
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        raise ConfigurationError(
            f"encoding {encoding!r} is unknown; expected one such as utf-8, utf-16 or cp1251"
        ) from None
    if codec.name.startswith(("utf-16", "utf-32")):
        return _wide_lines(file, encoding)
    return _in_encoding(enumerate(file, 1), file, encoding)


def _in_encoding(
    numbered: Iterable[tuple[int, bytes]], file: Opened, encoding: str
) -> Iterator[str]:
    for number, line in numbered:
        text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            yield text.decode(encoding)
        except UnicodeDecodeError as error:
            raise _not_in_encoding(file, f"line {number}", encoding, error) from error


def _in_utf8_or_older(file: Opened) -> Iterator[str]:
    """Decode UTF-8; guess the encoding if the first non-ASCII byte is not UTF-8."""
    has_utf8 = False
    numbered = enumerate(file, 1)
    for number, line in numbered:
        text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        try:
            yield text.decode("utf-8")
        except UnicodeDecodeError as error:
            following = [] if has_utf8 else list(islice(numbered, _SAMPLE_LINES))
            encoding = None if has_utf8 else _guessed(line + b"".join(one for _, one in following))
            if encoding is None:
                raise _not_in_encoding(file, f"line {number}", "UTF-8", error) from error
            file.notes.append(Phrase("notes.guessed", (("encoding", encoding),)))
            yield from _in_encoding(chain([(number, line)], following, numbered), file, encoding)
            return
        has_utf8 = has_utf8 or not text.isascii()


def _guessed(sample: bytes) -> str | None:
    """Guess the encoding; None if the bytes are not text."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few files need it

    if b"\0" in sample:
        return None
    best = from_bytes(sample, cp_isolation=list(_OLD_ENCODINGS)).best()
    return None if best is None else best.encoding


def _wide_lines(file: Opened, encoding: str) -> Iterator[str]:
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
        "or name its encoding, as in --encoding cp1251"
    )
