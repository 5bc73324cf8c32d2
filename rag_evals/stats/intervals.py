"""Intervals for means and rates.

With fewer than a few hundred rows, the normal approximation s / sqrt(n) has too little coverage
(Bowyer et al. 2025, arXiv:2503.01747). Rates use Wilson intervals instead, and mean scores use
Wilson intervals with Student quantiles and the effective number of rows.

Statements in an answer, and answers about a document, are not independent. The standard error first
sums the residuals of each cluster (Liang and Zeger 1986; Miller 2024, arXiv:2411.00640), with the
small-sample correction CR2 and its degrees of freedom (Bell and McCaffrey 2002). If every row is
a separate cluster, this is the usual s / sqrt(n) with n - 1 degrees of freedom.
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

Keys = Sequence[Hashable | None] | None
"""The cluster of each row, such as its document; None if the row, or every row, is independent."""

Weights = Sequence[float] | None
"""Number of rows that each row represents; None if all were equally likely to be drawn."""


def require_fraction(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ConfigurationError(
            f"{name}={value!r} is not between 0 and 1; for 95 %, pass {name}=0.95"
        )


def require_scores(
    name: str, values: Sequence[float], *, bounds: tuple[float, float] | None = (0.0, 1.0)
) -> None:
    """Reject an empty list, and numbers that are not finite or are outside `bounds`."""
    if not values:
        raise InvalidScoresError(f"{name} is empty; at least one number is needed")
    low, high = (-math.inf, math.inf) if bounds is None else bounds
    # A sum is finite only if all its terms are.
    if math.isfinite(sum(values)) and low <= min(values) and max(values) <= high:
        return
    for position, value in enumerate(values):
        if not (low <= value <= high and math.isfinite(value)):
            wanted = "a finite number" if bounds is None else f"a number from {low:g} to {high:g}"
            raise InvalidScoresError(f"{name}[{position}] is {value!r}; it must be {wanted}")


def require_aligned(first_name: str, first: Sized, second_name: str, second: Sized) -> None:
    if len(first) != len(second):
        raise UnpairedScoresError(
            f"{len(first)} {first_name}, {len(second)} {second_name}; "
            "both lists need one entry for each sample, in the same order"
        )


def require_both_labels(labels: Sequence[bool]) -> None:
    if not labels:
        raise InvalidScoresError("labels is empty; at least one labelled row is needed")
    if all(labels) or not any(labels):
        raise TooFewLabelsError(
            f"all {len(labels)} labels are {bool(labels[0])!r}; both labels are needed"
        )


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its confidence interval; `method` describes how it was computed."""

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
        """True if `value` is inside the interval, including its endpoints."""
        return self.low <= value <= self.high


# Rows are clustered by a field if more than this share of them have a repeated value.
_MOST_REPEATED = 0.05


@dataclass(frozen=True, slots=True)
class Clusters:
    """Rows grouped by a value that they share.

    Attributes:
        by: "question", "context", or a column name.
        keys: The cluster of each row; None for an independent row.
    """

    by: str
    keys: Sequence[Hashable | None]

    @property
    def units(self) -> int:
        """Number of clusters and independent rows."""
        return count_units(len(self.keys), self.keys)

    def of_mean(self, scores: Sequence[float], confidence: float = 0.95) -> Interval:
        """Estimate the mean score; `method` includes the number of clusters."""
        found = mean_interval(scores, clusters=self.keys, confidence=confidence)
        return replace(found, method=f"{found.method}, {self.units} clusters by {self.by}")


def are_clustered(rows: int, within: int, repeated: int) -> bool:
    """True if enough rows share a value to cluster them, unless they would form a single cluster.

    `within` is the number of rows that share a value, and `repeated` the number of such values.
    """
    return within > _MOST_REPEATED * rows and rows - within + repeated > 1


def find_clusters(shared: Mapping[str, Sequence[int]]) -> Clusters | None:
    """Cluster rows by the first field in which more than 5 % of rows share a value.

    `shared` maps each field, such as "question", to each row's hash of its value, or 0 without one.
    Return None if rows are independent, or if they would form a single cluster.
    """
    for by, hashes in shared.items():
        runs = ((key, sum(1 for _ in run)) for key, run in groupby(sorted(hashes)) if key)
        repeated = {key: size for key, size in runs if size > 1}
        if are_clustered(len(hashes), sum(repeated.values()), len(repeated)):
            return Clusters(by, [key if key in repeated else None for key in hashes])
    return None


