"""Comparison of a candidate with a baseline on the same samples.

Pairing cancels out the difficulty of each sample, so the interval is much narrower than for two
separate means (Miller 2024, arXiv:2411.00640). A difference is significant only if both the
sign-flip test and the interval's t test agree; verdict, p-value and interval combine the two.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import getitem
from typing import Literal

from rag_evals.errors import UnpairedScoresError
from rag_evals.stats.distributions import student_t_cdf, student_t_quantile
from rag_evals.stats.intervals import (
    Interval,
    Keys,
    cluster_totals,
    count_interval,
    count_units,
    mean_error,
    no_spread_interval,
    require_aligned,
    require_fraction,
    require_scores,
)

PairedVerdict = Literal["better", "worse", "not distinguishable"]
TestName = Literal[
    "exact sign-flip", "Monte Carlo sign-flip", "cluster-robust t", "limit for equal values"
]

# With two sorted halves of 2**14 sums, all 2**28 sign patterns can be counted exactly.
_EXACT_UNITS = 28
_RESAMPLED_ROWS = 2_000
_RESAMPLES = 10_000

_POWER = 0.8
_ROUNDS = 20
_MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A two-sided p-value, above 0 and at most 1, and the test that produced it."""

    p_value: float
    test: TestName


def sign_flip_test(
    differences: Sequence[float], *, clusters: Keys = None
) -> SignificanceTest | None:
    """Test whether the mean of paired differences is 0 by flipping their signs.

    If there is no real difference, each sign is arbitrary (Fisher 1935); differences in the same
    cluster flip together. If at most 28 clusters have a difference, all sign patterns are counted;
    otherwise, for up to 2,000 rows, 10,000 random patterns are drawn.

    Returns:
        None for more than 2,000 rows, for which the t test gives the same answer faster.
    """
    require_scores("differences", differences, bounds=None)
    moved = [total for total in cluster_totals(differences, clusters=clusters)[0] if total != 0]
    # Rounding must not make the observed sum less extreme than itself.
    limit = abs(math.fsum(moved)) - 1e-9 * math.fsum(map(abs, moved))
    if len(moved) <= _EXACT_UNITS:
        return SignificanceTest(_exact_p(moved, limit), "exact sign-flip")
    if len(differences) <= _RESAMPLED_ROWS:
        return SignificanceTest(_random_p(moved, limit), "Monte Carlo sign-flip")
    return None


def _exact_p(totals: list[float], limit: float) -> float:
    """Return the share of sign patterns at least as extreme, by a meet-in-the-middle search."""
    half = len(totals) // 2
    left, right = _signed_sums(totals[:half]), sorted(_signed_sums(totals[half:]))
    extreme = 0
    for base in left:
        extreme += bisect_right(right, -limit - base)
        extreme += len(right) - bisect_left(right, limit - base)
    return float(min(1.0, extreme / 2.0 ** len(totals)))


