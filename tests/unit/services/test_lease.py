from __future__ import annotations

import os
import socket
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from collecting import in_memory
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLiveSetStore
from nessie_gc_memory.store import MemoryStoreOptions
from scenes import START

from nessie_gc_core.errors import LeaseHeldError, SafetyError
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.parameters import GcParameters

MINUTE = timedelta(minutes=1)


class Clocks:
    """The store's clock and that of elapsed seconds, which tell the time differently and run alike."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def elapsed(self) -> float:
        return 1234.5 + self.seconds


class Failing(MemoryLiveSetStore):
    """Renews nothing once it is told to fail."""

    failing: Exception | None = None

    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        if self.failing is not None:
            raise self.failing
        return super().acquire_lease(repository, owner, host=host, process=process, duration=duration)


class Delayed(MemoryLiveSetStore):
    """Lets a lease run out before it is renewed, and lets another process collect meanwhile."""

    def __init__(self, options: MemoryStoreOptions) -> None:
        super().__init__(options)
        self.clocks = Clocks()
        self.clock = self.clocks.now
        self.first: str | None = None
        self.collected, self.renewed = threading.Event(), threading.Event()

    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        self.first = self.first or owner
        is_renewal = self.first == owner and self.lease(repository) is not None
        if is_renewal and not self.collected.is_set():
            self.clocks.seconds += duration.total_seconds()
            with hold_lease(self, [repository], timedelta(minutes=1), elapsed=self.clocks.elapsed) as another:
                another.check()
            self.collected.set()
        until = super().acquire_lease(repository, owner, host=host, process=process, duration=duration)
        if is_renewal:
            self.renewed.set()
        return until


def test_only_one_holds_a_lease_and_gives_it_back() -> None:
    store = MemoryLiveSetStore.from_options({})
    with hold_lease(store, ["r"], MINUTE) as lease:
        lease.check()
        with pytest.raises(LeaseHeldError), hold_lease(store, ["r"], MINUTE):
            pass
        with hold_lease(store, ["another"], MINUTE):
            pass
    with hold_lease(store, ["r"], MINUTE):
        pass


def test_the_holder_is_named_by_host_and_process() -> None:
    store = MemoryLiveSetStore.from_options({})
    with hold_lease(store, ["r"], MINUTE), pytest.raises(LeaseHeldError) as caught, hold_lease(store, ["r"], MINUTE):
        pass
    assert f"process {os.getpid()} on {socket.gethostname()}" in str(caught.value)
    assert "since 2" in str(caught.value)


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_collection_that_would_not_get_the_lease_marks_nothing(dry_run: bool) -> None:
    with lake_at(START) as lake, in_memory(lake) as services:
        with hold_lease(services.store, [f"memory:{lake.name}"], MINUTE), pytest.raises(LeaseHeldError, match="wait"):
            GcService(GcParameters(dry_run=dry_run)).run(services.run())
        assert [] == list(services.store.live_sets())
        GcService(GcParameters(dry_run=dry_run)).run(services.run())


def test_a_lease_that_ran_out_may_be_taken_over_and_its_holder_stops() -> None:
    store, clocks = MemoryLiveSetStore.from_options({}), Clocks()
    store.clock = clocks.now
    with hold_lease(store, ["r"], MINUTE, elapsed=clocks.elapsed) as first:
        clocks.seconds += 60
        with hold_lease(store, ["r"], MINUTE, elapsed=clocks.elapsed) as second:
            second.check()
            with pytest.raises(SafetyError, match="paused for too long"):
                first.check()


@pytest.mark.parametrize("hours", [-30, 30])
def test_the_clock_of_the_store_may_be_set_wherever_it_likes(hours: int) -> None:
    store = MemoryLiveSetStore.from_options({})
    store.clock = lambda: datetime.now(UTC) + timedelta(hours=hours)
    with hold_lease(store, ["r"], MINUTE) as lease:
        lease.check()
        assert store.lease("r") is not None
        with pytest.raises(LeaseHeldError), hold_lease(store, ["r"], MINUTE):
            pass


@pytest.mark.parametrize("error", [OSError("no disk"), RuntimeError("a defect")])
def test_a_lease_that_cannot_be_renewed_is_lost_whatever_the_store_raises(error: Exception) -> None:
    store = Failing.from_options({})
    with hold_lease(store, ["r"], timedelta(seconds=0.3)) as lease:
        lease.check()
        store.failing = error
        deadline = time.monotonic() + 20
        with pytest.raises(SafetyError, match=str(error)):
            while time.monotonic() < deadline:
                lease.check()
                time.sleep(0.01)


def test_a_lease_is_renewed_while_it_is_held() -> None:
    store = MemoryLiveSetStore.from_options({})
    with hold_lease(store, ["r"], timedelta(seconds=3)) as lease:
        time.sleep(3.5)
        lease.check()


def test_s15_a_lease_that_another_process_had_meanwhile_is_lost_though_it_was_taken_again() -> None:
    store = Delayed.from_options({})
    with hold_lease(store, ["r"], timedelta(seconds=0.3), elapsed=store.clocks.elapsed) as lease:
        lease.check()
        assert store.renewed.wait(20)
    with pytest.raises(SafetyError, match="it ran out before it was renewed"):
        lease.check()


@pytest.mark.parametrize(("seconds", "lost"), [(59.0, False), (60.0, True), (61.0, True)])
def test_s15_a_lease_is_renewed_only_before_it_ran_out(seconds: float, lost: bool) -> None:
    clocks = Clocks()
    lease = Lease(clocks.elapsed)
    lease.hold(clocks.elapsed() + 60)
    clocks.seconds += seconds
    lease.hold(clocks.elapsed() + 60)
    assert lost == lease.is_lost != lease.is_held
