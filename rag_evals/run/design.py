"""How were the rows chosen, where not all of the data were graded alike?"""

from collections.abc import Mapping
from typing import Protocol

from rag_evals.core import Phrases
from rag_evals.stats import Interval


class Design(Protocol):
    """How the rows were chosen, where not all of the data were graded alike."""

    def interval(
        self, confidence: float = 0.95, count_as: Mapping[str, float] | None = None
    ) -> Interval | None:
        """Return the mean over all rows of the data, and where it lies; None without a score."""

    def words(self, say: Phrases) -> str:
        """Say which rows the numbers rest on, in one line."""

    @property
    def rows(self) -> int:
        """How many rows were chosen."""
