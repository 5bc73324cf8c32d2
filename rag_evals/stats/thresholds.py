"""From which score on is a verdict positive, and are scores calibrated?"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evals.errors import TooFewLabelsError
from rag_evals.stats.agreement import Confusion
from rag_evals.stats.checks import (
    require_aligned,
    require_both_labels,
    require_fraction,
    require_positive,
    require_scores,
)
from rag_evals.stats.intervals import Interval, effective_wilson_interval


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """The counts that follow where scores from a threshold up count as True."""

    threshold: float
    confusion: Confusion


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Rows whose scores lie from `low` to below `high`, or up to it in the last bin."""

    low: float
    high: float
    rows: int
    mean_score: float | None
    true_rate: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """Whether a score of 0.8 is right in 80 of 100 cases; the error is 0 to 1."""

    error: float
    bins: tuple[CalibrationBin, ...]


def threshold_curve(labels: Sequence[bool], scores: Sequence[float]) -> list[ThresholdPoint]:
    """Count the confusion at each distinct score, from the lowest (everything True) to the highest.

    Args:
        labels: What people say, one per row.
        scores: What the judge says, finite numbers, aligned; higher means more likely True.
    """
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


def calibration_error(
    labels: Sequence[bool], scores: Sequence[float], *, bins: int = 10
) -> Calibration:
    """Measure the expected calibration error over equal ranges of scores (Naeini et al. 2015).

    It is biased upwards when ranges hold few rows.

    Args:
        labels: What people say, one per row.
        scores: What the judge says, 0 to 1, aligned.
        bins: Ranges of equal width, at least 1.
    """
    require_aligned("labels", labels, "scores", scores)
    require_scores("scores", scores)
    require_positive("bins", bins)
    members: list[list[int]] = [[] for _ in range(bins)]
    for row, score in enumerate(scores):
        # 0.29 * 100 is 28.999999999999996; the nudge keeps 0.29 in the range that starts there.
        members[min(int(score * bins + 1e-9), bins - 1)].append(row)
    table, error = [], 0.0
    for place, rows in enumerate(members):
        mean_score = math.fsum(scores[row] for row in rows) / len(rows) if rows else None
        true_rate = sum(bool(labels[row]) for row in rows) / len(rows) if rows else None
        table.append(
            CalibrationBin(place / bins, (place + 1) / bins, len(rows), mean_score, true_rate)
        )
        if mean_score is not None and true_rate is not None:
            error += abs(mean_score - true_rate) * len(rows) / len(scores)
    return Calibration(error, tuple(table))


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
