"""How long a computed lake's store takes to answer, and which requests it refuses at first."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

from nessie_gc_memory.mock.numbers import falls_in
from nessie_gc_memory.mock.spec import MockLakeSpec


class Pace:
    """Holds requests back; a refused request is repeated after twice the latency, as clients of stores do.

    Args:
        spec: the lake.
        sleep: waits for some seconds.
    """

    def __init__(self, spec: MockLakeSpec, sleep: Callable[[float], None] = time.sleep) -> None:
        self._seconds = spec.latency.total_seconds()
        self._spec = spec
        self._sleep = sleep
        self._numbers = itertools.count()

    def request(self) -> None:
        """Waits as long as one request takes."""
        self.wait(4 if self.is_refused() else 1)

    def wait(self, times: int = 1) -> None:
        """Waits so many times the latency."""
        if self._seconds:
            self._sleep(self._seconds * times)

    def is_refused(self) -> bool:
        """Whether the next request is among those that are refused."""
        share = self._spec.throttled_share
        return share > 0 and falls_in(share, self._spec.seed, 10, next(self._numbers))
