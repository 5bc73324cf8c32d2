"""A table of places does what a dict does, in far less memory."""

import random

import pytest

from rag_evals.dataset.places import Keys, Places, key_of

MOST_BYTES_A_KEY = 48


def test_does_what_a_dict_does() -> None:
    """Over many random operations on few keys, 0 among them (which is the same as 1)."""
    numbers, places = random.Random(3), Places()
    known: dict[int, int] = {}
    for _ in range(20_000):
        key, place = (
            numbers.choice((0, 2, 2**64 - 1, numbers.randrange(2, 2**10))),
            numbers.randrange(9),
        )
        do = numbers.randrange(4)
        if do == 0:
            places.put(key, place)
            known[key] = place
        elif do == 1:
            assert places.first(key, place) == known.setdefault(key, place)
        elif do == 2:
            assert places.pop(key) == known.pop(key, None)
        assert places.get(key) == known.get(key)
        assert (key in places, len(places)) == (key in known, len(known))


@pytest.mark.parametrize("room", [0, 20_000])
def test_takes_little_room_and_tells_all_keys_apart(room: int) -> None:
    """20,000 keys, in tables that grow and in one that was made large enough."""
    places, keys = Places(room=room), Keys(room=room)
    for number in range(20_000):
        places.put(key_of(f"row-{number}"), number)
        assert keys.add(key_of(f"row-{number}"))

    assert len(places) == len(keys) == 20_000
    assert places._places.nbytes + places._keys.nbytes < MOST_BYTES_A_KEY * 20_000
    assert keys._keys.nbytes < MOST_BYTES_A_KEY / 2 * 20_000
    assert all(places.get(key_of(f"row-{number}")) == number for number in range(20_000))
    assert not any(keys.add(key_of(f"row-{number}")) for number in range(20_000))
    assert key_of("row-20000") not in places
