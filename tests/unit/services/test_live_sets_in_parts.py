"""Whatever a service wants of whole live sets, it is the same whether the driver reads them or workers do."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from collecting import LakeServices, in_memory
from expiry_lakes import ExpiryLake, StoppedError, stop
from lakes_by_hand import LakeBeside, lake_at
from lakes_together import AGE, DOWN, garbage, table
from nessie_gc_memory import MEMORY_TABLE, MemoryLake, delete, put
from read_in_parts import CountingStore, Distributed, StoreInParts, UnreachableStore, read_in_parts
from scenes import START

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.assets.identify import IdentifyService
from nessie_gc_core.services.assets.parameters import IdentifyParameters
from nessie_gc_core.services.deferred import DeferredDeletionService
from nessie_gc_core.services.parameters import DeferredDeletionParameters, SweepParameters
from nessie_gc_core.services.run import Run, qualified_id
from nessie_gc_core.services.stored_versions import stored_versions

DAY = timedelta(days=1)
YOUNG = SweepParameters(min_age=timedelta(hours=1))
READERS = ["driver", "workers"]


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    with lake_at(START) as lake:
        yield lake


@pytest.fixture(params=READERS)
def services(
    request: pytest.FixtureRequest, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> Iterator[LakeServices]:
    by_driver = request.param == "driver"
    monkeypatch.setattr("nessie_gc_memory.store.utc_now", lambda: lake.time)
    store = (CountingStore if by_driver else StoreInParts).from_options({"store": lake.name})
    with in_memory(lake, LocalEngine(workers=2) if by_driver else Distributed(workers=2)) as services:
        if not by_driver:
            read_in_parts(monkeypatch)
        yield replace(services, store=store)


def identities(run: Run, live_sets: Mapping[UUID, int]) -> list[tuple[str, str]]:
    versions, types = stored_versions(run, live_sets)
    assert {MEMORY_TABLE} == types
    rows = versions.summary()
    return sorted(zip(*(rows.column(name).to_pylist() for name in ("content_id", "content_key")), strict=True))


def test_several_live_sets_are_read_whole_and_their_ids_are_qualified(lake: MemoryLake, services: LakeServices) -> None:
    live_sets, expected = dict[UUID, int](), list[tuple[str, str]]()
    for number in range(20):  # there are more parts than are read at once
        table(lake, f"t{number}", content_id=f"id{number}")
        live_sets[services.mark("1")] = number
        expected += [(qualified_id(f"id{each}", number), f"db.t{each}") for each in range(number + 1)]
    assert sorted(expected) == identities(services.run(), live_sets)


def test_no_live_sets_have_no_versions(services: LakeServices) -> None:
    versions, types = stored_versions(services.run(), {})
    assert (0, frozenset()) == (versions.count(), types)


def test_workers_that_do_not_reach_the_store_are_not_asked_again(
    lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in_parts(monkeypatch)
    with in_memory(lake, Distributed(workers=1)) as found:
        services = replace(found, store=UnreachableStore.from_options({"store": lake.name}))
        table(lake, "t", content_id="t")
        live_set, run = services.mark("1"), services.run()
        UnreachableStore.attempts.clear()
        for _ in range(3):
            assert [("t", "db.t")] == identities(run, {live_set: 0})
        assert 1 == len(UnreachableStore.attempts)
        assert [text for text in run.report.warnings if "nobody answers" in text] == run.report.warnings


class Vanishing(CountingStore):
    """A live set of it is deleted when it is to be read."""

    doomed: UUID | None = None

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        if live_set_id == self.doomed:
            self.delete(live_set_id)
            return iter(())
        return super().content_versions(live_set_id, content_ids)


def test_a_live_set_of_the_past_that_is_deleted_meanwhile_is_left_out(lake: MemoryLake) -> None:
    with in_memory(lake) as found:
        store = Vanishing.from_options({"store": lake.name})
        services = replace(found, store=store)
        table(lake, "t", content_id="t")
        live_sets = {services.mark("1"): number for number in range(2)}
        store.doomed = min(live_sets, key=live_sets.__getitem__)
        versions, _ = stored_versions(services.run(), live_sets, of_the_past=True)
        assert [qualified_id("t", 1)] == versions.summary().column("content_id").to_pylist()


def test_a_live_set_of_the_run_that_is_deleted_meanwhile_ends_it(lake: MemoryLake) -> None:
    with in_memory(lake) as found:
        store = Vanishing.from_options({"store": lake.name})
        services = replace(found, store=store)
        table(lake, "t", content_id="t")
        store.doomed = services.mark("1")
        with pytest.raises(StoreError, match="0 of 1 content versions"):
            stored_versions(services.run(), {store.doomed: 0})


def test_a_deferred_deletion_reads_the_types_and_names_of_live_contents(
    lake: MemoryLake, services: LakeServices
) -> None:
    needed = [table(lake, name).needed for name in ("left_out", *(f"t{number}" for number in range(5)))]
    for name in ("left_out", "t0"):
        garbage(lake, name)
    lake.advance(AGE)
    live_set = services.collect("1", sweep=replace(YOUNG, defer_deletes=True)).live_set_id
    lake.advance(timedelta(hours=1))
    parameters = DeferredDeletionParameters(live_set_id=live_set, exclude=("db.left_out",), by_table=True)
    report = DeferredDeletionService(parameters).run(services.run())
    assert set().union(*needed) | {"memory://wh/db/left_out/data/nobody.parquet"} == lake.paths()
    is_swept = {row.tables: row.left_alone is None for row in report.tables or ()}
    assert {("db.left_out",): False, ("db.t0",): True} == is_swept


def test_unreferenced_assets_are_named_after_tables_and_what_earlier_live_sets_had(
    lake: MemoryLake, services: LakeServices
) -> None:
    for number in range(4):
        table(lake, f"kept{number}")
    old = table(lake, "t", "old.parquet")
    services.mark("1")
    lake.advance(DAY)
    lake.branch("gone", at="main")
    lake.commit("gone", put(old.append("of_a_branch.parquet").version))
    services.mark("1")
    lake.drop("gone")
    lake.commit("main", put(old.overwrite("new.parquet").version))
    garbage(lake, "t")
    lake.advance(AGE)
    parameters = IdentifyParameters(default_cutoff="1", history=True)
    found = IdentifyService(parameters).find(services.run(), None).assets.summary().to_pylist()
    seen = {row["name"]: (row["tableName"], row["reason"], row["lastReference"]) for row in found}
    assert ("db.t", "never committed", None) == seen["nobody.parquet"]
    assert ("db.t", "expired commit", "main") == seen["old.parquet"]
    assert ("db.t", "no reference", None) == seen["of_a_branch.parquet"]


def test_a_repository_that_cannot_be_read_keeps_all_that_its_live_sets_name(
    lake: MemoryLake, services: LakeServices
) -> None:
    beside = LakeBeside(lake)
    together = services.together_with(beside)
    for number in range(3):
        table(lake, f"mine{number}"), table(beside, f"theirs{number}")
    together.mark("1")
    beside.commit("main", delete("db.theirs0"))
    dead = {name: garbage(lake, name) for name in ("mine0", "theirs0", "theirs1")}
    lake.advance(AGE)
    beside.faults.references = DOWN
    report = together.collect("1")
    assert {dead["theirs0"], dead["theirs1"]} == {*dead.values()} & {*lake.paths()}
    assert {"memory://wh/db/theirs1/", "memory://wh/db/theirs2/"} <= report.unknown.keys()


@pytest.mark.parametrize("known", [False, True])
def test_a_forgotten_table_is_one_that_no_live_set_names(
    lake: MemoryLake, services: LakeServices, *, known: bool
) -> None:
    for number in range(3):
        table(lake, f"kept{number}")
    place = "memory://wh/db/forgotten"
    forgotten = lake.table("db.forgotten", location=place).append("f.parquet")
    rule = replace(YOUNG, dropped_after=10 * DAY, dropped_under=("memory://wh",), allow=("memory://wh",))
    for day in range(13):
        lake.advance(DAY)
        if known and day == 5:  # another repository over the same storage had it, as far as this store knows
            other = LakeBeside(lake)
            other.commit("main", put(forgotten.version))
            replace(services, repository=services.together_with(other).others[0]).mark("1")
        services.collect("1", sweep=rule)
    assert known == (f"{place}/data/f.parquet" in lake.paths())


@pytest.mark.parametrize("reader", READERS)
def test_an_expiry_leaves_alone_what_it_recorded_of_a_table_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str
) -> None:
    with LocalEngine(workers=2) if reader == "driver" else Distributed(workers=2) as engine:
        lake = ExpiryLake(tmp_path / "lake", engine)
        if reader == "workers":
            read_in_parts(monkeypatch)
            lake.store.close()
            lake.store = StoreInParts.from_options({"store": str(tmp_path)})
        lake.table("db.gone", overwrites=2)
        lake.repository.before_commit = stop
        with pytest.raises(StoppedError):
            lake.expire()
        del lake.repository.before_commit
        lake.catalog.drop_table("db.gone")
        left = lake.files("db/gone")
        lake.table("db.t", overwrites=2)
        report = lake.expire()
        assert left == lake.files("db/gone")
        assert [text for text in report.collection.warnings if "db.gone no longer exists" in text]
        lake.close()


@pytest.mark.parametrize("more", [-1, 1])
def test_s06_a_live_set_that_is_not_read_whole_ends_a_deferred_deletion(
    lake: MemoryLake, services: LakeServices, *, more: int
) -> None:
    table(lake, "t"), table(lake, "u"), garbage(lake, "t")
    lake.advance(AGE)
    live_set = services.collect("1", sweep=replace(YOUNG, defer_deletes=True)).live_set_id
    before = {*lake.paths()}
    assert isinstance(services.store, CountingStore)
    services.store.more = more
    with pytest.raises(StoreError, match=f"gave 2 of {2 + more} content versions"):
        DeferredDeletionService(DeferredDeletionParameters(live_set_id=live_set)).run(services.run())
    assert before == {*lake.paths()}
