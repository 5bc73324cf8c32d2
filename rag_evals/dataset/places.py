"""Which keys of very many were seen, and where first? In 15 bytes a key, or 30 with places.

A dict takes 140 bytes a key, which a million rows do not leave room for. Keys are hashes of 64
bits: of a million, two are the same once in forty million tables. 0 and 1 are one key.
"""

import mmap

_FIRST_SLOTS = 64
# Fuller tables are searched longer, emptier ones take more room.
_FULLEST = 0.6
_GROWTH = 1.5
_SLOT_BYTES = 8


class Keys:
    """A set of keys."""

    def __init__(self) -> None:
        self._keys = _numbers(_FIRST_SLOTS)
        self._used = 0

    def __len__(self) -> int:
        """Count the keys."""
        return self._used

    def add(self, key: int) -> bool:
        """Put a key in, and say whether it is new."""
        slot = self._slot(key)
        if self._keys[slot]:
            return False
        self._fill(slot, key)
        return True

    def _fill(self, slot: int, key: int) -> int:
        """Put a new key into its free slot; return the slot, a different one in a grown table."""
        if self._used >= _FULLEST * len(self._keys):
            before, self._keys = self._keys, _numbers(int(len(self._keys) * _GROWTH))
            self._move(before)
            slot = self._slot(key)
        self._keys[slot] = key or 1
        self._used += 1
        return slot

    def _move(self, before: memoryview) -> None:
        for key in filter(None, before):
            self._keys[self._slot(key)] = key

    def _slot(self, key: int) -> int:
        """Return where a key is, or the free slot where it belongs; 0 marks a free one."""
        keys, key = self._keys, key or 1
        slots = len(keys)
        slot = key % slots
        while (there := keys[slot]) and there != key:
            slot = slot + 1 if slot + 1 < slots else 0
        return slot


class Places(Keys):
    """The first place of each key."""

    def __init__(self) -> None:
        super().__init__()
        self._places = _numbers(_FIRST_SLOTS)

    def first(self, key: int, place: int) -> int:
        """Return the place of a key, which is noted where it has none."""
        slot = self._slot(key)
        if not self._keys[slot]:
            slot = self._fill(slot, key)
            self._places[slot] = place
            return place
        return self._places[slot]

    def _move(self, before: memoryview) -> None:
        places, self._places = self._places, _numbers(len(self._keys))
        for key, place in zip(before, places, strict=True):
            if key:
                slot = self._slot(key)
                self._keys[slot], self._places[slot] = key, place


def _numbers(count: int) -> memoryview:
    """Return so many zeros, and one more where they are even, in memory of their own.

    The system has it back at once when they are let go; memory of an `array` may stay with the
    process. An odd count keeps keys with a common factor apart.
    """
    return memoryview(mmap.mmap(-1, _SLOT_BYTES * (count | 1))).cast("Q")
