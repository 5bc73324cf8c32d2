"""How well does the judge agree with people, at which threshold, and people with each other?

Counts first, then rates with intervals. Kappa alone misleads when most statements are supported
(Feinstein and Cicchetti 1990), so raw agreement, base rate and both error rates are given with it.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import Any, TypeVar

from rag_evals.errors import InvalidScoresError, TooFewLabelsError
from rag_evals.stats.distributions import quantile
from rag_evals.stats.intervals import (
    Interval,
    effective_rows,
    effective_wilson_interval,
    mean_interval,
    require_aligned,
    require_both_labels,
    require_fraction,
    require_positive,
    require_scores,
    weighted_values,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of each pair of label and verdict, label first: True and True are `true_positives`."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def positives(self) -> int:
        """Rows that people label True."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> int:
        """Rows that people label False."""
        return self.true_negatives + self.false_positives

    @property
    def sensitivity(self) -> float | None:
        """Share of True labels that the judge finds (recall); None without True labels."""
        return self.true_positives / self.positives if self.positives else None

    @property
    def specificity(self) -> float | None:
        """Share of False labels that the judge finds; None without False labels."""
        return self.true_negatives / self.negatives if self.negatives else None

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity, 0.5 for a coin; None if one label is absent."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge measured against people's labels; kappa goes from -1 to 1, all others from 0 to 1.

    Attributes:
        confusion: The counts.
        raw_agreement: Share of rows where both say the same.
        base_rate: Share of rows that people label True.
        judged_rate: Share of rows that the judge calls True.
        sensitivity: Of the True labels, the share found; None without True labels.
        specificity: Of the False labels, the share found; None without False labels.
        precision: Of the True verdicts, the share confirmed; None without True verdicts.
        balanced_accuracy: Mean of sensitivity and specificity; None if one label is absent.
        kappa: Cohen's kappa; None when people and judge use one and the same word only.
    """

    confusion: Confusion
    raw_agreement: Interval
    base_rate: Interval
    judged_rate: Interval
    sensitivity: Interval | None
    specificity: Interval | None
    precision: Interval | None
    balanced_accuracy: Interval | None
    kappa: Interval | None


def count_confusion(labels: Sequence[bool], verdicts: Sequence[bool]) -> Confusion:
    """Count how often label and verdict meet."""
    require_aligned("labels", labels, "verdicts", verdicts)
    pairs = Counter(zip(map(bool, labels), map(bool, verdicts), strict=True))
    return Confusion(pairs[True, True], pairs[False, True], pairs[True, False], pairs[False, False])


def measure_agreement(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
    resamples: int = 4_000,
    seed: int = 0,
) -> Agreement:
    """Measure a judge against people's labels, every number with its interval.

    Args:
        labels: What people say, one per row.
        verdicts: What the judge says, aligned.
        clusters: The answer of each statement, aligned; None means independent rows.
        weights: As for `mean_interval`; counts stay counts.
        confidence: Coverage of each interval, as a fraction.
        resamples: Draws behind the intervals of balanced accuracy and kappa.
        seed: Same seed, same intervals.
    """
    confusion = count_confusion(labels, verdicts)
    if not labels:
        raise InvalidScoresError("labels is empty; at least one labelled row is needed")
    matches = [label == verdict for label, verdict in zip(labels, verdicts, strict=True)]
    mean = partial(mean_interval, clusters=clusters, weights=weights, confidence=confidence)
    drawn: dict[str, Any] = {
        "clusters": clusters,
        "weights": weights,
        "confidence": confidence,
        "resamples": resamples,
        "seed": seed,
    }

    def rate_among(chosen: Sequence[bool]) -> Interval | None:
        rows = [row for row, wanted in enumerate(chosen) if wanted]
        if not rows:
            return None
        return mean_interval(
            [matches[row] for row in rows],
            clusters=_of_rows(clusters, rows),
            weights=_of_rows(weights, rows),
            confidence=confidence,
        )

    return Agreement(
        confusion=confusion,
        raw_agreement=mean(matches),
        base_rate=mean(labels),
        judged_rate=mean(verdicts),
        sensitivity=rate_among(labels),
        specificity=rate_among([not label for label in labels]),
        precision=rate_among(verdicts),
        balanced_accuracy=balanced_accuracy_interval(labels, verdicts, **drawn),
        kappa=kappa_interval(labels, verdicts, **drawn),
    )


def balanced_accuracy_interval(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
    resamples: int = 4_000,
    seed: int = 0,
) -> Interval | None:
    """Estimate the mean of sensitivity and specificity; arguments are those of `measure_agreement`.

    Returns:
        0 to 1, where 0.5 is a coin; None if one of the two labels is absent.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    found, false, missed, rejected = _weigh(labels, verdicts, weights)
    if not (found + missed and false + rejected):
        return None
    estimate = (found / (found + missed) + rejected / (false + rejected)) / 2
    rng = random.Random(seed)
    rates = draw_error_rates(
        labels, verdicts, clusters=clusters, weights=weights, resamples=resamples, rng=rng
    )
    draws = [(sensitivity + specificity) / 2 for sensitivity, specificity in rates]
    return drawn_limits(estimate, draws, confidence)


