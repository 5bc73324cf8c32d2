"""How scores lie, as the standard library says it."""

import random
import statistics

import pytest

from rag_evals.stats.bands import spread_of

NUMBERS = random.Random(7)
MANY = 60_001
LISTS = {
    "one": [0.5],
    "few": [NUMBERS.random() for _ in range(9)],
    "many": [NUMBERS.random() for _ in range(MANY)],
    "many, an even number": [NUMBERS.random() for _ in range(MANY + 1)],
    "many, two values": [float(place % 2) for place in range(MANY + 1)],
    "many, thirds": [place % 4 / 3 for place in range(MANY)],
    "many, all equal": [1.0] * MANY,
}


@pytest.mark.parametrize("name", LISTS)
def test_equals_the_standard_library(name: str) -> None:
    """Also for lists that are too long to be sorted."""
    values = LISTS[name]
    spread = spread_of(values)

    assert spread["median"] == statistics.median(values)
    assert (spread["min"], spread["max"], spread["n"]) == (min(values), max(values), len(values))
    if len(values) > 1:
        assert spread["std"] == pytest.approx(
            statistics.pstdev(values) * (len(values) / (len(values) - 1)) ** 0.5
        )
    else:
        assert spread["std"] is None
