"""Do several people agree with each other?

Krippendorff's alpha for categories: any number of people, not everyone labels everything.
"""

import random
from collections import Counter
from collections.abc import Hashable, Sequence

from rag_evals.stats.bootstrap import quantile
from rag_evals.stats.checks import require_fraction, require_positive
from rag_evals.stats.intervals import Interval

Item = tuple[tuple[Hashable, int], ...]


def krippendorff_alpha(ratings: Sequence[Sequence[Hashable | None]]) -> float | None:
    """Measure agreement of two or more people on categories (Krippendorff 2011).

    Args:
        ratings: One list per labelled item with the category each person gave it, in any order and
            number; None where a person gave none.

    Returns:
        1 for full agreement, 0 for chance, below 0 for worse; None when no item has two labels or
        only one category occurs, because then chance cannot be told from agreement.
    """
    return _alpha(_labelled_items(ratings))


def krippendorff_interval(
    ratings: Sequence[Sequence[Hashable | None]],
    *,
    confidence: float = 0.95,
    resamples: int = 2_000,
    seed: int = 0,
) -> Interval | None:
    """Estimate Krippendorff's alpha by resampling items (Zapf et al. 2016).

    Args:
        ratings: As in `krippendorff_alpha`.
        confidence: Coverage of the interval, as a fraction; too low below some 30 items, and
            without width after full agreement.
        resamples: Bootstrap draws.
        seed: Same seed, same interval.

    Returns:
        Alpha and its percentile interval; None where alpha is undefined.

    Raises:
        ConfigurationError: `confidence` is not a fraction, or `resamples` is below 1.
    """
    require_fraction("confidence", confidence)
    require_positive("resamples", resamples)
    items = _labelled_items(ratings)
    estimate = _alpha(items)
    if estimate is None:
        return None
    rng = random.Random(seed)
    draws = sorted(
        alpha
        for _ in range(resamples)
        if (alpha := _alpha(rng.choices(items, k=len(items)))) is not None
    )
    low = quantile(draws, (1 - confidence) / 2) if draws else estimate
    high = quantile(draws, (1 + confidence) / 2) if draws else estimate
    return Interval(
        estimate, min(low, estimate), max(high, estimate), confidence, "bootstrap of items"
    )


def _labelled_items(ratings: Sequence[Sequence[Hashable | None]]) -> list[Item]:
    """Count the categories of each item; one label alone has nothing to agree with."""
    counts = (Counter(label for label in item if label is not None) for item in ratings)
    return [tuple(count.items()) for count in counts if count.total() > 1]


def _alpha(items: Sequence[Item]) -> float | None:
    """1 - observed / expected disagreement over all pairs of labels within items."""
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
