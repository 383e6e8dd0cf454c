"""Listeners are told of runs beside the scheduler, which never waits for them."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.schedule import JobRun
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.times import elapsed_seconds
from nessie_gc_core.services.schedule.history import log_fields

log = logging.getLogger(__name__)

LISTENERS_SECONDS = 45.0
"""How long all are waited for at the end: three attempts at a webhook that does not answer take 36 seconds."""
MOST_WAITING = 1000
"""Runs that a listener has not been told of yet; further ones are left out, and logged."""


class Listener(Protocol):
    """Is told of runs, one at a time."""

    @property
    def name(self) -> str:
        """What errors call it."""

    def part_of(self, run: JobRun) -> str | None:
        """What it needs of the report of a run that has ended, which is asked before it is told; ``None``: nothing."""

    def started(self, run: JobRun) -> None:
        """A run starts."""

    def ended(self, run: JobRun) -> None:
        """A run has ended, or was skipped; its report is what :meth:`part_of` said."""

    def close(self) -> None:
        """No more runs come."""


class Listeners:
    """Some listeners, each with a thread of its own: one that hangs or fails holds nobody up."""

    def __init__(self, listeners: Sequence[Listener]) -> None:
        self._tellers = [_Teller(listener) for listener in listeners]

    def started(self, run: JobRun) -> None:
        """Tells all of them that a run starts."""
        for teller in self._tellers:
            teller.tell(lambda listener: listener.started(run), run)

    def ended(self, run: JobRun) -> None:
        """Tells all of them that a run has ended; of its report, they keep no more than they need."""
        for teller in self._tellers:
            teller.tell_end(run)

    def close(self, *, seconds: float) -> None:
        """Lets them be told of what they have not heard yet, and waits for that, but no longer than this in all."""
        for teller in self._tellers:
            teller.close()
        until = elapsed_seconds() + seconds
        for teller in self._tellers:
            teller.wait(max(0.0, until - elapsed_seconds()))


class _Teller:
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._waiting: queue.SimpleQueue[Callable[[Listener], None] | None] = queue.SimpleQueue()
        self._untold = dict[UUID, str]()
        """The jobs of the runs that have ended, and that it has not been told of yet."""
        self._thread = threading.Thread(target=self._work, name=listener.name, daemon=True)
        self._thread.start()

    def tell(self, call: Callable[[Listener], None], run: JobRun) -> bool:
        """Tells it of a run when it has been told of those before; says whether it will be."""
        if self._waiting.qsize() >= MOST_WAITING:
            log.error(
                "%s is not told of the run %s of %s: too many wait already",
                self._listener.name,
                run.id,
                run.job,
                extra=log_fields(run),
            )
            return False
        self._waiting.put(call)
        return True

    def tell_end(self, run: JobRun) -> None:
        try:
            part = self._listener.part_of(run)
        except Exception as error:  # noqa: BLE001 - whatever a listener raises, the schedule goes on
            self._say(error)
            part = None
        ended = replace(run, report=part)

        def call(listener: Listener) -> None:
            try:
                listener.ended(ended)
            finally:
                self._untold.pop(ended.id, None)

        self._untold[ended.id] = ended.job
        if not self.tell(call, ended):
            del self._untold[ended.id]

    def close(self) -> None:
        self._waiting.put(None)

    def wait(self, seconds: float) -> None:
        self._thread.join(seconds)
        if not self._thread.is_alive():
            return
        untold = list(self._untold.items())
        log.error(
            "%s does not end, and is left; runs it has not been told of: %d%s",
            self._listener.name,
            len(untold),
            f", such as {untold[0][0]} of {untold[0][1]}" if untold else "",
        )

    def _work(self) -> None:
        while (call := self._waiting.get()) is not None:
            try:
                call(self._listener)
            except Exception as error:  # noqa: BLE001 - whatever a listener raises, the schedule goes on
                self._say(error)
        try:
            self._listener.close()
        except Exception as error:  # noqa: BLE001 - as above
            self._say(error)

    def _say(self, error: Exception) -> None:
        """Says what went wrong; texts of libraries may show an address, which may be a secret."""
        said = one_line(error) if isinstance(error, NessieGcError) else type(error).__name__
        log.error("%s: %s", self._listener.name, said)
