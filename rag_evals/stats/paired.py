"""Is the candidate better than the baseline on the same samples, or could it be chance?

Pairing removes how hard each sample is, so the interval is far narrower than that of two separate
means (Miller 2024, arXiv:2411.00640). Two tests must agree that there is a difference, sign flips
and the t test behind the interval; verdict, p-value and interval are those of both together.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import getitem
from typing import Literal

from rag_evals.errors import ConfigurationError, UnpairedScoresError
from rag_evals.stats.distributions import student_t_cdf, student_t_quantile
from rag_evals.stats.intervals import (
    Interval,
    MeanError,
    cluster_totals,
    count_interval,
    mean_error,
    no_spread_interval,
    require_aligned,
    require_fraction,
    require_positive,
    require_scores,
)

PairedVerdict = Literal["better", "worse", "not distinguishable"]
TestName = Literal[
    "exact sign-flip", "Monte Carlo sign-flip", "cluster-robust t", "limit for equal values"
]

# All 2**28 sign patterns are counted exactly from two sorted halves of 2**14 sums.
_EXACT_UNITS = 28
_RESAMPLED_ROWS = 2_000

_POWER = 0.8
_ROUNDS = 20
_MOST_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A two-sided p-value, above 0 and at most 1, and where it comes from."""

    p_value: float
    test: TestName
    resamples: int | None = None


