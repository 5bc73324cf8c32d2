"""What did the check of a file find, and does it still hold? For the same bytes, read alike."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from rag_evals.core import Phrase

_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """What the first reading of a file found.

    Attributes:
        count: Rows to grade.
        data_hash: Hash over ids and contents, in order.
        taken: Which column each field came from, over all rows.
        columns: Every column that any row has.
        presets: Tools by whose names columns were taken.
        notes: What was found out about the file, such as its encoding.
    """

    count: int
    data_hash: str
    taken: Mapping[str, str]
    columns: frozenset[str] = frozenset()
    presets: tuple[str, ...] = ()
    notes: tuple[Phrase, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptCheck:
    """A check that need not be made again while the file is the same to the last byte.

    Attributes:
        reading: Hash of how the file was read: columns, limit, kind, version of this library.
        content: Hash of all its bytes.
        checked: What was found.
    """

    reading: str
    content: str
    checked: CheckedFile

    def to_json(self) -> bytes | None:
        """Write it for a file beside the run; None where a column's name is no text of UTF-8."""
        try:
            return _adapter().dump_json(self)
        except PydanticSerializationError:
            return None

    @classmethod
    def from_json(cls, text: bytes) -> "KeptCheck":
        """Read it.

        Raises:
            ValueError: It is none.
        """
        return _adapter().validate_json(text)


def content_of(files: Sequence[Path]) -> str | None:
    """Return a hash over all bytes of some files; None where one is no plain file.

    Size and time of a file say less: a tool may keep both where it changes a word.
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
    except OSError:
        # What is wrong with it is said where its rows are read.
        return None
    return digest.hexdigest()


def marks_of(files: Sequence[Path]) -> list[tuple[int, ...]] | None:
    """Return what tells in no time that a file was written to; None where one is not there."""
    try:
        found = [path.stat() for path in files]
    except OSError:
        return None
    return [(each.st_ino, each.st_size, each.st_mtime_ns) for each in found]


def matching_check(
    kept: Iterable[KeptCheck], reading: str | None, files: Sequence[Path]
) -> KeptCheck | None:
    """Return the check of these very bytes, read in this way; None where none was made.

    Args:
        kept: Checks of earlier runs.
        reading: As in `KeptCheck`; None for a way that cannot be told from another.
        files: The files as they are now.
    """
    alike = [check for check in kept if reading is not None and check.reading == reading]
    content = content_of(files) if alike else None
    return next((check for check in alike if check.content == content), None)


@cache
def _adapter() -> TypeAdapter[KeptCheck]:
    return TypeAdapter(KeptCheck)
