"""What did the repeats of a grader come to, over all rows? Spread within rows, and majorities."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evals.core import Phrases
from rag_evals.stats import majority, within_variance


@dataclass(slots=True)
class RepeatNumbers:
    """The repeats of one grader.

    Attributes:
        times: How often each row was graded.
        rows: Rows that have a score.
        same: Those of them with the same score each time.
        compared: Those with at least two scores.
        variances: Sum of the variances within rows, over the compared ones.
        majorities: Sum of the scores that came most often.
    """

    times: int = 0
    rows: int = 0
    same: int = 0
    compared: int = 0
    variances: float = 0.0
    majorities: float = 0.0

    def add(self, repeats: Sequence[float | None]) -> None:
        """Count one row; nothing for one that was graded once."""
        self.times = max(self.times, len(repeats))
        scores = [score for score in repeats if score is not None]
        if not scores:
            return
        self.rows += 1
        self.same += len(set(repeats)) == 1
        self.majorities += majority(scores)
        within = within_variance(scores)
        if within is not None:
            self.compared += 1
            self.variances += within

    @property
    def within_row_variance(self) -> float | None:
        """Mean variance of a row's scores; None where no row has two."""
        return self.variances / self.compared if self.compared else None

    @property
    def majority_mean(self) -> float | None:
        """Mean of the scores that came most often; None where no row has a score."""
        return self.majorities / self.rows if self.rows else None

    def numbers(self) -> dict[str, float | int | None] | None:
        """Return them by name, for other programs; None where rows were graded once."""
        if not self.times:
            return None
        return {
            "times": self.times,
            "within_row_variance": self.within_row_variance,
            "majority_mean": self.majority_mean,
            "rows": self.rows,
            "same_each_time": self.same,
        }

    def line(self, say: Phrases) -> str | None:
        """Say it in one line; None where rows were graded once or have no score."""
        within, most = self.within_row_variance, self.majority_mean
        if not self.times or within is None or most is None:
            return None
        return say(
            "summary.repeats",
            times=self.times,
            variance=say.number(within, 4),
            spread=say.number(math.sqrt(within)),
            majority=say.number(most),
            majority_percent=say.percent(most),
            same=self.same,
            rows=self.rows,
        )