def draw_error_rates(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None,
    weights: Sequence[float] | None = None,
    resamples: int,
    rng: random.Random,
) -> list[tuple[float, float]]:
    """Draw sensitivities and specificities that these labels allow; both labels occur.

    A parametric bootstrap smoothed by Jeffreys' half count: resampling rows would take a judge
    without a mistake in five rows for one that makes none at all. Clusters shrink the counts by
    the design effect.
    """
    shapes = []
    for wanted in (True, False):
        rows = [row for row, label in enumerate(labels) if bool(label) is wanted]
        matches = [bool(verdicts[row]) is wanted for row in rows]
        own = _of_rows(weights, rows)
        size = effective_rows(matches, clusters=_of_rows(clusters, rows), weights=own)
        values = weighted_values(matches, own)
        hits = sum(values) / len(values)
        shapes.append((hits * size + 0.5, (1 - hits) * size + 0.5))
    return [(rng.betavariate(*shapes[0]), rng.betavariate(*shapes[1])) for _ in range(resamples)]


def kappa_interval(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
    resamples: int = 4_000,
    seed: int = 0,
) -> Interval | None:
    """Estimate agreement beyond what habits would give (Cohen 1960), by a smoothed bootstrap.

    The plain bootstrap gives no width after full agreement and covers 24 % then; the Bayesian one
    (Rubin 1981) with one row spread over all cells (Perks 1947) does not fail there. Arguments are
    those of `measure_agreement`; clusters shrink the counts by the design effect.

    Returns:
        1 for full agreement, 0 for chance, below 0 for worse; None when both use one and the same
        word only, or there are no rows.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    counts = _weigh(labels, verdicts, weights)
    estimate = _kappa(*counts)
    if estimate is None:
        return None
    matches = [label == verdict for label, verdict in zip(labels, verdicts, strict=True)]
    share = effective_rows(matches, clusters=clusters, weights=weights) / len(matches)
    shapes = [count * share + 1 / 4 for count in counts]
    rng = random.Random(seed)
    drawn = (_kappa(*(rng.gammavariate(shape, 1) for shape in shapes)) for _ in range(resamples))
    return drawn_limits(estimate, [kappa for kappa in drawn if kappa is not None], confidence)


def _weigh(
    labels: Sequence[bool], verdicts: Sequence[bool], weights: Sequence[float] | None
) -> tuple[float, float, float, float]:
    """Return the counts of a confusion, each row counted by its weight, rows in all."""
    if weights is None:
        return astuple(count_confusion(labels, verdicts))
    share, sums = len(weights) / math.fsum(weights), Counter[tuple[bool, bool]]()
    for label, verdict, weight in zip(labels, verdicts, weights, strict=True):
        sums[bool(label), bool(verdict)] += weight * share  # type: ignore[assignment]  # a sum
    return sums[True, True], sums[False, True], sums[True, False], sums[False, False]


def _of_rows(values: Sequence[T] | None, rows: Sequence[int]) -> list[T] | None:
    return None if values is None else [values[row] for row in rows]


def _kappa(both: float, judge: float, people: float, neither: float) -> float | None:
    total = both + judge + people + neither
    by_chance = (both + judge) * (both + people) + (neither + judge) * (neither + people)
    room = total * total - by_chance
    return (total * (both + neither) - by_chance) / room if room > 0 else None


def drawn_limits(
    estimate: float, draws: Sequence[float], confidence: float, method: str = "smoothed bootstrap"
) -> Interval:
    """Read an interval from draws; it holds the estimate.

    Draws shrink towards the middle, so that an estimate of 1 can lie above nearly all of them.
    """
    ordered = sorted(draws)
    low, high = (quantile(ordered, (1 + side * confidence) / 2) for side in (-1, 1))
    return Interval(estimate, min(low, estimate), max(high, estimate), confidence, method)


Item = tuple[tuple[Hashable, int], ...]


def krippendorff_interval(
    ratings: Sequence[Sequence[Hashable | None]],
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval | None:
    """Estimate agreement of people on categories: Krippendorff's alpha (2011), resampling items.

    Args:
        ratings: One list per labelled item with the category that each person gave it, in any
            order and number; None where a person gave none.
        confidence: Coverage of the interval (Zapf et al. 2016), as a fraction; too low below
            some 30 items, and without width after full agreement.
        resamples: Bootstrap draws.
        seed: Same seed, same interval.

    Returns:
        1 for full agreement, 0 for chance, below 0 for worse; None when no item has two labels or
        only one category occurs, because then chance cannot be told from agreement.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    # One label alone has nothing to agree with.
    counts = (Counter(label for label in item if label is not None) for item in ratings)
    items = [tuple(count.items()) for count in counts if count.total() > 1]
    estimate = _alpha(items)
    if estimate is None:
        return None
    rng = random.Random(seed)
    draws = sorted(
        alpha
        for _ in range(resamples)
        if (alpha := _alpha(rng.choices(items, k=len(items)))) is not None
    )
    return drawn_limits(estimate, draws or [estimate], confidence, "bootstrap of items")


