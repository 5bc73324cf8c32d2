"""In which interval does the true mean or rate lie?

No interval here uses the normal approximation s / sqrt(n) of a mean, which covers too rarely below
a few hundred rows (Bowyer et al. 2025, arXiv:2503.01747): rates use Wilson, mean scores a Wilson
interval with Student quantiles and the effective number of rows.

Statements sit in answers and answers share documents, so rows are not independent. The standard
error sums the residuals within each cluster first (Liang and Zeger 1986; Miller 2024,
arXiv:2411.00640) with the small-sample correction CR2 and its degrees of freedom (Bell and
McCaffrey 2002). Every row its own cluster gives the textbook s / sqrt(n) and n - 1.
"""

import math
from array import array
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import groupby, repeat

from rag_evals.errors import (
    ConfigurationError,
    InvalidScoresError,
    TooFewLabelsError,
    UnpairedScoresError,
)
from rag_evals.stats.distributions import student_t_quantile


def require_fraction(name: str, value: float) -> None:
    """Refuse a coverage or probability that is not between 0 and 1, such as a percentage."""
    if not 0 < value < 1:
        raise ConfigurationError(
            f"{name}={value!r} is not between 0 and 1; 95 % is written {name}=0.95"
        )


def require_positive(name: str, value: int) -> None:
    """Refuse a count below one."""
    if value < 1:
        raise ConfigurationError(f"{name}={value!r} is too small; it must be at least 1")


