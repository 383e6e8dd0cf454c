"""Runs a function over a stream of batches in worker threads, with a bounded number of results under way."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import ContextVar

import pyarrow as pa

from nessie_gc_core.dataset import BatchFunction

_DONE = object()
_SECONDS = 0.1
"""How long it takes at most until an end is seen."""
ENDED: ContextVar[threading.Event | None] = ContextVar("ended", default=None)
"""Set when nobody waits any more for what runs in this context."""


class _Shared(Iterator[pa.RecordBatch]):
    """One stream that several threads consume; ends early when asked to stop."""

    def __init__(self, source: Iterator[pa.RecordBatch]) -> None:
        self._source = source
        self._lock = threading.Lock()
        self.stopped = threading.Event()

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            if self.stopped.is_set():
                raise StopIteration
            return next(self._source)


def map_in_threads(
    function: BatchFunction, source: Iterator[pa.RecordBatch], workers: int, ended: threading.Event | None = None
) -> Iterator[pa.RecordBatch]:
    """Yields what the function yields, in any order; each worker calls it once, on its share of the stream.

    The first error of a worker stops the others and is raised here, as does CancelledError when ``ended`` is set.
    """
    shared = _Shared(source)
    results: queue.Queue[object] = queue.Queue(maxsize=workers * 4)

    def put(item: object) -> None:
        while not shared.stopped.is_set():
            with contextlib.suppress(queue.Full):
                results.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            batches = function(shared)
            with closing(batches) if isinstance(batches, Generator) else nullcontext():
                for batch in batches:
                    put(batch)
                    if shared.stopped.is_set():
                        return
            put(_DONE)
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer
            put(error)

    with ThreadPoolExecutor(workers, thread_name_prefix="local-engine") as pool:
        for _ in range(workers):
            pool.submit(work)
        try:
            running = workers
            while running:
                item = _taken(results, ended)
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, pa.RecordBatch):
                    yield item
                else:
                    running -= 1
        finally:
            shared.stopped.set()


def _taken(results: queue.Queue[object], ended: threading.Event | None) -> object:
    if ended is None:
        return results.get()
    while not ended.is_set():
        with contextlib.suppress(queue.Empty):
            return results.get(timeout=_SECONDS)
    raise CancelledError
