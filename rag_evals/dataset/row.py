"""What is one row of a file? Its columns, and the place that messages name."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One row of a file.

    Attributes:
        place: What messages call it, such as `line 7`.
        values: Column to value.
    """

    place: str
    values: Mapping[str, Any]
