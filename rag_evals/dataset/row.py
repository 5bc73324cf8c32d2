"""What is one row of a file? Its columns, and the place that messages name."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

from rag_evals.errors import DataError


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
        """Return a number as text, such as "1987"; anything else unchanged.

        Args:
            value: Of a cell where a text belongs.
        """
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


def check_header(header: Sequence[str], where: str) -> None:
    """Refuse a header that names a column twice; cells without a name may be many.

    Args:
        header: Names of the columns.
        where: What messages call the place.

    Raises:
        DataError: With the names.
    """
    twice = sorted(name for name, times in Counter(header).items() if name and times > 1)
    if twice:
        raise DataError(f"{where}: the header names {', '.join(map(repr, twice))} twice")
