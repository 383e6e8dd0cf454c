"""The threads in which runs are looked after."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from types import TracebackType
from typing import Self
from uuid import UUID

from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.schedule.definition import JobDefinition
from nessie_gc_core.services.schedule.history import log_fields
from nessie_gc_core.services.schedule.outcome import Ended

log = logging.getLogger(__name__)

_STOP_SECONDS = 0.2
"""How soon a wait ends after it was told to."""


class Pool:
    """As many runs at the same time as there are threads; leaving it waits for all of them."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "run")
        self._futures: dict[Future[Ended], JobRun] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True)

    @property
    def running(self) -> int:
        """How many have not been taken yet."""
        return len(self._futures)

    @property
    def runs(self) -> frozenset[UUID]:
        """The ids of those that have not been taken yet."""
        return frozenset(run.id for run in self._futures.values())

    @property
    def is_full(self) -> bool:
        """Whether another one would have to wait."""
        return len(self._futures) >= self._threads

    def submit(
        self,
        conduct: Callable[[JobDefinition, JobRun, float], Ended],
        job: JobDefinition,
        run: JobRun,
        asked: float,
    ) -> None:
        """Begins one, whose lease was asked for at a moment of the clock of elapsed seconds."""
        self._futures[self._pool.submit(conduct, job, run, asked)] = run

    def wait(self, seconds: float, *, stop: threading.Event | None = None) -> None:
        """Waits until one ends, the time is over, or it is told to stop."""
        stop = stop or threading.Event()
        left = seconds
        while left > 0 and not stop.is_set() and not any(future.done() for future in self._futures):
            if self._futures:
                wait(self._futures, _STOP_SECONDS, FIRST_COMPLETED)
            else:
                stop.wait(_STOP_SECONDS)
            left -= _STOP_SECONDS

    def join(self) -> None:
        """Waits until all have ended."""
        wait(self._futures)

    def take_ended(self) -> list[Ended]:
        """Those that have ended, with their outcomes."""
        outcomes = list[Ended]()
        for future, run in [*self._futures.items()]:
            if not future.done():
                continue
            del self._futures[future]
            if isinstance(error := future.exception(), Exception):
                said = one_line(error)
                failed = replace(run, status=RunStatus.FAILED, ended=run.started, error=said)
                log.error(
                    "the outcome of the run %s of %s is lost: %s", run.id, run.job, said, extra=log_fields(failed)
                )
                outcomes.append(Ended(run=failed, is_recorded=False))
            else:
                outcomes.append(future.result())
        return outcomes
