"""Where are very many scores kept? In a file: a run of a million rows holds a few thousand."""

import sys
import tempfile
import weakref
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Self, overload

_HELD = 8192


class ScoreFile(Sequence[float]):
    """Scores in the order in which they came: the last few in memory, those before in a file.

    The file is made when it is needed. It has no name, so nothing is left of it, however the
    process ends. Where none can be written, all scores stay in memory.
    """

    def __init__(self, scores: Iterable[float] = ()) -> None:
        """Begin with some, or none."""
        self._held = array("d")
        self._written = 0
        self._most = _HELD
        self._file: IO[bytes] | None = None
        self.extend(scores)

    def append(self, score: float) -> None:
        """Take in one score."""
        self._held.append(score)
        if len(self._held) >= self._most:
            self._write()

    def extend(self, scores: Iterable[float]) -> None:
        """Take in several."""
        coming = iter(scores)
        while block := array("d", islice(coming, _HELD)):
            self._held.extend(block)
            if len(self._held) >= self._most:
                self._write()

    def __len__(self) -> int:
        """Count them."""
        return self._written + len(self._held)

    def __iter__(self) -> Iterator[float]:
        """Yield them, a few thousand at a time; those that come meanwhile too."""
        place = 0
        while place < len(self):
            in_file = place < self._written
            block = (
                self._read(place, place + _HELD) if in_file else self._held[place - self._written :]
            )
            yield from block
            place += len(block)

    @overload
    def __getitem__(self, place: int) -> float: ...
    @overload
    def __getitem__(self, place: slice) -> "array[float]": ...
    def __getitem__(self, place: int | slice) -> "float | array[float]":
        """Return one score, or some of them in memory."""
        if isinstance(place, slice):
            return array("d", [self[each] for each in range(*place.indices(len(self)))])
        found = range(len(self))[place]
        if found >= self._written:
            return self._held[found - self._written]
        return self._read(found, found + 1)[0]

    def __eq__(self, other: object) -> bool:
        """Compare all scores, in order."""
        if not isinstance(other, ScoreFile):
            return NotImplemented
        return len(self) == len(other) and all(map(float.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        """How many there are."""
        return f"ScoreFile({len(self)} scores)"

    def __reduce__(self) -> tuple[type[Self], tuple["array[float]"]]:
        """Copy and pickle the scores; the file stays with this one."""
        return type(self), (array("d", self),)

    def _read(self, begin: int, end: int) -> "array[float]":
        assert self._file is not None, "nothing was written"
        size = self._held.itemsize
        self._file.seek(begin * size)
        found = array("d")
        found.frombytes(self._file.read((min(end, self._written) - begin) * size))
        return found

    def _write(self) -> None:
        """Move what is held into the file."""
        try:
            if self._file is None:
                # No buffers: those of Python would hold what was moved.
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed below
                weakref.finalize(self, self._file.close)
            self._file.seek(self._written * self._held.itemsize)
            content = self._held.tobytes()
            is_whole = self._file.write(content) == len(content)
        except OSError:
            is_whole = False
        if not is_whole:
            # A full disk must not end a run for eight bytes a row.
            self._most = sys.maxsize
            return
        self._written += len(self._held)
        del self._held[:]
