"""A compact, exact map of 16-byte keys to row numbers, beside which its users keep columns of plain numbers."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable

MAX_ROWS = 2_000_000_000
"""The maximum number of rows that each user of a table adds; slots of the index can number twice as many."""
_SEGMENTS = 256
"""Parts of the index, each of which grows by itself."""
_FIRST_SLOTS = 16
_HALVES = struct.Struct("=QQ")
_unpack: Callable[[bytes], tuple[int, int]] = _HALVES.unpack


class KeyTable:
    """Numbers keys 1, 2, 3 and so on, in the order in which they are added.

    A row takes 16 bytes for its key, and 6 to 12 for the index. The arrays of keys grow by a sixteenth, and the index
    in small segments, so that nothing large is ever held twice. It has no lock: with several threads, hold one.
    """

    def __init__(self) -> None:
        self._firsts, self._seconds = array("Q", [0]), array("Q", [0])
        """The halves of each key; row 0 stands for none."""
        self._segments = [array("I", [0]) * _FIRST_SLOTS for _ in range(_SEGMENTS)]
        """Hash tables of row numbers; a slot with 0 is free."""
        self._room = [_most_keys(_FIRST_SLOTS)] * _SEGMENTS
        """How many more keys each segment takes before it grows."""

    def __len__(self) -> int:
        """How many keys there are."""
        return len(self._firsts) - 1

    def __contains__(self, key: bytes) -> bool:
        """Whether a key was added."""
        return self.row(key) != 0

    def row(self, key: bytes) -> int:
        """The row of a key; 0: it was not added."""
        first, second = _unpack(key)
        mixed = first ^ second
        slots = self._segments[mixed % _SEGMENTS]
        firsts, last = self._firsts, len(slots) - 1
        slot = mixed // _SEGMENTS & last
        while row := slots[slot]:
            if firsts[row] == first and self._seconds[row] == second:
                return row
            slot = slot + 1 & last
        return 0

    def add(self, key: bytes) -> int:
        """The row of a key, which is added unless it is there."""
        first, second = _unpack(key)
        mixed = first ^ second
        segment = mixed % _SEGMENTS
        slots = self._segments[segment]
        firsts, last = self._firsts, len(slots) - 1
        slot = mixed // _SEGMENTS & last
        while row := slots[slot]:
            if firsts[row] == first and self._seconds[row] == second:
                return row
            slot = slot + 1 & last
        slots[slot] = row = len(firsts)
        firsts.append(first)
        self._seconds.append(second)
        self._room[segment] -= 1
        if not self._room[segment]:
            self._grow(segment)
        return row

    def key(self, row: int) -> bytes:
        """The key of a row."""
        return _HALVES.pack(self._firsts[row], self._seconds[row])

    def _grow(self, segment: int) -> None:
        """Doubles one part of the index."""
        old = self._segments[segment]
        slots = array("I", [0]) * (2 * len(old))
        last = len(slots) - 1
        for row in filter(None, old):
            slot = (self._firsts[row] ^ self._seconds[row]) // _SEGMENTS & last
            while slots[slot]:
                slot = slot + 1 & last
            slots[slot] = row
        self._segments[segment] = slots
        self._room[segment] = _most_keys(len(slots)) - _most_keys(len(old))


def _most_keys(slots: int) -> int:
    """How many keys so many slots take: two thirds, so that searches stay short."""
    return slots * 2 // 3
