"""What is one row on its way to a grader, and in which order do rows come?"""

from collections.abc import Iterator, Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from rag_evals.core import Sample
from rag_evals.errors import DataError

# Providers cache a prompt's beginning for minutes; so many rows are graded well within them.
_WINDOW_ROWS = 256


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
        yield from _grouped_by_context(window)


def _grouped_by_context(window: list[NumberedSample]) -> Iterator[NumberedSample]:
    groups: dict[tuple[str, ...], list[NumberedSample]] = {}
    for row in window:
        chunks = row.sample.context if isinstance(row.sample, Sample) else ()
        groups.setdefault(tuple(chunk.text for chunk in chunks), []).append(row)
    for group in groups.values():
        yield from group
