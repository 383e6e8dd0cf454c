from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.errors import LeaseHeldError, SafetyError
from nessie_gc_core.services.lease import hold_lease

MINUTE = timedelta(minutes=1)


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Failing(MemoryLiveSetStore):
    """Renews nothing once it is told to fail."""

    failing: Exception | None = None

    def acquire_lease(self, repository: str, owner: str, *, now: datetime, until: datetime) -> None:
        if self.failing is not None:
            raise self.failing
        super().acquire_lease(repository, owner, now=now, until=until)


def test_only_one_holds_a_lease_and_gives_it_back() -> None:
    store, clock = MemoryLiveSetStore.from_options({}), Clock()
    with hold_lease(store, "r", MINUTE, clock) as lease:
        lease.check()
        with pytest.raises(LeaseHeldError), hold_lease(store, "r", MINUTE, clock):
            pass
        with hold_lease(store, "another", MINUTE, clock):
            pass
    with hold_lease(store, "r", MINUTE, clock):
        pass


def test_a_lease_that_ran_out_may_be_taken_over_and_its_holder_stops() -> None:
    store, clock = MemoryLiveSetStore.from_options({}), Clock()
    with hold_lease(store, "r", MINUTE, clock) as first:
        clock.now += MINUTE
        with hold_lease(store, "r", MINUTE, clock) as second:
            second.check()
            with pytest.raises(SafetyError, match="stood still"):
                first.check()


@pytest.mark.parametrize("error", [OSError("no disk"), RuntimeError("a defect")])
def test_a_lease_that_cannot_be_renewed_is_lost_whatever_the_store_raises(error: Exception) -> None:
    store, clock = Failing.from_options({}), Clock()
    with hold_lease(store, "r", timedelta(seconds=0.03), clock) as lease:
        lease.check()
        store.failing = error
        deadline = time.monotonic() + 20
        with pytest.raises(SafetyError, match=str(error)):
            while time.monotonic() < deadline:
                lease.check()
                time.sleep(0.01)


def test_a_lease_is_renewed_while_it_is_held() -> None:
    store = MemoryLiveSetStore.from_options({})

    def now() -> datetime:
        return datetime.now(UTC)

    with hold_lease(store, "r", timedelta(seconds=3), now) as lease:
        time.sleep(3.5)
        lease.check()
