"""Rank numbers: equal to their definitions, written out another way, on random rankings."""

import math
import random
from collections.abc import Sequence

import pytest

from rag_evals.errors import ConfigurationError, InvalidScoresError
from rag_evals.stats import average_precision, hit_at, ndcg_at, reciprocal_rank
from rag_evals.stats.ranks import recall_at


def by_ids(
    ranked: Sequence[int], gold: set[int], k: int
) -> tuple[float, float, float, float, float]:
    """Compute hit, recall, reciprocal rank, average precision and nDCG as trec_eval defines them.

    From ids and by counting at every cut, not from a list of truth values.
    """
    top = ranked[:k]
    precisions = [
        len(gold.intersection(ranked[: cut + 1])) / (cut + 1)
        for cut in range(len(ranked))
        if ranked[cut] in gold
    ]
    first = min((ranked.index(one) + 1 for one in gold if one in ranked), default=math.inf)
    gains = {one: math.log(2) / math.log(place + 2) for place, one in enumerate(top)}
    ideal = sum(math.log(2) / math.log(place + 2) for place in range(min(k, len(gold))))
    return (
        1.0 if gold.intersection(top) else 0.0,
        len(gold.intersection(top)) / len(gold),
        1 / first,
        sum(precisions) / len(gold),
        sum(gains.get(one, 0.0) for one in gold) / ideal,
    )


def test_a_thousand_random_rankings_agree_with_the_definitions() -> None:
    """Empty lists, lists shorter than k, and gold that was never found are among them."""
    draw = random.Random(30)
    compared = 0
    for _ in range(1000):
        documents = list(range(30))
        draw.shuffle(documents)
        ranked = documents[: draw.choice([0, 1, 2, 5, 10, 20])]
        gold = set(draw.sample(range(30), draw.randint(1, 8)))
        k = draw.choice([1, 3, 5, 10, 50])
        relevant = [one in gold for one in ranked]
        ours = (
            hit_at(relevant, k, len(gold)),
            recall_at(relevant, k, len(gold)),
            reciprocal_rank(relevant, len(gold)),
            average_precision(relevant, len(gold)),
            ndcg_at(relevant, k, len(gold)),
        )
        assert ours == pytest.approx(by_ids(ranked, gold, k), abs=1e-12)
        compared += 1

    assert compared == 1000


def test_made_cases_have_the_numbers_of_the_textbook() -> None:
    """Manning et al., and what each number says of nothing."""
    relevant = [True, False, True, False, False, True]

    assert average_precision(relevant) == pytest.approx((1 + 2 / 3 + 3 / 6) / 3)
    assert average_precision(relevant, 4) == pytest.approx((1 + 2 / 3 + 3 / 6) / 4)
    assert reciprocal_rank([False, False, True]) == pytest.approx(1 / 3)
    assert ndcg_at([False, True], 2) == pytest.approx(1 / math.log2(3))
    assert (hit_at(relevant, 100), recall_at(relevant, 100)) == (1.0, 1.0)
    assert [average_precision([]), hit_at([], 3), recall_at([False], 1)] == [None, None, None]
    assert [average_precision([], 2), reciprocal_rank([False], 1), ndcg_at([], 5, 1)] == [0, 0, 0]


@pytest.mark.parametrize("k", [0, -1, True, 1.5, None])
def test_a_k_that_is_none_is_refused(k: int) -> None:
    """It counts places from 1."""
    with pytest.raises(ConfigurationError, match="expected a whole number of at least 1"):
        recall_at([True], k)


def test_more_found_than_there_is_is_refused() -> None:
    """A total is of all relevant things, found or not."""
    with pytest.raises(InvalidScoresError, match="total is 1, but 2"):
        average_precision([True, True], 1)