def mean_interval(
    scores: Sequence[float],
    *,
    clusters: Keys = None,
    weights: Weights = None,
    confidence: float = 0.95,
) -> Interval:
    """Estimate the population's mean score; even for identical scores, the width is not 0."""
    require_scores("scores", scores)
    require_fraction("confidence", confidence)
    if clusters is not None:
        require_aligned("rows", scores, "clusters", clusters)
    units = count_units(len(scores), clusters)
    # Rounding differences are not variance.
    if units < 2 or max(scores) - min(scores) < 1e-9:
        mean = math.fsum(scores) / len(scores)
        alike = max(1, int(units * _evenness(weights)))
        return no_spread_interval(mean, alike, confidence=confidence)
    error = mean_error(weighted_values(scores, weights), clusters=clusters)
    freedom = error.degrees_of_freedom * _evenness(weights)
    return replace(error, degrees_of_freedom=freedom).wilson_interval(confidence)


_MOST_DISTINCT = 2_000


def equal_values(values: Sequence[float]) -> Iterable[tuple[float, int]]:
    """Return distinct values with their counts; if there are too many, every value with count 1."""
    counts: Counter[float] = Counter()
    for begin in range(0, len(values), _MOST_DISTINCT):
        counts.update(values[begin : begin + _MOST_DISTINCT])
        if len(counts) > _MOST_DISTINCT:
            return zip(values, repeat(1))
    return counts.items()


def weighted_values(values: Sequence[float], weights: Weights) -> Sequence[float]:
    """Return values whose unweighted mean and standard error equal the weighted ones (Hajek).

    Each is the weighted mean plus the value's contribution (Taylor linearization).
    """
    if weights is None:
        return values
    require_aligned("values", values, "weights", weights)
    total = math.fsum(weights)
    mean = math.fsum(map(math.prod, zip(values, weights, strict=True))) / total
    share = len(values) / total
    return [mean + w * share * (one - mean) for one, w in zip(values, weights, strict=True)]


def _evenness(weights: Weights) -> float:
    """Return the weights' effective sample size as a share of the rows (Kish 1965)."""
    if weights is None:
        return 1.0
    return math.fsum(weights) ** 2 / math.fsum(w * w for w in weights) / len(weights)


def no_spread_interval(
    estimate: float,
    units: int,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence: float = 0.95,
) -> Interval:
    """Return an interval for the mean when all independent units have the same value.

    n identical values are likely only if at least a share of tail ** (1 / n) of the population has
    that value; the remainder may be at either bound. At a bound, this is the Clopper-Pearson limit
    (the "rule of three").
    """
    share = ((1 - confidence) / 2) ** (1 / units)
    # Rounding must not move a limit past the estimate.
    low = min(estimate, share * estimate + (1 - share) * bounds[0])
    high = max(estimate, share * estimate + (1 - share) * bounds[1])
    return Interval(estimate, low, high, confidence, "exact limit for equal values")


def wilson_limits(rate: float, rows: float, quantile: float) -> tuple[float, float]:
    """Return the Wilson limits for a rate; `rows` may be an effective number of rows."""
    # Avoid dividing by `rows`, which can be as small as 1e-9.
    squared = quantile * quantile
    centre = (rate * rows + squared / 2) / (rows + squared)
    half = quantile / (rows + squared) * math.sqrt(rate * (1 - rate) * rows + squared / 4)
    # At 0 and 1, rounding could move a limit past the rate.
    return min(rate, max(0.0, centre - half)), max(rate, min(1.0, centre + half))


@dataclass(frozen=True, slots=True)
class MeanError:
    """A mean and its standard error; `units` is the number of clusters and independent rows."""

    mean: float
    standard_error: float
    degrees_of_freedom: float
    units: int

    def student_interval(
        self, low: float, high: float, confidence: float = 0.95, method: str = "Student t"
    ) -> Interval:
        """Return Student's t interval, cut off at `low` and `high`."""
        reach = self._quantile(confidence) * self.standard_error
        low, high = max(low, self.mean - reach), min(high, self.mean + reach)
        return Interval(self.mean, low, high, confidence, method)

    def wilson_interval(self, confidence: float = 0.95) -> Interval:
        """Return an interval within 0 to 1 for a mean score.

        It is a Wilson interval for the number of yes/no rows that would have this standard error,
        with a Student quantile (Korn and Graubard 1998; Franco et al. 2019). If the error is 0, or
        the mean is 0 or 1, it uses the number of independent `units` instead.
        """
        variance = self.mean * (1 - self.mean)
        if self.standard_error < 1e-12 and variance > 0:
            return no_spread_interval(self.mean, self.units, confidence=confidence)
        effective = variance / self.standard_error**2 if variance > 0 else float(self.units)
        low, high = wilson_limits(self.mean, effective, self._quantile(confidence))
        method = "Wilson with effective rows and Student t"
        return Interval(self.mean, low, high, confidence, method)

    def _quantile(self, confidence: float) -> float:
        return student_t_quantile((1 + confidence) / 2, self.degrees_of_freedom)


