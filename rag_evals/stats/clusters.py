"""How uncertain is a mean when rows come in clusters?

Statements sit in answers and answers share documents, so rows are not independent. The standard
error sums the residuals within each cluster first (Liang and Zeger 1986; Miller 2024,
arXiv:2411.00640) with the small-sample correction CR2 and its degrees of freedom (Bell and
McCaffrey 2002). Every row its own cluster gives the textbook s / sqrt(n) and n - 1.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rag_evals.errors import InvalidScoresError
from rag_evals.stats.checks import require_aligned, require_scores


@dataclass(frozen=True, slots=True)
class MeanError:
    """A mean and how far it may be off.

    Attributes:
        mean: Mean over rows.
        standard_error: 0 or more, in the unit of the values.
        degrees_of_freedom: For Student's t; at most `units` - 1, and not always whole.
        units: Independent units: clusters, or rows where there are none.
        rows: Number of values.
    """

    mean: float
    standard_error: float
    degrees_of_freedom: float
    units: int
    rows: int


def mean_error(
    values: Sequence[float], *, clusters: Sequence[Hashable | None] | None = None
) -> MeanError:
    """Estimate the standard error of a mean, robust to clusters of rows.

    Args:
        values: Finite numbers, one per row.
        clusters: The cluster of each row, aligned with `values`. None, for the list or for one
            row, means that the row is independent of all others.

    Returns:
        The mean with its CR2 standard error and Bell-McCaffrey degrees of freedom.

    Raises:
        InvalidScoresError: There are fewer than two clusters, so no spread can be seen.
        UnpairedScoresError: `clusters` has another length than `values`.
    """
    require_scores("values", values, bounds=None)
    mean = math.fsum(values) / len(values)
    if clusters is None and len(values) > 1:
        # A million rows are no reason to make a million lists.
        squares = math.fsum((value - mean) ** 2 for value in values)
        error = math.sqrt(squares / (len(values) - 1) / len(values))
        return MeanError(mean, error, float(len(values) - 1), len(values), len(values))
    units = cluster_totals([value - mean for value in values], clusters=clusters)
    if len(units) < 2:
        raise InvalidScoresError(
            f"{len(values)} value(s) in {len(units)} cluster; a standard error needs two clusters"
        )
    rows = len(values)
    variance = math.fsum(total * total / (1 - size / rows) for total, size in units) / rows**2
    sizes = Counter(size for _, size in units)
    freedom = min(_degrees_of_freedom(sizes, correlation=share) for share in (0.0, 1.0))
    return MeanError(mean, math.sqrt(variance), freedom, len(units), rows)


def effective_rows(
    matches: Sequence[bool], *, clusters: Sequence[Hashable | None] | None = None
) -> float:
    """Count the independent yes/no rows that would tell as much as these clustered ones.

    The rows divided by Kish's design effect (1965), as Rao and Scott (1992) do for tables.

    Args:
        matches: One per row, at least one.
        clusters: As in `mean_error`.

    Returns:
        From 1 to the number of rows; the number of clusters where all rows are equal, because then
        nothing says how alike the rows of a cluster are.

    Raises:
        UnpairedScoresError: `clusters` has another length than `matches`.
    """
    units = len(cluster_totals(matches, clusters=clusters))
    if units == len(matches) or units < 2 or all(matches) or not any(matches):
        return float(units)
    error = mean_error(matches, clusters=clusters)
    if error.standard_error < 1e-12:
        return float(units)
    variance = error.mean * (1 - error.mean)
    return max(1.0, min(len(matches), variance / error.standard_error**2 + 1))


def cluster_totals(
    values: Sequence[float], *, clusters: Sequence[Hashable | None] | None
) -> list[tuple[float, int]]:
    """Sum the values of each cluster.

    Args:
        values: One number per row.
        clusters: As in `mean_error`.

    Returns:
        One (sum, number of rows) for each cluster, in order of first appearance.

    Raises:
        UnpairedScoresError: `clusters` has another length than `values`.
    """
    if clusters is None:
        return [(value, 1) for value in values]
    require_aligned("values", values, "clusters", clusters)
    members: dict[tuple[bool, Hashable], list[float]] = {}
    for row, (value, cluster) in enumerate(zip(values, clusters, strict=True)):
        key = (True, row) if cluster is None else (False, cluster)
        members.setdefault(key, []).append(value)
    return [(math.fsum(group), len(group)) for group in members.values()]


def cluster_rows(rows: int, *, clusters: Sequence[Hashable | None] | None) -> list[list[int]]:
    """List the row numbers of each cluster, in order of first appearance.

    Args:
        rows: Number of rows.
        clusters: As in `mean_error`.

    Raises:
        UnpairedScoresError: `clusters` does not have one entry for each row.
    """
    if clusters is None:
        return [[row] for row in range(rows)]
    require_aligned("rows", range(rows), "clusters", clusters)
    members: dict[tuple[bool, Hashable], list[int]] = {}
    for row, cluster in enumerate(clusters):
        key = (True, row) if cluster is None else (False, cluster)
        members.setdefault(key, []).append(row)
    return list(members.values())


def _degrees_of_freedom(sizes: Counter[int], *, correlation: float) -> float:
    """Match the variance estimate to a chi-square (Satterthwaite), as Bell and McCaffrey do.

    They assume independent rows; the caller also tries rows that agree within a cluster, and takes
    the smaller answer, because with a few large clusters that is the case which hurts.
    """
    rows = sum(size * count for size, count in sizes.items())
    # Variance of a cluster's sum when single rows have variance 1.
    spread = {size: size + correlation * size * (size - 1) for size in sizes}
    total_spread = sum(spread[size] * count for size, count in sizes.items())
    weight = {size: 1 / (1 - size / rows) for size in sizes}

    def covariance(first: int, second: int) -> float:
        """Covariance of the residual sums of two different clusters of these sizes."""
        return (
            first * second * total_spread / rows - first * spread[second] - second * spread[first]
        ) / rows

    trace = squares = 0.0
    for first, count in sizes.items():
        own = weight[first] * (spread[first] + covariance(first, first))
        trace += count * own
        squares += count * own * own
        for second, other in sizes.items():
            pairs = count * (other - (first == second))
            squares += pairs * weight[first] * weight[second] * covariance(first, second) ** 2
    return trace * trace / squares
