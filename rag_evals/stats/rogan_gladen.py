"""What share of rows is really supported, given how often the judge is wrong?

Rogan and Gladen (1978): the judge's rate is corrected by its sensitivity and specificity, which
labels have measured. Needs labels of both kinds, but not a random sample of rows: labels may
come from elsewhere, as long as the judge makes errors as often there.
"""

import random
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from rag_evals.errors import InvalidScoresError, TooFewLabelsError, WeakJudgeError
from rag_evals.stats.agreement import Confusion, count_confusion, draw_error_rates
from rag_evals.stats.bootstrap import quantile
from rag_evals.stats.checks import require_fraction, require_positive
from rag_evals.stats.clusters import effective_rows
from rag_evals.stats.intervals import Interval
from rag_evals.stats.prediction_powered import MINIMUM_LABELS

MINIMUM_LABELS_OF_EACH_KIND = 5
MINIMUM_INFORMEDNESS = 0.2

_METHOD = "Rogan-Gladen, smoothed bootstrap of both samples"


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A rate without the judge's bias.

    Attributes:
        corrected: The share of rows that people would call True, 0 to 1.
        judged: The share that the judge calls True.
        sensitivity: Share of True labels that the judge found.
        specificity: Share of False labels that the judge found.
        informedness: sensitivity + specificity - 1: 0 for a coin, 1 for a perfect judge.
        labels: Rows that people labelled.
        unlabelled: Rows that only the judge saw.
    """

    corrected: Interval
    judged: float
    sensitivity: float
    specificity: float
    informedness: float
    labels: int
    unlabelled: int


def rogan_gladen_rate(
    labels: Sequence[bool],
    verdicts: Sequence[bool],
    unlabelled: Sequence[bool],
    *,
    label_clusters: Sequence[Hashable | None] | None = None,
    unlabelled_clusters: Sequence[Hashable | None] | None = None,
    confidence: float = 0.95,
    resamples: int = 4_000,
    seed: int = 0,
) -> CorrectedRate:
    """Correct the judge's rate by its measured error rates.

    Args:
        labels: What people say, one per labelled row.
        verdicts: What the judge says about those rows, aligned.
        unlabelled: What the judge says about the rows to be counted.
        label_clusters: The answer of each labelled statement, aligned; None means independent.
        unlabelled_clusters: The answer of each other statement, aligned with `unlabelled`.
        confidence: Coverage of the interval, as a fraction.
        resamples: Draws of error rates and judged rate together.
        seed: Same seed, same interval.

    Returns:
        The corrected rate; its interval comes from drawing both samples anew, smoothed.

    Raises:
        TooFewLabelsError: There are fewer than 20 labels, or fewer than 5 of one kind.
        WeakJudgeError: sensitivity + specificity - 1 is below 0.2.
        InvalidScoresError: `unlabelled` is empty.
        UnpairedScoresError: Lists that must be aligned have different lengths.
        ConfigurationError: `confidence` is not a fraction, or `resamples` is below 1.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    confusion = count_confusion(labels, verdicts)
    sensitivity, specificity = _measured_error_rates(confusion)
    if not unlabelled:
        raise InvalidScoresError("unlabelled is empty; there is no rate to correct")
    judged = sum(map(bool, unlabelled)) / len(unlabelled)
    estimate = _turn_back(judged, sensitivity, specificity)
    rng = random.Random(seed)
    rates = draw_error_rates(
        labels, verdicts, clusters=label_clusters, resamples=resamples, rng=rng
    )
    rows = effective_rows(unlabelled, clusters=unlabelled_clusters)
    draws = sorted(_draw_corrections(judged * rows, (1 - judged) * rows, rates, rng))
    low, high = (quantile(draws, (1 + side * confidence) / 2) for side in (-1, 1))
    return CorrectedRate(
        corrected=Interval(estimate, min(low, estimate), max(high, estimate), confidence, _METHOD),
        judged=judged,
        sensitivity=sensitivity,
        specificity=specificity,
        informedness=sensitivity + specificity - 1,
        labels=confusion.rows,
        unlabelled=len(unlabelled),
    )


def _measured_error_rates(confusion: Confusion) -> tuple[float, float]:
    """Sensitivity and specificity, if the labels can carry them."""
    if confusion.rows < MINIMUM_LABELS:
        raise TooFewLabelsError(
            f"{confusion.rows} labels; a correction needs at least {MINIMUM_LABELS}, because the "
            "judge's errors cannot be told from chance with fewer"
        )
    sensitivity, specificity = confusion.sensitivity, confusion.specificity
    rarest = min(confusion.positives, confusion.negatives)
    if rarest < MINIMUM_LABELS_OF_EACH_KIND or sensitivity is None or specificity is None:
        raise TooFewLabelsError(
            f"{confusion.positives} labels are True and {confusion.negatives} are False; each "
            f"error rate needs at least {MINIMUM_LABELS_OF_EACH_KIND} of its kind"
        )
    informedness = sensitivity + specificity - 1
    if informedness < MINIMUM_INFORMEDNESS:
        raise WeakJudgeError(
            f"sensitivity {sensitivity:.2f} + specificity {specificity:.2f} - 1 = "
            f"{informedness:.2f}; below {MINIMUM_INFORMEDNESS} the correction divides by almost "
            "nothing, and any rate would fit: use a better judge, or the labels alone"
        )
    return sensitivity, specificity


def _draw_corrections(
    yes: float, no: float, rates: Sequence[tuple[float, float]], rng: random.Random
) -> Iterator[float]:
    """Correct a redrawn judged rate by each redrawn pair of sensitivity and specificity."""
    for place, (found, rejected) in enumerate(rates):
        share = rng.betavariate(yes + 0.5, no + 0.5)
        if found + rejected <= 1:
            # Such a judge says nothing, so the draw stands for "anything": both ends in turn.
            yield float(place % 2)
        else:
            yield _turn_back(share, found, rejected)


def _turn_back(judged: float, sensitivity: float, specificity: float) -> float:
    """Solve judged = rate * sensitivity + (1 - rate) * (1 - specificity) for the rate, in 0..1."""
    rate = (judged + specificity - 1) / (sensitivity + specificity - 1)
    return min(1.0, max(0.0, rate))
