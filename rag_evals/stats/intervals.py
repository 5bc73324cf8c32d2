"""In which interval does the true mean or rate lie?

No interval here uses the normal approximation s / sqrt(n) of a mean, which covers too rarely below
a few hundred rows (Bowyer et al. 2025, arXiv:2503.01747): rates use Wilson or Clopper-Pearson,
mean scores a Wilson interval with Student quantiles and the effective number of rows.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rag_evals.errors import InvalidScoresError
from rag_evals.stats.checks import require_fraction, require_scores
from rag_evals.stats.clusters import cluster_totals, mean_error
from rag_evals.stats.distributions import beta_quantile, normal_quantile, student_t_quantile


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the range that holds the truth with the stated confidence.

    Attributes:
        estimate: The best single value; always within `low` and `high`.
        low: Lower end, same unit.
        high: Upper end, same unit.
        confidence: Share of such intervals that hold the truth, 0 to 1.
        method: How it was made, in words for a footnote.
    """

    estimate: float
    low: float
    high: float
    confidence: float = 0.95
    method: str = ""

    @property
    def width(self) -> float:
        """Distance from `low` to `high`."""
        return self.high - self.low

    def contains(self, value: float) -> bool:
        """Whether `value` lies inside, ends included."""
        return self.low <= value <= self.high


def wilson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Estimate a rate by the score interval of Wilson (1927).

    Args:
        successes: 0 to `trials`.
        trials: Independent rows, at least 1.
        confidence: Coverage of the interval, as a fraction; reached on average over rates.

    Returns:
        The rate, 0 to 1, and an interval that stays inside 0..1.

    Raises:
        InvalidScoresError: The counts do not describe a rate.
        ConfigurationError: `confidence` is not a fraction.
    """
    _require_counts(successes, trials)
    require_fraction("confidence", confidence)
    low, high = wilson_limits(successes / trials, trials, normal_quantile((1 + confidence) / 2))
    return Interval(successes / trials, low, high, confidence, "Wilson")


def clopper_pearson_interval(successes: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """Estimate a rate by the exact interval of Clopper and Pearson (1934), for gates.

    Args:
        successes: 0 to `trials`.
        trials: Independent rows, at least 1.
        confidence: Coverage of the interval, as a fraction; never less, usually more.

    Returns:
        The rate, 0 to 1, and its interval, wider than Wilson's.

    Raises:
        InvalidScoresError: The counts do not describe a rate.
        ConfigurationError: `confidence` is not a fraction.
    """
    _require_counts(successes, trials)
    require_fraction("confidence", confidence)
    tail = (1 - confidence) / 2
    failures = trials - successes
    low = beta_quantile(tail, successes, failures + 1) if successes else 0.0
    high = beta_quantile(1 - tail, successes + 1, failures) if failures else 1.0
    return Interval(successes / trials, low, high, confidence, "Clopper-Pearson")


def _require_counts(successes: int, trials: int) -> None:
    if trials < 1 or not 0 <= successes <= trials:
        raise InvalidScoresError(
            f"{successes!r} of {trials!r} is not a rate; successes go from 0 to trials, "
            "and trials from 1"
        )


def mean_interval(
    scores: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Estimate the mean score of the samples that these ones were drawn from.

    Args:
        scores: Numbers from 0 to 1, one per row; leave out rows without a score.
        clusters: The answer, document or conversation of each row, aligned with `scores`. None,
            for the list or for one row, means that the row is independent of all others.
        confidence: Coverage of the interval, as a fraction.

    Returns:
        Mean over rows and its interval, within 0..1. When all scores are equal, the interval says
        what n rows cannot rule out; it has no width 0.

    Raises:
        InvalidScoresError: There is no score, or one is not a number from 0 to 1.
        UnpairedScoresError: `clusters` has another length than `scores`.
        ConfigurationError: `confidence` is not a fraction.
    """
    require_scores("scores", scores)
    require_fraction("confidence", confidence)
    mean = math.fsum(scores) / len(scores)
    units = len(scores)
    if clusters is not None:
        units = len(cluster_totals(scores, clusters=clusters))
    # Differences of rounding only are no spread.
    if units < 2 or max(scores) - min(scores) < 1e-9:
        return no_spread_interval(mean, units, confidence=confidence)
    error = mean_error(scores, clusters=clusters)
    return effective_wilson_interval(
        mean, error.standard_error, error.degrees_of_freedom, units, confidence=confidence
    )


def effective_wilson_interval(
    estimate: float,
    standard_error: float,
    degrees_of_freedom: float,
    units: int,
    *,
    confidence: float = 0.95,
) -> Interval:
    """Turn a mean score and its standard error into an interval that respects 0..1.

    A Wilson interval with the number of yes/no rows that would have this standard error, and a
    Student quantile, as survey statisticians do (Korn and Graubard 1998; Franco et al. 2019).

    Args:
        estimate: Mean, 0 to 1.
        standard_error: Of that mean, 0 or more.
        degrees_of_freedom: Behind the standard error.
        units: Independent units; used where the standard error is 0 or the mean is 0 or 1.
        confidence: Coverage of the interval, as a fraction.
    """
    variance = estimate * (1 - estimate)
    if standard_error < 1e-12 and variance > 0:
        return no_spread_interval(estimate, units, confidence=confidence)
    effective = variance / standard_error**2 if variance > 0 else float(units)
    quantile = student_t_quantile((1 + confidence) / 2, degrees_of_freedom)
    low, high = wilson_limits(estimate, effective, quantile)
    return Interval(estimate, low, high, confidence, "Wilson with effective rows and Student t")


def no_spread_interval(
    estimate: float,
    units: int,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Interval:
    """Bound a mean when every independent unit gave the same value.

    n equal values are likely only when at least `share = (tail) ** (1 / n)` of the population has
    that value; the rest may lie at either bound. At a bound this is Clopper-Pearson's limit (the
    "rule of three").

    Args:
        estimate: The one value seen, within `bounds`.
        units: Independent units, at least 1.
        bounds: Smallest and largest possible value.
        confidence: Coverage of the interval, as a fraction.
    """
    share = ((1 - confidence) / 2) ** (1 / units)
    # Rounding may not carry an end past the estimate.
    low = min(estimate, share * estimate + (1 - share) * bounds[0])
    high = max(estimate, share * estimate + (1 - share) * bounds[1])
    return Interval(estimate, low, high, confidence, "exact limit for equal values")


def wilson_limits(rate: float, rows: float, quantile: float) -> tuple[float, float]:
    """Solve Wilson's quadratic for a rate over `rows` rows, whole or effective.

    Returns:
        Lower and upper end, within 0..1 and with `rate` between them.
    """
    # Written without division by `rows`, which may be as small as 1e-9.
    squared = quantile * quantile
    centre = (rate * rows + squared / 2) / (rows + squared)
    half = quantile / (rows + squared) * math.sqrt(rate * (1 - rate) * rows + squared / 4)
    # At 0 and 1 rounding could push an end just past the rate.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))
