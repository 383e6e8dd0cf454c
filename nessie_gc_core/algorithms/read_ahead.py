"""Read ahead: what waits for a store is done many times at once, in threads that all tasks of a process share."""

from __future__ import annotations

import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Generic, TypeVar

from nessie_gc_core.dataset import Handover

J = TypeVar("J")
R = TypeVar("R")

BYTES = 64 << 20
"""How many bytes of files of known size a process reads at once; one file of each task is not counted."""
_WAITING = 64
"""How many results of a task wait to be taken; whoever has more of them waits."""


@dataclass(frozen=True, slots=True)
class More(Generic[J]):
    """A job that another job created, for any idle thread."""

    job: J


class _Pools:
    """Thread pools for all tasks of a process. Slow work has its own pool, so that it does not hold up the rest."""

    def __init__(self) -> None:
        self.forget()

    def of(self, kind: str, threads: int) -> ThreadPoolExecutor:
        """The pool for a kind of work with so many threads, which are started as they are needed."""
        with self._lock:
            if (kind, threads) not in self._pools:
                self._pools[kind, threads] = ThreadPoolExecutor(threads, thread_name_prefix=f"ahead-{kind}")
            return self._pools[kind, threads]

    def moves(self, bytes_: int) -> None:
        """Counts bytes that are under way, or no longer are."""
        with self._lock:
            self.under_way += bytes_

    def forget(self) -> None:
        """A forked process has only one thread."""
        self._pools: dict[tuple[str, int], ThreadPoolExecutor] = {}
        self._lock = threading.RLock()  # the garbage collector may end a task, whose bytes count, while a pool is made
        self.under_way = 0


_POOLS = _Pools()
os.register_at_fork(after_in_child=_POOLS.forget)


def read_ahead(
    jobs: Iterable[J],
    work: Callable[[J], Iterable[R | More[J]]],
    *,
    at_once: Callable[[J], int],
    size: Callable[[J], int] = lambda job: 0,
    kind: str = "read",
) -> Generator[R, None, None]:
    """Does all jobs, and yields what they give as it comes: a slow one holds up no other.

    Args:
        jobs: what there is to do, never None; taken as there is room for more.
        work: does one, in a thread of the process, or in this one where only one is done at once. What it gives is
            taken piece by piece; an error ends everything.
        at_once: how many jobs such as this one are done at the same time, over all tasks of the process.
        size: how many bytes a job moves; 0 if it is unknown.
        kind: of the work; each has its own threads.

    Raises:
        CancelledError: nobody waits for it any more.
    """
    ahead: _Ahead[J, R] = _Ahead(work, kind)
    waiting, source = deque[J](), iter(jobs)
    try:
        while True:
            job = waiting.popleft() if waiting else next(source, None)
            if job is None:
                if not ahead.running:
                    return
                yield from ahead.taken(waiting)
                continue
            threads, bytes_ = at_once(job), size(job)
            if threads <= 1:
                yield from _sorted(work(job), waiting)
                continue
            while ahead.is_full(threads, bytes_):
                yield from ahead.taken(waiting)
            ahead.begin(job, threads, bytes_)
    finally:
        ahead.stop()


def in_pieces(items: Iterable[R], most: int) -> Iterator[list[R]]:
    """The items in lists of at most so many; where they break off, those that came before the error come first."""
    iterator = iter(items)
    while True:
        piece: list[R] = []
        try:
            piece.extend(itertools.islice(iterator, most))
        except Exception:
            yield piece
            raise
        if not piece:
            return
        yield piece


def _sorted(found: Iterable[R | More[J]], waiting: deque[J]) -> Iterator[R]:
    """The results; further jobs wait."""
    for item in found:
        if isinstance(item, More):
            waiting.append(item.job)
        else:
            yield item


@dataclass(frozen=True, slots=True)
class _Done:
    """The end of a job, said by the thread that did it."""

    number: int
    error: BaseException | None


class _Ahead(Generic[J, R]):
    """The jobs of one task that are under way."""

    def __init__(self, work: Callable[[J], Iterable[R | More[J]]], kind: str) -> None:
        self._work = work
        self._kind = kind
        self._results: Handover[R | More[J] | _Done] = Handover(_WAITING)
        self._numbers = itertools.count()
        self.running: dict[int, tuple[Future[None], int]] = {}
        """By its number, each job and its bytes."""

    def is_full(self, threads: int, bytes_: int) -> bool:
        """Whether something must be taken before another job begins."""
        if not self.running:
            return False
        return len(self.running) >= threads or _POOLS.under_way + bytes_ > BYTES or not self._results.is_empty

    def begin(self, job: J, threads: int, bytes_: int) -> None:
        """Gives a job to a thread."""
        number = next(self._numbers)
        _POOLS.moves(bytes_)
        self.running[number] = (_POOLS.of(self._kind, threads).submit(self._do, number, job), bytes_)

    def _do(self, number: int, job: J) -> None:
        error: BaseException | None = None
        try:
            for item in self._work(job):
                self._results.put(item)
                if self._results.stopped.is_set():
                    return
        except BaseException as raised:  # noqa: BLE001 - raised again by whoever takes the results
            error = raised
        self._results.put(_Done(number, error))

    def taken(self, waiting: deque[J]) -> Iterator[R]:
        """Waits for one piece; what more is there comes with the next."""
        item = self._results.take()
        if isinstance(item, _Done):
            _POOLS.moves(-self.running.pop(item.number)[1])
            if item.error is not None:
                raise item.error
        else:
            yield from _sorted([item], waiting)

    def stop(self) -> None:
        """Drops what nobody took, and waits for the rest: its resources are released next."""
        self._results.stopped.set()
        futures = [future for future, _ in self.running.values()]
        for future in futures:
            future.cancel()
        wait(futures)
        _POOLS.moves(-sum(bytes_ for _, bytes_ in self.running.values()))