def mean_error(values: Sequence[float], *, clusters: Keys = None) -> MeanError:
    """Estimate the CR2 standard error of a mean.

    Raises:
        InvalidScoresError: There are fewer than two clusters.
    """
    mean = math.fsum(values) / len(values)
    if clusters is None and len(values) > 1:
        squares = math.fsum(times * (value - mean) ** 2 for value, times in equal_values(values))
        error = math.sqrt(squares / (len(values) - 1) / len(values))
        return MeanError(mean, error, float(len(values) - 1), len(values))
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
    freedom = _degrees_of_freedom(Counter(sizes))
    return MeanError(mean, math.sqrt(variance), freedom, len(sizes))


def count_interval(
    values: Sequence[float], *, clusters: Keys = None, lowest: float = -math.inf
) -> Interval:
    """Estimate the mean of counts, such as words per row, or of their differences, by Student's t.

    Limits are never below `lowest`. The width is 0 for a single cluster or identical values.
    """
    require_scores("values", values, bounds=None)
    if count_units(len(values), clusters) < 2:
        mean = math.fsum(values) / len(values)
        return Interval(mean, mean, mean, method="no spread was seen")
    return mean_error(values, clusters=clusters).student_interval(lowest, math.inf)


def interval_of_sums(rows: int, total: int, squares: int) -> Interval:
    """Like `count_interval`, but computed from the sums of the counts and of their squares."""
    if rows < 2:
        return count_interval([total])
    error = math.sqrt((squares * rows - total * total) / (rows - 1)) / rows
    return MeanError(total / rows, error, rows - 1.0, rows).student_interval(0.0, math.inf)


def effective_rows(
    matches: Sequence[bool], *, clusters: Keys = None, weights: Weights = None
) -> float:
    """Return the effective number of independent yes/no rows, between 1 and the number of rows.

    It is the number of rows divided by Kish's design effect (1965), as Rao and Scott (1992) do for
    tables. If all rows are identical, the effect is undefined, so the number of clusters is used.
    """
    units = count_units(len(matches), clusters)
    alike = units < 2 or all(matches) or not any(matches)
    if alike or (weights is None and units == len(matches)):
        return max(1.0, units * _evenness(weights))
    error = mean_error(weighted_values(matches, weights), clusters=clusters)
    if error.standard_error < 1e-12:
        return float(units)
    variance = error.mean * (1 - error.mean)
    return min(len(matches), variance / error.standard_error**2 + 1)


def count_units(rows: int, clusters: Keys) -> int:
    """Return the number of clusters and independent rows."""
    if clusters is None:
        return rows
    alone = sum(cluster is None for cluster in clusters)
    return alone + len(set(clusters)) - (alone > 0)


def cluster_totals(
    values: Iterable[float], *, clusters: Keys
) -> tuple["array[float]", "array[int]"]:
    """Return the sum and size of each cluster, in order of first appearance."""
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


def _degrees_of_freedom(sizes: Counter[int]) -> float:
    """Return Satterthwaite's degrees of freedom (Bell and McCaffrey 2002).

    Rows within a cluster are assumed to be equal. If they were independent, there would be no fewer
    degrees of freedom, and more with a few large clusters.
    """
    rows = sum(size * count for size, count in sizes.items())
    squared = sum(size * size * count for size, count in sizes.items())
    weight = {size: 1 / (1 - size / rows) for size in sizes}

    def covariance(first: int, second: int) -> float:
        """Return the covariance of the residual sums of two clusters with these sizes."""
        return first * second * (squared / rows - first - second) / rows

    trace = squares = 0.0
    for first, count in sizes.items():
        own = weight[first] * (first * first + covariance(first, first))
        trace += count * own
        squares += count * own * own
        for second, other in sizes.items():
            pairs = count * (other - (first == second))
            squares += pairs * weight[first] * weight[second] * covariance(first, second) ** 2
    return trace * trace / squares
