"""Correction of a judge's bias with labels for some rows.

In PPI++ (Angelopoulos, Duchi and Zrnic 2023, arXiv:2311.01453), the judge grades all rows, and
people label a random sample of them. The judge's mean is corrected by its error on that sample. The
interval accounts for both uncertainties, and is never wider than with the labels alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rag_evals.errors import InvalidScoresError, TooFewLabelsError
from rag_evals.stats.distributions import student_t_quantile
from rag_evals.stats.intervals import (
    Interval,
    Keys,
    Weights,
    mean_error,
    mean_interval,
    require_aligned,
    require_fraction,
    require_scores,
    weighted_values,
    wilson_limits,
)

_LEAST_LABELS = 20

# One extra row is spread over the corners (label 0 or 1, judge 0 or 1); less for fractional labels.
# Otherwise, thirty labels that all agree with the judge would imply that it never errs.
_CORNERS = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
_CORNER_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean score corrected for the judge's bias.

    Attributes:
        labels_only: The estimate from the labels alone.
        judged: The judge's mean over all rows, labelled or not.
        power: The judge's weight, from 0 (`corrected` is `labels_only`) to 1.
        effective_labels: Number of labels that alone would yield an equally narrow interval.
    """

    corrected: Interval
    labels_only: Interval
    judged: float
    power: float
    labels: int
    unlabelled: int
    effective_labels: float


@dataclass(frozen=True, slots=True)
class _Moments:
    label_variance: float
    judged_variance: float
    covariance: float


def prediction_powered_mean(
    labels: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    *,
    label_clusters: Keys = None,
    unlabelled_clusters: Keys = None,
    weights: Weights = None,
    confidence: float = 0.95,
) -> CorrectedMean:
    """Correct the judge's mean score with human labels (PPI++).

    Args:
        labels: Labels for a random sample of rows, 0 to 1.
        judged: The judge's scores for the same rows.
        unlabelled: The judge's scores for all other rows or, with weights, for all rows.
        label_clusters: Clusters of the labelled rows.
        unlabelled_clusters: Clusters of the rows in `unlabelled`.
        weights: Number of rows that each labelled row represents.
        confidence: Coverage of the interval.

    Raises:
        TooFewLabelsError: There are fewer than 20 labels, or labels in fewer than two clusters.
        InvalidScoresError: A score is not between 0 and 1, or `unlabelled` has fewer than two.
    """
    require_fraction("confidence", confidence)
    _require_enough(labels, judged, unlabelled)
    labels_only = mean_interval(
        labels, clusters=label_clusters, weights=weights, confidence=confidence
    )
    seen = [*unlabelled] if weights else [*judged, *unlabelled]
    labels, judged = weighted_values(labels, weights), weighted_values(judged, weights)
    moments = _smoothed_moments(labels, judged)
    other = mean_error(unlabelled, clusters=unlabelled_clusters)
    power = _best_power(moments, len(labels), unlabelled, is_weighted=weights is not None)
    shift = other.mean - math.fsum(judged) / len(judged)
    estimate = min(1.0, max(0.0, labels_only.estimate + power * shift))
    variance, freedom = _rectifier_variance(moments, power, labels, judged, label_clusters)
    total = variance + (power * other.standard_error) ** 2
    corrected = labels_only
    if total:
        corrected = _score_interval(estimate, total, freedom, len(labels), confidence)
    if corrected.width >= labels_only.width:
        corrected, power = labels_only, 0.0
    return CorrectedMean(
        corrected=corrected,
        labels_only=labels_only,
        judged=math.fsum(seen) / len(seen),
        power=power,
        labels=len(labels),
        unlabelled=len(unlabelled),
        effective_labels=len(labels) * (labels_only.width / corrected.width) ** 2,
    )


