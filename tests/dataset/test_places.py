"""A table of places does what a dict does, in far less memory."""

import random
import sys

import pytest

from rag_evals.dataset.source import Places


def test_does_what_a_dict_does() -> None:
    """Over many random operations on few keys, 0 among them."""
    numbers, places = random.Random(3), Places()
    known: dict[int, int] = {}
    for place in range(20_000):
        key = numbers.choice((0, 1, 2**64 - 1, numbers.randrange(2, 2**10)))
        assert places.first(key, place) == known.setdefault(key, place)


@pytest.mark.slow
def test_takes_little_room_and_tells_all_keys_apart() -> None:
    """300,000 keys take less than half of what a dict of them takes."""
    places = Places()
    numbers = random.Random(5)
    names = [numbers.randrange(2**64) for _ in range(300_000)]
    assert all(places.first(name, row) == row for row, name in enumerate(names))
    assert all(places.first(name, -1) == row for row, name in enumerate(names))

    stored = {name: row for row, name in enumerate(names)}
    of_dict = sys.getsizeof(stored) + sum(map(sys.getsizeof, [*stored, *stored.values()]))
    of_places = sys.getsizeof(places._buckets) + sum(
        sys.getsizeof(pair) + sum(map(sys.getsizeof, pair)) for pair in places._buckets.values()
    )
    assert of_places < of_dict / 2
