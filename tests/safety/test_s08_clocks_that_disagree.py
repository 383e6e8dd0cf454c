"""S8: clocks that are wrong, or never compared, make no file older."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryFileLister, MemoryLake, MemoryRepository, put

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import FileLister, SupportsSharedClock
from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model.limits import AgeLimit
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.clocks import store_ages
from nessie_gc_core.services.parameters import SweepParameters

HOUR = timedelta(hours=1)
YOUNG = {"minute", "day", "after"}


class TimedRepository(MemoryRepository):
    """A repository that tells the lake's time, and so that of the store."""

    def shared_time(self) -> datetime:
        return self._lake.time


@dataclass(frozen=True)
class Machines:
    """A machine for the mark and one for the sweep, each with a clock of its own."""

    lake: MemoryLake
    services: LakeServices

    def mark_and_sweep(
        self, *, mark_ahead: timedelta, sweep_ahead: timedelta, between: timedelta = timedelta(0), timed: bool = False
    ) -> set[str]:
        """What is left of files of one minute, of 23 and of 60 hours at the time of the mark, which nobody needs."""
        table = self.lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
        self.lake.commit("main", put(table.version))
        self.lake.advance(timedelta(days=9))
        for name, age in (("minute", timedelta(minutes=1)), ("day", 23 * HOUR), ("old", 60 * HOUR)):
            self.lake.put(f"memory://wh/db/t/data/{name}", modified=self.lake.time - age)
        live_set = self._machine(mark_ahead, timed=timed).mark("1")
        self.lake.advance(between)
        self.lake.put("memory://wh/db/t/data/after", modified=self.lake.time - between + timedelta(minutes=1))
        self._machine(sweep_ahead, timed=timed).sweep(live_set, SweepParameters())
        left = {path.rpartition("/")[2] for path, _ in self.lake.objects.below("memory://wh/db/t/data/")}
        return left - {"a.parquet"}

    def _machine(self, ahead: timedelta, *, timed: bool) -> LakeServices:
        repository = TimedRepository.from_options({"lake": self.lake.name}) if timed else self.services.repository
        return replace(self.services, repository=repository, clock=lambda: self.lake.time + ahead)


@pytest.fixture
def machines(lake: MemoryLake, services: LakeServices) -> Machines:
    return Machines(lake, services)


@pytest.mark.parametrize(
    ("mark_ahead", "sweep_ahead"),
    [(25 * HOUR, 25 * HOUR), (-25 * HOUR, 0 * HOUR), (-25 * HOUR, -25 * HOUR), (0 * HOUR, 25 * HOUR)],
)
def test_s08_a_wrong_clock_deletes_no_young_file(
    machines: Machines, mark_ahead: timedelta, sweep_ahead: timedelta
) -> None:
    left = machines.mark_and_sweep(mark_ahead=mark_ahead, sweep_ahead=sweep_ahead)
    assert left >= YOUNG


def test_s08_right_clocks_delete_what_is_old_enough(machines: Machines) -> None:
    assert YOUNG == machines.mark_and_sweep(mark_ahead=timedelta(0), sweep_ahead=timedelta(0))


@pytest.mark.parametrize("mark_ahead", [25 * HOUR, -2 * HOUR])
def test_s08_the_repositorys_clock_relates_two_machines_that_never_meet(
    machines: Machines, mark_ahead: timedelta
) -> None:
    """Two days later the store's time says nothing about when the references were listed."""
    left = machines.mark_and_sweep(mark_ahead=mark_ahead, sweep_ahead=timedelta(0), between=48 * HOUR, timed=True)
    assert YOUNG == left


@pytest.mark.parametrize(("mark_ahead", "sweep_ahead"), [(25 * HOUR, 0 * HOUR), (0 * HOUR, -25 * HOUR)])
def test_s08_a_live_set_from_the_future_is_refused(
    machines: Machines, mark_ahead: timedelta, sweep_ahead: timedelta
) -> None:
    with pytest.raises(SafetyError, match="from the future"):
        machines.mark_and_sweep(mark_ahead=mark_ahead, sweep_ahead=sweep_ahead)


def test_s08_a_clock_that_differs_from_the_repositorys_is_reported(lake: MemoryLake, services: LakeServices) -> None:
    repository = TimedRepository.from_options({"lake": lake.name})
    assert isinstance(repository, SupportsSharedClock)
    report = replace(services, repository=repository, clock=lambda: lake.time + HOUR).collect("1")
    assert any("differ by 1 h" in warning for warning in report.warnings)


class TwoStores(MemoryFileLister):
    """Two buckets of the simulated lake; the clock of ``slow`` is behind by two days."""

    name = "two-stores"
    schemes = frozenset({"twin"})
    asked: ClassVar[list[str]] = []

    def store_time(self, location: str) -> datetime:
        self.asked.append(location)
        return self._lake.time - (timedelta(days=2) if "@slow" in location else timedelta(0))


class Plugin:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> type[FileLister]:
        return TwoStores


def test_s08_every_store_has_a_limit_of_its_own_and_is_asked_once(
    lake: MemoryLake, services: LakeServices, plugins: PluginRegistry
) -> None:
    """Which location of a unit sorts first is up to whoever commits."""
    plugins.register(Plugin(), name="stores")
    TwoStores.asked.clear()
    locations = [f"twin://c@{store}/db/{name}/" for name, store in (("a", "fast"), ("b", "slow"), ("c", "fast"))]
    options = {("file-lister", "two-stores"): {"lake": lake.name}}
    ages = store_ages(
        locations,
        AgeLimit(),
        lake.time,
        services.choosing(plugins=plugins, options=options).run(),
    )
    assert {"twin://c@fast": lake.time, "twin://c@slow": lake.time - timedelta(days=2)} == {
        store: found.now for store, found in ages.items()
    }
    assert locations[:2] == TwoStores.asked
    assert timedelta(days=2) == ages["twin://c@fast"].newest_deletable - ages["twin://c@slow"].newest_deletable
