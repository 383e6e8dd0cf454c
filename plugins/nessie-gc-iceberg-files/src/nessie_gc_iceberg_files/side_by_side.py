"""Several bulk requests of one call at a time, in threads that all calls of the process share."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from functools import partial
from typing import TypeVar

from nessie_gc_core.model.work import Traffic
from nessie_gc_iceberg_files.traffic import add, taken, waiting

T = TypeVar("T")
THREADS = 8
"""How many bulk requests of one process are under way at most."""


class _Threads:
    """The threads; a copy of a process starts its own."""

    _pool: ThreadPoolExecutor | None
    _lock: threading.Lock

    def __init__(self) -> None:
        self.forget()

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Runs a task when a thread is free."""
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="bulk-requests")
            return self._pool.submit(task)

    def forget(self) -> None:
        """Threads stay in the process that started them."""
        self._pool = None
        self._lock = threading.Lock()


_THREADS = _Threads()
os.register_at_fork(after_in_child=_THREADS.forget)


def side_by_side(tasks: Sequence[Callable[[threading.Event], T]]) -> Generator[T, None, None]:
    """The results of some tasks as they come, in any order.

    Each task gets an event, which is set when nobody waits for its result any more: the iterator was closed, or the
    thread that consumes it was interrupted. Tasks that have not begun never do then, and those that have are waited
    for. What they asked of stores is counted in the thread that consumes the iterator.
    """
    stopped = threading.Event()
    if len(tasks) == 1:
        yield tasks[0](stopped)
        return
    futures: list[Future[tuple[T, Traffic]]] = []
    try:
        futures.extend(_THREADS.submit(partial(_counted, task, stopped)) for task in tasks)
        coming = as_completed(futures)
        for _ in futures:
            with waiting():
                found, traffic = next(coming).result()
            add(traffic)
            yield found
    finally:
        stopped.set()
        for future in futures:
            future.cancel()
        wait(futures)


def _counted(task: Callable[[threading.Event], T], stopped: threading.Event) -> tuple[T, Traffic]:
    """What a task returns, and what it asked of stores in this thread."""
    try:
        return task(stopped), taken()
    finally:
        taken()  # nothing of a task that failed is counted for the next one
