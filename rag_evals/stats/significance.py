"""Could this difference be chance?

p-values for paired scores (sign flips), for pass/fail (McNemar) and for several of them (Holm).
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from operator import getitem
from typing import Literal

from rag_evals.errors import InvalidScoresError
from rag_evals.stats.checks import require_aligned, require_positive, require_scores
from rag_evals.stats.clusters import MeanError, cluster_totals, mean_error
from rag_evals.stats.distributions import fair_binomial_p, student_t_cdf

TestName = Literal[
    "exact sign-flip", "Monte Carlo sign-flip", "cluster-robust t", "limit for equal values"
]

# All 2**28 sign patterns are counted exactly from two sorted halves of 2**14 sums.
_EXACT_UNITS = 28
_RESAMPLED_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class SignificanceTest:
    """A p-value and where it comes from.

    Attributes:
        p_value: Above 0 and at most 1, two-sided.
        test: Which test gave it.
        resamples: Random sign patterns that were drawn; None when none were.
    """

    p_value: float
    test: TestName
    resamples: int | None = None


@dataclass(frozen=True, slots=True)
class PassFailTest:
    """McNemar's test of two pass/fail lists on the same samples.

    Attributes:
        only_baseline: Samples that only the baseline passed.
        only_candidate: Samples that only the candidate passed.
        p_value: Exact, two-sided, above 0 and at most 1.
    """

    only_baseline: int
    only_candidate: int
    p_value: float


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

    Returns:
        Two-sided p-value, with the name of the test that was used.

    Raises:
        InvalidScoresError: There is no difference, or one is not finite.
        UnpairedScoresError: `clusters` has another length than `differences`.
        ConfigurationError: `resamples` is below 1.
    """
    require_scores("differences", differences, bounds=None)
    require_positive("resamples", resamples)
    totals = cluster_totals(differences, clusters=clusters)
    moved = [total for total, _ in totals if total != 0]
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
    """Test that a mean is 0.

    Args:
        error: The mean with its standard error, above 0.
    """
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


def mcnemar_exact(
    baseline_passed: Sequence[bool], candidate_passed: Sequence[bool]
) -> PassFailTest:
    """Compare two pass/fail lists by McNemar's test (1947), exact.

    Args:
        baseline_passed: One per sample.
        candidate_passed: Same length and order.

    Returns:
        The samples on which they differ, and whether that split could be a coin's.

    Raises:
        InvalidScoresError: There are no samples.
        UnpairedScoresError: The lengths differ.
    """
    require_aligned("baseline results", baseline_passed, "candidate results", candidate_passed)
    if not baseline_passed:
        raise InvalidScoresError("baseline_passed is empty; at least one sample is needed")
    pairs = list(zip(baseline_passed, candidate_passed, strict=True))
    lost = sum(old and not new for old, new in pairs)
    won = sum(new and not old for old, new in pairs)
    return PassFailTest(lost, won, fair_binomial_p(won, won + lost))


def holm_adjusted(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values so that all may be read together (Holm 1979).

    Args:
        p_values: 0 to 1, one per test, for example one per grader.

    Returns:
        Adjusted p-values in the same order; below 0.05 each, the chance of any false alarm is
        below 5 %.

    Raises:
        InvalidScoresError: There is none, or one is not a number from 0 to 1.
    """
    require_scores("p_values", p_values)
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted
