"""S20, S32: a dropped table stays where another repository of the same live-set store has or had files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from collecting import LakeServices
from in_quarantine import held, purge, restore
from lakes_together import garbage, table
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository, TableState, delete, put

from nessie_gc_core.errors import SafetyError
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService
from nessie_gc_core.services.parameters import DeferredDeletionParameters, SweepParameters

DAY = timedelta(days=1)
A_WEEK = SweepParameters(dropped_after=7 * DAY)
PLACE = "memory://wh/db/t"


@pytest.fixture
def theirs(services: LakeServices, beside: MemoryLake) -> LakeServices:
    """What collects the other repository alone, with the same store."""
    return replace(services, repository=MemoryRepository.from_options({"lake": beside.name}))


@pytest.fixture
def moved(lake: MemoryLake, services: LakeServices, beside: MemoryLake) -> TableState:
    """A table that was dropped here, and registered there."""
    state = table(lake, "t")
    table(lake, "kept"), table(beside, "kept_too")
    lake.advance(DAY)
    services.collect("1")
    lake.advance(DAY)
    beside.commit("main", put(replace(state.version, content_id="registered")))
    lake.commit("main", delete("db.t"))
    return state


Look = Callable[[LakeServices], object]
LOOKS: tuple[Look, ...] = (
    lambda theirs: theirs.collect("1"),
    lambda theirs: theirs.collect("1", sweep=SweepParameters(dry_run=True)),
    lambda theirs: theirs.mark("1"),
)


@pytest.mark.parametrize("look", LOOKS, ids=["collected", "dry run", "marked"])
@pytest.mark.parametrize("by_commits", [False, True], ids=["by live sets", "by commits"])
def test_s20_a_table_that_moved_to_another_repository_stays(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, moved: TableState, look: Look, by_commits: bool
) -> None:
    look(theirs)
    if by_commits:
        for live_set in list(services.store.live_sets()):
            if live_set.repository == services.repository.identity():
                services.store.delete(live_set.id)
    lake.advance(10 * DAY)
    services.collect("1")
    lake.advance(10 * DAY)
    report = services.collect("1", sweep=A_WEEK)
    assert moved.needed <= lake.paths()
    assert list(report.refused) == [PLACE]
    assert theirs.repository.identity() in report.refused[PLACE]
    assert not report.dropped
    assert report.exit_code == 0


def test_s20_it_stays_when_the_other_repository_had_it_and_only_the_register_says_so(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake, moved: TableState
) -> None:
    theirs.collect("1")
    beside.commit("main", delete("db.t"))
    lake.advance(DAY)
    theirs.collect("1")
    lake.advance(20 * DAY)
    services.collect("1")
    lake.advance(20 * DAY)
    services.collect("1", sweep=A_WEEK)
    assert moved.needed <= lake.paths()


def test_s20_other_dropped_tables_go_all_the_same(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, moved: TableState
) -> None:
    state = table(lake, "t2")
    lake.advance(DAY)
    services.collect("1"), theirs.collect("1")
    lake.commit("main", delete("db.t2"))
    for _ in range(2):
        lake.advance(20 * DAY)
        services.collect("1", sweep=A_WEEK)
    assert not state.needed & lake.paths()
    assert moved.needed <= lake.paths()


def test_s20_a_deferred_deletion_asks_again(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    state = table(lake, "t")
    table(lake, "kept"), table(beside, "kept_too")
    lake.advance(DAY)
    services.collect("1"), theirs.collect("1")
    lake.commit("main", delete("db.t"))
    for _ in range(2):
        lake.advance(20 * DAY)
        live_set = services.mark("1")
        services.sweep(live_set, replace(A_WEEK, defer_deletes=True))
    beside.commit("main", put(state.version))
    theirs.mark("1")
    report = services.delete_deferred(live_set)
    assert state.needed <= lake.paths()
    assert f"{PLACE}/" in report.refused


def test_s20_a_purge_asks_again(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    state = table(lake, "t")
    table(lake, "kept"), table(beside, "kept_too")
    lake.advance(DAY)
    services.collect("1"), theirs.collect("1")
    lake.commit("main", delete("db.t"))
    for _ in range(2):
        lake.advance(20 * DAY)
        services.collect("1", sweep=replace(A_WEEK, quarantine=["memory://wh/held/"]))
    taken = {file.path for file in held(services)}
    assert taken
    assert not state.needed & lake.paths()
    beside.commit("main", put(state.version))
    theirs.collect("1")
    lake.advance(40 * DAY)
    services.collect("1")
    report = purge(services)
    assert taken == {file.path for file in held(services)}
    assert any(theirs.repository.identity() in warning for warning in report.warnings)
    restore(services)
    assert state.needed <= lake.paths()


class _Asked(MemoryLiveSetStore):
    """Remembers of which repositories the whole register was read."""

    def __init__(self, options: object) -> None:
        super().__init__(options)  # type: ignore[arg-type]
        self.registers: list[str] = []

    def seen_contents(self, repository, content_ids=None):
        if content_ids is None:
            self.registers.append(repository)
        return super().seen_contents(repository, content_ids)


def test_s20_registers_of_others_are_read_only_where_something_is_dropped(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    store = _Asked.from_options({})
    store.clock = lambda: lake.time
    mine = replace(services, store=store)
    table(lake, "kept"), table(beside, "kept_too")
    replace(theirs, store=store).collect("1")
    store.registers.clear()
    for _ in range(2):
        lake.advance(20 * DAY)
        mine.collect("1", sweep=A_WEEK)
    assert theirs.repository.identity() not in store.registers


# ---- live in both -------------------------------------------------------------------------------------
def test_s20_live_locations_that_are_shared_with_an_unknown_repository_are_a_warning(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    state = table(lake, "t")
    beside.commit("main", put(state.version))
    theirs.collect("1")
    lake.advance(3 * DAY)
    warnings = services.collect("1").warnings
    assert 1 == sum("1 of the locations to sweep had tables or files of" in text for text in warnings)
    assert any(f"for example {PLACE}/" in text and theirs.repository.identity() in text for text in warnings)


@pytest.fixture
def taken_over(lake: MemoryLake, theirs: LakeServices, beside: MemoryLake) -> str:
    """A file here that only a table of the other repository needs, which has a location of its own."""
    state = table(lake, "t", "taken.parquet")
    taken = f"{PLACE}/data/taken.parquet"
    table(beside, "theirs", "own.parquet", taken)
    lake.commit("main", put(state.overwrite("new.parquet").version))
    lake.advance(3 * DAY)
    theirs.collect("1")
    return taken


@pytest.mark.parametrize("marked_again", [False, True])
def test_s20_files_that_another_repository_took_over_are_shared_as_well(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, taken_over: str, *, marked_again: bool
) -> None:
    if marked_again:
        lake.advance(DAY)
        theirs.mark("1")
    with pytest.raises(SafetyError, match=theirs.repository.identity()):
        services.collect("1", sweep=SweepParameters(strict=True))
    assert taken_over in lake.paths()
    assert any(theirs.repository.identity() in text for text in services.collect("1").warnings)


def test_s20_a_dropped_table_whose_files_another_repository_took_over_stays(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, taken_over: str
) -> None:
    table(lake, "kept")
    lake.commit("main", delete("db.t"))
    lake.advance(20 * DAY)
    report = services.collect("1", sweep=A_WEEK)
    assert taken_over in lake.paths()
    assert theirs.repository.identity() in report.refused[PLACE]


def test_s20_metadata_that_the_other_repository_cannot_read_is_still_its_own(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    """Another branch there shows a state that can be read, in another location."""
    table(lake, "t")
    elsewhere = table(beside, "theirs")
    moved = elsewhere.move_to(PLACE)
    beside.branch("old", "main")
    beside.commit("main", put(moved.version))
    theirs.collect("1")
    lake.put(moved.metadata_location, b"broken")
    lake.advance(3 * DAY)
    theirs.collect("1")
    with pytest.raises(SafetyError, match="`strict`"):
        services.collect("1", sweep=SweepParameters(strict=True))
    assert moved.metadata_location in lake.paths()


def test_s20_a_table_that_the_other_repository_has_since_its_last_collection_is_shared(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    table(beside, "kept_too")
    theirs.collect("1")
    state = table(lake, "t")
    beside.commit("main", put(state.version))
    lake.advance(3 * DAY)
    theirs.mark("1")
    with pytest.raises(SafetyError, match="`strict`"):
        services.collect("1", sweep=SweepParameters(strict=True))


def test_s20_repositories_that_are_collected_together_share_what_they_like(
    lake: MemoryLake, together: LakeServices, beside: MemoryLake
) -> None:
    state = table(lake, "t")
    beside.commit("main", put(state.version))
    for _ in range(2):
        lake.advance(3 * DAY)
        report = together.collect("1", sweep=SweepParameters(strict=True))
    assert not any("as well" in text for text in report.warnings)


def test_s20_with_strict_nothing_is_deleted(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    state = table(lake, "t")
    dead = garbage(lake, "t")
    beside.commit("main", put(state.version))
    theirs.mark("1")
    lake.advance(3 * DAY)
    with pytest.raises(SafetyError, match="nothing was deleted because of `strict`"):
        services.collect("1", sweep=SweepParameters(strict=True))
    assert dead in lake.paths()


def test_s20_the_orphan_files_of_a_table_are_strict_as_well(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    state = table(lake, "t")
    dead = garbage(lake, "t")
    beside.commit("main", put(state.version))
    theirs.collect("1")
    lake.advance(30 * DAY)
    parameters = RemoveOrphanFilesParameters(table="db.t", dry_run=False, strict=True)
    with pytest.raises(SafetyError, match="`strict`"):
        RemoveOrphanFilesService(parameters).run(services.run())
    assert dead in lake.paths()


def test_s20_a_deferred_deletion_is_strict_as_well(
    lake: MemoryLake, services: LakeServices, theirs: LakeServices, beside: MemoryLake
) -> None:
    state = table(lake, "t")
    dead = garbage(lake, "t")
    lake.advance(3 * DAY)
    live_set = services.mark("1")
    assert services.sweep(live_set, SweepParameters(defer_deletes=True)).outcomes[Outcome.DEFERRED].files == 1
    beside.commit("main", put(state.version))
    theirs.mark("1")
    with pytest.raises(SafetyError, match="`strict`"):
        services.delete_deferred(live_set, SweepParameters(strict=True))
    assert dead in lake.paths()
    assert DeferredDeletionParameters().strict is False
