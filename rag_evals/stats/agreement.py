"""How well does the judge agree with people?

Counts first, then rates with intervals. Kappa alone misleads when most statements are supported
(Feinstein and Cicchetti 1990), so raw agreement, base rate and both error rates are given with it.
"""

import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from rag_evals.errors import InvalidScoresError
from rag_evals.stats.bootstrap import quantile
from rag_evals.stats.checks import require_aligned, require_fraction, require_positive
from rag_evals.stats.clusters import effective_rows
from rag_evals.stats.intervals import Interval, mean_interval


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of each pair of label and verdict; positive means True.

    Attributes:
        true_positives: Label and verdict are True.
        false_positives: The verdict is True, the label is not.
        false_negatives: The label is True, the verdict is not.
        true_negatives: Neither is True.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int

    @property
    def rows(self) -> int:
        """Rows counted."""
        return self.positives + self.negatives

    @property
    def positives(self) -> int:
        """Rows that people label True."""
        return self.true_positives + self.false_negatives

    @property
    def negatives(self) -> int:
        """Rows that people label False."""
        return self.true_negatives + self.false_positives

    @property
    def raw_agreement(self) -> float | None:
        """Share of rows where both say the same; None without rows."""
        return _ratio(self.true_positives + self.true_negatives, self.rows)

    @property
    def base_rate(self) -> float | None:
        """Share of rows that people label True; None without rows."""
        return _ratio(self.positives, self.rows)

    @property
    def sensitivity(self) -> float | None:
        """Share of True labels that the judge finds (recall); None without True labels."""
        return _ratio(self.true_positives, self.positives)

    @property
    def specificity(self) -> float | None:
        """Share of False labels that the judge finds; None without False labels."""
        return _ratio(self.true_negatives, self.negatives)

    @property
    def precision(self) -> float | None:
        """Share of True verdicts that people confirm; None without True verdicts."""
        return _ratio(self.true_positives, self.true_positives + self.false_positives)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and sensitivity; None when nothing is True."""
        found = 2 * self.true_positives
        return _ratio(found, found + self.false_positives + self.false_negatives)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity, 0.5 for a coin; None if one label is absent."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2


class _Options(TypedDict):
    clusters: Sequence[Hashable | None] | None
    confidence: float


class _DrawOptions(_Options):
    resamples: int
    seed: int


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge measured against people's labels.

    Attributes:
        confusion: The counts.
        raw_agreement: Share of rows where both say the same.
        base_rate: Share of rows that people label True.
        judged_rate: Share of rows that the judge calls True.
        sensitivity: Of the True labels, the share found; None without True labels.
        specificity: Of the False labels, the share found; None without False labels.
        precision: Of the True verdicts, the share confirmed; None without True verdicts.
        balanced_accuracy: Mean of sensitivity and specificity; None if one label is absent.
        kappa: Cohen's kappa, -1 to 1; None when people and judge use one and the same word only.
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
    """Count how often label and verdict meet.

    Args:
        labels: What people say, one per row.
        verdicts: What the judge says, aligned.

    Raises:
        UnpairedScoresError: The lengths differ.
    """
    require_aligned("labels", labels, "verdicts", verdicts)
    pairs = Counter(
        (bool(label), bool(verdict)) for label, verdict in zip(labels, verdicts, strict=True)
    )
    return Confusion(
        true_positives=pairs[True, True],
        false_positives=pairs[False, True],
        false_negatives=pairs[True, False],
        true_negatives=pairs[False, False],
    )


def measure_agreement(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    resamples: int = 4_000,
    seed: int = 0,
) -> Agreement:
    """Measure a judge against people's labels, every number with its interval.

    Args:
        labels: What people say, one per row.
        verdicts: What the judge says, aligned.
        clusters: The answer of each statement, aligned; None means independent rows.
        confidence: Coverage of each interval, as a fraction.
        resamples: Draws behind the intervals of balanced accuracy and kappa.
        seed: Same seed, same intervals.

    Raises:
        UnpairedScoresError: A list has another length than `labels`.
        InvalidScoresError: There are no rows.
        ConfigurationError: `confidence` is not a fraction, or `resamples` is below 1.
    """
    confusion = count_confusion(labels, verdicts)
    if not labels:
        raise InvalidScoresError("labels is empty; at least one labelled row is needed")
    require_positive("resamples", resamples)
    matches = [label == verdict for label, verdict in zip(labels, verdicts, strict=True)]

    options: _Options = {"clusters": clusters, "confidence": confidence}
    drawing: _DrawOptions = {**options, "resamples": resamples, "seed": seed}
    return Agreement(
        confusion=confusion,
        raw_agreement=mean_interval(matches, **options),
        base_rate=mean_interval(labels, **options),
        judged_rate=mean_interval(verdicts, **options),
        sensitivity=_rate_among(labels, matches, **options),
        specificity=_rate_among([not label for label in labels], matches, **options),
        precision=_rate_among(verdicts, matches, **options),
        balanced_accuracy=balanced_accuracy_interval(labels, verdicts, **drawing),
        kappa=kappa_interval(labels, verdicts, **drawing),
    )


def _rate_among(
    chosen: Sequence[bool],
    values: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None,
    confidence: float,
) -> Interval | None:
    """Rate of `values` over the chosen rows; None when no row is chosen."""
    rows = [row for row, wanted in enumerate(chosen) if wanted]
    if not rows:
        return None
    kept = None if clusters is None else [clusters[row] for row in rows]
    return mean_interval([values[row] for row in rows], clusters=kept, confidence=confidence)


def balanced_accuracy_interval(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    resamples: int = 4_000,
    seed: int = 0,
) -> Interval | None:
    """Estimate balanced accuracy, the mean of sensitivity and specificity.

    Args:
        labels: What people say, one per row.
        verdicts: What the judge says, aligned.
        clusters: As in `measure_agreement`.
        confidence: Coverage of the interval, as a fraction.
        resamples: Draws of the two rates.
        seed: Same seed, same interval.

    Returns:
        0 to 1, where 0.5 is a coin; None if one of the two labels is absent.

    Raises:
        UnpairedScoresError: A list has another length than `labels`.
        ConfigurationError: `confidence` is not a fraction, or `resamples` is below 1.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    estimate = count_confusion(labels, verdicts).balanced_accuracy
    if estimate is None:
        return None
    rng = random.Random(seed)
    rates = draw_error_rates(labels, verdicts, clusters=clusters, resamples=resamples, rng=rng)
    draws = sorted((sensitivity + specificity) / 2 for sensitivity, specificity in rates)
    return _percentiles(estimate, draws, confidence)