def _random_p(totals: list[float], limit: float) -> float:
    """Return the share of random sign patterns at least as extreme, including the observed one.

    Each random byte selects one of 256 precomputed sums of eight totals, which is about thirty
    times faster than flipping each sign.
    """
    tables = [_signed_sums(totals[start : start + 8]) for start in range(0, len(totals), 8)]
    # The last table can be shorter; repeating it makes every byte a valid, equally likely index.
    tables[-1] = tables[-1] * (256 // len(tables[-1]))
    rng = random.Random(0)
    draws = (sum(map(getitem, tables, rng.randbytes(len(tables)))) for _ in range(_RESAMPLES))
    return (sum(abs(total) >= limit for total in draws) + 1) / (_RESAMPLES + 1)


def _signed_sums(totals: Sequence[float]) -> list[float]:
    """Return the 2**n sums for all sign patterns, in binary order."""
    sums = [0.0]
    for total in totals:
        sums = [base - total for base in sums] + [base + total for base in sums]
    return sums


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for multiple tests (Holm 1979), in the same order."""
    require_scores("p_values", p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Comparison of two lists of scores for the same samples.

    Attributes:
        difference: Mean of candidate - baseline, -1 to 1. Its interval excludes 0 if and only if
            the p-value is at most 1 - its confidence.
        significance: The larger of two two-sided p-values, and the test that produced it.
        clusters: Number of independent units.
        detectable: Smallest true difference that 80 of 100 such comparisons would detect; None
            if there is no variance.
    """

    difference: Interval
    significance: SignificanceTest
    samples: int
    clusters: int
    wins: int
    ties: int
    losses: int
    detectable: float | None

    @property
    def verdict(self) -> PairedVerdict:
        if self.difference.low > 0:
            return "better"
        return "worse" if self.difference.high < 0 else "not distinguishable"

    @property
    def rows_needed(self) -> int | None:
        """Number of rows needed to detect a difference of this size in 80 of 100 comparisons.

        None if a difference was detected, if it is 0, or if a million rows would not be enough.
        """
        size = abs(self.difference.estimate)
        if self.detectable is None or self.verdict != "not distinguishable" or size == 0:
            return None
        # The width depends on the square root of the number of clusters and on Student quantiles.
        now = self.clusters - 1
        need, confidence = self.clusters * (self.detectable / size) ** 2, self.difference.confidence
        reach = partial(_reach, confidence=confidence)
        # These clusters were not enough, and the p-value of sign flips is at least 2 / 2**clusters.
        fewest = max(self.clusters + 1, math.ceil(1 - math.log2(1 - confidence)))
        for _ in range(_ROUNDS):
            if need > _MOST_ROWS:
                return None
            shrunk = reach(max(need, fewest) - 1) / reach(now)
            need = self.clusters * (self.detectable / size * shrunk) ** 2
        return math.ceil(max(need, fewest) * self.samples / self.clusters)


def compare_paired(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    clusters: Keys = None,
    confidence: float = 0.95,
) -> PairedComparison:
    """Compare two lists of scores for the same samples.

    The interval is widened to include 0 if the p-value is above 1 - `confidence`.
    """
    require_fraction("confidence", confidence)
    differences = _differences(baseline, candidate)
    units = count_units(len(differences), clusters)
    error = None if units < 2 else mean_error(differences, clusters=clusters)
    flips = sign_flip_test(differences, clusters=clusters)
    test: TestName
    if error is None or error.standard_error < 1e-12:
        # Without variance, only the number of identical differences matters. Their limit reaches 0
        # at the p-value for which tail ** (1 / units) equals 1 / (1 + |mean|).
        mean, detectable = math.fsum(differences) / len(differences), None
        p_value, test = min(1.0, 2 * (1 + abs(mean)) ** -units), "limit for equal values"
        difference = no_spread_interval(mean, units, bounds=(-1.0, 1.0), confidence=confidence)
    else:
        freedom, test = error.degrees_of_freedom, "cluster-robust t"
        p_value = 2 * student_t_cdf(-abs(error.mean) / error.standard_error, freedom)
        difference = error.student_interval(-1.0, 1.0, confidence, "cluster-robust Student t")
        detectable = error.standard_error * _reach(freedom, confidence)
    significance = SignificanceTest(max(p_value, math.ulp(0.0)), test)
    if flips is not None and flips.p_value >= significance.p_value:
        significance = flips
    if significance.p_value > 1 - confidence:
        difference = _widened_to_zero(difference)
    return PairedComparison(
        difference=difference,
        significance=significance,
        samples=len(differences),
        clusters=units,
        wins=sum(change > 0 for change in differences),
        ties=sum(change == 0 for change in differences),
        losses=sum(change < 0 for change in differences),
        detectable=detectable,
    )


def count_difference(
    baseline: Sequence[float], candidate: Sequence[float], *, clusters: Keys = None
) -> Interval:
    """Estimate the difference in counts, such as words, for the same samples.

    With few samples, the difference must also pass the sign-flip test.
    """
    differences = [new - old for old, new in zip(baseline, candidate, strict=True)]
    found = count_interval(differences, clusters=clusters)
    is_few = count_units(len(differences), clusters) <= _EXACT_UNITS
    flips = sign_flip_test(differences, clusters=clusters) if is_few else None
    is_chance = flips is not None and flips.p_value > 1 - found.confidence
    return _widened_to_zero(found) if is_chance else found


def _differences(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    require_aligned("baseline scores", baseline, "candidate scores", candidate)
    if not baseline:
        raise UnpairedScoresError("0 baseline scores, 0 candidate scores; there is nothing to pair")
    require_scores("baseline", baseline)
    require_scores("candidate", candidate)
    changes = (new - old for old, new in zip(baseline, candidate, strict=True))
    # 0.1 + 0.2 and 0.3 are a tie, not a win by 6e-17.
    return [0.0 if abs(change) < 1e-9 else change for change in changes]


def _widened_to_zero(interval: Interval) -> Interval:
    if interval.contains(0.0):
        return interval
    return replace(
        interval,
        low=min(interval.low, 0.0),
        high=max(interval.high, 0.0),
        method=f"{interval.method}, widened to 0 by sign flips",
    )


def _reach(freedom: float, confidence: float) -> float:
    """Return the difference, in standard errors, that 80 of 100 comparisons would detect."""
    sure, found = (1 + confidence) / 2, _POWER
    return student_t_quantile(sure, freedom) + student_t_quantile(found, freedom)
