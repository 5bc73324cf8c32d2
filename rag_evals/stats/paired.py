"""Is the candidate better than the baseline on the same samples?

Pairing removes how hard each sample is, so the interval is far narrower than that of two separate
means (Miller 2024, arXiv:2411.00640). Two tests must agree that there is a difference, sign flips
and the t test behind the interval; verdict, p-value and interval are those of both together.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from rag_evals.errors import ConfigurationError, UnpairedScoresError
from rag_evals.stats.checks import require_aligned, require_fraction, require_scores
from rag_evals.stats.clusters import MeanError, cluster_totals, mean_error
from rag_evals.stats.distributions import student_t_quantile
from rag_evals.stats.intervals import Interval, no_spread_interval
from rag_evals.stats.sampled_difference import SampledDifference
from rag_evals.stats.significance import SignificanceTest, sign_flip_test, t_test

# Below, chance alone may make a free judge look useful.
_WORTH = 1.1
_POWER = 0.8
_ROUNDS = 20
_MOST_ROWS = 1_000_000

PairedVerdict = Literal["better", "worse", "not distinguishable"]


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
        sampled: What a free judge of all rows adds, where these are a sample of them: then
            difference and significance are of all rows. Else None.
    """

    difference: Interval
    significance: SignificanceTest
    samples: int
    clusters: int
    wins: int
    ties: int
    losses: int
    detectable: float | None
    sampled: SampledDifference | None = None

    def over_all_rows(self, sampled: SampledDifference | None) -> "PairedComparison":
        """Return the comparison over all rows, where a free judge of them narrows it enough."""
        if sampled is None or sampled.effective_rows < _WORTH * sampled.sampled:
            return self
        narrower = math.sqrt(sampled.sampled / sampled.effective_rows)
        return replace(
            self,
            difference=sampled.difference,
            significance=sampled.significance,
            detectable=None if self.detectable is None else self.detectable * narrower,
            sampled=sampled,
        )

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
        reach = partial(_reach, confidence=confidence, power=_POWER)
        for _ in range(_ROUNDS):
            if need > _MOST_ROWS:
                return None
            shrunk = reach(max(1.0, need - 1)) / reach(now)
            need = self.clusters * (self.detectable / size * shrunk) ** 2
        return math.ceil(need * self.samples / self.clusters)

    def is_worse(self, *, margin: float = 0.0) -> bool:
        """Whether the candidate is worse by more than `margin`, the whole interval says.

        Args:
            margin: Loss that is acceptable, 0 to 1.

        Raises:
            ConfigurationError: The margin is outside 0..1.
        """
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

    Raises:
        UnpairedScoresError: The lengths differ, or there is nothing to compare.
        InvalidScoresError: A score is not a number from 0 to 1.
        ConfigurationError: `confidence` is not a fraction, or `resamples` is below 1.
    """
    differences = _differences(baseline, candidate)
    flips = sign_flip_test(differences, clusters=clusters, resamples=resamples, seed=seed)
    significance = max(flips, _t_test(differences, clusters), key=lambda test: test.p_value)
    difference = _difference_interval(differences, clusters, confidence)
    if significance.p_value > 1 - confidence:
        difference = _widened_to_zero(difference)
    return PairedComparison(
        difference=difference,
        significance=significance,
        samples=len(differences),
        clusters=len(cluster_totals(differences, clusters=clusters)),
        wins=sum(change > 0 for change in differences),
        ties=sum(change == 0 for change in differences),
        losses=sum(change < 0 for change in differences),
        detectable=minimum_detectable_difference(
            baseline, candidate, clusters=clusters, confidence=confidence
        ),
    )


def _differences(baseline: Sequence[float], candidate: Sequence[float]) -> list[float]:
    require_aligned("baseline scores", baseline, "candidate scores", candidate)
    if not baseline:
        raise UnpairedScoresError("0 baseline scores, 0 candidate scores; there is no pair")
    require_scores("baseline", baseline)
    require_scores("candidate", candidate)
    changes = (new - old for old, new in zip(baseline, candidate, strict=True))
    # 0.1 + 0.2 against 0.3 is a tie, not a win by 6e-17.
    return [0.0 if abs(change) < 1e-9 else change for change in changes]


def _difference_interval(
    differences: list[float], clusters: Sequence[Hashable | None] | None, confidence: float
) -> Interval:
    require_fraction("confidence", confidence)
    mean = math.fsum(differences) / len(differences)
    error = _spread(differences, clusters)
    if error is None:
        units = len(cluster_totals(differences, clusters=clusters))
        return no_spread_interval(mean, units, bounds=(-1.0, 1.0), confidence=confidence)
    reach = error.standard_error * student_t_quantile(
        (1 + confidence) / 2, error.degrees_of_freedom
    )
    low, high = max(-1.0, mean - reach), min(1.0, mean + reach)
    return Interval(mean, low, high, confidence, "cluster-robust Student t")


def _spread(
    differences: list[float], clusters: Sequence[Hashable | None] | None
) -> MeanError | None:
    """Return the standard error; None when nothing shows one."""
    if len(cluster_totals(differences, clusters=clusters)) < 2:
        return None
    error = mean_error(differences, clusters=clusters)
    return None if error.standard_error < 1e-12 else error


def _t_test(
    differences: list[float], clusters: Sequence[Hashable | None] | None
) -> SignificanceTest:
    """Return the p-value at which the interval of the difference would just reach 0."""
    error = _spread(differences, clusters)
    if error is not None:
        return t_test(error)
    mean = math.fsum(differences) / len(differences)
    units = len(cluster_totals(differences, clusters=clusters))
    # The limit for equal values lies at 0 where tail ** (1 / units) is 1 / (1 + |mean|).
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


def minimum_detectable_difference(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    power: float = _POWER,
) -> float | None:
    """Find the smallest true difference that a comparison of this size would usually see.

    Args:
        baseline: Scores from 0 to 1, one per sample.
        candidate: Same length and order.
        clusters: As in `compare_paired`.
        confidence: Of the comparison, as a fraction.
        power: How often the difference should be found, as a fraction.

    Returns:
        A difference of mean scores above 0 (Miller 2024); it may exceed 1, which no
        difference can. None when the differences show no spread to judge by.

    Raises:
        UnpairedScoresError: The lengths differ, or there is nothing to compare.
        InvalidScoresError: A score is not a number from 0 to 1.
        ConfigurationError: `confidence` or `power` is not a fraction.
    """
    require_fraction("confidence", confidence)
    require_fraction("power", power)
    error = _spread(_differences(baseline, candidate), clusters)
    if error is None:
        return None
    freedom = error.degrees_of_freedom
    return error.standard_error * _reach(freedom, confidence=confidence, power=power)


def _reach(freedom: float, *, confidence: float, power: float) -> float:
    """Standard errors that a true difference must have to be found so often."""
    return student_t_quantile((1 + confidence) / 2, freedom) + student_t_quantile(power, freedom)


def largest_changes(
    baseline: Sequence[float], candidate: Sequence[float], *, limit: int = 10
) -> list[int]:
    """List the positions of the samples that changed most, largest change first.

    Args:
        baseline: Scores from 0 to 1, one per sample.
        candidate: Same length and order.
        limit: Most positions to return; samples without any change are left out.

    Raises:
        UnpairedScoresError: The lengths differ, or there is nothing to compare.
        InvalidScoresError: A score is not a number from 0 to 1.
    """
    differences = _differences(baseline, candidate)
    changed = [place for place, change in enumerate(differences) if change]
    return sorted(changed, key=lambda place: -abs(differences[place]))[:limit]
