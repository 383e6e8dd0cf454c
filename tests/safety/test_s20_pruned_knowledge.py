"""S20: 'prune' keeps the last live set that knows a dropped table until a sweep has taken that table."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, delete, put

from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.pruning import PruneReport, PruneRule, prune

DAY = timedelta(days=1)
PLACE = "memory://wh/db/t/"
SIXTY = SweepParameters(dropped_after=60 * DAY, allow=("memory://wh/",))


class PlainLake:
    """A lake without a history, as that of a plain catalog, in which a table is dropped after a while."""

    def __init__(self, lake: MemoryLake, services: LakeServices) -> None:
        self.lake, self.services = lake, services
        for name in ("kept", "t"):
            table = lake.table(f"db.{name}", location=f"memory://wh/db/{name}", content_id=name).append("a.parquet")
            lake.commit("main", put(table.version), hides_operations=True)
        self.collect(SIXTY)
        lake.advance(DAY)
        lake.commit("main", delete("db.t"), hides_operations=True)

    def collect(self, sweep: SweepParameters | None) -> None:
        self.lake.advance(5 * DAY)
        self.services.collect("1", sweep=sweep)

    def prune(self, days: int) -> PruneReport:
        rule = PruneRule(older_than=days * DAY)
        return prune(self.services.store, rule, dry_run=False, clock=self.services.clock)

    def run(self, *, times: int, days: int, sweep: SweepParameters | None = SIXTY) -> None:
        """Collections and prunes, each five days after the one before."""
        for _ in range(times):
            self.collect(sweep)
            self.prune(days)

    @property
    def left(self) -> list[str]:
        return sorted(path for path in self.lake.paths() if path.startswith(PLACE))

    @property
    def live_sets(self) -> int:
        return len(list(self.services.store.live_sets()))


@pytest.fixture
def plain(lake: MemoryLake, services: LakeServices) -> PlainLake:
    return PlainLake(lake, services)


@pytest.mark.parametrize("days", [5, 30, 59, 61])
def test_s20_a_table_is_taken_although_live_sets_are_pruned(plain: PlainLake, days: int) -> None:
    plain.run(times=14, days=days)
    assert [] == plain.left


def test_s20_the_last_that_knows_the_table_stays_until_it_is_taken_and_no_longer(plain: PlainLake) -> None:
    plain.run(times=11, days=30)
    assert plain.left
    assert 12 == plain.live_sets
    kept = plain.prune(30).kept[-1]
    assert kept.reason == "a dropped table is known only to it (1 content), and no sweep has taken all of it"
    plain.run(times=8, days=30)
    assert 7 >= plain.live_sets


def test_s20_what_could_not_be_deleted_is_not_forgotten(plain: PlainLake) -> None:
    (stuck,) = (path for path in plain.left if "/data/" in path)
    plain.lake.faults.deleting[stuck] = "access denied"
    plain.run(times=20, days=30)
    assert [stuck] == plain.left
    plain.lake.faults.deleting.clear()
    plain.run(times=2, days=30)
    assert [] == plain.left


def test_s20_where_sweeps_take_no_dropped_tables_live_sets_go_as_ever(plain: PlainLake) -> None:
    plain.run(times=25, days=30, sweep=None)
    assert 7 >= plain.live_sets
    assert plain.left


def test_s20_a_later_live_set_that_has_the_table_keeps_it_known(plain: PlainLake) -> None:
    again = plain.lake.table("db.t", location=PLACE.rstrip("/"), content_id="t").append("b.parquet")
    plain.lake.commit("main", put(again.version), hides_operations=True)
    plain.run(times=10, days=5)
    assert 3 >= plain.live_sets
