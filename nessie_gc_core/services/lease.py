"""One collector at a time per repository and store; one that sweeps several repositories holds the lease of each."""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from nessie_gc_core.algorithms.still_held import (
    NEEDED_BY_NOBODY,
    InStore,
    InThisProcess,
    StillHeld,
    Until,
    lost_in,
)
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.connectors.live_set_store import lease_held
from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model.closing import only_warned
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.times import Elapsed, elapsed_seconds, utc_now
from nessie_gc_core.services.lease_file import LeaseFile

log = logging.getLogger(__name__)

_RESUME = "resume the sweep with `resume`"
_NOT_RELEASED = "the lease on the repository could not be given back, and ends by itself"
_SKEW = timedelta(seconds=30)
"""How much the clocks of a driver and its executors may differ; of a short lease a quarter of it at most."""


class _Engine(Protocol):
    """What a lease asks of an engine."""

    @property
    def distributed(self) -> bool: ...
    @property
    def on_one_machine(self) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    """What a store has of a lease."""

    store: LiveSetStore
    repositories: Collection[str]
    duration: timedelta
    owner: str = field(default_factory=lambda: str(uuid.uuid4()))
    since: dict[str, datetime] = field(default_factory=dict)
    """The repositories, and since when each is held."""

    def acquire(self) -> None:
        """Takes or renews the leases of all repositories.

        Raises:
            LeaseHeldError: another process holds one of them.
        """
        host, process = socket.gethostname(), os.getpid()
        for repository in self.repositories:
            self.store.acquire_lease(repository, self.owner, host=host, process=process, duration=self.duration)

    def begin(self) -> None:
        """Remembers since when the leases are held, as the store has it.

        Raises:
            LeaseHeldError: another process has got one of them by now.
            SafetyError: one of them is over.
        """
        for repository in self.repositories:
            holder = self.store.lease(repository)
            if holder is None:
                raise SafetyError(f"the lease on {repository} ran out as soon as it was taken; make `lease` longer")
            if holder.owner != self.owner:
                raise lease_held(repository, holder)
            self.since[repository] = holder.since

    def release(self) -> None:
        """Gives all of them back."""
        with ExitStack() as all_of_them:
            for repository in self.repositories:
                all_of_them.callback(self.store.release_lease, repository, self.owner)

    def why_lost(self) -> str | None:
        """Asks the store; ``None``: it is held."""
        return lost_in(self.store, self.owner, self.since)

    def elsewhere(self, seconds_left: float) -> StillHeld:
        """What asks on other machines: the store, if they can reach it; else their clocks, which may differ."""
        margin = min(_SKEW, self.duration / 4)
        until = Until(at=utc_now() + timedelta(seconds=seconds_left) - margin)
        if not self.store.multi_process:
            return until
        opens = partial(type(self.store), self.store.options)
        return InStore(store=opens, owner=self.owner, since=dict(self.since), until=until)


