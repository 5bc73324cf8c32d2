"""How do scores lie: of a million rows, and of several answers to one question?"""

import math
import statistics
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from rag_evals.stats.checks import require_scores

_BINS = 4096
# Fewer values are sorted: the list of a million takes 40 MB, that of so many nothing to speak of.
_FEW = 50_000


def spread_of(values: Sequence[float]) -> dict[str, float | int | None]:
    """Return median, deviation (n - 1), lowest, highest and count; None for too few values."""
    return {
        "median": median(values) if values else None,
        "std": standard_deviation(values) if len(values) > 1 else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "n": len(values),
    }


def median(values: Sequence[float]) -> float:
    """Return what `statistics.median` does of scores from 0 to 1, in less memory."""
    if len(values) <= _FEW:
        return statistics.median(values)
    counts = Counter(map(_bin_of, values))
    ranks = (len(values) - 1) // 2, len(values) // 2
    low, high = (_at_rank(values, counts, rank) for rank in ranks)
    return (low + high) / 2


def standard_deviation(values: Sequence[float]) -> float:
    """Return the standard deviation (n - 1) of at least two values."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return math.sqrt(squares / (len(values) - 1))


def _bin_of(value: float) -> int:
    return int(value * _BINS)


def _at_rank(values: Sequence[float], counts: Counter[int], rank: int) -> float:
    """Return the value that would stand at a place from 0 if they were sorted."""
    bins = sorted(counts)
    up_to = accumulate(counts[each] for each in bins)
    wanted, total = next(pair for pair in zip(bins, up_to, strict=True) if pair[1] > rank)
    place = total - counts[wanted]
    inside = Counter(value for value in values if _bin_of(value) == wanted)
    for value in sorted(inside):
        place += inside[value]
        if place > rank:
            return value
    raise AssertionError("the bins count all values")


def majority(scores: Sequence[float]) -> float:
    """Return the score that came most often; of several, the one nearest to the median."""
    require_scores("repeats", scores)
    counted, middle = Counter(scores), median(scores)
    most = max(counted.values())
    # The lower of two that are equally near: the cautious one.
    return min(
        (score for score, count in counted.items() if count == most),
        key=lambda score: (abs(score - middle), score),
    )


def within_variance(scores: Sequence[float]) -> float | None:
    """Return the variance of one row's scores (n - 1); None for fewer than two."""
    return statistics.variance(scores) if len(scores) > 1 else None
