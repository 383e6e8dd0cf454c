"""Calls that are made again while a catalog does not answer, or its store says that requests are too many."""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

from nessie_gc_core.errors import NessieGcError, ServiceUnavailableError
from nessie_gc_iceberg_catalog.errors import Redactor, is_busy, translated

log = logging.getLogger(__name__)
_T = TypeVar("_T")

PATIENCE_SECONDS = 60.0
"""How long is waited in all while a store says that requests are too many."""
_FIRST_WAIT, _LONGEST_WAIT = 0.3, 5.0
_STOPPED: ContextVar[threading.Event | None] = ContextVar("stopped", default=None)
"""Set once nobody waits for the answer of the calls of this thread any more."""


def until(stopped: threading.Event, call: Callable[[], _T]) -> _T:
    """What a call returns, none of whose retries waits once an event is set."""
    token = _STOPPED.set(stopped)
    try:
        return call()
    finally:
        _STOPPED.reset(token)


class Retries:
    """How often the calls of one catalog, or of one store, are made again.

    A call that gets no answer is made again a few times. One whose store says that requests are too many is made again
    with growing waits, for a minute in all. What answered none of them is asked only once by every later call.
    """

    def __init__(
        self,
        redact: Redactor,
        retries: int,
        *,
        refilled: bool = True,
        wait: Callable[[float], bool] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing has failed yet.

        Args:
            redact: takes credentials out of messages.
            retries: how often a call is made again that gets no answer; 0: no call is made again.
            refilled: whether there is another minute, and there are retries again, once a call succeeds.
            wait: waits for so many seconds; whether nobody waits for the call any more.
            clock: seconds, from any moment.
        """
        self._redact = redact
        self._retries = retries
        self._refilled = refilled
        self._wait = _wait if wait is None else wait
        self._clock = clock
        self._lock = threading.Lock()
        self._patience = PATIENCE_SECONDS
        self._waited_until = float("-inf")
        self._is_given_up = retries == 0

    def __call__(self, call: Callable[[], _T], what: str) -> _T:
        """What a call returns.

        Raises:
            NessieGcError: what the last attempt raised, translated.
        """
        waits, busy_waits = itertools.islice(_waits(), self._retries), _waits()
        while True:
            try:
                answer = call()
            except NessieGcError:
                raise
            except Exception as error:
                ours = translated(error, what, self._redact)
                seconds = self._next_wait(error, ours, waits, busy_waits)
                if seconds is None:
                    raise ours from error
                log.warning("%s; trying again", ours)
                if self._wait(seconds):
                    raise ours from error
            else:
                self._refill()
                return answer

    def _next_wait(
        self, error: Exception, ours: NessieGcError, waits: Iterator[float], busy_waits: Iterator[float]
    ) -> float | None:
        """How long to wait for another attempt; ``None``: there is none."""
        if not isinstance(ours, ServiceUnavailableError):
            return None
        with self._lock:
            if self._is_given_up:
                return None
            seconds = self._reserved(next(busy_waits)) if is_busy(error) else next(waits, None)
            self._is_given_up = seconds is None
            return seconds

    def _reserved(self, seconds: float) -> float | None:
        """A wait, if there is time for it; waits of several calls at once count once."""
        end = self._clock() + seconds
        more = min(seconds, max(0.0, end - self._waited_until))
        if more > self._patience:
            return None
        self._patience -= more
        self._waited_until = max(self._waited_until, end)
        return seconds

    def _refill(self) -> None:
        if self._refilled and self._retries:
            with self._lock:
                self._patience, self._is_given_up = PATIENCE_SECONDS, False


class ReadRetries:
    """How often reads of metadata files are made again: each store has its own minute, which no success refills."""

    def __init__(self, redact: Redactor, retries: int) -> None:
        self._of_store = defaultdict[str, Retries](partial(Retries, redact, retries, refilled=False))
        self._lock = threading.Lock()

    def __call__(self, read: Callable[[], _T], what: str, location: str) -> _T:
        """What a read of a location returns.

        Raises:
            NessieGcError: what the last attempt raised, translated.
        """
        with self._lock:
            retries = self._of_store["/".join(location.split("/", 3)[:3])]
        return retries(read, what)


def _wait(seconds: float) -> bool:
    """Waits for so long; whether that was stopped."""
    stopped = _STOPPED.get()
    if stopped is None:
        time.sleep(seconds)
        return False
    return stopped.wait(seconds)


def _waits() -> Iterator[float]:
    """Growing waits, each with its jitter."""
    seconds = _FIRST_WAIT
    while True:
        yield seconds * (1 + random.random()) / 2
        seconds = min(2 * seconds, _LONGEST_WAIT)
