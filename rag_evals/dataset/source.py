"""A run's samples: files are checked in full first, other data one row at a time."""

import hashlib
import sys
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import astuple, dataclass, field, replace
from importlib.metadata import version
from itertools import chain, compress, count, islice
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from rag_evals.core import Sample, fingerprint
from rag_evals.dataset.columns import ColumnMap, NumberedSample, in_windows
from rag_evals.dataset.files import DataFile, max_line_bytes
from rag_evals.dataset.readers import locate
from rag_evals.dataset.tables import ArrowTable, row_of, rows_of
from rag_evals.errors import DataError, DuplicateIdError, MissingColumnError

Data = str | Path | DataFile | ArrowTable | Iterable[Any]
"""A path, a table, or rows: mappings, samples, or objects with fields."""

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of checking a file.

    Attributes:
        data_hash: Hash of ids and contents, in order.
        taken: The columns used for each field in any row.
        columns: The columns found in any row.
    """

    count: int
    data_hash: str
    taken: Mapping[str, str]
    columns: frozenset[str] = frozenset()


class KeptCheck(BaseModel, frozen=True):
    """The stored result of a check, valid as long as no byte of the file changes.

    Attributes:
        reading: Hash of how the file was read: columns, limit, file type, library version.
        content: Hash of the file's bytes.
    """

    reading: str
    content: str
    checked: CheckedFile


class FileData:
    """One or more files of rows, read once for checking and once for grading.

    Attributes:
        path: Path to show in messages.
        kept_check: The check, or None if it cannot be stored.
    """

    def __init__(
        self,
        path: str | Path | DataFile,
        columns: ColumnMap,
        required: frozenset[str],
        limit: int | None = None,
    ) -> None:
        self._located = locate(path)
        self.path = self._located.name
        self._columns = columns
        self._required = required
        self._limit = limit
        self._hashes: list[str] = []
        self._read_partly = False
        self._marks: list[tuple[int, ...]] | None = None
        self.kept_check: KeptCheck | None = None

    def check(self, kept: Iterable[KeptCheck] = ()) -> CheckedFile:
        """Check every row before any is graded, unless a stored check covers the same bytes."""
        reading, files = self._reading(), self._located.files
        self._marks = _marks_of(files)
        content = None if reading is None else _content_of(files)
        alike = (each for each in kept if (each.reading, each.content) == (reading, content))
        self.kept_check = next(alike, None)
        if self.kept_check is not None:
            checked = self.kept_check.checked
        else:
            checked = self._check_rows()
            # A file that was modified in the meantime was not checked in full.
            if reading is not None and content is not None and content == _content_of(files):
                self.kept_check = KeptCheck(reading=reading, content=content, checked=checked)
        self._hashes = [checked.data_hash]
        return checked

    def _check_rows(self) -> CheckedFile:
        # Store hashes as integers, not strings, because a million ids must fit in memory.
        seen, rows = Places(), 0
        taken: dict[str, set[str]] = {}
        columns: set[str] = set()
        digest = hashlib.sha256()
        for place, row, sample in self._read():
            sample_id = sample.id or sample.content_hash()
            if seen.first(_short_hash(sample_id), rows) != rows:
                why = "" if sample.id else " (a hash of their content: the rows are identical)"
                raise DuplicateIdError(
                    f"{str(self.path)!r}, {place}: an earlier row has the same id "
                    f"{sample_id!r}{why}"
                )
            rows += 1
            columns.update(row)
            digest.update(_digest_line(sample_id, sample.fingerprint()))
            for name, column in self._columns.taken(row).items():
                taken.setdefault(name, set()).add(column)
        named = {name: " or ".join(sorted(each)) for name, each in taken.items()}
        return CheckedFile(rows, digest.hexdigest(), named, frozenset(columns))

    def _reading(self) -> str | None:
        """Hash the reading options; None if a column is a function, whose code may change."""
        if self._columns.has_functions:
            return None
        return fingerprint(
            version("rag-evals"),
            self._columns.described(),
            sorted(self._required),
            self._limit,
            astuple(replace(self._located.options, path="")),
            [file.name for file in self._located.files],
            max_line_bytes(),
        )

    def __iter__(self) -> Iterator[NumberedSample]:
        return in_windows(self._numbered(count(), None))

    def some(self, wanted: bytes) -> Iterator[NumberedSample]:
        """Yield the samples whose byte in `wanted` is 1, in iteration order."""
        if any(wanted):
            self._read_partly = True
            yield from in_windows(self._numbered(compress(count(), wanted), iter(wanted)))

    def looks_unchanged(self) -> bool:
        """True if size, modification time and inode are the same as before the check."""
        return self._marks is not None and _marks_of(self._located.files) == self._marks

    def has_same_content(self) -> bool:
        """True if every byte is the same as during the check; False if unknown."""
        check = self.kept_check
        return check is not None and _content_of(self._located.files) == check.content

    def require_unchanged(self) -> None:
        """Raise `DataError` if the file changed after its check began."""
        is_same = self._hashes[0] == self._hashes[-1]
        if not (self.has_same_content() if self._read_partly else is_same):
            raise DataError(
                f"{str(self.path)!r} changed while it was being read; "
                "run the command again when the file is complete"
            )

    def _numbered(
        self, places: Iterator[int], wanted: Iterator[int] | None
    ) -> Iterator[NumberedSample]:
        digest = hashlib.sha256()
        try:
            for _, row, sample in self._read(wanted=wanted):
                sample_id, fingerprint = sample.id or sample.content_hash(), sample.fingerprint()
                digest.update(_digest_line(sample_id, fingerprint))
                others = self._columns.others(row)
                yield NumberedSample(next(places), sample_id, sample, others, fingerprint)
        except DataError as error:
            raise type(error)(
                f"{error}; the file was valid when it was checked, so it has changed since"
            ) from error
        self._hashes.append(digest.hexdigest())

    def _read(
        self, wanted: Iterator[int] | None = None
    ) -> Iterator[tuple[str, Mapping[str, Any], Sample]]:
        for place, row in islice(self._located.rows(wanted), self._limit):
            try:
                yield place, row, self._columns.sample(row, self._required)
            except DataError as error:
                raise type(error)(f"{str(self.path)!r}, {place}: {error}") from error


@dataclass
class RowData:
    """Rows from an iterable or a table, each checked when it is read."""

    rows: Iterable[Any]
    columns: ColumnMap
    required: frozenset[str]
    limit: int | None = None
    count: int | None = field(default=None, kw_only=True)

    def __iter__(self) -> Iterator[NumberedSample]:
        seen = Places()
        for index, row in enumerate(islice(self.rows, self.limit)):
            numbered = self.number(index, row)
            if isinstance(numbered.sample, DataError):
                yield numbered._replace(sample_id=_free_name(index, numbered.sample_id, seen))
                continue
            first = seen.first(_short_hash(numbered.name), index)
            if first != index:
                twice = f"rows {first} and {index} have the same id {numbered.sample_id!r}"
                name, fault = _free_name(index, None, seen), DuplicateIdError(twice)
                yield NumberedSample(index, name, fault, numbered.columns)
            else:
                yield numbered

    def number(self, index: int, row: object) -> NumberedSample:
        """Convert a row without checking that its id is unique."""
        fields = None if isinstance(row, Sample) else row_of(row)
        others = {} if fields is None else self.columns.others(fields)
        try:
            sample = self._sample(row, fields)
            fingerprint = sample.fingerprint()
        except DataError as error:
            own = None if fields is None else self.columns.id_in(fields)
            return NumberedSample(index, own, type(error)(f"row {index}: {error}"), others)
        sample_id = sample.id or sample.content_hash()
        return NumberedSample(index, sample_id, sample, others, fingerprint)

    def require_columns(self) -> None:
        """Raise `MissingColumnError` if the first row lacks a column."""
        rows = iter(self.rows)
        first = next(rows, None)
        if rows is self.rows and first is not None:
            self.rows = chain([first], rows)  # an iterator can be read only once
        if first is not None:
            self._require_columns_of(first)

    def require_names(self, names: Iterable[str]) -> None:
        """Raise `MissingColumnError` if a column is missing, before any data is read."""
        self._require_columns_of(dict.fromkeys(names))

    def _require_columns_of(self, row: object) -> None:
        try:
            self._sample(row, None if isinstance(row, Sample) else row_of(row))
        except MissingColumnError:
            raise
        except DataError:
            pass  # affects only this row, and is reported in the row's outcome

    def _sample(self, row: object, fields: Mapping[str, Any] | None) -> Sample:
        if isinstance(row, Sample):
            return row
        if fields is None:
            raise DataError(
                f"{type(row).__name__}; expected a mapping, a Sample, or an object with fields"
            )
        return self.columns.sample(fields, self.required)


def data_from(
    data: Data, columns: ColumnMap, required: frozenset[str], limit: int | None = None
) -> FileData | RowData:
    """Open a file, or wrap a table or an iterable of rows.

    Raises:
        DataError: `data` is neither a path, a table nor an iterable of rows.
        MissingColumnError: A table lacks a column that the graders need.
    """
    if limit is not None:
        limit = min(limit, sys.maxsize)  # the largest number that `islice` accepts
    if isinstance(data, str | Path | DataFile):
        return FileData(data, columns, required, limit)
    rows = rows_of(data)
    if rows is not None:
        sized = rows if isinstance(rows, list) else data  # a dict's length is its column count
        table = RowData(rows, columns, required, limit, count=_count_of(sized, limit))
        table.require_columns()
        return table
    if isinstance(data, Mapping) or not isinstance(data, Iterable):
        raise DataError(
            f"data is {type(data).__name__}; expected a path, a table or an iterable of rows"
        )
    return RowData(data, columns, required, limit, count=_count_of(data, limit))


def _count_of(data: object, limit: int | None) -> int | None:
    """Return the number of rows; None if counting would require reading them."""
    if not isinstance(data, Sized):
        return None
    try:
        count = len(data)
    except TypeError:  # lazy tables may define `__len__` and still raise
        return None
    return count if limit is None else min(count, limit)


def _free_name(index: int, own: str | None, seen: "Places") -> str:
    by_place = (f"row-{index}{mark}" for mark in chain([""], map("-{}".format, count(2))))
    return next(
        name
        for name in chain([own], by_place)
        if name and seen.first(_short_hash(name), index) == index
    )


def _short_hash(sample_id: str) -> int:
    # With 64 bits and a million ids, one file in forty million has a collision.
    return int.from_bytes(hashlib.sha256(sample_id.encode()).digest()[:8], "big")


def _digest_line(sample_id: str, fingerprint: str) -> bytes:
    return f"{sample_id} {fingerprint}\n".encode()


def _content_of(files: Sequence[Path]) -> str | None:
    """Return a hash of the files' bytes; None if one of the files is not a regular file.

    Size and modification time are not enough: a tool may change a word and preserve both.
    """
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))
    try:
        for path in files:
            if not path.is_file():
                return None
            with path.open("rb", buffering=0) as file:
                digest.update(f"{path.stat().st_size}\n".encode())
                while read := file.readinto(block):
                    digest.update(block[:read])
    except OSError:  # reading the rows will raise an error that states the reason
        return None
    return digest.hexdigest()


def _marks_of(files: Sequence[Path]) -> list[tuple[int, ...]] | None:
    try:
        found = [path.stat() for path in files]
    except OSError:
        return None
    return [(each.st_ino, each.st_size, each.st_mtime_ns) for each in found]


# A million keys put about 61 in each bucket. Fewer buckets are slower; more use more memory.
_BUCKETS = 16_381


class Places:
    """Maps each key to its first index, using less than half the memory of a dict."""

    def __init__(self) -> None:
        self._buckets: defaultdict[int, tuple[array[int], array[int]]] = defaultdict(
            lambda: (array("Q"), array("Q"))
        )

    def first(self, key: int, place: int) -> int:
        """Return the first index of a key, which is `place` if the key is new."""
        keys, places = self._buckets[key % _BUCKETS]
        if key in keys:
            return places[keys.index(key)]
        keys.append(key)
        places.append(place)
        return place