def _alpha(items: Sequence[Item]) -> float | None:
    """1 - observed / expected disagreement over all pairs of labels within items."""
    disagreement = 0.0
    categories: dict[Hashable, int] = {}
    for item, times in Counter(items).items():
        size = sum(count for _, count in item)
        same_pairs = sum(count * (count - 1) for _, count in item)
        disagreement += times * (size * (size - 1) - same_pairs) / (size - 1)
        for label, count in item:
            categories[label] = categories.get(label, 0) + times * count
    total = sum(categories.values())
    unlike_pairs = total * total - sum(count * count for count in categories.values())
    if unlike_pairs == 0:
        return None
    return 1 - disagreement * (total - 1) / unlike_pairs


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """The counts that follow where scores from a threshold up count as True."""

    threshold: float
    confusion: Confusion


def threshold_curve(labels: Sequence[bool], scores: Sequence[float]) -> list[ThresholdPoint]:
    """Count the confusion at each distinct score, from the lowest (all True) to the highest."""
    positives, negatives = _split(labels, scores)
    points = []
    for threshold in sorted(set(scores)):
        missed = bisect_left(positives, threshold)
        rejected = bisect_left(negatives, threshold)
        confusion = Confusion(
            true_positives=len(positives) - missed,
            false_positives=len(negatives) - rejected,
            false_negatives=missed,
            true_negatives=rejected,
        )
        points.append(ThresholdPoint(threshold, confusion))
    return points


def best_threshold(labels: Sequence[bool], scores: Sequence[float]) -> ThresholdPoint:
    """Find the threshold with the best balanced accuracy, the higher one of equals.

    Its figures flatter the judge, because the same rows chose it: check it on other labels.

    Raises:
        TooFewLabelsError: One of the two labels is absent.
    """
    require_both_labels(labels)
    return max(
        threshold_curve(labels, scores),
        key=lambda point: (point.confusion.balanced_accuracy or 0.0, point.threshold),
    )


def auroc_interval(
    labels: Sequence[bool], scores: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """Estimate how often a True row scores above a False one, with DeLong's standard error (1988).

    Args:
        labels: What people say, one per independent row; each label at least twice.
        scores: What the judge says, finite numbers, aligned; ties count half.
        confidence: Coverage of the interval, as a fraction.

    Raises:
        TooFewLabelsError: One label occurs less than twice.
    """
    require_fraction("confidence", confidence)
    require_both_labels(labels)
    positives, negatives = _split(labels, scores)
    fewest = min(len(positives), len(negatives))
    if fewest < 2:
        raise TooFewLabelsError(f"one label occurs {fewest} time; an interval needs it twice")
    # How often each row is ordered right against the rows of the other label.
    above = [_share_below(score, negatives) for score in positives]
    below = [1 - _share_below(score, positives) for score in negatives]
    area = math.fsum(above) / len(above)
    variance = sum(
        math.fsum((share - area) ** 2 for share in shares) / (len(shares) * (len(shares) - 1))
        for shares in (above, below)
    )
    # The rarer label limits what can be known.
    return effective_wilson_interval(
        area, math.sqrt(variance), fewest - 1, fewest, confidence=confidence
    )


def calibration_error(labels: Sequence[bool], scores: Sequence[float], *, bins: int = 10) -> float:
    """Measure the expected calibration error over equal ranges of scores (Naeini et al. 2015).

    Args:
        labels: What people say, one per row.
        scores: What the judge says, 0 to 1, aligned.
        bins: Ranges of equal width, at least 1.

    Returns:
        0 (a score of 0.8 is right in 80 of 100 cases) to 1; too high where ranges hold few rows.
    """
    require_aligned("labels", labels, "scores", scores)
    require_scores("scores", scores)
    require_positive("bins", bins)
    gaps: list[list[float]] = [[] for _ in range(bins)]
    for label, score in zip(labels, scores, strict=True):
        # 0.29 * 100 is 28.999999999999996; the nudge keeps 0.29 in the range that starts there.
        gaps[min(int(score * bins + 1e-9), bins - 1)].append(score - bool(label))
    return math.fsum(abs(math.fsum(each)) for each in gaps) / len(scores)


def _split(labels: Sequence[bool], scores: Sequence[float]) -> tuple[list[float], list[float]]:
    """Sort the scores of True and of False rows."""
    require_aligned("labels", labels, "scores", scores)
    require_scores("scores", scores, bounds=None)
    pairs = list(zip(labels, scores, strict=True))
    return (
        sorted(score for label, score in pairs if label),
        sorted(score for label, score in pairs if not label),
    )


def _share_below(score: float, ordered: Sequence[float]) -> float:
    """Share of `ordered` below the score, ties counted half."""
    return (bisect_left(ordered, score) + bisect_right(ordered, score)) / (2 * len(ordered))
