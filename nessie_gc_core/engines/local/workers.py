"""Runs a function over a stream of batches in worker threads and worker processes, few results under way."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, nullcontext
from contextvars import copy_context

import pyarrow as pa

from nessie_gc_core.dataset import ENDED, BatchFunction, Handover

_DONE = object()
_WINDOW = 0.05
"""Every so many seconds it is asked whether more workers would help."""
_BUSY = 0.7
"""Of a core: a process that uses as much has no use for another thread of Python."""


class Shared(Iterator[pa.RecordBatch]):
    """One stream that several workers consume, and what they give; ends early when asked to stop."""

    def __init__(self, source: Iterator[pa.RecordBatch], workers: int) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._is_at_end = False
        self.results: Handover[object] = Handover(workers * 4)

    def __next__(self) -> pa.RecordBatch:
        with self._lock:
            if self.is_over:
                raise StopIteration
            try:
                return next(self._source)
            except StopIteration:
                self._is_at_end = True
                raise

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to take."""
        return self._is_at_end or self.results.stopped.is_set()

    def help(self, helper: Helper) -> None:
        """One worker's share; its error is handed over."""
        ENDED.set(self.results.stopped)
        try:
            helper(self)
            self.results.put(_DONE)
        except BaseException as error:  # noqa: BLE001 - raised again by the consumer
            self.results.put(error)


Helper = Callable[[Shared], None]
"""Takes batches of a stream while there are any, and hands over what a function makes of them."""


def in_this_process(function: BatchFunction) -> Helper:
    """Calls the function in the thread that helps."""

    def help_with(shared: Shared) -> None:
        batches = function(shared)
        with closing(batches) if isinstance(batches, Generator) else nullcontext():
            for batch in batches:
                shared.results.put(batch)
                if shared.results.stopped.is_set():
                    return

    return help_with


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


class _Crew:
    """The workers of one stream: all others at once, and threads of this process as they are worth it."""

    def __init__(self, shared: Shared, pool: Executor, function: BatchFunction, threads: int) -> None:
        self._shared = shared
        self._pool = pool
        self._threads = threads
        self._helper = in_this_process(function)
        self._idleness = _Idleness()
        self._begun = 0
        self.at_work = 0

    def begin(self, helper: Helper) -> None:
        """Another worker."""
        self._pool.submit(copy_context().run, self._shared.help, helper)
        self.at_work += 1

    def begin_threads(self, wanted: int) -> None:
        """So many threads of this process in all."""
        while self._begun < wanted:
            self.begin(self._helper)
            self._begun += 1

    @property
    def may_grow(self) -> bool:
        """Whether more threads could help."""
        return self._begun < self._threads and not self._shared.is_over

    def grow(self) -> None:
        """Twice as many threads, if this process was seen to wait."""
        if self._idleness.seen():
            self.begin_threads(min(2 * self._begun, self._threads))


def map_in_threads(
    function: BatchFunction, source: Iterator[pa.RecordBatch], workers: int, helpers: Sequence[Helper] = ()
) -> Generator[pa.RecordBatch, None, None]:
    """Yields what the function yields, in any order; each worker calls it once, on its share of the stream.

    There is one thread at first, and twice as many whenever the process was seen to wait: threads of Python that never
    wait only take the interpreter from each other. The first error of a worker stops the others and is raised here.

    Args:
        function: what is called.
        source: the stream.
        workers: how many there are at most, the helpers included; one thread of this process is always among them.
        helpers: workers elsewhere, which begin at once.
    """
    threads = max(1, workers - len(helpers))
    shared = Shared(source, threads + len(helpers))
    with ThreadPoolExecutor(threads + len(helpers), thread_name_prefix="local-engine") as pool:
        crew = _Crew(shared, pool, function, threads)
        try:
            for helper in helpers:
                crew.begin(helper)
            crew.begin_threads(1)
            while crew.at_work:
                try:
                    item = shared.results.take(_WINDOW if crew.may_grow else None)
                except queue.Empty:
                    item = None
                if isinstance(item, BaseException):
                    raise item
                if isinstance(item, pa.RecordBatch):
                    yield item
                elif item is _DONE:
                    crew.at_work -= 1
                if crew.may_grow:
                    crew.grow()
        finally:
            shared.results.stopped.set()
