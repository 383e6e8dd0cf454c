"""The parents and times of commits that were walked, in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from datetime import datetime

from nessie_gc_core.algorithms.key_table import MAX_ROWS, KeyTable
from nessie_gc_core.model.batches import from_micros, to_micros
from nessie_gc_core.model.relations import UNKNOWN_TIME


class CommitGraph:
    """By 16-byte key the parent and the time of each commit: 34 to 40 bytes for one. It has no lock."""

    def __init__(self, capacity: int) -> None:
        """Takes the number of commits beyond which no more are added."""
        self._room = min(capacity, MAX_ROWS)
        self._keys = KeyTable()
        self._parents = array("I", [0])
        """By row the row of the parent; 0: none."""
        self._times = array("q", [UNKNOWN_TIME])
        """By row the microseconds of the commit; unknown: only its child was added."""

    def __contains__(self, key: bytes) -> bool:
        """Whether a commit was added."""
        return self._times[self._keys.row(key)] != UNKNOWN_TIME

    def get(self, key: bytes) -> tuple[bytes | None, datetime] | None:
        """The parent of a commit, if it has one, and its time (UTC); ``None``: it was not added."""
        row = self._keys.row(key)
        commit_time = from_micros(self._times[row])
        if commit_time is None:
            return None
        parent = self._parents[row]
        return self._keys.key(parent) if parent else None, commit_time

    def add(self, key: bytes, parent: bytes | None, commit_time: datetime) -> None:
        """Adds a commit, while there is room."""
        if self._room <= 0:
            return
        row = self._row(key)
        self._room -= self._times[row] == UNKNOWN_TIME
        self._times[row] = to_micros(commit_time)
        self._parents[row] = 0 if parent is None else self._row(parent)

    def first_circle(self, heads: Iterable[bytes]) -> bytes | None:
        """The first of some commits from which the way by the parents never ends; ``None``: it ends from all of them.

        Each commit is looked at once.
        """
        walked = array("I", bytes(4 * len(self._parents)))
        for number, head in enumerate(heads, start=1):
            row = self._keys.row(head)
            while row and not walked[row]:
                walked[row] = number
                row = self._parents[row]
            if row and walked[row] == number:
                return head
        return None

    def _row(self, key: bytes) -> int:
        row = self._keys.add(key)
        if row == len(self._times):
            self._times.append(UNKNOWN_TIME)
            self._parents.append(0)
        return row
