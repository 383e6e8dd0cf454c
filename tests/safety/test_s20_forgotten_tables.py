"""S20: tables that only the listing of a warehouse shows go when an old live set, and all since, know nothing there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from collecting import LakeServices, in_memory
from nessie_gc_memory import MemoryLake, MemoryRepository, TableState, delete, put

from nessie_gc_core.errors import ConfigurationError, ListingError, RepositoryError
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WAREHOUSE = "memory://warehouse"
PLACE = f"{WAREHOUSE}/db/forgotten"


class ForgottenLake:
    """A lake with one live table, and one of which only its files are left."""

    def __init__(self, lake: MemoryLake, services: LakeServices) -> None:
        self.lake, self.services = lake, services
        self.kept = self.commit("db.kept", f"{WAREHOUSE}/db/kept")
        self.table = self.write()

    def commit(self, key: str, location: str, *, reference: str = "main") -> TableState:
        """Makes a table that a reference shows."""
        table = self.lake.table(key, location=location, content_id=key).append("a.parquet")
        self.lake.commit(reference, put(table.version))
        return table

    def write(self, location: str = PLACE) -> TableState:
        """Makes one that nobody commits."""
        return self.lake.table("db.forgotten", location=location, content_id=location).append("f.parquet")

    def collect(self, *under: str) -> GcReport:
        """A collection for which ten days are long enough."""
        sweep = SweepParameters(
            min_age=HOUR, dropped_after=10 * DAY, dropped_under=under or (WAREHOUSE,), allow=(WAREHOUSE,)
        )
        return self.services.collect("1", sweep=sweep)

    def collect_daily(self, days: int) -> list[bool]:
        """Whether the files are there after each of some collections, a day apart."""
        there = []
        for _ in range(days):
            self.lake.advance(DAY)
            self.collect()
            there.append(self.is_there)
        return there

    @property
    def is_there(self) -> bool:
        """Whether all of its files are; some of them are never what is left."""
        stored = set(self.lake.paths())
        mine = {path for path in stored if path.startswith(PLACE + "/")}
        assert not mine or mine >= self.lake.needed_files([self.table.version])
        return bool(mine)


@pytest.fixture
def forgotten() -> Iterator[ForgottenLake]:
    name = str(uuid.uuid4())
    lake = MemoryLake.named(name)
    lake.now = datetime(2026, 1, 1, tzinfo=UTC)
    with in_memory(lake) as services:
        yield ForgottenLake(lake, services)
    MemoryLake.forget(name)


def test_s20_a_table_nobody_knows_goes_when_a_live_set_without_it_is_old_enough(forgotten: ForgottenLake) -> None:
    assert forgotten.collect_daily(13) == [True] * 11 + [False] * 2
    assert set(forgotten.lake.paths()) >= forgotten.lake.needed_files([forgotten.kept.version])


def test_s20_a_first_run_says_that_it_cannot_know(forgotten: ForgottenLake) -> None:
    forgotten.lake.advance(100 * DAY)
    report = forgotten.collect()
    assert forgotten.is_there
    assert any("no earlier mark is older" in warning for warning in report.warnings)


def test_s20_a_warehouse_that_nobody_names_is_not_searched(forgotten: ForgottenLake) -> None:
    for _ in range(3):
        forgotten.lake.advance(20 * DAY)
        forgotten.collect(f"{WAREHOUSE}/other")
    assert forgotten.is_there


def test_s20_its_youngest_file_counts(forgotten: ForgottenLake) -> None:
    forgotten.collect_daily(5)
    forgotten.table = forgotten.table.append("late.parquet")
    assert forgotten.collect_daily(13) == [True] * 11 + [False] * 2  # counted from the first that saw it


def test_s20_a_file_without_a_time_keeps_its_table(forgotten: ForgottenLake) -> None:
    forgotten.lake.faults.unknown_modified.add(forgotten.lake.put(f"{PLACE}/data/unknown.parquet"))
    assert all(forgotten.collect_daily(15))


def registered_for_a_day(forgotten: ForgottenLake) -> None:
    """A branch showed it, and is gone with all of its commits."""
    forgotten.lake.branch("dev", at="main")
    forgotten.lake.commit("dev", put(forgotten.table.version))
    forgotten.lake.advance(DAY)
    forgotten.services.mark("1")
    forgotten.lake.drop("dev")


def dropped_lately(forgotten: ForgottenLake) -> None:
    """It was registered, and dropped before anybody looked."""
    forgotten.lake.commit("main", put(forgotten.table.version))
    forgotten.lake.commit("main", delete("db.forgotten"))


def known_to_another_repository(forgotten: ForgottenLake) -> None:
    """Another catalog has it, whose live sets are in the same store."""
    other = MemoryLake.named(forgotten.lake.name + "-other")
    other.now = forgotten.lake.time
    other.commit("main", put(forgotten.table.version))
    repository = MemoryRepository.from_options({"lake": other.name})
    replace(forgotten.services, repository=repository).mark("1")


def live_and_unreadable(forgotten: ForgottenLake) -> None:
    """It is live, and cannot be read."""
    forgotten.lake.commit("main", put(forgotten.table.version))
    broken = OSError("the disk is broken")
    forgotten.lake.faults.reading[forgotten.table.metadata_location] = broken


def holds_a_live_one(forgotten: ForgottenLake) -> None:
    """A live table lies in its folder."""
    forgotten.commit("db.inside", f"{PLACE}/inside")


def lies_in_a_live_one(forgotten: ForgottenLake) -> None:
    """Its folder lies in that of a live table, to which its files belong."""
    data = forgotten.lake.table("db.around", location=f"{WAREHOUSE}/db", content_id="around")
    forgotten.lake.commit("main", put(data.version))
    forgotten.lake.commit("main", put(forgotten.table.version))


@pytest.mark.parametrize("days", [0, 12])
@pytest.mark.parametrize(
    "known",
    [
        registered_for_a_day,
        dropped_lately,
        known_to_another_repository,
        live_and_unreadable,
        holds_a_live_one,
        lies_in_a_live_one,
    ],
)
def test_s20_what_anybody_knows_lately_is_not_forgotten(
    forgotten: ForgottenLake, known: Callable[[ForgottenLake], None], days: int
) -> None:
    forgotten.lake.advance(2 * HOUR)
    forgotten.services.mark("1")
    forgotten.lake.advance(days * DAY)
    known(forgotten)
    assert all(forgotten.collect_daily(9))


def test_s20_a_folder_that_was_copied_is_no_table(forgotten: ForgottenLake) -> None:
    for path in [path for path in forgotten.lake.paths() if path.startswith(PLACE)]:
        stored = forgotten.lake.objects.get(path)
        assert stored is not None
        forgotten.lake.put(path.replace(PLACE, f"{WAREHOUSE}/backup/forgotten"), stored.data or stored.size)
    forgotten.collect_daily(15)
    assert not forgotten.is_there
    assert any(path.startswith(f"{WAREHOUSE}/backup/forgotten") for path in forgotten.lake.paths())


def test_s20_what_is_no_table_stays(forgotten: ForgottenLake) -> None:
    others = {
        forgotten.lake.put(f"{WAREHOUSE}/{name}") for name in ("db/x.csv", "metadata/1.metadata.json", "a/v1.json")
    }
    forgotten.collect_daily(15)
    assert set(forgotten.lake.paths()) >= others


def test_s20_a_warehouse_whose_listing_breaks_off_is_left_alone(forgotten: ForgottenLake) -> None:
    forgotten.collect_daily(10)
    forgotten.lake.faults.listing[f"{WAREHOUSE}/"] = ListingError("the store is tired")
    forgotten.lake.advance(5 * DAY)
    report = forgotten.collect()
    assert forgotten.is_there
    assert any("the store is tired" in warning for warning in report.warnings)


def test_s20_without_the_commits_nothing_is_forgotten(forgotten: ForgottenLake) -> None:
    forgotten.collect_daily(10)
    head = next(iter(forgotten.services.repository.references())).commit_id
    assert head is not None
    forgotten.commit("db.more", f"{WAREHOUSE}/db/more")
    forgotten.lake.faults.log[head] = RepositoryError("the server forgot this commit")
    assert all(forgotten.collect_daily(5))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"allow": (WAREHOUSE,)}, "needs `dropped_after`"),
        ({"dropped_after": DAY}, "needs `allow`"),
        ({"dropped_after": DAY, "allow": ("memory://warehouse/db",)}, "is outside the allowed locations"),
        ({"dropped_after": DAY, "allow": (WAREHOUSE,), "dropped_under": ("db",)}, "`dropped_under`: "),
    ],
)
def test_s20_a_warehouse_has_to_be_allowed(forgotten: ForgottenLake, given: dict[str, object], message: str) -> None:
    sweep = SweepParameters(**{"dropped_under": (WAREHOUSE,), **given})
    with pytest.raises(ConfigurationError, match=message):
        sweep.check(forgotten.services.choice)
