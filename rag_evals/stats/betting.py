"""Tests of whether a mean is above a gate, valid at any stopping time.

A gambler bets that the mean is above the gate, at odds that are fair if it equals the gate. The
probability that the gambler's wealth ever exceeds 1 / error is then at most `error`, for any
distribution on 0 to 1 (Ville 1939; Waudby-Smith and Ramdas 2024, arXiv:2010.09686). The test stops
once it does.

The wealth is split equally among eight strategies, each of which always bets the same fraction of
the largest bet. It does not depend on the order of rows, and falls as the tested mean rises, so
bisection finds the bounds.
"""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Literal

from rag_evals.stats.intervals import (
    Interval,
    Keys,
    cluster_totals,
    require_fraction,
    require_scores,
)

GateVerdict = Literal["passed", "failed", "not decided"]

# From small bets, which suit means near the gate, to large bets.
_FRACTIONS = tuple(0.01 * 90 ** (step / 7) for step in range(8))
_BISECTIONS = 20
_MOST_DISTINCT = 2_000
_GRAIN = 4_000
_COUNTED = 100_000
_MOST_ROWS_TOLD = 1_000_000
# A smaller gate is treated as 0, because its odds would overflow.
_LEAST_GATE = 1e-9


@dataclass(frozen=True, slots=True)
class GateTest:
    """The result of testing a gate.

    Attributes:
        verdict: "passed" or "failed" once the mean is significantly above or below the gate.
        low: Lower bound on the mean, wrong with probability at most `error`.
        high: Upper bound on the mean, wrong with probability at most `error`.
        error: Probability of a wrong "passed", and of a wrong "failed".
        scored: Number of rows with a score.
        population: Number of rows in the data; None if the test is about all similar rows.
        more_rows: Estimated number of additional rows needed for a verdict; None above a million.
    """

    verdict: GateVerdict
    gate: float
    estimate: float | None
    low: float
    high: float
    error: float
    scored: int
    population: int | None = None
    more_rows: int | None = None

    def of_differences(self) -> "GateTest":
        """Convert a test of (1 + difference) / 2 into a test of the difference, -1 to 1."""
        estimate = None if self.estimate is None else _difference(self.estimate)
        gate, low, high = map(_difference, (self.gate, self.low, self.high))
        return replace(self, gate=gate, estimate=estimate, low=low, high=high)


def gate_test(
    scores: Sequence[float],
    gate: float,
    *,
    error: float = 0.05,
    fail_error: float | None = None,
    clusters: Keys = None,
) -> GateTest:
    """Test whether the mean of all rows like these reaches a gate; valid at any stopping time.

    A gate below 1e-9 is treated as 0 and always passes. `error` is the probability of a wrong
    verdict; for one of several graders, the smaller `fail_error` applies to a wrong "failed".
    """
    require_scores("scores", scores)
    fail_error = error if fail_error is None else fail_error
    require_fraction("error", error)
    require_fraction("fail_error", fail_error)
    totals, sizes = cluster_totals(scores, clusters=clusters)
    above = _Independent(totals, sizes)
    lost = array("d", (rows - total for total, rows in zip(totals, sizes, strict=True)))
    below = _Independent(lost, sizes)
    verdict: GateVerdict = "passed"
    if gate >= _LEAST_GATE:
        wealths = above.log_wealth(gate), below.log_wealth(1 - gate)
        verdict = _decide(*wealths, error, fail_error)
    estimate = math.fsum(scores) / len(scores)
    more = None
    if verdict == "not decided":
        more = _rows_more(above, below, estimate, gate, error, len(scores))
    low = min(estimate, _bound(above.log_wealth, error))
    high = max(estimate, 1 - _bound(below.log_wealth, error))
    return GateTest(verdict, gate, estimate, low, high, error, len(scores), more_rows=more)


def _decide(above: float, below: float, error: float, fail_error: float) -> GateVerdict:
    if above >= -math.log(error):
        return "passed"
    return "failed" if below >= -math.log(fail_error) else "not decided"


def _difference(share: float) -> float:
    # Round, so that -0.3 is not -0.30000000000000004, and keep the result between -1 and 1.
    return min(1.0, max(-1.0, round(2 * share - 1, 12)))


class _Independent:
    """Wealth from betting on the mean of independent clusters of rows."""

    def __init__(self, totals: "array[float]", sizes: "array[int]") -> None:
        values: Iterable[float] = totals
        if len(set(islice(totals, _COUNTED))) > _MOST_DISTINCT:
            # Rounding down saves time on a million distinct scores, and never raises the wealth.
            values = (math.floor(total * _GRAIN) / _GRAIN for total in totals)
        self._units = Counter(zip(values, sizes, strict=True))
        # Each cluster is one bet, scaled so that no cluster can lose more than the fraction.
        self._largest = max(sizes)

    def log_wealth(self, mean: float) -> float:
        if mean <= 0:
            return math.inf if any(total > 0 for total, _ in self._units) else 0.0
        return _log_mean_exp([self._growth(fraction, mean) for fraction in _FRACTIONS])

    def _growth(self, fraction: float, mean: float) -> float:
        share = fraction / (self._largest * mean)
        return math.fsum(
            times * math.log1p(share * (total - rows * mean))
            for (total, rows), times in self._units.items()
        )

    def best_growth(self, doubted: float, mean: float) -> float:
        """Return the log growth of the best fraction, with an extra row that scores 0 or 1.

        Without that row, five identical rows would imply that all rows are identical.
        """
        if doubted <= 0:
            return 0.0
        return max(
            self._growth(fraction, doubted)
            + mean * math.log1p(fraction * (1 / doubted - 1))
            + (1 - mean) * math.log1p(-fraction)
            for fraction in _FRACTIONS
        )


