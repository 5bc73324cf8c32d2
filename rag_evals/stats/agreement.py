"""Agreement between a judge and human labels, and score thresholds.

Kappa alone is misleading if most statements are supported (Feinstein and Cicchetti 1990), so it is
reported with raw agreement, base rate and both error rates.
"""

import math
import random
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress

from rag_evals.errors import TooFewLabelsError
from rag_evals.stats.distributions import quantile
from rag_evals.stats.intervals import (
    Interval,
    Keys,
    MeanError,
    Weights,
    effective_rows,
    mean_interval,
    require_aligned,
    require_both_labels,
    require_scores,
    weighted_values,
)

_BINS = 10


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of verdicts: "positive" means True, and "true" means that the label agrees."""

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement between a judge and human labels.

    Attributes:
        base_rate: Share of True labels.
        judged_rate: Share of True verdicts.
        sensitivity: Share of True labels with a True verdict; None if there are no True labels.
        specificity: Share of False labels with a False verdict; None if there are no False labels.
        precision: Share of True verdicts with a True label; None if there are no True verdicts.
        balanced_accuracy: Mean of sensitivity and specificity; None if either is None.
        kappa: Cohen's kappa, -1 to 1; None if all labels and verdicts have the same value.
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
    return Confusion(*map(int, _weighted_counts(labels, verdicts, None)))


def measure_agreement(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Keys = None,
    weights: Weights = None,
) -> Agreement:
    """Measure the agreement between a judge and human labels; `confusion` is unweighted."""
    confusion = count_confusion(labels, verdicts)
    require_scores("labels", labels)
    matches = [label == verdict for label, verdict in zip(labels, verdicts, strict=True)]
    matched = _Matches(matches, clusters, weights)
    right, wrong = matched.of(labels), matched.of([not label for label in labels])
    mean = partial(mean_interval, clusters=clusters, weights=weights)
    counts = _weighted_counts(labels, verdicts, weights)
    return Agreement(
        confusion=confusion,
        raw_agreement=mean(matches),
        base_rate=mean(labels),
        judged_rate=mean(verdicts),
        sensitivity=right.rate(),
        specificity=wrong.rate(),
        precision=matched.of(verdicts).rate(),
        balanced_accuracy=_balanced_accuracy(right, wrong, counts),
        kappa=_kappa_interval(counts, matched.size() / len(matches)),
    )


@dataclass(frozen=True, slots=True)
class _Matches:
    values: Sequence[bool]
    clusters: Keys
    weights: Weights

    def of(self, chosen: Sequence[bool]) -> "_Matches":
        return _Matches(
            list(compress(self.values, chosen)),
            None if self.clusters is None else list(compress(self.clusters, chosen)),
            None if self.weights is None else list(compress(self.weights, chosen)),
        )

    def rate(self) -> Interval | None:
        if not self.values:
            return None
        return mean_interval(self.values, clusters=self.clusters, weights=self.weights)

    def size(self) -> float:
        return effective_rows(self.values, clusters=self.clusters, weights=self.weights)

    def shapes(self) -> tuple[float, float]:
        """Return the parameters of the rate's Beta distribution, with Jeffreys' prior.

        Resampling rows would show no spread for a judge that is right on five of five rows.
        """
        size, values = self.size(), weighted_values(self.values, self.weights)
        hits = sum(values) / len(values)
        return hits * size + 0.5, (1 - hits) * size + 0.5


_Counts = tuple[float, float, float, float]


def _balanced_accuracy(right: _Matches, wrong: _Matches, counts: _Counts) -> Interval | None:
    """Estimate the mean of both rates by a parametric bootstrap."""
    if not (right.values and wrong.values):
        return None
    found, false, missed, rejected = counts
    estimate = (found / (found + missed) + rejected / (false + rejected)) / 2
    shapes = right.shapes(), wrong.shapes()
    return _drawn_interval(
        estimate, lambda rng: sum(rng.betavariate(*shape) for shape in shapes) / 2
    )


def _kappa_interval(counts: _Counts, share: float) -> Interval | None:
    """Estimate kappa (Cohen 1960) by the Bayesian bootstrap (Rubin 1981).

    With complete agreement, the plain bootstrap interval has zero width and 24 % coverage, so one
    extra row is spread over all cells (Perks 1947). `share` is effective rows / actual rows.
    """
    estimate = _kappa(*counts)
    if estimate is None:
        return None
    shapes = [count * share + 1 / 4 for count in counts]
    return _drawn_interval(
        estimate, lambda rng: _kappa(*(rng.gammavariate(one, 1) for one in shapes))
    )


def _drawn_interval(
    estimate: float,
    draw: Callable[[random.Random], float | None],
    resamples: int = 4_000,
    method: str = "smoothed bootstrap",
) -> Interval:
    """Return the quantiles of draws as an interval that contains the estimate.

    Smoothing pulls draws toward the middle, so an estimate of 1 can be above almost all of them.
    """
    rng = random.Random(0)
    draws = (draw(rng) for _ in range(resamples))
    ordered = sorted(one for one in draws if one is not None) or [estimate]
    low, high = quantile(ordered, 0.025), quantile(ordered, 0.975)
    return Interval(estimate, min(low, estimate), max(high, estimate), method=method)


def _weighted_counts(labels: Sequence[bool], verdicts: Sequence[bool], weights: Weights) -> _Counts:
    """Return the weighted confusion counts, which add up to the number of rows."""
    require_aligned("labels", labels, "verdicts", verdicts)
    each = [1.0] * len(labels) if weights is None else weights
    share = len(each) / (math.fsum(each) or 1.0)
    sums: defaultdict[tuple[bool, bool], float] = defaultdict(float)
    for label, verdict, weight in zip(labels, verdicts, each, strict=True):
        sums[bool(label), bool(verdict)] += weight * share
    return sums[True, True], sums[False, True], sums[True, False], sums[False, False]


def _kappa(both: float, judge: float, people: float, neither: float) -> float | None:
    total = both + judge + people + neither
    by_chance = (both + judge) * (both + people) + (neither + judge) * (neither + people)
    room = total * total - by_chance
    return (total * (both + neither) - by_chance) / room if room > 0 else None


_Ratings = tuple[tuple[Hashable, int], ...]


def krippendorff_interval(ratings: Sequence[Sequence[Hashable | None]]) -> Interval | None:
    """Estimate the agreement between annotators: Krippendorff's alpha (2011) for categories.

    `ratings` contains each annotator's category, or None, for each item. The bootstrap interval
    (Zapf et al. 2016) is too narrow for fewer than about 30 items.

    Returns:
        1 for complete agreement, 0 for chance agreement, and a negative value below chance; None
        if no item has two labels, or if only one category occurs.
    """
    # An item with a single label carries no information about agreement.
    counts = (Counter(label for label in item if label is not None) for item in ratings)
    items = [tuple(count.items()) for count in counts if count.total() > 1]
    estimate = _alpha(items)
    if estimate is None:
        return None
    return _drawn_interval(
        estimate, lambda rng: _alpha(rng.choices(items, k=len(items))), 2_000, "bootstrap of items"
    )


def _alpha(items: Sequence[_Ratings]) -> float | None:
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


def best_threshold(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the threshold with the best balanced accuracy; in a tie, the highest threshold.

    Raises:
        TooFewLabelsError: All labels are the same.
    """
    require_both_labels(labels)
    positives, negatives = _split(labels, scores)

    def accuracy(threshold: float) -> float:
        missed, rejected = (bisect_left(each, threshold) for each in (positives, negatives))
        return rejected / len(negatives) - missed / len(positives)

    return max(set(scores), key=lambda threshold: (accuracy(threshold), threshold))


