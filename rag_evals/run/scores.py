"""How did one grader grade? Its outcomes, and the usual numbers of their scores."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import overload

from rag_evals.run.design import Design
from rag_evals.run.outcome import Outcome
from rag_evals.run.summary import GraderSummary
from rag_evals.stats import Interval


class ScoreNumbers(ABC):
    """The usual numbers of the scores of one grader."""

    @abstractmethod
    def _numbers(self) -> GraderSummary:
        """Count the outcomes that are meant."""

    @property
    def scores(self) -> list[float]:
        """The scores of the rows that have one, 0 to 1."""
        return list(self._numbers().scores)

    @property
    def n(self) -> int:
        """How many rows have a score."""
        return self._numbers().scored

    def mean(self) -> float | None:
        """Return the mean score; None without a score."""
        return self._numbers().mean()

    def median(self) -> float | None:
        """Return the median score; None without a score."""
        return self._numbers().spread()["median"]

    def std(self) -> float | None:
        """Return the standard deviation of the scores (n - 1); None for fewer than two."""
        return self._numbers().spread()["std"]

    def min(self) -> float | None:
        """Return the lowest score; None without a score."""
        return self._numbers().spread()["min"]

    def max(self) -> float | None:
        """Return the highest score; None without a score."""
        return self._numbers().spread()["max"]

    def interval(self, confidence: float = 0.95) -> Interval | None:
        """Return the mean and where the mean over all such rows lies; None without a score.

        Args:
            confidence: Coverage of the interval, as a fraction; rows count as independent.
        """
        return self._numbers().interval(confidence)


class GraderOutcomes(Sequence[Outcome], ScoreNumbers):
    """The outcomes of one grader in a run, in the order of the data.

    Attributes:
        grader: Its name.
    """

    def __init__(
        self, grader: str, outcomes: Sequence[Outcome], design: Design | None = None
    ) -> None:
        self.grader = grader
        self._design = design
        self._outcomes = list(outcomes)

    @overload
    def __getitem__(self, place: int) -> Outcome: ...
    @overload
    def __getitem__(self, place: slice) -> "GraderOutcomes": ...
    def __getitem__(self, place: int | slice) -> "Outcome | GraderOutcomes":
        """Return one outcome, or some of them."""
        if isinstance(place, slice):
            return GraderOutcomes(self.grader, self._outcomes[place])
        return self._outcomes[place]

    def __len__(self) -> int:
        """Count the outcomes, scored or not."""
        return len(self._outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        """Yield the outcomes."""
        return iter(self._outcomes)

    def __str__(self) -> str:
        """One line, as the summary has it."""
        return self._numbers().line()

    def __repr__(self) -> str:
        """One line."""
        return f"GraderOutcomes({self})"

    def _numbers(self) -> GraderSummary:
        summary = GraderSummary(self.grader, design=self._design)
        for outcome in self._outcomes:
            summary.add(outcome)
        return summary
