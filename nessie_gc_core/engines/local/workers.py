"""Runs a function over a stream of batches in worker threads, with a bounded number of results under way."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context

import pyarrow as pa

from nessie_gc_core.dataset import ENDED, BatchFunction, Handover

_DONE = object()
_WINDOW = 0.05
"""Every so many seconds it is asked whether more workers would help."""
_BUSY = 0.7
"""Of a core: a process that uses as much has no use for another thread of Python."""


class _Shared(Iterator[pa.RecordBatch]):
    """One stream that several threads consume, and what they give; ends early when asked to stop."""

    def __init__(self, function: BatchFunction, source: Iterator[pa.RecordBatch], workers: int) -> None:
        self._function = function
        self._source = source
        self._lock = threading.Lock()
        self.results: Handover[object] = Handover(workers * 4)

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            if self.results.stopped.is_set():
                raise StopIteration
            return next(self._source)

    def work(self) -> None:
        """One worker's share."""
        ENDED.set(self.results.stopped)
        try:
            batches = self._function(self)
            with closing(batches) if isinstance(batches, Generator) else nullcontext():
                for batch in batches:
                    self.results.put(batch)
                    if self.results.stopped.is_set():
                        return
            self.results.put(_DONE)
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer
            self.results.put(error)


class _Idleness:
    """Whether this process waited since it was last asked."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._since, self._worked = time.monotonic(), time.process_time()

    def seen(self) -> bool:
        """Whether it did; no, where that was too short a time to tell."""
        passed = time.monotonic() - self._since
        if passed < _WINDOW:
            return False
        idle = time.process_time() - self._worked < _BUSY * passed
        self._begin()
        return idle


def map_in_threads(
    function: BatchFunction, source: Iterator[pa.RecordBatch], workers: int
) -> Generator[pa.RecordBatch, None, None]:
    """Yields what the function yields, in any order; each worker calls it once, on its share of the stream.

    There is one worker at first, and twice as many whenever the process was seen to wait: threads of Python that never
    wait only take the interpreter from each other. The first error of a worker stops the others and is raised here.
    """
    shared, idleness = _Shared(function, source, workers), _Idleness()
    with ThreadPoolExecutor(workers, thread_name_prefix="local-engine") as pool:
        wanted, begun, ended = 1, 0, 0
        try:
            while ended < wanted:
                while begun < wanted:
                    pool.submit(copy_context().run, shared.work)
                    begun += 1
                more = begun < workers and not ended  # one that ended found nothing left to do
                try:
                    item = shared.results.take(_WINDOW if more else None)
                except queue.Empty:
                    item = None
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, pa.RecordBatch):
                    yield item
                elif item is _DONE:
                    ended += 1
                if more and not ended and idleness.seen():
                    wanted = min(2 * begun, workers)
        finally:
            shared.results.stopped.set()
