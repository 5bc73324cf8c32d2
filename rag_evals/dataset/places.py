"""Where does each of very many keys stand? In tables of about 30 bytes a key, or 15 without places.

A dict takes 140 bytes a key, which a million rows do not leave room for.
"""

import mmap

_FIRST_SLOTS = 64
# Fuller tables are searched longer, emptier ones take more room.
_FULLEST = 0.6
_GROWTH = 1.5
_SLOT_BYTES = 8
_GONE = 2**64 - 1


def key_of(name: object) -> int:
    """Return a key that stands for a name in this process: 64 bits of its hash."""
    return hash(name) & _GONE


class Keys:
    """A set of keys: numbers of 64 bits; 0 and 1 are one key.

    Keys are meant to be hashes: of a million, two are the same once in forty million tables.
    """

    def __init__(self, *, room: int = 0) -> None:
        """Begin without keys.

        Args:
            room: How many there will be, about; a table that must grow takes longer to fill.
        """
        self._keys = _numbers(max(_FIRST_SLOTS, int(room / _FULLEST) + 1))
        self._used = 0

    def __len__(self) -> int:
        """Count the keys."""
        return self._used

    def add(self, key: int) -> bool:
        """Put a key in, and say whether it is new."""
        slot = self._slot(key)
        if self._keys[slot]:
            return False
        self._take(slot, key)
        return True

    def _take(self, slot: int, key: int) -> int:
        """Put a new key into its free slot; return the slot, another one where the table grew."""
        if self._used >= _FULLEST * len(self._keys):
            before = self._keys
            self._keys = _numbers(int(len(before) * _GROWTH))
            self._move(before)
            slot = self._slot(key)
        self._keys[slot] = key or 1
        self._used += 1
        return slot

    def _move(self, before: memoryview) -> None:
        for key in before:
            if key:
                self._keys[self._slot(key)] = key

    def _slot(self, key: int) -> int:
        """Return where a key stands, or the free slot where it belongs; 0 marks a free one."""
        keys, key = self._keys, key or 1
        slots = len(keys)
        slot = key % slots
        while (there := keys[slot]) and there != key:
            slot = slot + 1 if slot + 1 < slots else 0
        return slot


class Places(Keys):
    """A number below 2**64 - 1 for each key."""

    def __init__(self, *, room: int = 0) -> None:
        """Begin without keys; `room` as for `Keys`."""
        super().__init__(room=room)
        self._places = _numbers(len(self._keys))
        self._gone = 0

    def __len__(self) -> int:
        """Count the keys that are there."""
        return self._used - self._gone

    def __contains__(self, key: int) -> bool:
        """Say whether a key is there."""
        return self.get(key) is not None

    def get(self, key: int) -> int | None:
        """Return the place of a key; None for one that is not there."""
        slot = self._slot(key)
        if not self._keys[slot] or self._places[slot] == _GONE:
            return None
        return self._places[slot]

    def put(self, key: int, place: int) -> None:
        """Note the place of a key, instead of an earlier one."""
        slot = self._slot(key)
        if not self._keys[slot]:
            slot = self._take(slot, key)
        elif self._places[slot] == _GONE:
            self._gone -= 1
        self._places[slot] = place

    def first(self, key: int, place: int) -> int:
        """Return the place of a key, which is noted where it has none."""
        found = self.get(key)
        if found is None:
            self.put(key, place)
            return place
        return found

    def pop(self, key: int) -> int | None:
        """Take a key out, and return its place; None for one that is not there."""
        slot = self._slot(key)
        if not self._keys[slot] or self._places[slot] == _GONE:
            return None
        place, self._places[slot] = self._places[slot], _GONE
        self._gone += 1
        return place

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
