"""Figures of a judge: balanced accuracy, AUROC, calibration error, thresholds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
_BINS = 10
MOST_COUNTED = 1500
"""Rows of a source from which on it weighs no more."""


def sigmoid(logits: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(logits, -40, 40))), dtype=np.float64)


def auroc(labels: Array, scores: Array) -> float:
    """Return the chance that a supported statement outranks an unsupported one; ties count half."""
    _, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    supported = labels == 1
    count = int(supported.sum())
    above = ranks[supported].sum() - count * (count + 1) / 2
    return float(above / (count * (len(labels) - count)))


def balanced_accuracy(labels: Array, scores: Array, threshold: float) -> float:
    """Return the mean over both classes of the share decided right."""
    passed = scores >= threshold
    return float((passed[labels == 1].mean() + (~passed[labels == 0]).mean()) / 2)


def calibration(labels: Array, scores: Array) -> list[tuple[float, float, float]]:
    """Return (mean score, share supported, share of rows) for each of ten bins in use."""
    bins = np.clip((scores * _BINS).astype(int), 0, _BINS - 1)
    return [
        (
            float(scores[bins == number].mean()),
            float(labels[bins == number].mean()),
            float((bins == number).mean()),
        )
        for number in range(_BINS)
        if (bins == number).any()
    ]


def calibration_error(labels: Array, scores: Array) -> float:
    """Return the expected calibration error over ten bins of equal width."""
    return sum(abs(mean - share) * size for mean, share, size in calibration(labels, scores))


def with_share(scores: Array, share: float) -> Array:
    """Shift probabilities in log odds until their mean is the known share of supported rows."""
    odds = np.log(scores / (1 - scores))
    low, high = -10.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(odds + middle).mean() < share else (low, middle)
    return sigmoid(odds + low)


def balanced_threshold(labels: Mapping[str, Array], scores: Mapping[str, Array]) -> float:
    """Return the strictest threshold that is about as good as the best one.

    The mean balanced accuracy decides. Sources weigh as in the fit, because the accuracy of a large
    one is known better.
    """
    names = [name for name in labels if 0 < labels[name].mean() < 1]
    sizes = [min(len(labels[name]), MOST_COUNTED) ** 0.5 for name in names]
    grid = [round(0.2 + 0.01 * step, 2) for step in range(61)]

    def mean_accuracy(threshold: float) -> float:
        found = [balanced_accuracy(labels[name], scores[name], threshold) for name in names]
        return float(np.average(found, weights=sizes))

    # About equally good: a false statement that passes costs more than a look at a true one.
    best = max(map(mean_accuracy, grid))
    good = [threshold for threshold in grid if mean_accuracy(threshold) >= best - 0.005]
    return max(good)


def unsupported_f1(labels: Array, passed: npt.NDArray[np.bool_]) -> float:
    missed = float(((labels == 0) & ~passed).sum())
    return 2 * missed / (2 * missed + float((labels != passed).sum()))


def recall_threshold(labels: Array, scores: Array, recall: float) -> float:
    """Return the threshold that rejects a share `recall` of the unsupported statements."""
    return round(float(np.quantile(scores[labels == 0], recall)), 3)
