"""Runs a function over a stream of batches in worker threads, with a bounded number of results under way."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context

import pyarrow as pa

from nessie_gc_core.dataset import ENDED, BatchFunction

_DONE = object()
_SECONDS = 0.1
"""How long it takes at most until an end is seen."""


class _Shared(Iterator[pa.RecordBatch]):
    """One stream that several threads consume, and what they give; ends early when asked to stop."""

    def __init__(self, function: BatchFunction, source: Iterator[pa.RecordBatch], workers: int) -> None:
        self._function = function
        self._source = source
        self._lock = threading.Lock()
        self._results: queue.Queue[object] = queue.Queue(maxsize=workers * 4)
        self.stopped = threading.Event()

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            if self.stopped.is_set():
                raise StopIteration
            return next(self._source)

    def work(self) -> None:
        """One worker's share."""
        ENDED.set(self.stopped)
        try:
            batches = self._function(self)
            with closing(batches) if isinstance(batches, Generator) else nullcontext():
                for batch in batches:
                    self._put(batch)
                    if self.stopped.is_set():
                        return
            self._put(_DONE)
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer
            self._put(error)

    def _put(self, item: object) -> None:
        while not self.stopped.is_set():
            with contextlib.suppress(queue.Full):
                self._results.put(item, timeout=_SECONDS)
                return

    def taken(self) -> object:
        """The next that some worker gives.

        Raises:
            CancelledError: nobody waits for it any more.
        """
        ended = ENDED.get()
        while ended is None or not ended.is_set():
            with contextlib.suppress(queue.Empty):
                return self._results.get(timeout=None if ended is None else _SECONDS)
        raise CancelledError


def map_in_threads(function: BatchFunction, source: Iterator[pa.RecordBatch], workers: int) -> Iterator[pa.RecordBatch]:
    """Yields what the function yields, in any order; each worker calls it once, on its share of the stream.

    The first error of a worker stops the others and is raised here.
    """
    shared = _Shared(function, source, workers)
    with ThreadPoolExecutor(workers, thread_name_prefix="local-engine") as pool:
        for _ in range(workers):
            pool.submit(copy_context().run, shared.work)
        try:
            running = workers
            while running:
                item = shared.taken()
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, pa.RecordBatch):
                    yield item
                else:
                    running -= 1
        finally:
            shared.stopped.set()
