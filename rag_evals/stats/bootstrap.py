"""Which interval does resampling give, for statistics without a formula?

Bias-corrected and accelerated bootstrap (Efron 1987). Whole clusters are drawn, never single rows
of one. For a plain mean prefer `mean_interval`, which covers better below 30 rows.
"""

import math
import random
from collections.abc import Callable, Hashable, Sequence
from itertools import chain

from rag_evals.errors import InvalidScoresError
from rag_evals.stats.checks import require_fraction, require_positive, require_scores
from rag_evals.stats.clusters import cluster_rows
from rag_evals.stats.distributions import normal_cdf, normal_quantile
from rag_evals.stats.intervals import Interval, no_spread_interval

Statistic = Callable[[Sequence[float]], float]


def bootstrap_interval(
    scores: Sequence[float],
    *,
    statistic: Statistic | None = None,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    resamples: int | None = None,
    seed: int = 0,
) -> Interval:
    """Estimate a statistic of the scores by the BCa bootstrap.

    Args:
        scores: Numbers from 0 to 1, one per row.
        statistic: Function of a list of scores; None means their mean.
        clusters: The cluster of each row, aligned with `scores`; None means independent rows.
        confidence: Coverage of the interval, as a fraction.
        resamples: Bootstrap draws; None chooses by the number of rows: 10,000 up to 400 rows,
            then fewer, so that about four million scores are drawn, and never below 1,000.
        seed: Same seed, same interval.

    Returns:
        The statistic of `scores` and its interval. When all scores are equal and the statistic is
        the mean, resampling sees nothing and the exact limit for equal values is given.

    Raises:
        InvalidScoresError: A score is invalid, or there are fewer than two clusters.
        UnpairedScoresError: `clusters` has another length than `scores`.
        ConfigurationError: `confidence` is not a fraction, or `resamples` is below 1.
    """
    require_scores("scores", scores)
    require_fraction("confidence", confidence)
    draws = min(10_000, max(1_000, 4_000_000 // len(scores))) if resamples is None else resamples
    require_positive("resamples", draws)
    groups = [
        [scores[row] for row in rows] for rows in cluster_rows(len(scores), clusters=clusters)
    ]
    # Differences of rounding only are no spread.
    if statistic is None and max(scores) - min(scores) < 1e-9:
        return no_spread_interval(scores[0], len(groups), confidence=confidence)
    if len(groups) < 2:
        raise InvalidScoresError(
            f"{len(scores)} score(s) in {len(groups)} cluster; resampling needs two clusters"
        )
    rng = random.Random(seed)
    if statistic is None:
        estimate = math.fsum(scores) / len(scores)
        replicates, left_out = _mean_draws(groups, draws, rng), _means_left_out(groups)
    else:
        estimate = statistic(scores)
        replicates = _statistic_draws(groups, statistic, draws, rng)
        left_out = _statistics_left_out(groups, statistic)
    low, high = _bca_limits(estimate, sorted(replicates), left_out, confidence)
    return Interval(estimate, min(low, estimate), max(high, estimate), confidence, "BCa bootstrap")


def _mean_draws(groups: list[list[float]], draws: int, rng: random.Random) -> list[float]:
    """Means of resampled clusters; only sums and sizes are needed, which is what makes it quick."""
    count = len(groups)
    if all(len(group) == 1 for group in groups):
        values = [group[0] for group in groups]
        return [sum(rng.choices(values, k=count)) / count for _ in range(draws)]
    totals = [(sum(group), len(group)) for group in groups]
    means = []
    for _ in range(draws):
        sums, sizes = zip(*rng.choices(totals, k=count), strict=True)
        means.append(sum(sums) / sum(sizes))
    return means


def _means_left_out(groups: list[list[float]]) -> list[float]:
    total = math.fsum(chain.from_iterable(groups))
    rows = sum(len(group) for group in groups)
    return [(total - sum(group)) / (rows - len(group)) for group in groups]


def _statistic_draws(
    groups: list[list[float]], statistic: Statistic, draws: int, rng: random.Random
) -> list[float]:
    return [
        statistic(list(chain.from_iterable(rng.choices(groups, k=len(groups)))))
        for _ in range(draws)
    ]


def _statistics_left_out(groups: list[list[float]], statistic: Statistic) -> list[float]:
    return [
        statistic(list(chain.from_iterable(groups[:position] + groups[position + 1 :])))
        for position in range(len(groups))
    ]


def _bca_limits(
    estimate: float, replicates: list[float], left_out: list[float], confidence: float
) -> tuple[float, float]:
    """Read the two percentiles that Efron's bias and acceleration corrections point to."""
    draws = len(replicates)
    below = sum(value < estimate for value in replicates)
    ties = sum(value == estimate for value in replicates)
    # Half a draw at either end keeps the correction finite when all draws lie on one side.
    share = min(max((below + ties / 2) / draws, 0.5 / draws), 1 - 0.5 / draws)
    bias = normal_quantile(share)
    acceleration = _acceleration(left_out)
    ends = []
    for probability in ((1 - confidence) / 2, (1 + confidence) / 2):
        shifted = bias + normal_quantile(probability)
        ends.append(quantile(replicates, normal_cdf(bias + shifted / (1 - acceleration * shifted))))
    return ends[0], ends[1]


def _acceleration(left_out: list[float]) -> float:
    centre = math.fsum(left_out) / len(left_out)
    gaps = [centre - value for value in left_out]
    squares = math.fsum(gap * gap for gap in gaps)
    # Differences that are pure rounding would otherwise be blown up by the division.
    if squares < 1e-28:
        return 0.0
    return math.fsum(gap**3 for gap in gaps) / (6 * squares * math.sqrt(squares))


def quantile(ordered: Sequence[float], probability: float) -> float:
    """Read a quantile from sorted values, interpolating as numpy and R (type 7) do.

    Args:
        ordered: At least one number, ascending.
        probability: 0 to 1.
    """
    place = probability * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2) if len(ordered) > 1 else 0
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