def _require_enough(
    labels: Sequence[float], judged: Sequence[float], unlabelled: Sequence[float]
) -> None:
    require_aligned("labels", labels, "judged scores", judged)
    if len(labels) < _LEAST_LABELS:
        raise TooFewLabelsError(
            f"{len(labels)} labels; a correction needs at least {_LEAST_LABELS}, because with "
            "fewer, the judge's errors cannot be distinguished from chance"
        )
    for name, values in (("labels", labels), ("judged", judged), ("unlabelled", unlabelled)):
        require_scores(name, values)
    if len(unlabelled) < 2:
        raise InvalidScoresError(
            f"{len(unlabelled)} row without a label, but a correction needs 2; use the labels' mean"
        )


def _smoothed_moments(labels: Sequence[float], judged: Sequence[float]) -> _Moments:
    rows = [(label, score, 1.0) for label, score in zip(labels, judged, strict=True)]
    error = mean_error(labels)
    most = error.mean * (1 - error.mean)
    # The labels' variance, relative to that of yes/no labels with the same mean.
    likeness = error.standard_error**2 * len(labels) / most if most > 0 else 1.0
    corner = _CORNER_WEIGHT * min(1.0, likeness)
    rows += [(label, score, corner) for label, score in _CORNERS]
    weight = math.fsum(share for _, _, share in rows)
    label_mean = math.fsum(label * share for label, _, share in rows) / weight
    judged_mean = math.fsum(score * share for _, score, share in rows) / weight
    gaps = [(label - label_mean, score - judged_mean, share) for label, score, share in rows]
    return _Moments(
        label_variance=math.fsum(a * a * share for a, _, share in gaps) / (weight - 1),
        judged_variance=math.fsum(b * b * share for _, b, share in gaps) / (weight - 1),
        covariance=math.fsum(a * b * share for a, b, share in gaps) / (weight - 1),
    )


def _best_power(
    moments: _Moments, few: int, unlabelled: Sequence[float], *, is_weighted: bool
) -> float:
    """Return the judge's weight that minimises the variance for `few` labels (PPI++)."""
    many, variance = len(unlabelled), mean_error(unlabelled).standard_error ** 2
    if is_weighted:
        # The variance of labelled rows differs from that of all rows, so the two cannot be pooled.
        spread = moments.judged_variance + few * variance
    else:
        pooled = (moments.judged_variance * few + variance * many * many) / (few + many)
        spread = (1 + few / many) * pooled
    return min(1.0, max(0.0, moments.covariance / spread)) if spread else 0.0


def _rectifier_variance(
    moments: _Moments,
    power: float,
    labels: Sequence[float],
    judged: Sequence[float],
    clusters: Keys,
) -> tuple[float, float]:
    """Return the variance of the mean of label - power * judged, and its degrees of freedom."""
    spread = (
        moments.label_variance - 2 * power * moments.covariance + power**2 * moments.judged_variance
    )
    variance = spread / len(labels)
    if clusters is None:
        # Subtract one degree of freedom for the mean, and one for the power fitted to the labels.
        return variance, len(labels) - 2
    errors = [label - power * score for label, score in zip(labels, judged, strict=True)]
    robust, plain = mean_error(errors, clusters=clusters), mean_error(errors)
    freedom = max(1.0, robust.degrees_of_freedom - 1)
    if plain.standard_error < 1e-12:
        return variance * len(labels) / robust.units, freedom
    design_effect = max(1.0, (robust.standard_error / plain.standard_error) ** 2)
    return variance * design_effect, freedom


def _score_interval(
    estimate: float, variance: float, freedom: float, labels: int, confidence: float
) -> Interval:
    """Return a Wilson interval with an effective number of rows, smoothed like the variance.

    Without smoothing, there would be almost no effective rows near 0 and 1.
    """
    smoothed = (labels * estimate + 0.5) / (labels + 1)
    effective = smoothed * (1 - smoothed) / variance
    quantile = student_t_quantile((1 + confidence) / 2, freedom)
    low, high = wilson_limits(estimate, effective, quantile)
    return Interval(estimate, low, high, confidence, "PPI++")