def require_scores(
    name: str, values: Sequence[float], *, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> None:
    """Refuse an empty list, and any value that is not finite or out of bounds (None: no bounds).

    Raises:
        InvalidScoresError: With the position and the value of the first offender.
    """
    if not values:
        raise InvalidScoresError(f"{name} is empty; at least one number is needed")
    low, high = (-math.inf, math.inf) if bounds is None else bounds
    # A sum is finite only if all its parts are.
    if math.isfinite(sum(values)) and low <= min(values) and max(values) <= high:
        return
    for position, value in enumerate(values):
        if not (low <= value <= high and math.isfinite(value)):
            wanted = "a finite number" if bounds is None else f"a number from {low:g} to {high:g}"
            raise InvalidScoresError(f"{name}[{position}] is {value!r}; it must be {wanted}")


def require_aligned(first_name: str, first: Sized, second_name: str, second: Sized) -> None:
    """Refuse two lists of different length; the longer is never cut silently."""
    if len(first) != len(second):
        raise UnpairedScoresError(
            f"{len(first)} {first_name}, {len(second)} {second_name}; "
            "both lists need one entry for each sample, in the same order"
        )


def require_both_labels(labels: Sequence[bool]) -> None:
    """Refuse labels that are all alike: nothing distinguishes the two kinds."""
    if not labels:
        raise InvalidScoresError("labels is empty; at least one labelled row is needed")
    if all(labels) or not any(labels):
        raise TooFewLabelsError(
            f"all {len(labels)} labels are {bool(labels[0])!r}; both labels are needed"
        )


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


MOST_REPEATED = 0.05
"""Where a larger share of rows has its question or context in common, rows are clustered by it."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Rows that are not independent, because they share a value.

    Attributes:
        by: What they share: "question", "context", or the name of a column.
        keys: For each row the cluster it is in; None for one that shares its value with no other.
        units: Clusters, and rows that are in none.
    """

    by: str
    keys: Sequence[Hashable | None]
    units: int

    @classmethod
    def of(cls, by: str, keys: Sequence[Hashable | None]) -> "Clusters":
        """Cluster rows by values that need not repeat; None is a value of its own."""
        return cls(by, keys, len(cluster_totals(repeat(0.0, len(keys)), clusters=keys)[1]))

    def of_mean(self, scores: Sequence[float], confidence: float = 0.95) -> Interval:
        """Estimate the mean score of the rows; the interval says how many clusters it is from."""
        found = mean_interval(scores, clusters=self.keys, confidence=confidence)
        return replace(found, method=f"{found.method}, {self.units} clusters by {self.by}")


def find_clusters(shared: Mapping[str, Sequence[int]]) -> Clusters | None:
    """Cluster rows by the first thing that more than 5 % of them have in common with another row.

    Args:
        shared: For each thing, such as "question", its hash in each row; 0 where a row has none.

    Returns:
        None where rows are independent, or all of them share one value: nothing is then known of
        rows with another.
    """
    for by, hashes in shared.items():
        runs = ((key, sum(1 for _ in run)) for key, run in groupby(sorted(hashes)) if key)
        repeated = {key: size for key, size in runs if size > 1}
        within = sum(repeated.values())
        units = len(hashes) - within + len(repeated)
        if within > MOST_REPEATED * len(hashes) and units > 1:
            return Clusters(by, [key if key in repeated else None for key in hashes], units)
    return None


def mean_interval(
    scores: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> Interval:
    """Estimate the mean score of the samples that these ones were drawn from.

    Args:
        scores: Numbers from 0 to 1, one per row; leave out rows without a score.
        clusters: The answer, document or conversation of each row, aligned with `scores`. None,
            for the list or for one row, means that the row is independent of all others.
        weights: How many rows of the run each stands for, aligned; None where all had the same
            chance to be drawn.
        confidence: Coverage of the interval, as a fraction.

    Returns:
        Mean over rows and its interval, within 0..1. When all scores are equal, the interval says
        what n rows cannot rule out; it has no width 0.
    """
    require_scores("scores", scores)
    require_fraction("confidence", confidence)
    mean = math.fsum(scores) / len(scores)
    units = len(scores)
    if clusters is not None:
        require_aligned("rows", scores, "clusters", clusters)
        units = len(cluster_totals(scores, clusters=clusters)[1])
    # Differences of rounding only are no spread.
    if units < 2 or max(scores) - min(scores) < 1e-9:
        if weights is not None:
            units = max(1, int(units * _evenness(weights)))
        return no_spread_interval(mean, units, confidence=confidence)
    error = mean_error(weighted_values(scores, weights), clusters=clusters)
    freedom = error.degrees_of_freedom * (1.0 if weights is None else _evenness(weights))
    return effective_wilson_interval(
        error.mean, error.standard_error, freedom, units, confidence=confidence
    )


_MOST_DISTINCT = 2_000


def equal_values(values: Sequence[float]) -> Iterable[tuple[float, int]]:
    """Return each value with how often it is there; one by one where too many differ to count."""
    counts: Counter[float] = Counter()
    for begin in range(0, len(values), _MOST_DISTINCT):
        counts.update(values[begin : begin + _MOST_DISTINCT])
        if len(counts) > _MOST_DISTINCT:
            return zip(values, repeat(1))
    return counts.items()


def weighted_values(values: Sequence[float], weights: Sequence[float] | None) -> Sequence[float]:
    """Return values whose plain mean and its error are those of the weighted mean (Hajek's).

    Each is the mean and what the value adds to it (Taylor's linearisation).
    """
    if weights is None:
        return values
    require_aligned("values", values, "weights", weights)
    total = math.fsum(weights)
    mean = math.fsum(map(math.prod, zip(values, weights, strict=True))) / total
    share = len(values) / total
    return [mean + w * share * (one - mean) for one, w in zip(values, weights, strict=True)]


def _evenness(weights: Sequence[float]) -> float:
    """Return which share of the rows equal weights would need for as much (Kish 1965)."""
    return math.fsum(weights) ** 2 / math.fsum(w * w for w in weights) / len(weights)


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
    `units` are the independent ones, used where the standard error is 0 or the mean is 0 or 1.
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
    """
    share = ((1 - confidence) / 2) ** (1 / units)
    # Rounding may not carry an end past the estimate.
    low = min(estimate, share * estimate + (1 - share) * bounds[0])
    high = max(estimate, share * estimate + (1 - share) * bounds[1])
    return Interval(estimate, low, high, confidence, "exact limit for equal values")


def wilson_limits(rate: float, rows: float, quantile: float) -> tuple[float, float]:
    """Solve Wilson's quadratic for a rate over `rows` rows, whole or effective, within 0..1."""
    # Written without division by `rows`, which may be as small as 1e-9.
    squared = quantile * quantile
    centre = (rate * rows + squared / 2) / (rows + squared)
    half = quantile / (rows + squared) * math.sqrt(rate * (1 - rate) * rows + squared / 4)
    # At 0 and 1 rounding could push an end just past the rate.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


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
    """Estimate the CR2 standard error of a mean, robust to clusters as in `mean_interval`.

    Raises:
        InvalidScoresError: There are fewer than two clusters, so no spread can be seen.
    """
    require_scores("values", values, bounds=None)
    mean = math.fsum(values) / len(values)
    if clusters is None and len(values) > 1:
        squares = math.fsum(times * (value - mean) ** 2 for value, times in equal_values(values))
        error = math.sqrt(squares / (len(values) - 1) / len(values))
        return MeanError(mean, error, float(len(values) - 1), len(values), len(values))
    clusters = [None] if clusters is None else clusters
    require_aligned("rows", values, "clusters", clusters)
    totals, sizes = cluster_totals((value - mean for value in values), clusters=clusters)
    if len(sizes) < 2:
        raise InvalidScoresError(
            f"{len(values)} value(s) in {len(sizes)} cluster; a standard error needs two clusters"
        )
    rows = len(values)
    units = zip(totals, sizes, strict=True)
    variance = math.fsum(total * total / (1 - size / rows) for total, size in units) / rows**2
    counted = Counter(sizes)
    freedom = min(_degrees_of_freedom(counted, correlation=share) for share in (0.0, 1.0))
    return MeanError(mean, math.sqrt(variance), freedom, len(sizes), rows)


def count_interval(
    values: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    lowest: float = -math.inf,
    confidence: float = 0.95,
) -> Interval:
    """Estimate the mean of counts, such as words a row, or of their differences, by Student's t.

    Args:
        values: Finite numbers, one per row.
        clusters: As for `mean_interval`.
        lowest: Least value that there can be: 0 for counts.
        confidence: Coverage of the interval, as a fraction.

    Returns:
        An interval without width where one cluster or equal values show no spread.
    """
    require_scores("values", values, bounds=None)
    mean = math.fsum(values) / len(values)
    units = len(values) if clusters is None else len(cluster_totals(values, clusters=clusters)[1])
    if units < 2:
        return Interval(mean, mean, mean, confidence, "no spread was seen")
    error = mean_error(values, clusters=clusters)
    quantile = student_t_quantile((1 + confidence) / 2, error.degrees_of_freedom)
    reach = quantile * error.standard_error
    return Interval(mean, max(lowest, mean - reach), mean + reach, confidence, "Student t")


def interval_of_sums(
    rows: int, total: int, squares: int, *, lowest: float, confidence: float = 0.95
) -> Interval | None:
    """Estimate the mean of counts of independent rows; as `count_interval` otherwise.

    Args:
        rows: How many counts.
        total: Their sum.
        squares: The sum of their squares.
        lowest: As for `count_interval`.
        confidence: As for `count_interval`.

    Returns:
        None without rows.
    """
    if rows == 0:
        return None
    mean = total / rows
    if rows == 1:
        return Interval(mean, mean, mean, confidence, "no spread was seen")
    error = math.sqrt((squares * rows - total * total) / (rows - 1)) / rows
    reach = student_t_quantile((1 + confidence) / 2, rows - 1.0) * error
    return Interval(mean, max(lowest, mean - reach), mean + reach, confidence, "Student t")


def effective_rows(
    matches: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    weights: Sequence[float] | None = None,
) -> float:
    """Count the independent yes/no rows that would tell as much as these clustered ones.

    The rows divided by Kish's design effect (1965), as Rao and Scott (1992) do for tables: from 1
    to the number of rows. The number of clusters where all rows are equal, because then nothing
    says how alike the rows of a cluster are.
    """
    units = len(cluster_totals(matches, clusters=clusters)[0])
    alike = units < 2 or all(matches) or not any(matches)
    if alike or (weights is None and units == len(matches)):
        return max(1.0, units * (1.0 if weights is None else _evenness(weights)))
    error = mean_error(weighted_values(matches, weights), clusters=clusters)
    if error.standard_error < 1e-12:
        return float(units)
    variance = error.mean * (1 - error.mean)
    return max(1.0, min(len(matches), variance / error.standard_error**2 + 1))


def cluster_totals(
    values: Iterable[float], *, clusters: Sequence[Hashable | None] | None
) -> tuple["array[float]", "array[int]"]:
    """Return the sum and the number of rows of each cluster, in order of first appearance.

    Two arrays: a million rows are no reason to make a million lists.

    Args:
        values: One per row.
        clusters: Aligned; None, for all or for one row, means an independent row.

    Raises:
        UnpairedScoresError: The lengths differ.
    """
    if clusters is None:
        totals = array("d", values)
        return totals, array("q", [1]) * len(totals)
    totals, sizes = array("d"), array("q")
    places: dict[Hashable, int] = {}
    for value, cluster in zip(values, clusters, strict=True):
        place = len(sizes) if cluster is None else places.setdefault(cluster, len(sizes))
        if place == len(sizes):
            totals.append(value)
            sizes.append(1)
        else:
            totals[place] += value
            sizes[place] += 1
    return totals, sizes


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
