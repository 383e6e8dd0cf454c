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
from datetime import timedelta

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.connectors.live_set_store import lease_held
from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model.times import Elapsed, elapsed_seconds

log = logging.getLogger(__name__)

_RESUME = "resume the sweep with `resume`"


class Lease:
    """A lease that is held; asked before every step that deletes.

    The store's clock says when others may take it over, and no clock of this machine may be compared with that one.
    So a holder counts the seconds since before it asked.
    """

    def __init__(self, elapsed: Elapsed, *, then: str = _RESUME, go_on: Callable[[], None] = lambda: None) -> None:
        self._elapsed = elapsed
        self._go_on = go_on
        self._then = then
        self._lost: str | None = None
        self._ends: float | None = None

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

    def lose(self, reason: str) -> None:
        """Marks it as lost."""
        self._lost = reason

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
        if self._lost is None and not self.is_held:
            self._lost = "it expired because this process was paused for too long"
        if self._lost is not None:
            raise SafetyError(f"the lease on the repository was lost ({self._lost}); {self._then}")


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
    owner, host, process = str(uuid.uuid4()), socket.gethostname(), os.getpid()
    lease, done = Lease(elapsed, then=then, go_on=go_on), threading.Event()

    def renew() -> None:
        asked = elapsed()
        for repository in repositories:
            store.acquire_lease(repository, owner, host=host, process=process, duration=duration)
        lease.hold(asked + duration.total_seconds())

    def release() -> None:
        with ExitStack() as all_of_them:
            for repository in repositories:
                all_of_them.callback(store.release_lease, repository, owner)

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
    except BaseException:
        release()  # those that were free
        raise
    thread = threading.Thread(target=beat, name="lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        done.set()
        thread.join()
        release()
