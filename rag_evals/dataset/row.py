"""What is one row of a file? Its columns, and the place that messages name."""

from collections.abc import Mapping, Sequence
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
    """A row of a spreadsheet, where a number in a column of texts is the text that it shows."""


def cell_text(value: object) -> object:
    """Return a number of a spreadsheet as it is shown, such as "1987"; anything else unchanged.

    Args:
        value: Of a cell where a text belongs.
    """
    if isinstance(value, bool):
        return str(value).upper()
    # A spreadsheet counts with 15 digits, and shows no more.
    return f"{value:.15g}" if isinstance(value, int | float) else value


def check_header(header: Sequence[str], where: str) -> None:
    """Refuse a header that names a column twice; cells without a name may be many.

    Args:
        header: Names of the columns.
        where: What messages call the place.

    Raises:
        DataError: With the names.
    """
    twice = sorted({name for name in header if name and header.count(name) > 1})
    if twice:
        raise DataError(f"{where}: the header names {', '.join(map(repr, twice))} twice")
