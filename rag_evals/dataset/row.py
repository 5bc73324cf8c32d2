"""What is one row? Its columns, its place in a file, and its number on the way to a grader."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple

from rag_evals.core import Sample
from rag_evals.errors import DataError

# Providers cache a prompt's beginning for minutes; so many rows are graded well within them.
_WINDOW_ROWS = 256


class Row(NamedTuple):
    """One row of a file.

    Attributes:
        place: What messages call it, such as `line 7`.
        values: Column to value.
    """

    place: str
    values: Mapping[str, Any]


class Cells(dict[str, Any]):
    """A row of a table, where a number in a column of texts is its text."""

    def text(self, value: object) -> object:
        """Return a number as text, such as "1987"; anything else unchanged."""
        if isinstance(value, bool):
            return value
        if isinstance(value, Integral):
            return str(int(value))
        # A missing cell makes floats of whole numbers. A spreadsheet counts with 15 digits.
        if isinstance(value, Real) and math.isfinite(value):
            return f"{float(value):.15g}"
        return value


class SheetCells(Cells):
    """A row of a spreadsheet, which makes a truth value of whoever types "true"."""

    def text(self, value: object) -> object:
        """Return a number or a truth value as it is shown; anything else unchanged."""
        return str(value).upper() if isinstance(value, bool) else super().text(value)


class NumberedSample(NamedTuple):
    """One row on its way to a grader.

    Attributes:
        position: Place in the data, from 0.
        sample_id: The row's own id, else a hash of its content; a row that cannot be read has its
            place, such as `row-7`, where it has no id.
        sample: What to grade, or the error that the row is.
        columns: The row's other columns, to group or label by; none for a `Sample`.
        fingerprint: Hash of all that a prompt may show of it; empty when it cannot be read.
    """

    position: int
    sample_id: str | None
    sample: Sample | DataError
    columns: Mapping[str, Any] = MappingProxyType({})
    fingerprint: str = ""

    @property
    def name(self) -> str:
        """What results call the row."""
        return self.sample_id or f"row-{self.position}"


def in_windows(numbered: Iterator[NumberedSample]) -> Iterator[NumberedSample]:
    """Put rows of one context near each other, and leave all else in the file's order."""
    while window := list(islice(numbered, _WINDOW_ROWS)):
        groups: dict[tuple[str, ...], list[NumberedSample]] = {}
        for row in window:
            chunks = row.sample.context if isinstance(row.sample, Sample) else ()
            groups.setdefault(tuple(chunk.text for chunk in chunks), []).append(row)
        for group in groups.values():
            yield from group


def check_header(header: Sequence[str], where: str) -> None:
    """Refuse the header of a file that names a column twice; cells without a name may be many.

    Raises:
        DataError: With `where` and the names.
    """
    twice = sorted(name for name, times in Counter(header).items() if name and times > 1)
    if twice:
        raise DataError(f"{where}: the header names {', '.join(map(repr, twice))} twice")


def check_columns(names: Sequence[object]) -> None:
    """Refuse a table with two columns of one name.

    Raises:
        DataError: With the name.
    """
    name, times = max(Counter(names).items(), key=lambda item: item[1], default=("", 0))
    if times > 1:
        raise DataError(f"the table has two columns {name!r}; rename one")
