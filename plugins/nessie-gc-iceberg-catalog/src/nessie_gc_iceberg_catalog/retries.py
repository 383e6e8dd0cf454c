"""Calls that are made again while a catalog does not answer, or its store says that requests are too many."""

from __future__ import annotations

import itertools
import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TypeVar

from nessie_gc_core.errors import NessieGcError, ServiceUnavailableError
from nessie_gc_iceberg_catalog.errors import Redactor, is_busy, translated

log = logging.getLogger(__name__)
_T = TypeVar("_T")

PATIENCE_SECONDS = 60.0
"""How long the waits of one call are in all while a store says that requests are too many."""
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
    """How often the calls of one catalog are made again.

    A call that gets no answer is made again a few times. One whose store says that requests are too many is made again
    for a minute, with growing waits. A store that said nothing else for a whole minute is not given another minute for
    each table: until some call succeeds, there are only the few retries.
    """

    def __init__(self, redact: Redactor, retries: int, *, wait: Callable[[float], bool] | None = None) -> None:
        """Nothing has failed yet.

        Args:
            redact: takes credentials out of messages.
            retries: how often a call is made again that gets no answer; 0: no call is made again.
            wait: waits for so many seconds; whether nobody waits for the call any more.
        """
        self._redact = redact
        self._retries = retries
        self._wait = _wait if wait is None else wait
        self._patience = PATIENCE_SECONDS if retries else 0.0
        self._is_exhausted = False

    def __call__(self, call: Callable[[], _T], what: str) -> _T:
        """What a call returns.

        Raises:
            NessieGcError: what the last attempt raised, translated.
        """
        waits, busy_waits = _waits(), _waits(self._patience)
        for attempt in itertools.count():
            try:
                answer = call()
            except NessieGcError:
                raise
            except Exception as error:
                ours = translated(error, what, self._redact)
                seconds = self._next_wait(error, ours, attempt, waits, busy_waits)
                if seconds is None:
                    raise ours from error
                log.warning("%s; trying again", ours)
                if self._wait(seconds):
                    raise ours from error
            else:
                self._is_exhausted = False
                return answer
        raise AssertionError("the last attempt returns or raises")

    def _next_wait(
        self, error: Exception, ours: NessieGcError, attempt: int, waits: Iterator[float], busy_waits: Iterator[float]
    ) -> float | None:
        """How long to wait for another attempt; ``None``: there is none."""
        if not isinstance(ours, ServiceUnavailableError):
            return None
        if is_busy(error) and not self._is_exhausted:
            seconds = next(busy_waits, None)
            self._is_exhausted = seconds is None
            return seconds
        return next(waits) if attempt < self._retries else None


def _wait(seconds: float) -> bool:
    """Waits for so long; whether that was stopped."""
    stopped = _STOPPED.get()
    if stopped is None:
        time.sleep(seconds)
        return False
    return stopped.wait(seconds)


def _waits(most: float = float("inf")) -> Iterator[float]:
    """Growing waits, each with its jitter, until they sum to so many seconds."""
    seconds = _FIRST_WAIT
    while (jittered := seconds * (1 + random.random()) / 2) <= most:
        yield jittered
        most -= jittered
        seconds = min(2 * seconds, _LONGEST_WAIT)