class Lease:
    """A lease that is held; asked before every step that deletes, and before every batch of it.

    The store's clock says when others may take it over, and no clock of this machine may be compared with that one.
    So a holder counts the seconds since before it asked, and asks the store whether it still has the lease: where the
    machine as a whole was suspended, no clock of it may have run.
    """

    def __init__(
        self,
        elapsed: Elapsed,
        *,
        then: str = _RESUME,
        go_on: Callable[[], None] = lambda: None,
        record: _Record | None = None,
    ) -> None:
        """Takes what is asked.

        Args:
            elapsed: the clock of elapsed seconds.
            then: what to do if it is lost.
            go_on: asked with it; raises if the run has to end.
            record: what the store has of it; ``None``: nothing.
        """
        self._elapsed = elapsed
        self._go_on = go_on
        self._then = then
        self._record = record
        self._lost: str | None = None
        self._ends: float | None = None
        self._file: LeaseFile | None = None

    @classmethod
    def unneeded(cls) -> Lease:
        """For a run that changes nothing: it is always held, and no store knows of it."""
        lease = cls(elapsed_seconds)
        lease.hold(math.inf)
        return lease

    def hold(self, ends: float) -> None:
        """Says until when it is held, by the clock of elapsed seconds.

        One that ran out before is lost: another process may have held it, and given it back, before it was taken again.
        """
        if self._ends is not None and self._elapsed() >= self._ends:
            self.lose("it ran out before it was renewed")
        self._ends = ends
        self._write()

    def lose(self, reason: str) -> None:
        """Marks it as lost."""
        self._lost = reason
        self._write()

    def _write(self) -> None:
        if self._file is not None:
            self._file.write(self.seconds_left)

    @property
    def seconds_left(self) -> float:
        """For how long it is held unless it is renewed."""
        return self._ends - self._elapsed() if self._ends is not None and self._lost is None else 0

    @property
    def is_lost(self) -> bool:
        """Whether renewing is of no use any more."""
        return self._lost is not None

    @property
    def is_held(self) -> bool:
        """Whether it is certain that no one else has begun."""
        return self._lost is None and self._ends is not None and self._elapsed() < self._ends

    def check(self) -> None:
        """Stops a run that no longer holds its lease, or that has to end for another reason.

        Raises:
            SafetyError: the lease was not renewed, so another process may have begun.
        """
        self._go_on()
        self.check_held()

    def check_held(self) -> None:
        """The same after a step, which is closed before a run ends for another reason.

        Raises:
            SafetyError: as for :meth:`check`.
        """
        lost = self.why_lost()
        if lost is not None:
            raise SafetyError(f"the lease on the repository was lost ({lost}); {self._then}")

    def why_lost(self) -> str | None:
        """Why it is not held any more; ``None``: it is, as the store says, too."""
        if self._lost is None and not self.is_held:
            self.lose("it expired because this process was paused for too long")
        if self._lost is None and self._record is not None and (lost := self._record.why_lost()) is not None:
            self.lose(lost)
        return self._lost

    def still_held(self, engine: _Engine) -> StillHeld:
        """What asks before every batch where the functions of an engine run; ask for a new one before every step."""
        if self._record is None:
            return NEEDED_BY_NOBODY
        if not engine.distributed:
            return InThisProcess(self._refusal)
        if engine.on_one_machine and not self._record.store.multi_process:
            return self._in_file().reader()
        return self._record.elsewhere(self.seconds_left)

    def _refusal(self) -> str | None:
        """The same as an answer, whatever the store raises; may be asked from any thread."""
        try:
            return self.why_lost()
        except Exception as error:  # noqa: BLE001 - whatever a store raises, it does not say who has the lease
            return f"the store cannot be asked for the lease on the repository ({one_line(error)})"

    def _in_file(self) -> LeaseFile:
        self._file = self._file or LeaseFile()
        self._write()
        return self._file

    def close(self) -> None:
        """Tells nobody any more."""
        if self._file is not None:
            self._file.close()


def check_free(store: LiveSetStore, names: Iterable[str]) -> None:
    """Refuses what needs leases that another process holds now; takes none.

    Raises:
        LeaseHeldError: another process holds one of them.
    """
    for name in names:
        holder = store.lease(name)
        if holder is not None:
            raise lease_held(name, holder)


@contextmanager
def hold_lease(
    store: LiveSetStore,
    repositories: Collection[str],
    duration: timedelta,
    *,
    elapsed: Elapsed = elapsed_seconds,
    then: str = _RESUME,
    go_on: Callable[[], None] = lambda: None,
) -> Iterator[Lease]:
    """Holds the leases of some repositories, by their identities, and renews them in the background, all or none.

    Args:
        store: where they are kept.
        repositories: the identities.
        duration: for how long they are held each time.
        elapsed: the clock of elapsed seconds.
        then: what to do if they are lost.
        go_on: asked with the lease; raises if the run has to end.

    Raises:
        LeaseHeldError: another process holds one of them.
    """
    record = _Record(store=store, repositories=repositories, duration=duration)
    lease, done = Lease(elapsed, then=then, go_on=go_on, record=record), threading.Event()

    def renew() -> None:
        asked = elapsed()
        record.acquire()
        lease.hold(asked + duration.total_seconds())

    def beat() -> None:
        while not lease.is_lost and not done.wait(duration.total_seconds() / 3):
            try:
                renew()
            except Exception as error:  # noqa: BLE001 - whatever a store raises, the lease is not renewed
                log.error("cannot renew the lease on %s: %s", " and ".join(repositories), error)
                lease.lose(str(error))
                return

    try:
        renew()
        record.begin()
    except BaseException:
        with only_warned(_NOT_RELEASED):
            record.release()  # those that were free
        raise
    thread = threading.Thread(target=beat, name="lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        done.set()
        thread.join()
        lease.close()
        with only_warned(_NOT_RELEASED):
            record.release()
