"""A table of places does what a dict does, in far less memory."""

import random

from rag_evals.dataset.source import Keys, Places

MOST_BYTES_A_KEY = 48


def test_does_what_a_dict_does() -> None:
    """Over many random operations on few keys, 0 among them (which is the same as 1)."""
    numbers, places, keys = random.Random(3), Places(), Keys()
    known: dict[int, int] = {}
    for place in range(20_000):
        key = numbers.choice((0, 2, 2**64 - 1, numbers.randrange(2, 2**10)))
        assert keys.add(key) is (key not in known)
        assert places.first(key, place) == known.setdefault(key, place)
        assert len(places) == len(keys) == len(known)


def test_takes_little_room_and_tells_all_keys_apart() -> None:
    """20,000 keys, in tables that grow."""
    places, keys = Places(), Keys()
    names = [random.Random(row).randrange(2**64) for row in range(20_000)]
    for row, name in enumerate(names):
        assert places.first(name, row) == row
        assert keys.add(name)

    assert len(places) == len(keys) == 20_000
    assert places._places.nbytes + places._keys.nbytes < MOST_BYTES_A_KEY * 20_000
    assert keys._keys.nbytes < MOST_BYTES_A_KEY / 2 * 20_000
    assert all(places.first(name, -1) == row for row, name in enumerate(names))
    assert not any(map(keys.add, names))