def auroc_interval(labels: Sequence[bool], scores: Sequence[float]) -> Interval:
    """Estimate how often a True row scores higher than a False one, by DeLong's method (1988).

    Ties count as half.

    Raises:
        TooFewLabelsError: Either label occurs fewer than twice.
    """
    require_both_labels(labels)
    positives, negatives = _split(labels, scores)
    fewest = min(len(positives), len(negatives))
    if fewest < 2:
        raise TooFewLabelsError("one label occurs only once; an interval needs two of each")
    # For each row, the share of rows with the other label whose score is on the correct side.
    above = [_share_below(score, negatives) for score in positives]
    below = [1 - _share_below(score, positives) for score in negatives]
    area = math.fsum(above) / len(above)
    variance = sum(
        math.fsum((share - area) ** 2 for share in shares) / (len(shares) * (len(shares) - 1))
        for shares in (above, below)
    )
    # The rarer label limits the precision.
    return MeanError(area, math.sqrt(variance), fewest - 1, fewest).wilson_interval()


def calibration_error(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """Return the expected calibration error, 0 to 1, over ten ranges of equal width (Naeini 2015).

    The error is overestimated if ranges contain few rows.
    """
    require_aligned("labels", labels, "scores", scores)
    require_scores("scores", scores)
    gaps: list[list[float]] = [[] for _ in range(_BINS)]
    for label, score in zip(labels, scores, strict=True):
        # 0.29 * 100 is 28.999999999999996; without the offset, 0.29 would be in the bin below.
        gaps[min(int(score * _BINS + 1e-9), _BINS - 1)].append(score - bool(label))
    return math.fsum(abs(math.fsum(each)) for each in gaps) / len(scores)


def _split(labels: Sequence[bool], scores: Sequence[float]) -> tuple[list[float], list[float]]:
    """Return the sorted scores of True rows and of False rows."""
    require_aligned("labels", labels, "scores", scores)
    require_scores("scores", scores, bounds=None)
    pairs = list(zip(labels, scores, strict=True))
    return (
        sorted(score for label, score in pairs if label),
        sorted(score for label, score in pairs if not label),
    )


def _share_below(score: float, ordered: Sequence[float]) -> float:
    """Return the share of values in `ordered` below the score; ties count as half."""
    return (bisect_left(ordered, score) + bisect_right(ordered, score)) / (2 * len(ordered))
