"""Answers that ask a store, one at a time: many requests never take all of its connections from the runs."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from nessie_gc_core.model.times import Elapsed

T = TypeVar("T")


class InTurn(Generic[T]):
    """Makes an answer for one request at a time; those that waited meanwhile take what another one got."""

    def __init__(self, make: Callable[[], T], *, patience: float, kept: float, elapsed: Elapsed) -> None:
        """Takes how to make it.

        Args:
            make: makes an answer; called by one thread at a time.
            patience: seconds for which a request waits for the one before it.
            kept: for how many seconds an answer counts at least; it does for as long as it took to make it.
            elapsed: the clock of elapsed seconds.
        """
        self._make, self._patience, self._kept, self._elapsed = make, patience, kept, elapsed
        self._lock = threading.Lock()
        self._until = -math.inf
        self._answers: list[T] = []

    def get(self) -> T | None:
        """The answer; ``None`` if another request still waits for one. Whatever the making raises is raised."""
        if not self._lock.acquire(timeout=self._patience):
            return None
        try:
            begun = self._elapsed()
            if begun >= self._until:
                self._answers = [self._make()]
                ended = self._elapsed()
                self._until = ended + max(self._kept, ended - begun)
            return self._answers[0]
        finally:
            self._lock.release()