def _rows_more(
    above: _Independent, below: _Independent, estimate: float, gate: float, error: float, rows: int
) -> int | None:
    if estimate > gate:
        grown = above.best_growth(gate, estimate)
    else:
        grown = below.best_growth(1 - gate, 1 - estimate)
    if grown <= 0:
        return None
    # The best fraction starts with one eighth of the wealth.
    needed = -math.log(error) + math.log(len(_FRACTIONS))
    more = max(1, math.ceil((rows + 1) * needed / grown) - rows)
    return more if more <= _MOST_ROWS_TOLD else None


class SequentialGate:
    """Tests a gate with rows drawn in random order from a data set of `population` rows.

    `error` is the probability of a wrong "passed", and `fail_error` that of a wrong "failed".
    """

    def __init__(
        self, gate: float, population: int, *, error: float = 0.05, fail_error: float | None = None
    ) -> None:
        fail_error = error if fail_error is None else fail_error
        require_fraction("error", error)
        require_fraction("fail_error", fail_error)
        self.gate = gate
        self.population = population
        self.verdict: GateVerdict = "passed" if gate < _LEAST_GATE else "not decided"
        self._errors = (error, fail_error)
        self._scores: list[float | None] = []
        self._above = _Drawn(gate, population)
        self._below = _Drawn(1 - gate, population)

    def add(self, score: float | None) -> None:
        """Add the next row's score; None if the row does not count toward the mean."""
        self._scores.append(score)
        self._above.add(score)
        self._below.add(None if score is None else 1 - score)
        if self.verdict != "not decided":
            return
        if len(self._scores) < self.population:
            wealths = self._above.log_wealth(), self._below.log_wealth()
            self.verdict = _decide(*wealths, *self._errors)
        # All rows are graded, so the mean is known.
        elif known := [score for score in self._scores if score is not None]:
            is_reached = math.fsum(known) / len(known) >= self.gate - 1e-12
            self.verdict = "passed" if is_reached else "failed"

    def test(self) -> GateTest:
        """Return the result so far."""
        error, scored = self._errors[0], sum(score is not None for score in self._scores)
        found = _drawn_bounds(self._scores, self.population, error)
        left = self.population - len(self._scores)
        more = left if self.verdict == "not decided" and left else None
        return GateTest(self.verdict, self.gate, *found, error, scored, self.population, more)


class _Drawn:
    """Wealth from betting on the mean of a data set whose rows are drawn without replacement.

    Each drawn row changes the mean that the remaining rows must have. A row without a score counts
    as the mean that is tested for all rows, so the bet remains fair.
    """

    def __init__(self, mean: float, population: int) -> None:
        self._mean = mean
        self._left = population
        self._owed = mean * population
        self._logs = [0.0] * len(_FRACTIONS)

    def add(self, score: float | None) -> None:
        value = self._mean if score is None else score
        expected = self._owed / self._left
        self._owed -= value
        self._left -= 1
        # Because of rounding, a sum that is reached exactly could seem to be exceeded.
        if self._owed < -1e-9 or (expected <= 0 and value > 0):
            self._logs = [math.inf] * len(_FRACTIONS)
        elif expected > 0:
            gain = value / expected - 1
            self._logs = [
                log + math.log1p(fraction * gain)
                for log, fraction in zip(self._logs, _FRACTIONS, strict=True)
            ]

    def log_wealth(self) -> float:
        return _log_mean_exp(self._logs)


def _drawn_bounds(
    scores: Sequence[float | None], population: int, error: float
) -> tuple[float | None, float, float]:
    """Return the mean of the drawn rows, and bounds on the mean of all rows.

    The bounds hold at any stopping time; each is wrong with probability at most `error`.
    """
    known = [score for score in scores if score is not None]
    if not known:
        return None, 0.0, 1.0
    mean = math.fsum(known) / len(known)
    if len(scores) >= population:
        return mean, mean, mean

    def wealth_of(values: Sequence[float | None], doubted: float) -> float:
        bet = _Drawn(doubted, population)
        for value in values:
            bet.add(value)
        return bet.log_wealth()

    mirrored = [None if score is None else 1 - score for score in scores]
    low = _bound(partial(wealth_of, scores), error)
    high = 1 - _bound(partial(wealth_of, mirrored), error)
    return mean, min(low, mean), max(high, mean)


def drawn_interval(
    scores: Sequence[float | None], population: int, *, confidence: float = 0.95
) -> Interval | None:
    """Estimate a data set's mean from drawn rows, at any stopping time; None without scores."""
    require_fraction("confidence", confidence)
    mean, low, high = _drawn_bounds(scores, population, (1 - confidence) / 2)
    method = "betting, without replacement"
    return None if mean is None else Interval(mean, low, high, confidence, method)


def _bound(log_wealth_at: Callable[[float], float], error: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if log_wealth_at(middle) >= -math.log(error):
            low = middle
        else:
            high = middle
    return low


def _log_mean_exp(logs: Sequence[float]) -> float:
    most = max(logs)
    if math.isinf(most):
        return most
    return most + math.log(math.fsum(math.exp(log - most) for log in logs) / len(logs))
