"""Agreement of a judge with people, and of people with each other; thresholds.

Kappa alone is misleading if most statements are supported (Feinstein and Cicchetti 1990), so raw
agreement, base rate and both error rates come with it.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import astuple, dataclass
from functools import partial

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


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of labels and verdicts; "positive" refers to the verdict, "true" to its label."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity; None if one label is missing."""
        positives = self.true_positives + self.false_negatives
        negatives = self.true_negatives + self.false_positives
        if not (positives and negatives):
            return None
        return (self.true_positives / positives + self.true_negatives / negatives) / 2


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a judge with people's labels.

    Attributes:
        base_rate: Share of True labels.
        judged_rate: Share of True verdicts.
        sensitivity: Share of True labels with a True verdict; None without True labels.
        specificity: Share of False labels with a False verdict; None without False labels.
        precision: Share of True verdicts with a True label; None without True verdicts.
        balanced_accuracy: Mean of sensitivity and specificity; None if one label is missing.
        kappa: Cohen's kappa, -1 to 1; None if all labels and verdicts are equal.
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
    """Measure the agreement of a judge with people's labels.

    Args:
        labels: One per row.
        verdicts: The judge's verdicts, aligned.
        clusters: As for `mean_interval`.
        weights: As for `mean_interval`; the confusion is not weighted.
        confidence: Coverage of each interval, as a fraction.
        resamples: Draws for the intervals of balanced accuracy and kappa.
        seed: Same seed, same intervals.
    """
    require_positive("resamples", resamples)
    confusion = count_confusion(labels, verdicts)
    if not labels:
        raise InvalidScoresError("labels is empty; at least one labelled row is needed")
    matches = [label == verdict for label, verdict in zip(labels, verdicts, strict=True)]
    matched = _Matches(matches, clusters, weights)
    right, wrong = matched.of(labels), matched.of([not label for label in labels])
    mean = partial(mean_interval, clusters=clusters, weights=weights, confidence=confidence)
    counts = _weigh(labels, verdicts, weights)
    drawn = partial(_drawn_interval, resamples=resamples, confidence=confidence, seed=seed)
    return Agreement(
        confusion=confusion,
        raw_agreement=mean(matches),
        base_rate=mean(labels),
        judged_rate=mean(verdicts),
        sensitivity=right.rate(confidence),
        specificity=wrong.rate(confidence),
        precision=matched.of(verdicts).rate(confidence),
        balanced_accuracy=_balanced_accuracy(right, wrong, counts, drawn),
        kappa=_kappa_interval(counts, matched.size() / len(matches), drawn),
    )


@dataclass(frozen=True, slots=True)
class _Matches:
    values: Sequence[bool]
    clusters: Sequence[Hashable | None] | None
    weights: Sequence[float] | None

    def of(self, chosen: Sequence[bool]) -> "_Matches":
        rows = [row for row, wanted in enumerate(chosen) if wanted]
        return _Matches(
            [self.values[row] for row in rows],
            None if self.clusters is None else [self.clusters[row] for row in rows],
            None if self.weights is None else [self.weights[row] for row in rows],
        )

    def rate(self, confidence: float) -> Interval | None:
        if not self.values:
            return None
        return mean_interval(
            self.values, clusters=self.clusters, weights=self.weights, confidence=confidence
        )

    def size(self) -> float:
        return effective_rows(self.values, clusters=self.clusters, weights=self.weights)

    def shapes(self) -> tuple[float, float]:
        """Return the Beta distribution of the rate, with Jeffreys' prior.

        Resampled rows would show no spread for a judge that is right in five of five rows.
        """
        size, values = self.size(), weighted_values(self.values, self.weights)
        hits = sum(values) / len(values)
        return hits * size + 0.5, (1 - hits) * size + 0.5


_Counts = tuple[float, float, float, float]
_DrawInterval = Callable[[float, Callable[[random.Random], float | None]], Interval]


def _drawn_interval(
    estimate: float,
    draw: Callable[[random.Random], float | None],
    *,
    resamples: int,
    confidence: float,
    seed: int,
) -> Interval:
    rng = random.Random(seed)
    draws = (draw(rng) for _ in range(resamples))
    return drawn_limits(estimate, [one for one in draws if one is not None], confidence)


def _balanced_accuracy(
    right: _Matches, wrong: _Matches, counts: _Counts, drawn: _DrawInterval
) -> Interval | None:
    """Estimate the mean of both rates by a parametric bootstrap."""
    if not (right.values and wrong.values):
        return None
    found, false, missed, rejected = counts
    estimate = (found / (found + missed) + rejected / (false + rejected)) / 2
    shapes = right.shapes(), wrong.shapes()
    return drawn(estimate, lambda rng: sum(rng.betavariate(*shape) for shape in shapes) / 2)


def _kappa_interval(counts: _Counts, share: float, drawn: _DrawInterval) -> Interval | None:
    """Estimate kappa (Cohen 1960) by the Bayesian bootstrap (Rubin 1981).

    After full agreement the plain bootstrap has no width and covers 24 %, so one more row is
    spread over all cells (Perks 1947). `share` is the ratio of effective rows to rows.
    """
    estimate = _kappa(*counts)
    if estimate is None:
        return None
    shapes = [count * share + 1 / 4 for count in counts]
    return drawn(estimate, lambda rng: _kappa(*(rng.gammavariate(one, 1) for one in shapes)))


