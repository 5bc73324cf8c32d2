"""What did several answers to one question come to? Their majority, and how far they lie apart."""

from collections import Counter
from collections.abc import Sequence
from statistics import median, variance

from rag_evals.stats.checks import require_scores


def majority(scores: Sequence[float]) -> float:
    """Return the score that came most often; of several, the one nearest to the median.

    Args:
        scores: Of one row, 0 to 1, at least one.

    Raises:
        InvalidScoresError: There is none, or one is no number from 0 to 1.
    """
    require_scores("repeats", scores)
    counted, middle = Counter(scores), median(scores)
    most = max(counted.values())
    # The lower of two that are equally near: the cautious one.
    return min(
        (score for score, count in counted.items() if count == most),
        key=lambda score: (abs(score - middle), score),
    )


def within_variance(scores: Sequence[float]) -> float | None:
    """Return the variance of one row's scores (n - 1); None for fewer than two.

    Args:
        scores: Of one row, 0 to 1.
    """
    return variance(scores) if len(scores) > 1 else None
