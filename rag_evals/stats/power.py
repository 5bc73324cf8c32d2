"""How many rows show a difference of this size?"""

import math
from collections.abc import Hashable, Sequence

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats.checks import require_fraction, require_scores
from rag_evals.stats.clusters import cluster_totals, mean_error
from rag_evals.stats.distributions import student_t_quantile

_MOST_ROWS = 10**9


def rows_to_detect(
    difference: float,
    differences: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    power: float = 0.8,
) -> int:
    """Count the rows with which a comparison would usually see a true difference.

    Args:
        difference: Of the mean scores, above 0 and at most 1.
        differences: What single rows differ by, -1 to 1, as in an earlier comparison.
        clusters: As in `compare_paired`; rows of new clusters are taken to be as alike.
        confidence: Of the comparison, as a fraction.
        power: How often the difference should be found, as a fraction.

    Returns:
        Rows, at least 2; the inverse of `minimum_detectable_difference`.

    Raises:
        ConfigurationError: A number is out of its range.
        InvalidScoresError: There are fewer than two clusters, or the rows show no spread.
    """
    if not 0 < difference <= 1:
        raise ConfigurationError(
            f"difference={difference!r} is not above 0 and up to 1; 3 points are written 0.03"
        )
    require_fraction("confidence", confidence)
    require_fraction("power", power)
    require_scores("differences", differences, bounds=(-1.0, 1.0))
    error = mean_error(differences, clusters=clusters)
    if error.standard_error < 1e-12:
        raise InvalidScoresError(
            f"all {len(differences)} differences are equal, so nothing shows how far rows spread"
        )
    units = len(cluster_totals(differences, clusters=clusters))
    variance = error.standard_error**2 * units
    low, high = 2, 2
    while not _suffices(high, variance, difference, confidence, power):
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if _suffices(middle, variance, difference, confidence, power):
            high = middle
        else:
            low = middle + 1
    return math.ceil(high * len(differences) / units)


def _suffices(
    units: int, variance: float, difference: float, confidence: float, power: float
) -> bool:
    freedom = units - 1
    reach = student_t_quantile((1 + confidence) / 2, freedom) + student_t_quantile(power, freedom)
    return units >= _MOST_ROWS or math.sqrt(variance / units) * reach <= difference
