"""S15: a file in quarantine is never lost: not by a crash at any point, and it is never both restored and purged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices, on_disk
from in_quarantine import DEAD, held, look, purge, restore, with_garbage
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, TableState, put

from nessie_gc_core import hookimpl
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.parameters import SweepParameters

PLACE = "memory://wh/.quarantine/"
HOLD = SweepParameters(quarantine=[PLACE])


@pytest.fixture
def live(lake: MemoryLake) -> TableState:
    """The table of a lake with garbage."""
    return with_garbage(lake)


def contents(lake: MemoryLake, paths: set[str]) -> Mapping[str, bytes | None]:
    return {path: stored.data for path in paths if (stored := lake.objects.get(path)) is not None}


# ---- there and back -----------------------------------------------------------------------------------
def test_s15_what_is_quarantined_is_elsewhere_and_comes_back(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    before = contents(lake, DEAD)
    report = services.sweep(services.mark(), HOLD)
    assert (3, 0) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.DELETED].files)
    assert DEAD.isdisjoint(lake.paths())
    assert 3 == sum(path.startswith(PLACE) for path in lake.paths())
    assert {("db.t", HeldState.HELD)} == {(file.table, file.state) for file in held(services)}
    restored = restore(services)
    assert (3, 0) == (restored.done.files, restored.exit_code)
    assert before == contents(lake, DEAD)
    assert not any(path.startswith(PLACE) for path in lake.paths())
    assert [] == held(services)


def test_s15_on_both_engines(engine: Engine, tmp_path: Path) -> None:
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC)) as lake:
        with_garbage(lake)
        folder = tmp_path / "lake"
        services = on_disk(lake, folder, engine)
        names = {path.rpartition("/")[2] for path in DEAD}
        parameters = SweepParameters(
            quarantine=[f"file://{folder}/held/"], min_age=timedelta(0), no_age_floor=True, min_depth=0
        )
        report = services.sweep(services.mark(), parameters)
        assert 3 == report.outcomes[Outcome.QUARANTINED].files
        data = next(folder.rglob("live.parquet")).parent
        assert names.isdisjoint(path.name for path in data.iterdir())
        assert names == {path.name for path in (folder / "held").rglob("*.parquet")}
        assert 3 == restore(services).done.files
        assert names < {path.name for path in data.iterdir()}
        assert 3 == services.sweep(services.mark(), parameters).outcomes[Outcome.QUARANTINED].files
        services = replace(services, clock=lambda: lake.time + timedelta(days=31))
        look(services)
        assert 3 == purge(services).done.files
        assert [] == list(folder.rglob("dead-*"))


def test_s15_files_are_chosen_by_table_place_pattern_and_run(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    live_set = services.mark()
    services.sweep(live_set, HOLD)
    for chosen, files in (
        ({"include": ["db[.]t"]}, 3),
        ({"include": ["db[.]other"]}, 0),
        ({"exclude": ["db[.]t"]}, 0),
        ({"under": ["memory://wh/db/t/data"]}, 3),
        ({"under": ["memory://wh/db/t/dat"]}, 0),
        ({"matching": ".*dead-[01].*"}, 2),
        ({"matching": "dead-0.parquet"}, 0),
        ({"live_set_id": str(live_set)[:8]}, 3),
    ):
        assert files == restore(services, dry_run=True, **chosen).done.files, chosen
    assert 3 == len(held(services)), "a dry run changes nothing"
    assert 1 == restore(services, matching=".*dead-1[.]parquet").done.files
    assert {"memory://wh/db/t/data/dead-1.parquet"} == DEAD & lake.paths()
    with pytest.raises(ConfigurationError, match="say which files to restore"):
        restore(services, dry_run=True, include=())


def test_s15_a_dry_run_of_a_quarantine_moves_nothing(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    before = lake.paths()
    report = services.sweep(services.mark(), replace(HOLD, dry_run=True))
    assert (3, before, []) == (report.outcomes[Outcome.WOULD_DELETE].files, lake.paths(), held(services))


def test_s15_deferred_deletions_can_go_to_a_quarantine(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    report = services.delete_deferred(live_set, HOLD)
    assert 3 == report.outcomes[Outcome.QUARANTINED].files
    assert [] == list(services.store.file_deletions(live_set))
    assert 3 == restore(services).done.files
    assert lake.paths() >= DEAD


# ---- the clock ----------------------------------------------------------------------------------------
def test_s15_only_what_can_no_longer_be_restored_is_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), replace(HOLD, quarantine_for=timedelta(days=10)))
    lake.advance(timedelta(days=10))
    early = purge(services)
    assert (0, 3) == (early.done.files, early.waiting.files)
    lake.advance(timedelta(seconds=1))
    look(services)
    before = lake.paths()
    assert (3, 0) == (purge(services).done.files, restore(services).done.files)
    assert 3 == len(before - lake.paths())
    assert live.needed <= lake.paths()
    assert [] == held(services)


def test_s15_a_veto_holds_for_a_purge(
    lake: MemoryLake, live: TableState, services: LakeServices, plugins: PluginRegistry
) -> None:
    class LegalHold:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Any) -> Mapping[str, str]:
            return {file.path: "legal hold" for file in files if file.path.endswith("dead-1.parquet")}

    services.sweep(services.mark(), HOLD)
    lake.advance(timedelta(days=31))
    look(services)
    plugins.register(LegalHold(), name="legal-hold")
    report = purge(services.choosing(plugins=plugins))
    assert (2, 1) == (report.done.files, report.kept.files)
    assert ["data/dead-1.parquet"] == [file.path for file in held(services)]
    assert 1 == restore(services).done.files


# ---- killed at any point ------------------------------------------------------------------------------
class Killed(BaseException):
    """Ends a run in the middle."""


@pytest.mark.parametrize("number", range(3))
def test_s15_killed_between_copy_and_deletion_nothing_is_lost(
    lake: MemoryLake, live: TableState, services: LakeServices, number: int
) -> None:
    before = contents(lake, DEAD)
    victim = sorted(DEAD)[number]
    lake.faults.deleting_dies[victim] = Killed()
    live_set = services.mark()
    with pytest.raises(Killed):
        services.sweep(live_set, HOLD)
    copies = [path for path in lake.paths() if path.startswith(PLACE)]
    assert victim in lake.paths()
    assert any(path.endswith(victim.rpartition("/")[2]) for path in copies), "it had been copied"
    del lake.faults.deleting_dies[victim]
    assert LiveSetStatus.EXPIRY_FAILED is services.store.get(live_set).status
    report = services.sweep(live_set, replace(HOLD, resume=True))
    assert 3 == report.outcomes[Outcome.QUARANTINED].files, "each file is reported once"
    assert DEAD.isdisjoint(lake.paths())
    assert 3 == restore(services).done.files
    assert before == contents(lake, DEAD)


def test_s15_after_a_killed_quarantine_everything_can_be_restored_at_once(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    before = contents(lake, DEAD)
    lake.faults.deleting_dies[max(DEAD)] = Killed()
    with pytest.raises(Killed):
        services.sweep(services.mark(), HOLD)
    lake.faults.deleting_dies.clear()
    report = restore(services)
    assert (3, 0) == (report.done.files + report.unmoved.files, report.exit_code)
    assert 1 <= report.unmoved.files
    assert before == contents(lake, DEAD)
    copies = {path for path in lake.paths() if path.startswith(PLACE)}
    assert 1 <= len(copies), "whoever moved them may only be paused, and delete the originals yet"
    lake.objects.delete(max(DEAD))
    assert 1 == restore(services).done.files
    assert before == contents(lake, DEAD)
    lake.advance(timedelta(days=31))
    look(services)
    purge(services)
    assert before == contents(lake, DEAD)
    assert [] == held(services)


def test_s15_a_purge_after_a_killed_quarantine_takes_no_file_at_its_own_path(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    victim = min(DEAD)
    lake.faults.deleting_dies[victim] = Killed()
    with pytest.raises(Killed):
        services.sweep(services.mark(), HOLD)
    lake.faults.deleting_dies.clear()
    there = DEAD & lake.paths()
    lake.advance(timedelta(days=31))
    look(services)
    report = purge(services)
    assert there == DEAD & lake.paths()
    assert victim in there
    assert len(there) == report.unmoved.files, "what was never moved is not purged"
    assert not any(path.startswith(PLACE) for path in lake.paths())


def test_s15_a_killed_restore_goes_on_and_is_never_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    before = contents(lake, DEAD)
    services.sweep(services.mark(), HOLD)
    victim = held(services)[1]
    lake.faults.deleting_dies[victim.place + victim.held_path] = Killed()
    lake.advance(timedelta(days=31))
    with pytest.raises(Killed):
        restore(services)
    assert {HeldState.RESTORING} == {file.state for file in held(services)}
    lake.faults.deleting_dies.clear()
    report = purge(services)
    assert (0, 3, 1) == (report.done.files, report.blocked.files, report.exit_code)
    assert "finish it with `restore(matching='" in str(report)
    assert 3 == restore(services).done.files
    assert before == contents(lake, DEAD)
    assert not any(path.startswith(PLACE) for path in lake.paths())


def test_s15_a_killed_purge_goes_on_and_is_never_restored(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HOLD)
    victim = held(services)[1]
    lake.advance(timedelta(days=31))
    look(services)
    lake.faults.deleting_dies[victim.place + victim.held_path] = Killed()
    with pytest.raises(Killed):
        purge(services)
    lake.faults.deleting_dies.clear()
    report = restore(services)
    assert (0, 3, 1, 3) == (report.done.files, report.blocked.files, report.exit_code, len(held(services)))
    assert "cannot be restored" in str(report)
    assert 3 == purge(services).done.files
    assert [] == held(services)
    assert DEAD.isdisjoint(lake.paths())


def test_s15_what_is_needed_again_is_named_and_not_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HOLD)
    again = live.append("dead-1.parquet").version
    lake.objects.delete("memory://wh/db/t/data/dead-1.parquet")  # the writer believes that it is there
    lake.commit("dev", put(again))
    lake.advance(timedelta(days=20))
    dry = services.sweep(services.mark(), SweepParameters(dry_run=True))
    assert (
        "files that live states need are in quarantine: `restore(under='memory://wh/db/t/')` brings them back"
        in dry.warnings
    )
    report = services.sweep(services.mark())
    assert (0, 1, 1) == (report.lost.files, report.in_quarantine.files, report.exit_code)
    lake.advance(timedelta(days=15))
    assert 3 == purge(services).waiting.files
    assert 3 == restore(services, under=["memory://wh/db/t/"]).done.files
    report = services.sweep(services.mark())
    assert (0, 0, 0) == (report.lost.files, report.in_quarantine.files, report.exit_code)


def test_s15_files_of_a_repository_that_is_being_collected_are_left_alone(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HOLD)
    store = services.store
    assert isinstance(store, MemoryLiveSetStore)
    (first, *_) = held(services)
    added: list[HeldFile] = []

    def quarantines() -> Any:
        yield from MemoryLiveSetStore.quarantines(store)
        added.append(
            replace(first, repository="another", path="data/theirs", held_path="theirs", state=HeldState.MOVING)
        )
        store.put_held_files(added)  # a sweep of another repository begins now

    store.quarantines = quarantines  # type: ignore[method-assign]
    assert 3 == restore(services).done.files
    assert [(added[0].held_path, HeldState.MOVING)] == [(file.held_path, file.state) for file in held(services)]


def test_s15_a_resumed_sweep_goes_on_as_it_began(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    lake.faults.deleting_dies[max(DEAD)] = Killed()
    live_set = services.mark()
    with pytest.raises(Killed):
        services.sweep(live_set, HOLD)
    lake.faults.deleting_dies.clear()
    left = DEAD & lake.paths()
    with pytest.raises(ConfigurationError, match="resume it with `quarantine`, too"):
        services.sweep(live_set, SweepParameters(resume=True))
    assert left == DEAD & lake.paths()


def test_s15_recorded_deletions_say_that_they_need_the_quarantine_later(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    report = services.sweep(services.mark(), replace(HOLD, defer_deletes=True))
    assert any("give `quarantine` to 'deferred-deletes' as well" in text for text in report.warnings)


def test_s15_a_failed_restore_leaves_the_tombstone(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    first = lake.history.reference("main").commit_id
    lake.commit("main", put(live.overwrite("new.parquet").version))
    lake.advance(timedelta(days=40))
    services.sweep(services.mark("1"), HOLD)
    metadata = next(file for file in held(services) if file.path.endswith("metadata.json"))
    path, identity = metadata.location + metadata.path, services.repository.identity()
    assert {path} == services.store.tombstones(identity, [path])
    lake.put(path, b"somebody else's")
    restore(services)
    assert {path} == services.store.tombstones(identity, [path])
    lake.objects.delete(path)
    restore(services)
    assert set() == services.store.tombstones(identity, [path]), first


# ---- what is in the way -------------------------------------------------------------------------------
def test_s15_a_path_that_exists_again_is_never_overwritten(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HOLD)
    again = lake.put(min(DEAD), b"somebody else's")
    report = restore(services)
    assert (2, 1, 1) == (report.done.files, report.failed.files, report.exit_code)
    assert f"{again}: a file is at its path that may be another one; it stays in quarantine" in str(report)
    assert b"somebody else's" == contents(lake, DEAD)[again]
    (kept,) = held(services)
    assert HeldState.HELD is kept.state
    assert kept.place + kept.held_path in lake.paths()


def test_s15_a_file_that_cannot_be_moved_stays_and_is_reported(
    lake: MemoryLake, live: TableState, services: LakeServices, tmp_path: Path
) -> None:
    locked = min(DEAD)
    lake.faults.deleting[locked] = "AccessDenied"
    outcomes = tmp_path / "outcomes.jsonl"
    report = services.sweep(services.mark(), replace(HOLD, outcomes_to=str(outcomes)))
    assert (2, 1, 1) == (
        report.outcomes[Outcome.QUARANTINED].files,
        report.outcomes[Outcome.FAILED].files,
        report.exit_code,
    )
    assert locked in lake.paths()
    rows = {row["location"] + row["path"]: row["outcome"] for row in map(json.loads, outcomes.read_text().splitlines())}
    assert {path: "failed" if path == locked else "quarantined" for path in DEAD} == rows


def test_s15_a_file_that_vanished_from_quarantine_is_said_to_be_missing(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HOLD)
    lost = held(services)[0]
    lake.objects.delete(lost.place + lost.held_path)
    report = restore(services)
    assert (2, 1, 1) == (report.done.files, report.missing.files, report.exit_code)
    assert [lost.path] == [file.path for file in held(services)], "its record stays: the store may be the wrong one"
    lake.advance(timedelta(days=31))
    look(services)
    missing = purge(services)
    assert (1, 1) == (missing.missing.files, missing.exit_code)
    assert 1 == len(held(services))
    purge(services, forget_missing=True)
    assert [] == held(services)


def test_s15_what_was_never_moved_is_neither_restored_nor_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    lake.faults.deleting.update(dict.fromkeys(DEAD, "AccessDenied"))
    services.sweep(services.mark(), HOLD)
    report = restore(services)
    assert (0, 3) == (report.done.files, report.unmoved.files)
    lake.advance(timedelta(days=31))
    look(services)
    report = purge(services)
    assert (0, 3) == (report.done.files, report.unmoved.files)
    assert lake.paths() >= DEAD
    assert [] == held(services)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("memory://wh/", "is a whole bucket; name a folder in it"),
        ("relative/", "`quarantine`: "),
    ],
)
def test_s15_a_quarantine_that_is_no_folder_is_refused(
    lake: MemoryLake, live: TableState, services: LakeServices, place: str, said: str
) -> None:
    before = lake.paths()
    with pytest.raises(ConfigurationError, match=said):
        services.sweep(services.mark(), SweepParameters(quarantine=[place]))
    assert before == lake.paths()


@pytest.mark.parametrize("place", ["memory://wh/db/t/held/", "memory://wh/db/"])
def test_s15_nothing_is_taken_from_a_table_to_a_quarantine_in_or_around_it(
    lake: MemoryLake, live: TableState, services: LakeServices, place: str
) -> None:
    before = lake.paths()
    report = services.sweep(services.mark(), SweepParameters(quarantine=[place]))
    assert (before, {"memory://wh/db/t/"}, 1) == (lake.paths(), report.unknown.keys(), report.exit_code)


def test_s15_locations_without_a_quarantine_in_their_store_are_spared(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    report = services.sweep(services.mark(), SweepParameters(quarantine=["memory://elsewhere/held/"]))
    assert 3 == report.outcomes[Outcome.SPARED].files
    assert lake.paths() >= DEAD
    assert any("no `quarantine` is in its store" in text for text in report.warnings)


def test_s15_a_later_sweep_never_takes_the_quarantine_for_garbage(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HOLD)
    in_quarantine = {path for path in lake.paths() if path.startswith(PLACE)}
    lake.commit("main", put(lake.table("db.wide", location="memory://wh/.quarantine", content_id="w").version))
    lake.advance(timedelta(days=3))
    report = services.sweep(services.mark(), SweepParameters(min_depth=0))
    assert in_quarantine <= lake.paths()
    assert any(f"the quarantine {PLACE} overlaps with it" in reason for reason in report.unknown.values())
