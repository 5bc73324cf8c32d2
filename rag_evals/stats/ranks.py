"""Quality of a search ranking, from the relevance at each rank.

`relevant` states for each rank, best first, whether the item is relevant. `total` is the number of
relevant items, found or not; None counts those that were found. All results are between 0 and 1:
0 if nothing relevant was found, and None if nothing relevant exists. `k` must be at least 1, but
can exceed the length of the list.
"""

import math
from collections.abc import Sequence

from rag_evals.errors import ConfigurationError, InvalidScoresError


def hit_at(relevant: Sequence[bool], k: int, total: int | None = None) -> float | None:
    """Return 1.0 if any of the first k items is relevant, else 0.0."""
    _check(relevant, total, k)
    return float(any(relevant[:k])) if _total(relevant, total) else None


def recall_at(relevant: Sequence[bool], k: int, total: int | None = None) -> float | None:
    """Return the share of the relevant items that are among the first k."""
    _check(relevant, total, k)
    return sum(relevant[:k]) / count if (count := _total(relevant, total)) else None


def reciprocal_rank(relevant: Sequence[bool], total: int | None = None) -> float | None:
    """Return 1 divided by the rank of the first relevant item; the mean of these is the MRR."""
    _check(relevant, total)
    first = next((place for place, one in enumerate(relevant, 1) if one), None)
    return (0.0 if first is None else 1 / first) if _total(relevant, total) else None


def average_precision(relevant: Sequence[bool], total: int | None = None) -> float | None:
    """Return the mean, over all relevant items, of the precision at each item's rank."""
    _check(relevant, total)
    found, precisions = 0, 0.0
    for place, one in enumerate(relevant, 1):
        if one:
            found += 1
            precisions += found / place
    return precisions / count if (count := _total(relevant, total)) else None


def ndcg_at(relevant: Sequence[bool], k: int, total: int | None = None) -> float | None:
    """Return the discounted gain of the first k items, divided by that of the ideal order."""
    _check(relevant, total, k)
    count = _total(relevant, total)
    best = math.fsum(1 / math.log2(place + 1) for place in range(1, min(k, count) + 1))
    gain = math.fsum(1 / math.log2(n + 1) for n, one in enumerate(relevant[:k], 1) if one)
    return gain / best if count else None


def _total(relevant: Sequence[bool], total: int | None) -> int:
    return sum(relevant) if total is None else total


def _check(relevant: Sequence[bool], total: int | None, k: int = 1) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigurationError(f"k is {k!r}; expected a whole number of at least 1")
    if total is not None and total < sum(relevant):
        raise InvalidScoresError(f"total is {total}, but {sum(relevant)} relevant items were found")
