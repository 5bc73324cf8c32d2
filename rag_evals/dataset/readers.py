"""Reading rows from a path: a file, a folder of Parquet files, a pattern, "-" or a URL."""

import atexit
import glob
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

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
    required_module,
)
from rag_evals.dataset.tables import read_arrow, read_excel, read_parquet
from rag_evals.errors import ConfigurationError, DataError

READERS: dict[str, Callable[[Opened], Iterator[Row]]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".arrow": read_arrow,
    ".feather": read_arrow,
    ".xlsx": read_excel,
}

_PATTERN_SIGNS = frozenset("*?[")
_COMPRESSED = (".gz", ".zst")


def read_rows(file: Path | DataFile, wanted: Iterator[int] | None = None) -> Iterator[Row]:
    """Read one file row by row.

    Args:
        file: A file with an extension in `READERS`, optionally followed by `.gz` or `.zst`.
        wanted: 1 for each row to read, 0 for each row to skip; None means all rows.

    Raises:
        DataError: The file is missing, empty, corrupt, or of an unsupported type.
        ConfigurationError: A library needed for this file type is not installed.
    """
    options = file if isinstance(file, DataFile) else DataFile(file)
    path = Path(options.path)
    reader = _reader_for(path)
    try:
        with open_bytes(path) as opened:
            row = None
            if reader is not read_excel:
                _refuse_zip(opened, path)
            for row in reader(Opened(opened, path, options, max_line_bytes(), wanted)):
                yield row
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{str(path)!r} is not a complete gzip file: {error}") from error
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    except Exception as error:
        if type(error).__name__ != "ZstdError":
            raise
        raise DataError(f"{str(path)!r} is not a complete zstd file: {error}") from error
    if row is None and wanted is None:
        raise DataError(f"{str(path)!r} has no rows")


def _refuse_zip(file: io.BufferedReader, path: Path) -> None:
    if _kind_of(file.peek(4)) == ".xlsx":
        raise DataError(f"{str(path)!r} is a zip or Excel file; rename an Excel file to *.xlsx")


def _reader_for(path: Path) -> Callable[[Opened], Iterator[Row]]:
    kinds = f"{', '.join(READERS)}, or one of them with .gz or .zst"
    fault = fault_of(path)
    if fault is not None:
        expected = f"; expected a file that ends in {kinds}" if path.is_dir() else ""
        raise DataError(f"{str(path)!r} {fault}{expected}")
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in _COMPRESSED]
    reader = READERS.get(suffixes[-1] if suffixes else "")
    if reader is None:
        raise DataError(f"{path.name!r} cannot be read; expected a file that ends in {kinds}")
    return reader


@dataclass(frozen=True, slots=True)
class Located:
    """The files that a path refers to, in reading order; `name` is for messages."""

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
    if written == "-":
        return Located(Path("stdin"), [_standard_input()], file)
    if "://" in written:
        return _fetched(written, file)
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


@lru_cache(maxsize=1)
def _scratch() -> Path:
    """Create a temporary folder that is removed when the process exits."""
    folder = Path(tempfile.mkdtemp(prefix="rag-evals-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=1)
def _standard_input() -> Path:
    begin = sys.stdin.buffer.read(4096)
    kept = _scratch() / f"stdin{_kind_of(begin)}"
    with kept.open("wb") as file:
        file.write(begin)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return kept


def _kind_of(begin: bytes) -> str:
    marks = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"PK\x03\x04": ".xlsx"}
    for mark, kind in (marks | {b"\x1f\x8b": ".jsonl.gz"}).items():
        if begin.startswith(mark):
            return kind
    first = begin.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"[": ".json", b"{": ".jsonl", b"": ".jsonl"}.get(first, ".csv")


def _fetched(address: str, options: DataFile) -> Located:
    protocol = address.partition("://")[0]
    extra = "hf-datasets" if protocol == "hf" else "data"
    core = required_module("fsspec.core", extra, f"read {protocol}:// addresses")
    if protocol == "hf":
        required_module("huggingface_hub", extra, "read hf:// addresses")
    files: list[Path] = []
    try:
        system: Any  # fsspec has no types
        system, inner = core.url_to_fs(address)
        names = sorted(system.glob(inner)) if _PATTERN_SIGNS & set(inner) else [inner]
        if len(names) == 1 and system.isdir(names[0]):
            names = sorted(system.glob(f"{names[0].rstrip('/')}/**/*.parquet"))
        for place, name in enumerate(names):
            files.append(_scratch() / f"{place}-{PurePosixPath(name).name}")
            system.get_file(name, str(files[-1]))
    except ImportError as error:
        raise ConfigurationError(f"{address!r} cannot be read: {error}") from error
    except Exception as error:  # each file system raises its own errors
        said = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{address!r} cannot be read: {said}") from error
    if not files:
        raise DataError(f"no file at {address!r}")
    return Located(Path(PurePosixPath(inner).name), files, options)