def draw_error_rates(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    *,
    clusters: Sequence[Hashable | None] | None,
    resamples: int,
    rng: random.Random,
) -> list[tuple[float, float]]:
    """Draw sensitivities and specificities that these labels allow.

    A parametric bootstrap smoothed by Jeffreys' half count: resampling rows would take a judge
    without a mistake in five rows for one that makes none at all.

    Args:
        labels: What people say; both labels occur.
        verdicts: What the judge says, aligned.
        clusters: As in `measure_agreement`; they shrink the counts by the design effect.
        resamples: Pairs to draw.
        rng: Source of chance.
    """
    shapes = []
    for wanted in (True, False):
        rows = [row for row, label in enumerate(labels) if bool(label) is wanted]
        matches = [bool(verdicts[row]) is wanted for row in rows]
        kept = None if clusters is None else [clusters[row] for row in rows]
        share = effective_rows(matches, clusters=kept) / len(rows)
        hits = sum(matches)
        shapes.append((hits * share + 0.5, (len(rows) - hits) * share + 0.5))
    return [(rng.betavariate(*shapes[0]), rng.betavariate(*shapes[1])) for _ in range(resamples)]


def cohen_kappa(first: Sequence[Hashable], second: Sequence[Hashable]) -> float | None:
    """Measure agreement of two raters beyond what their habits would give (Cohen 1960).

    Args:
        first: Category of each row; any number of categories.
        second: The other rater's, aligned.

    Returns:
        1 for full agreement, 0 for chance, below 0 for worse; None when both use one and the same
        category only, or there are no rows.

    Raises:
        UnpairedScoresError: The lengths differ.
    """
    require_aligned("first ratings", first, "second ratings", second)
    return _kappa(Counter(zip(first, second, strict=True)))


def kappa_interval(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    resamples: int = 4_000,
    seed: int = 0,
) -> Interval | None:
    """Estimate Cohen's kappa by a smoothed bootstrap of the table of both ratings.

    The plain bootstrap gives no width after full agreement and covers 24 % then; the Bayesian one
    (Rubin 1981) with one row spread over all cells (Perks 1947) does not fail there.

    Args:
        first: Category of each row; any number of categories.
        second: The other rater's, aligned.
        clusters: As in `measure_agreement`; they shrink the counts by the design effect.
        confidence: Coverage of the interval, as a fraction.
        resamples: Draws of the table.
        seed: Same seed, same interval.

    Returns:
        Kappa, -1 to 1, and its interval; None where kappa is undefined, see `cohen_kappa`.

    Raises:
        UnpairedScoresError: A list has another length than `first`.
        ConfigurationError: `confidence` is not a fraction, or `resamples` is below 1.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    estimate = cohen_kappa(first, second)
    if estimate is None:
        return None
    pairs = Counter(zip(first, second, strict=True))
    matches = [one == other for one, other in zip(first, second, strict=True)]
    share = effective_rows(matches, clusters=clusters) / len(matches)
    # Order of appearance, not of a set: the same seed must give the same draws.
    categories = list(dict.fromkeys([*first, *second]))
    prior = 1 / len(categories) ** 2
    shapes = {
        (one, other): pairs[one, other] * share + prior
        for one in categories
        for other in categories
    }
    rng = random.Random(seed)
    draws = []
    for _ in range(resamples):
        kappa = _kappa({cell: rng.gammavariate(shape, 1) for cell, shape in shapes.items()})
        if kappa is not None:
            draws.append(kappa)
    return _percentiles(estimate, sorted(draws), confidence)


def _kappa(cells: Mapping[tuple[Hashable, Hashable], float]) -> float | None:
    total = sum(cells.values())
    rows: dict[Hashable, float] = {}
    columns: dict[Hashable, float] = {}
    same = 0.0
    for (one, other), weight in cells.items():
        rows[one] = rows.get(one, 0) + weight
        columns[other] = columns.get(other, 0) + weight
        same += weight if one == other else 0
    by_chance = sum(weight * columns.get(one, 0) for one, weight in rows.items())
    room = total * total - by_chance
    return (total * same - by_chance) / room if room > 0 else None


def _percentiles(estimate: float, draws: Sequence[float], confidence: float) -> Interval:
    low = quantile(draws, (1 - confidence) / 2)
    high = quantile(draws, (1 + confidence) / 2)
    # Draws shrink towards the middle, so that an estimate of 1 can lie above nearly all of them.
    return Interval(
        estimate, min(low, estimate), max(high, estimate), confidence, "smoothed bootstrap"
    )
