"""Measures of a search ranking's quality, computed from the relevance at each rank.

`relevant` states for each rank, best first, whether the item is relevant. `total` is the number of
relevant items, found or not; by default, the number found. All results are between 0 and 1:
0 if nothing relevant was found, and None if nothing relevant exists. `k` must be at least 1, but
can exceed the length of the list.
"""

import math
from collections.abc import Sequence

from rag_evals.errors import ConfigurationError, InvalidScoresError


def hit_at(relevant: Sequence[bool], k: int, total: int | None = None) -> float | None:
    """Return 1.0 if any of the first k items is relevant, else 0.0."""
    return float(any(relevant[:k])) if _count_relevant(relevant, total, k) else None


def recall_at(relevant: Sequence[bool], k: int, total: int | None = None) -> float | None:
    """Return the share of the relevant items that are among the first k."""
    count = _count_relevant(relevant, total, k)
    return sum(relevant[:k]) / count if count else None


def reciprocal_rank(relevant: Sequence[bool], total: int | None = None) -> float | None:
    """Return 1 divided by the rank of the first relevant item; the mean of these is the MRR."""
    count = _count_relevant(relevant, total)
    return next((1 / rank for rank, one in enumerate(relevant, 1) if one), 0.0) if count else None


def average_precision(relevant: Sequence[bool], total: int | None = None) -> float | None:
    """Return the mean, over all relevant items, of the precision at each item's rank."""
    count, precisions = _count_relevant(relevant, total), 0.0
    ranks = (rank for rank, one in enumerate(relevant, 1) if one)
    for found, rank in enumerate(ranks, 1):
        precisions += found / rank
    return precisions / count if count else None


def ndcg_at(relevant: Sequence[bool], k: int, total: int | None = None) -> float | None:
    """Return the discounted gain of the first k items, divided by that of the ideal order."""
    count = _count_relevant(relevant, total, k)
    best = math.fsum(1 / math.log2(place + 1) for place in range(1, min(k, count) + 1))
    gain = math.fsum(1 / math.log2(n + 1) for n, one in enumerate(relevant[:k], 1) if one)
    return gain / best if count else None


def _count_relevant(relevant: Sequence[bool], total: int | None, k: int = 1) -> int:
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ConfigurationError(f"k is {k!r}; expected a whole number of at least 1")
    if total is not None and total < sum(relevant):
        raise InvalidScoresError(f"total is {total}, but {sum(relevant)} relevant items were found")
    return sum(relevant) if total is None else total
