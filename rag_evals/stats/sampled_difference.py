"""By how much do two runs differ, if a dear judge graded a sample of the rows and a free one all?

PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453) on differences of paired rows: the mean
difference of the free judge over all rows, corrected by how far it is off on the sample.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rag_evals.stats.checks import require_aligned, require_fraction, require_scores
from rag_evals.stats.clusters import MeanError, mean_error
from rag_evals.stats.distributions import student_t_quantile
from rag_evals.stats.intervals import Interval
from rag_evals.stats.significance import SignificanceTest, t_test

_FEWEST_ROWS = 20
_FEWEST_MOVED = 10


@dataclass(frozen=True, slots=True)
class SampledDifference:
    """A mean difference over all rows, of which a sample was graded by the dear judge.

    Attributes:
        difference: Candidate minus baseline over all rows, -1 to 1.
        significance: The test that the interval belongs to.
        sampled: Rows of the sample.
        rows: All rows.
        power: How much the free judge was trusted, above 0 and up to 1.
        effective_rows: Rows of a sample that alone would give as narrow an interval, about.
    """

    difference: Interval
    significance: SignificanceTest
    sampled: int
    rows: int
    power: float
    effective_rows: float


def sampled_difference(
    differences: Sequence[float],
    guessed: Sequence[float],
    others: Sequence[float],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    other_clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
) -> SampledDifference | None:
    """Estimate a mean difference over all rows from a random sample of them.

    Args:
        differences: Candidate minus baseline by the dear judge, -1 to 1, one for each row of the
            sample.
        guessed: The same by the free judge, aligned with `differences`.
        others: The same by the free judge for all other rows.
        clusters: The document of each row of the sample, aligned; None means independent rows.
        other_clusters: The document of each other row, aligned with `others`.
        confidence: Coverage of the interval, as a fraction.

    Returns:
        None where the free judge narrows nothing: too few rows, too few that differ, or no relation
        between the two judges.

    Raises:
        InvalidScoresError: A number is not from -1 to 1.
        UnpairedScoresError: Lists that must be aligned have different lengths.
        ConfigurationError: `confidence` is not a fraction.
    """
    require_fraction("confidence", confidence)
    require_aligned("differences", differences, "guessed differences", guessed)
    if min(len(differences), len(others)) < _FEWEST_ROWS:
        return None
    for name, values in (("differences", differences), ("guessed", guessed), ("others", others)):
        require_scores(name, values, bounds=(-1.0, 1.0))
    # A normal limit needs rows that differ: two of 200 would promise that there are no others.
    if sum(change != 0 for change in differences) < _FEWEST_MOVED:
        return None
    power = _best_power(differences, guessed, others)
    if power == 0:
        return None
    alone = mean_error(differences, clusters=clusters)
    error = _error(differences, guessed, others, power, clusters, other_clusters)
    if not 0 < error.standard_error < alone.standard_error:
        return None
    reach = error.standard_error * student_t_quantile(
        (1 + confidence) / 2, error.degrees_of_freedom
    )
    low, high = max(-1.0, error.mean - reach), min(1.0, error.mean + reach)
    return SampledDifference(
        Interval(error.mean, low, high, confidence, "PPI++, cluster-robust Student t"),
        t_test(error),
        len(differences),
        len(differences) + len(others),
        power,
        len(differences) * (alone.standard_error / error.standard_error) ** 2,
    )


def _best_power(
    differences: Sequence[float], guessed: Sequence[float], others: Sequence[float]
) -> float:
    """Choose the weight of the free judge that makes the variance least (PPI++)."""
    few, many = len(differences), len(others)
    mean, guess = math.fsum(differences) / few, math.fsum(guessed) / few
    pairs = zip(differences, guessed, strict=True)
    covariance = math.fsum((one - mean) * (two - guess) for one, two in pairs) / (few - 1)
    spread = _spread([*guessed, *others])
    return 0.0 if spread == 0 else min(1.0, max(0.0, covariance / ((1 + few / many) * spread)))


def _spread(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _error(
    differences: Sequence[float],
    guessed: Sequence[float],
    others: Sequence[float],
    power: float,
    clusters: Sequence[Hashable | None] | None,
    other_clusters: Sequence[Hashable | None] | None,
) -> MeanError:
    """Return the corrected mean difference and its standard error."""
    rests = [one - power * two for one, two in zip(differences, guessed, strict=True)]
    few, many = len(rests), len(others)
    rest, other = math.fsum(rests) / few, math.fsum(others) / many
    rows = few + many
    # Each row's part in the estimate. A document may have rows on both sides, which vary together.
    parts = [(value - rest) * rows / few for value in rests]
    parts += [power * (value - other) * rows / many for value in others]
    together = None
    if clusters is not None or other_clusters is not None:
        together = [*(clusters or [None] * few), *(other_clusters or [None] * many)]
    of_all, of_sample = mean_error(parts, clusters=together), mean_error(rests, clusters=clusters)
    # One more than the mean takes, for the power that the same rows chose.
    freedom = max(1.0, of_sample.degrees_of_freedom - 1)
    return MeanError(rest + power * other, of_all.standard_error, freedom, of_sample.units, few)
