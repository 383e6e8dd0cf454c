"""How many rows a relation has."""

from __future__ import annotations

from collections.abc import Callable


class Rows:
    """How many rows a relation has at most; what is stored is counted when someone asks, and once."""

    def __init__(self, count: Callable[[], int]) -> None:
        self._count = count
        self._most: int | None = None

    @classmethod
    def known(cls, rows: int) -> Rows:
        """Nothing to count."""
        return cls(lambda: rows)

    def most(self) -> int:
        """The number."""
        if self._most is None:
            self._most = self._count()
        return self._most

    def and_those_of(self, other: Rows) -> Rows:
        """Of both."""
        return Rows(lambda: self.most() + other.most())