def sign_flip_test(
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> SignificanceTest:
    """Test that paired differences are as often up as down, by size too.

    Without a real difference the sign of each is arbitrary (Fisher 1935). Up to 28 clusters with a
    difference every sign pattern is counted; up to 2,000 rows random ones are drawn; above, the
    t test with the cluster-robust standard error gives the same answer without the time.

    Args:
        differences: Candidate minus baseline, one finite number per sample.
        clusters: The cluster of each sample, aligned; its differences flip together. None means
            independent samples.
        resamples: Random sign patterns; the smallest p-value is 1 / (resamples + 1).
        seed: Same seed, same p-value.
    """
    require_scores("differences", differences, bounds=None)
    require_positive("resamples", resamples)
    totals, _ = cluster_totals(differences, clusters=clusters)
    moved = [total for total in totals if total != 0]
    if len(moved) <= _EXACT_UNITS:
        return SignificanceTest(_exact_p(moved), "exact sign-flip")
    if len(differences) <= _RESAMPLED_ROWS:
        p_value = _monte_carlo_p(moved, resamples, random.Random(seed))
        return SignificanceTest(p_value, "Monte Carlo sign-flip", resamples)
    error = mean_error(differences, clusters=clusters)
    if error.standard_error == 0:
        # All moved by the same amount: only the two unanimous patterns are as extreme.
        return SignificanceTest(2.0 ** max(1 - error.units, -1000), "cluster-robust t")
    return t_test(error)


def t_test(error: MeanError) -> SignificanceTest:
    """Test that a mean with a standard error above 0 is 0."""
    distance = abs(error.mean) / error.standard_error
    p_value = 2 * student_t_cdf(-distance, error.degrees_of_freedom)
    return SignificanceTest(max(p_value, math.ulp(0.0)), "cluster-robust t")


def _exact_p(totals: list[float]) -> float:
    """Count the sign patterns whose sum is as far from zero, by meeting in the middle."""
    if not totals:
        return 1.0
    limit = _just_below(totals)
    half = len(totals) // 2
    left, right = _signed_sums(totals[:half]), sorted(_signed_sums(totals[half:]))
    extreme = 0
    for base in left:
        extreme += bisect_right(right, -limit - base)
        extreme += len(right) - bisect_left(right, limit - base)
    return float(min(1.0, extreme / 2.0 ** len(totals)))


def _signed_sums(totals: Sequence[float]) -> list[float]:
    """All 2**n sums of the totals with either sign; the pattern is the position in binary."""
    sums = [0.0]
    for total in totals:
        sums = [base - total for base in sums] + [base + total for base in sums]
    return sums


def _just_below(totals: list[float]) -> float:
    """Size of the observed sum, less what rounding could take from an equal one."""
    return abs(math.fsum(totals)) - 1e-9 * math.fsum(abs(total) for total in totals)


def _monte_carlo_p(totals: list[float], resamples: int, rng: random.Random) -> float:
    """Share of random sign patterns as extreme, the observed one counted among them."""
    limit = _just_below(totals)
    extreme = sum(abs(total) >= limit for total in _random_sums(totals, resamples, rng))
    return (extreme + 1) / (resamples + 1)


def _random_sums(totals: list[float], resamples: int, rng: random.Random) -> Iterator[float]:
    """Draw sums with random signs, eight totals at a time.

    One random byte picks one of the 256 ready sums of its eight totals, which is some thirty times
    quicker than flipping them one by one.
    """
    tables = [_signed_sums(totals[start : start + 8]) for start in range(0, len(totals), 8)]
    # The last table may be shorter; repeating it keeps every byte a valid and fair index.
    tables[-1] = tables[-1] * (256 // len(tables[-1]))
    for _ in range(resamples):
        yield sum(map(getitem, tables, rng.randbytes(len(tables))))


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that all may be read together (Holm 1979), in the same order.

    Below 0.05 each, the chance of any false alarm is below 5 %.
    """
    require_scores("p_values", p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """What two lists of scores on the same samples say about each other.

    Attributes:
        difference: Mean of candidate - baseline, -1 to 1, positive when the candidate is better.
            It excludes 0 exactly when the p-value is at most 1 - its confidence.
        significance: The larger of two two-sided p-values, and the test that gave it.
        samples: Samples compared.
        clusters: Independent units among them.
        wins: Samples where the candidate scores higher.
        ties: Samples where both score the same.
        losses: Samples where the candidate scores lower.
        detectable: Smallest true difference that as many samples would find in 80 of 100
            comparisons; None when no spread was seen that could tell.
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
        """Whether there is a difference, and its direction; interval and p-value say the same."""
        if self.difference.low > 0:
            return "better"
        return "worse" if self.difference.high < 0 else "not distinguishable"

    @property
    def rows_needed(self) -> int | None:
        """Rows that would find a true difference as large as this one in 80 of 100 comparisons.

        None where a difference is found already, where there is none, or where a million rows like
        these would not do.
        """
        size = abs(self.difference.estimate)
        if self.detectable is None or self.verdict != "not distinguishable" or size == 0:
            return None
        # More clusters narrow the interval by their root, and its Student quantiles a little more.
        now = self.clusters - 1
        need, confidence = self.clusters * (self.detectable / size) ** 2, self.difference.confidence
        reach = partial(_reach, confidence=confidence)
        for _ in range(_ROUNDS):
            if need > _MOST_ROWS:
                return None
            shrunk = reach(max(1.0, need - 1)) / reach(now)
            need = self.clusters * (self.detectable / size * shrunk) ** 2
        return math.ceil(need * self.samples / self.clusters)

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """Whether the whole interval is below `-margin`, an acceptable loss from 0 to 1."""
        if not 0 <= margin <= 1:
            raise ConfigurationError(f"margin={margin!r} is outside 0..1; 2 % is written 0.02")
        return self.verdict == "worse" and self.difference.high < -margin


def compare_paired(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedComparison:
    """Compare two lists of scores of the same samples.

    Args:
        baseline: Scores from 0 to 1, one per sample.
        candidate: Same length; `candidate[i]` grades the same sample as `baseline[i]`.
        clusters: The document or conversation of each sample, aligned; None means independent.
        confidence: Coverage of the interval, as a fraction; the p-value must be at most
            1 - `confidence` for a verdict, else the interval reaches 0.
        resamples: Random sign patterns, where the test draws any.
        seed: Same seed, same p-value.
    """
    require_fraction("confidence", confidence)
    differences = _differences(baseline, candidate)
    units = len(cluster_totals(differences, clusters=clusters)[0])
    error = None if units < 2 else mean_error(differences, clusters=clusters)
    # Without a spread there is nothing to judge by but how many differences are equal.
    error = None if error is None or error.standard_error < 1e-12 else error
    mean = math.fsum(differences) / len(differences)
    flips = sign_flip_test(differences, clusters=clusters, resamples=resamples, seed=seed)
    tested = _equal_test(mean, units) if error is None else t_test(error)
    significance = max(flips, tested, key=lambda test: test.p_value)
    if error is None:
        difference = no_spread_interval(mean, units, bounds=(-1.0, 1.0), confidence=confidence)
    else:
        quantile = student_t_quantile((1 + confidence) / 2, error.degrees_of_freedom)
        reach = quantile * error.standard_error
        low, high = max(-1.0, error.mean - reach), min(1.0, error.mean + reach)
        difference = Interval(error.mean, low, high, confidence, "cluster-robust Student t")
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
        detectable=None
        if error is None
        else error.standard_error * _reach(error.degrees_of_freedom, confidence),
    )


def count_difference(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Estimate by how much counts of the same samples differ, such as words or statements.

    Args:
        baseline: Finite numbers, one per sample.
        candidate: Same length; `candidate[i]` counts the same sample as `baseline[i]`.
        clusters: As for `compare_paired`.
        confidence: As for `compare_paired`; few samples must convince sign flips as well.
    """
    require_aligned("baseline counts", baseline, "candidate counts", candidate)
    differences = [new - old for old, new in zip(baseline, candidate, strict=True)]
    found = count_interval(differences, clusters=clusters, confidence=confidence)
    if len(cluster_totals(differences, clusters=clusters)[0]) > _EXACT_UNITS:
        return found
    flips = sign_flip_test(differences, clusters=clusters)
    return found if flips.p_value <= 1 - confidence else _widened_to_zero(found)


def _differences(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    require_aligned("baseline scores", baseline, "candidate scores", candidate)
    if not baseline:
        raise UnpairedScoresError("0 baseline scores, 0 candidate scores; there is no pair")
    require_scores("baseline", baseline)
    require_scores("candidate", candidate)
    changes = (new - old for old, new in zip(baseline, candidate, strict=True))
    # 0.1 + 0.2 against 0.3 is a tie, not a win by 6e-17.
    return [0.0 if abs(change) < 1e-9 else change for change in changes]


def _equal_test(mean: float, units: int) -> SignificanceTest:
    """Return the p-value at which the limit for equal differences would just reach 0.

    It lies at 0 where tail ** (1 / units) is 1 / (1 + |mean|).
    """
    p_value = min(1.0, 2 * (1 + abs(mean)) ** -units)
    return SignificanceTest(max(p_value, math.ulp(0.0)), "limit for equal values")


def _widened_to_zero(interval: Interval) -> Interval:
    """Let an interval reach 0, which one of the two tests cannot rule out."""
    if interval.contains(0.0):
        return interval
    return replace(
        interval,
        low=min(interval.low, 0.0),
        high=max(interval.high, 0.0),
        method=f"{interval.method}, widened to 0 by sign flips",
    )


def _reach(freedom: float, confidence: float) -> float:
    """Standard errors that a true difference must have to be found in 80 of 100 comparisons."""
    sure, found = (1 + confidence) / 2, _POWER
    return student_t_quantile(sure, freedom) + student_t_quantile(found, freedom)
