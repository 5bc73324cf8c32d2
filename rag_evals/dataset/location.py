"""Where does a data file lie? A path, a folder, a pattern, standard input, or an address."""

import atexit
import glob
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO

from rag_evals.core import Phrase
from rag_evals.dataset.extras import required_module
from rag_evals.dataset.opened import ReadOptions
from rag_evals.dataset.readers import read_rows
from rag_evals.dataset.row import Row
from rag_evals.errors import ConfigurationError, DataError

STANDARD_INPUT = "-"
"""The path that means standard input."""

_PATTERN_SIGNS = frozenset("*?[")
_EXTRA_OF = {"hf": "hf-datasets"}


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

    @property
    def options(self) -> ReadOptions:
        """How its files are read."""
        return ReadOptions(self.sheet, self.encoding, self.delimiter)


@dataclass(frozen=True, slots=True)
class Located:
    """The files behind a path.

    Attributes:
        name: What messages and folders call them all.
        files: One or more, in the order they are read.
        options: How they are read.
    """

    name: Path
    files: Sequence[Path]
    options: ReadOptions

    def rows(
        self, notes: list[Phrase] | None = None, wanted: Iterator[int] | None = None
    ) -> Iterator[Row]:
        """Read all files; `notes` and `wanted` as for `read_rows`.

        Raises:
            DataError: As `read_rows` does.
        """
        if len(self.files) == 1:
            yield from read_rows(self.files[0], self.options, notes, wanted)
            return
        for file in self.files:
            for row in read_rows(file, self.options, notes, wanted):
                yield row._replace(place=f"{file.name}, {row.place}")


def locate(data: str | Path | DataFile) -> Located:
    """Find the files behind a path, and bring those of an address here.

    Raises:
        DataError: There are none, or the address cannot be read.
        ConfigurationError: A library that reads the address is not installed.
    """
    file = data if isinstance(data, DataFile) else DataFile(data)
    written = os.fspath(file.path)
    if written == STANDARD_INPUT:
        return Located(Path("stdin"), [_of_standard_input()], file.options)
    if "://" in written:
        return _of_address(written, file.options)
    path = Path(written)
    found = Located(path, [path], file.options)
    if path.is_dir():
        parts = sorted(path.rglob("*.parquet"))
        return replace(found, files=parts or [path])
    if _PATTERN_SIGNS & set(written) and not path.exists():
        matching = [Path(name) for name in sorted(glob.glob(written, recursive=True))]  # noqa: PTH207 - the pattern may be absolute
        if not matching:
            raise DataError(f"no file matches {written!r}")
        name = Path(*[part for part in path.parts if not _PATTERN_SIGNS & set(part)] or ["files"])
        return replace(found, name=name, files=matching)
    return found


@lru_cache(maxsize=1)
def _scratch() -> Path:
    """Make a folder for what has to be read twice and cannot be; it goes when the process ends."""
    folder = Path(tempfile.mkdtemp(prefix="rag-evals-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@lru_cache(maxsize=1)
def _of_standard_input() -> Path:
    """Keep standard input in a file; its first bytes say which kind it is."""
    stream: IO[bytes] = sys.stdin.buffer
    begin = stream.read(4096)
    kept = _scratch() / f"stdin{_kind_of(begin)}"
    with kept.open("wb") as file:
        file.write(begin)
        shutil.copyfileobj(stream, file)
    return kept


def _kind_of(begin: bytes) -> str:
    if begin.startswith(b"PAR1"):
        return ".parquet"
    if begin.startswith(b"ARROW1"):
        return ".arrow"
    if begin.startswith(b"PK\x03\x04"):
        return ".xlsx"
    if begin.startswith(b"\x1f\x8b"):
        return ".jsonl.gz"
    first = begin.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"[": ".json", b"{": ".jsonl", b"": ".jsonl"}.get(first, ".csv")


def _of_address(address: str, options: ReadOptions) -> Located:
    protocol = address.partition("://")[0]
    extra = _EXTRA_OF.get(protocol, "data")
    core = required_module("fsspec.core", extra, f"read {protocol}:// addresses")
    if protocol == "hf":
        required_module("huggingface_hub", extra, "read hf:// addresses")
    try:
        system, inner = core.url_to_fs(address)
        names = sorted(system.glob(inner)) if _PATTERN_SIGNS & set(inner) else [inner]
        if len(names) == 1 and system.isdir(names[0]):
            names = sorted(system.glob(f"{names[0].rstrip('/')}/**/*.parquet"))
        files = [_fetched(system, name, place) for place, name in enumerate(names)]
    except ImportError as error:
        raise ConfigurationError(f"{address!r} cannot be read: {error}") from error
    except Exception as error:  # each store raises its own
        said = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{address!r} cannot be read: {said}") from error
    if not files:
        raise DataError(f"no file at {address!r}")
    return Located(Path(PurePosixPath(inner).name), files, options)


def _fetched(system: object, name: str, place: int) -> Path:
    here = _scratch() / f"{place}-{PurePosixPath(name).name}"
    system.get_file(name, str(here))  # type: ignore[attr-defined]  # fsspec has no types
    return here
