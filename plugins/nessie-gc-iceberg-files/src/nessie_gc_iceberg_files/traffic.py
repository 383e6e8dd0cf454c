"""What the calls of a thread asked of stores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

from nessie_gc_core.model.work import Traffic

T = TypeVar("T")


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.requests = 0
        self.bytes_read = 0
        self.waited_seconds = 0.0


_COUNTED = _OfThread()


def asked(started: float, bytes_: int = 0) -> None:
    """Counts a request that began at a time of ``time.perf_counter()`` and is answered now, with the bytes of it."""
    _COUNTED.requests += 1
    _COUNTED.bytes_read += bytes_
    _COUNTED.waited_seconds += time.perf_counter() - started


@contextmanager
def asking(requests: int = 1) -> Iterator[None]:
    """Counts requests, and how long the block waits for their answers."""
    started = time.perf_counter()
    _COUNTED.requests += requests
    try:
        yield
    finally:
        _COUNTED.waited_seconds += time.perf_counter() - started


@contextmanager
def waiting() -> Iterator[None]:
    """Counts how long the block waits for what other threads ask."""
    with asking(0):
        yield


def add(traffic: Traffic) -> None:
    """Counts what another thread asked for this one; how long this one waited is its own to count."""
    _COUNTED.requests += traffic.requests
    _COUNTED.bytes_read += traffic.bytes_read


def each_asked(pages: Iterator[T], within: Callable[[], AbstractContextManager[None]] = nullcontext) -> Iterator[T]:
    """The same pages; each is a request, which waits while the page is fetched and not while it is used.

    Each page is fetched within a context of its own.

    That there are no more pages is said by the last one: it is not a request to find that out.
    """
    while True:
        try:
            with asking(), within():
                page = next(pages)
        except StopIteration:
            _COUNTED.requests -= 1
            return
        yield page


def taken() -> Traffic:
    """What was counted in this thread since this was called last in it."""
    counted = _COUNTED
    found = Traffic(requests=counted.requests, bytes_read=counted.bytes_read, waited_seconds=counted.waited_seconds)
    counted.requests, counted.bytes_read, counted.waited_seconds = 0, 0, 0.0
    return found
