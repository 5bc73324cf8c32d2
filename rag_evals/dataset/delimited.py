"""What do the cells of a CSV or TSV file say? Whatever program wrote it, and in which encoding."""

import codecs
import csv
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from rag_evals.core import Phrase
from rag_evals.dataset.json_text import UnusableJsonError, loaded_json
from rag_evals.dataset.opened import Opened
from rag_evals.dataset.row import Row, check_header
from rag_evals.errors import ConfigurationError, DataError

_DELIMITERS = (",", ";", "\t", "|")
_UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# What Windows programs write where Russian, or another language of Europe, is set; and before.
_OLD_ENCODINGS = ("cp1251", "cp1252", "koi8_r", "cp866")
_SAMPLE_LINES = 200
_BLOCK_BYTES = 1 << 20


def read_csv(file: Opened, path: Path) -> Iterator[Row]:
    """Read a file with a header; delimiter and encoding are found where nobody names them."""
    return _read(file, path, file.options.delimiter)


def read_tsv(file: Opened, path: Path) -> Iterator[Row]:
    """Read a file whose cells are separated by tabs."""
    return _read(file, path, file.options.delimiter or "\t")


def not_in_encoding(
    path: Path, place: str | None, encoding: str, error: UnicodeDecodeError
) -> DataError:
    """Make the error for bytes that an encoding does not have.

    Args:
        path: Of the file.
        place: Such as `line 7`; None for the whole file.
        encoding: What the bytes should be.
        error: What the decoder said.
    """
    where = str(path) if place is None else f"{path}, {place}"
    # UTF-16 is decoded in blocks, whose bytes are not those of a line.
    if encoding in ("UTF-8", "utf-8"):
        where += f", byte {error.start}"
    return DataError(
        f"{where}: not {encoding} (byte {error.object[error.start]:#04x}); save the file as UTF-8, "
        "or name its encoding, as in --encoding cp1251"
    )


def _read(file: Opened, path: Path, delimiter: str | None) -> Iterator[Row]:
    # Whole contexts stand in one cell; csv's own limit is 128 kB. It keeps 4 bytes a character.
    csv.field_size_limit(file.limit // 4)
    lines = _decoded(file, path)
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
                check_header(header, repr(str(path)))
                continue
            if len(cells) != len(header):
                raise DataError(
                    f"{str(path)!r}, {place}: {len(cells)} cells, the header has {len(header)}; "
                    f"columns are {', '.join(header)}"
                )
            if not file.wants():
                continue
            values = zip(header, cells, strict=True)
            yield Row(place, {name: _cell(cell, path, place) for name, cell in values if name})
    except csv.Error as error:
        if "field limit" in str(error):
            raise file.too_long(f"a cell that ends in line {reader.line_num}") from error
        raise DataError(f"{str(path)!r}, line {reader.line_num}: {error}") from error


def _delimiter_of(lines: Iterator[str], file: Opened) -> tuple[str, Iterator[str]]:
    """Return the sign that makes the most columns of the header, and the lines to read."""
    first = next((line for line in lines if line.strip()), "")
    if first.lower().startswith("sep=") and len(first.strip()) == len("sep=;"):
        return first.strip()[-1], lines  # Excel's own way to say it
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
        return 0  # what is wrong is said where the file is read


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
        # "[1] A footnote" is text; a list that Python wrote is read where a context is expected.
        return cell


def _decoded(file: Opened, path: Path) -> Iterator[str]:
    if file.options.encoding is not None:
        return _in_encoding(file, path, file.options.encoding)
    begin = file.begin(4)
    wide = _UTF_16.get(begin[:2]) or ("utf-16-le" if begin[1:4:2] == b"\0\0" else None)
    if wide is None:
        return _in_utf8_or_older(iter(file), file, path)
    file.notes.append(Phrase("notes.utf16"))
    return _wide_lines(file, path, wide)


def _in_encoding(file: Opened, path: Path, encoding: str) -> Iterator[str]:
    try:
        codec = codecs.lookup(encoding)
    except LookupError:
        raise ConfigurationError(
            f"encoding {encoding!r} is unknown; expected one such as utf-8, utf-16 or cp1251"
        ) from None
    if codec.name.startswith(("utf-16", "utf-32")):
        yield from _wide_lines(file, path, encoding)
        return
    for number, line in enumerate(file, 1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            raise not_in_encoding(path, f"line {number}", encoding, error) from error


def _in_utf8_or_older(lines: Iterator[bytes], file: Opened, path: Path) -> Iterator[str]:
    """Decode UTF-8; where the first sign outside ASCII is none, find what it is instead."""
    has_utf8 = False
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            encoding = None
            if not has_utf8:
                following = [one for one, _ in zip(lines, range(_SAMPLE_LINES), strict=False)]
                encoding = _guessed(b"".join([line, *following]))
            if encoding is None:
                raise not_in_encoding(path, f"line {number}", "UTF-8", error) from error
            file.notes.append(Phrase("notes.guessed", (("encoding", encoding),)))
            yield from _in_one_byte(chain([line, *following], lines), path, number, encoding)
            return
        has_utf8 = has_utf8 or not line.removeprefix(codecs.BOM_UTF8).isascii()
        yield text


def _in_one_byte(lines: Iterator[bytes], path: Path, first: int, encoding: str) -> Iterator[str]:
    for number, line in enumerate(lines, first):
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError as error:
            raise not_in_encoding(path, f"line {number}", encoding, error) from error


def _guessed(sample: bytes) -> str | None:
    """Name the encoding of bytes that are no UTF-8; None where they are no text at all."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few files need it

    if b"\0" in sample:
        return None
    best = from_bytes(sample, cp_isolation=list(_OLD_ENCODINGS)).best()
    return None if best is None else best.encoding


def _wide_lines(file: Opened, path: Path, encoding: str) -> Iterator[str]:
    """Decode an encoding of two or four bytes a sign, whose lines do not end at the byte 10."""
    decoder = codecs.getincrementaldecoder(encoding)()
    number, block = 1, file.file.read(_BLOCK_BYTES)
    # Pieces of a line that has not ended. Joined once: a line may be as long as the file.
    pieces: list[str] = []
    length = 0
    while block:
        following = file.file.read(_BLOCK_BYTES)
        try:
            text = decoder.decode(block, final=not following)
        except UnicodeDecodeError as error:
            raise not_in_encoding(path, f"line {number}", encoding, error) from error
        if number == 1 and not length:
            text = text.removeprefix("\ufeff")
        *whole, rest = text.split("\n")
        for line in whole:
            yield "".join([*pieces, line, "\n"])
            pieces, length = [], 0
            number += 1
        pieces.append(rest)
        length += len(rest)
        if length > file.limit:
            raise file.too_long(f"line {number}")
        block = following
    if length:
        yield "".join(pieces)
