"""One collector at a time per repository and store."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import SafetyError
from nessie_gc_core.services.settings import Clock

log = logging.getLogger(__name__)


class Lease:
    """A lease that is held; asked before every step that deletes."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lost: str | None = None
        self._until: datetime | None = None

    def hold(self, until: datetime) -> None:
        """Says until when it is held."""
        self._until = until

    def lose(self, reason: str) -> None:
        """Marks it as lost."""
        self._lost = reason

    @property
    def is_held(self) -> bool:
        """Whether nobody else may have begun."""
        return self._lost is None and self._until is not None and self._clock() < self._until

    def check(self) -> None:
        """Stops a run that no longer holds its lease.

        Raises:
            SafetyError: the lease was not renewed, so another process may have begun.
        """
        if self._lost is None and not self.is_held:
            self._lost = f"it ran out at {self._until}, this process stood still for too long"
        if self._lost is not None:
            raise SafetyError(f"the lease on the repository was lost ({self._lost}); resume with --resume")


@contextmanager
def hold_lease(store: LiveSetStore, repository: str, duration: timedelta, clock: Clock) -> Iterator[Lease]:
    """Holds the lease of a repository and renews it in the background.

    Raises:
        LeaseHeldError: another process holds it.
    """
    owner = str(uuid.uuid4())
    lease, done = Lease(clock), threading.Event()

    def renew() -> None:
        now = clock()
        store.acquire_lease(repository, owner, now=now, until=now + duration)
        lease.hold(now + duration)

    def beat() -> None:
        while not done.wait(duration.total_seconds() / 3):
            try:
                renew()
            except Exception as error:  # noqa: BLE001 - whatever a store raises, the lease is not renewed
                log.error("cannot renew the lease on %s: %s", repository, error)
                lease.lose(str(error))
                return

    renew()
    thread = threading.Thread(target=beat, name="lease", daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        done.set()
        thread.join()
        store.release_lease(repository, owner)
