"""Runs a function over a stream of batches in worker threads, with a bounded number of results under way."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Generator, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context

import pyarrow as pa

from nessie_gc_core.dataset import ENDED, BatchFunction

_DONE = object()
_SECONDS = 0.1
"""How long it takes at most until an end is seen."""
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

    def taken(self, seconds: float | None) -> object:
        """The next that some worker gives; None where none gives any for so long.

        Raises:
            CancelledError: nobody waits for it any more.
        """
        ended = ENDED.get()
        if ended is not None:
            if ended.is_set():
                raise CancelledError
            seconds = min(seconds or _SECONDS, _SECONDS)
        try:
            return self._results.get(timeout=seconds)
        except queue.Empty:
            return None


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


def map_in_threads(function: BatchFunction, source: Iterator[pa.RecordBatch], workers: int) -> Iterator[pa.RecordBatch]:
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
                item = shared.taken(_WINDOW if begun < workers else None)
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, pa.RecordBatch):
                    yield item
                elif item is _DONE:
                    ended += 1
                if begun < workers and ended < begun and idleness.seen():
                    wanted = min(2 * begun, workers)
        finally:
            shared.stopped.set()
