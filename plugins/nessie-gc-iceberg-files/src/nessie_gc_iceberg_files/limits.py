"""How many requests to one bucket are in flight in this process: fewer when the store says that they are too many.

S3 limits requests by prefix, and does not say where one prefix ends and the next begins. So the limits here are by the
first folders of a key, which are mostly those of one table, and there is one more for the whole bucket.
"""

from __future__ import annotations

import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_IN_FLIGHT = 64
"""How many requests to a bucket are in flight at most, unless a property says otherwise."""
PATIENCE_SECONDS = 60.0
"""How long the waits of one request, or of one part of a deletion, are in all."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0
_FOLDERS = 3
"""The folders that share a limit: warehouse, namespace and table."""
_CUT = 0.7
_MANY_LANES = 1000


class StoppedError(OSError):
    """Nobody waits for the answer any more."""


class Patience:
    """Growing waits, each with its jitter, until they sum to so many seconds."""

    def __init__(
        self,
        seconds: float = PATIENCE_SECONDS,
        stopped: threading.Event | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._left = seconds
        self._stopped = stopped or threading.Event()
        self._jitter = jitter
        self._next = _FIRST_WAIT

    def wait(self) -> bool:
        """Waits before another attempt; false, at once, if there should be none.

        Raises:
            StoppedError: nobody waits for the answer any more.
        """
        seconds = self._next * (1 + self._jitter()) / 2
        if seconds > self._left:
            return False
        self._left -= seconds
        self._next = min(2 * self._next, _LONGEST_WAIT)
        if self._stopped.wait(seconds):
            raise StoppedError("the run was stopped")
        return True


@dataclass(slots=True)
class _Lane:
    """The requests for keys that begin with the same folders."""

    limit: float
    in_flight: int = 0
    waiting: int = 0
    cut: float = float("-inf")
    """When the limit was lowered last."""


@dataclass(slots=True)
class _Slot:
    lane: _Lane
    began: float
    stopped: threading.Event | None
    was_throttled: bool = False


class _OfThread(threading.local):
    slot: _Slot | None = None


class Limits:
    """The limits of one bucket, for all threads of this process."""

    def __init__(self, most: int = MOST_IN_FLIGHT, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._clock = clock
        self._condition = threading.Condition()
        self._lanes: dict[str, _Lane] = {}
        self._in_flight = 0
        self._of_thread = _OfThread()

    @contextmanager
    def slot(self, key: str, stopped: threading.Event | None = None) -> Iterator[None]:
        """Waits until a request for a key, or for keys with a prefix, may begin; it is in flight in the block.

        A thread has one request in flight.
        """
        self._of_thread.slot = slot = self._begin("/".join(key.split("/")[:_FOLDERS]), stopped)
        try:
            yield
        finally:
            self._of_thread.slot = None
            self._end(slot)

    def throttled(self) -> None:
        """Says that the store refused the request of this thread because there are too many.

        Requests that began before the limit was lowered do not lower it again: they were part of the same crowd.
        """
        slot = self._of_thread.slot
        if slot is None:
            return
        with self._condition:
            lane = slot.lane
            slot.was_throttled = True
            if slot.began >= lane.cut:
                lane.limit = max(1.0, min(lane.limit, lane.in_flight) * _CUT)
                lane.cut = self._clock()
            slot.began = self._clock()

    def patience(self, seconds: float = PATIENCE_SECONDS) -> Patience:
        """The waits of this thread's request; they end when its caller is stopped."""
        slot = self._of_thread.slot
        return Patience(seconds, slot.stopped if slot is not None else None)

    def allowed(self, key: str) -> int:
        """How many requests for a key may be in flight now."""
        lane = self._lanes.get("/".join(key.split("/")[:_FOLDERS]))
        return self._most if lane is None else int(lane.limit)

    def _begin(self, name: str, stopped: threading.Event | None) -> _Slot:
        with self._condition:
            lane = self._lanes.get(name)
            if lane is None:
                self._forget_unused()
                lane = self._lanes[name] = _Lane(limit=self._most)
            lane.waiting += 1
            try:
                self._condition.wait_for(lambda: self._has_room(lane))
            finally:
                lane.waiting -= 1
            if stopped is not None and stopped.is_set():
                self._condition.notify_all()
                raise StoppedError("the run was stopped")
            lane.in_flight += 1
            self._in_flight += 1
            return _Slot(lane, self._clock(), stopped)

    def _has_room(self, lane: _Lane) -> bool:
        return self._in_flight < self._most and lane.in_flight < int(lane.limit)

    def _end(self, slot: _Slot) -> None:
        with self._condition:
            slot.lane.in_flight -= 1
            self._in_flight -= 1
            if not slot.was_throttled:
                slot.lane.limit = min(self._most, slot.lane.limit + 1 / slot.lane.limit)
            self._condition.notify_all()

    def _forget_unused(self) -> None:
        if len(self._lanes) >= _MANY_LANES:
            self._lanes = {name: lane for name, lane in self._lanes.items() if lane.in_flight or lane.waiting}


class _OfProcess:
    """The limits of the buckets that stores of this process use."""

    def __init__(self) -> None:
        self.forget()

    def of(self, endpoint: str, bucket: str, most: int) -> Limits:
        """Those of a bucket, whatever the scheme and the credentials with which it is asked."""
        with self._lock:
            found = self._limits.get((endpoint, bucket, most))
            if found is None:
                found = self._limits[endpoint, bucket, most] = Limits(most)
            return found

    def forget(self) -> None:
        """In a copy of a process nothing is in flight."""
        self._limits = weakref.WeakValueDictionary[tuple[str, str, int], Limits]()
        self._lock = threading.Lock()


_OF_PROCESS = _OfProcess()
os.register_at_fork(after_in_child=_OF_PROCESS.forget)
limits_of = _OF_PROCESS.of