def _weigh(
    labels: Sequence[bool], verdicts: Sequence[bool], weights: Sequence[float] | None
) -> _Counts:
    """Return the weighted counts; they add up to the number of rows."""
    if weights is None:
        return astuple(count_confusion(labels, verdicts))
    share, sums = len(weights) / math.fsum(weights), Counter[tuple[bool, bool]]()
    for label, verdict, weight in zip(labels, verdicts, weights, strict=True):
        sums[bool(label), bool(verdict)] += weight * share  # type: ignore[assignment]  # a sum
    return sums[True, True], sums[False, True], sums[True, False], sums[False, False]


def _kappa(both: float, judge: float, people: float, neither: float) -> float | None:
    total = both + judge + people + neither
    by_chance = (both + judge) * (both + people) + (neither + judge) * (neither + people)
    room = total * total - by_chance
    return (total * (both + neither) - by_chance) / room if room > 0 else None


def drawn_limits(
    estimate: float, draws: Sequence[float], confidence: float, method: str = "smoothed bootstrap"
) -> Interval:
    """Return the quantiles of draws as an interval that contains the estimate.

    Smoothing pulls draws to the middle, so an estimate of 1 can be above almost all of them.
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
    """Estimate the agreement of people: Krippendorff's alpha (2011) for categories.

    Args:
        ratings: For each item the categories that people gave it, in any order; None means that
            a person gave none.
        confidence: Coverage of the bootstrap interval (Zapf et al. 2016), as a fraction; it is
            too low below about 30 items, and the interval has no width after full agreement.
        resamples: Number of bootstrap draws.
        seed: Same seed, same interval.

    Returns:
        1 for full agreement, 0 for chance, below 0 for less; None if no item has two labels or only
        one category occurs.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    # An item with one label cannot show agreement.
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
    threshold: float
    confusion: Confusion


def best_threshold(labels: Sequence[bool], scores: Sequence[float]) -> ThresholdPoint:
    """Return the threshold with the best balanced accuracy, the highest if several have it.

    Its figures are optimistic, because the same rows chose it.

    Raises:
        TooFewLabelsError: One label is missing.
    """
    require_both_labels(labels)
    positives, negatives = _split(labels, scores)
    points = []
    for threshold in set(scores):
        missed, rejected = (bisect_left(each, threshold) for each in (positives, negatives))
        found, false = len(positives) - missed, len(negatives) - rejected
        points.append(ThresholdPoint(threshold, Confusion(found, false, missed, rejected)))
    return max(points, key=lambda one: (one.confusion.balanced_accuracy or 0.0, one.threshold))


def auroc_interval(
    labels: Sequence[bool], scores: Sequence[float], *, confidence: float = 0.95
) -> Interval:
    """Estimate how often a True row scores above a False one, by DeLong's method (1988).

    Args:
        labels: One per row; each label occurs at least twice.
        scores: The judge's scores, aligned; ties count half.
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
    # For each row the share of rows with the other label that it is ranked correctly against.
    above = [_share_below(score, negatives) for score in positives]
    below = [1 - _share_below(score, positives) for score in negatives]
    area = math.fsum(above) / len(above)
    variance = sum(
        math.fsum((share - area) ** 2 for share in shares) / (len(shares) * (len(shares) - 1))
        for shares in (above, below)
    )
    # The rarer label limits the precision.
    return effective_wilson_interval(
        area, math.sqrt(variance), fewest - 1, fewest, confidence=confidence
    )


def calibration_error(labels: Sequence[bool], scores: Sequence[float], *, bins: int = 10) -> float:
    """Return the expected calibration error, 0 to 1, with bins of equal width (Naeini 2015).

    With few rows per bin it is too high.
    """
    require_aligned("labels", labels, "scores", scores)
    require_scores("scores", scores)
    require_positive("bins", bins)
    gaps: list[list[float]] = [[] for _ in range(bins)]
    for label, score in zip(labels, scores, strict=True):
        # 0.29 * 100 is 28.999999999999996; without the nudge 0.29 would be in the bin below.
        gaps[min(int(score * bins + 1e-9), bins - 1)].append(score - bool(label))
    return math.fsum(abs(math.fsum(each)) for each in gaps) / len(scores)


def _split(labels: Sequence[bool], scores: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the sorted scores of True rows, and of False rows."""
    require_aligned("labels", labels, "scores", scores)
    require_scores("scores", scores, bounds=None)
    pairs = list(zip(labels, scores, strict=True))
    return (
        sorted(score for label, score in pairs if label),
        sorted(score for label, score in pairs if not label),
    )


def _share_below(score: float, ordered: Sequence[float]) -> float:
    """Return the share of `ordered` below the score; ties count half."""
    return (bisect_left(ordered, score) + bisect_right(ordered, score)) / (2 * len(ordered))
