"""S29: what is in quarantine is still a file of the lake: nothing goes that a live state needs or may need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from collecting import LakeServices, on_disk
from in_quarantine import Killed, held, look, purge, restore
from lakes_by_hand import lake_at
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, TableState, delete, load_history, put, save_history

from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.connectors import SupportsQuarantine
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.live_sets import EXPECTED, ReferenceHead
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.explain.parameters import ExplainParameters
from nessie_gc_core.services.explain.report import Standing
from nessie_gc_core.services.explain.service import ExplainService
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

FOLDER = SweepParameters(quarantine=["memory://wh/held/"])
HIDE = SweepParameters(quarantine=["versions:memory://wh/"])
TAG = SweepParameters(quarantine=["tags:memory://wh/"])
HOME = "memory://wh/db/t/"
HOW = f"`restore(under='{HOME}')`"
POLICY = "P10D"


@dataclass(frozen=True, kw_only=True)
class Old:
    """A table with an old state that nothing needed any more when it went to quarantine."""

    state: TableState
    commit: str
    """Shows the old state."""
    now: TableState
    """What ``main`` shows."""


def with_an_old_state(lake: MemoryLake, *, keep_its_files: bool = False) -> Old:
    """The old state is older than the policy; a tag of the table may still keep all but its metadata file."""
    empty = lake.table("db.t", location=HOME.rstrip("/"), content_id="t")
    first = empty.append("a.parquet")
    lake.commit("main", put(empty.version))
    commit = lake.commit("main", put(first.version))
    lake.advance(timedelta(days=1))
    second = first.overwrite("b.parquet")
    second = second.hold(1) if keep_its_files else second.expire(1)
    lake.commit("main", put(second.version))
    lake.advance(timedelta(days=40))
    return Old(state=first, commit=commit, now=second)


def records(services: LakeServices) -> list[HeldFile]:
    store = services.store
    assert isinstance(store, SupportsQuarantine)
    return sorted(store.held_files(), key=lambda file: (file.location, file.path))


def ends(services: LakeServices) -> Mapping[str, datetime]:
    return {file.path: file.until for file in records(services)}


def assert_all_is_held_back(report: GcReport, services: LakeServices, before: Mapping[str, datetime]) -> None:
    """Nothing was tolerated or lost, the run says how to restore, and every record has more time."""
    assert (0, 0, 1) == (report.tolerated_missing, report.lost.files, report.exit_code)
    assert HOME in report.unknown
    assert any(HOW in text for text in report.warnings), report.warnings
    assert any("'nessie-gc restore --under memory://wh/db/t/'" in with_flags(text) for text in report.warnings)
    assert report.in_quarantine.files == len(report.in_quarantine_files) > 0
    later = ends(services)
    assert [] == [path for path in before if later[path] <= before[path]]


@pytest.fixture(params=["memory", "jdbc"])
def any_store(request: pytest.FixtureRequest, services: LakeServices, tmp_path: Path) -> Iterator[LakeServices]:
    """The same services with either store."""
    if request.param == "memory":
        yield services
        return
    with JdbcLiveSetStore.from_options({"url": f"sqlite:///{tmp_path}/live-sets.db"}) as store:
        yield replace(services, store=store)


# ---- a branch at an old commit ------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [FOLDER, HIDE], ids=["moved", "hidden"])
def test_s29_missing_metadata_in_quarantine_is_never_tolerated(
    lake: MemoryLake, any_store: LakeServices, kind: SweepParameters
) -> None:
    lake.objects.keeps_versions = kind is HIDE
    old = with_an_old_state(lake)
    any_store.collect(POLICY, sweep=kind)
    before = ends(any_store)
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=20))
    assert_all_is_held_back(any_store.collect(POLICY, sweep=kind), any_store, before)
    lake.advance(timedelta(days=11))
    assert (0, len(before)) == (purge(any_store).done.files, purge(any_store).waiting.files)
    restore(any_store, under=[HOME])
    assert old.state.needed <= lake.paths()
    lake.advance(timedelta(days=3))
    report = any_store.collect(POLICY)
    assert (0, {}, 0) == (report.tolerated_missing, report.unknown, report.exit_code)
    assert old.state.needed | old.now.needed == lake.paths()


def test_s29_a_lost_file_beside_one_in_quarantine_ends_nothing(lake: MemoryLake, services: LakeServices) -> None:
    one = lake.table("db.t", location=HOME.rstrip("/"))
    other = lake.table("db.u", location="memory://wh/db/u").append("u.parquet")
    lake.commit("main", put(one.version), put(other.version))
    taken = lake.put(f"{HOME}data/again.parquet")
    lake.advance(timedelta(days=40))
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    assert taken not in lake.paths()
    named = one.append("again.parquet", "lost.parquet")
    lake.commit("main", put(named.version))
    for name in ("again.parquet", "lost.parquet"):
        lake.objects.delete(f"{HOME}data/{name}")
    dead = lake.put("memory://wh/db/u/data/nobody.parquet")
    lake.advance(timedelta(days=5))
    report = services.collect(POLICY, sweep=FOLDER)
    assert {HOME} == report.unknown.keys()
    assert (1, 1) == (report.in_quarantine.files, report.lost.files)
    assert ends(services)["data/again.parquet"] > before["data/again.parquet"]
    assert dead not in lake.paths()


def test_s29_a_run_without_quarantine_deletes_nothing_of_a_state_whose_metadata_is_there(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake, keep_its_files=True)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    assert "metadata/00003.metadata.json" in before
    lake.branch("audit", old.commit)
    lake.commit("main", put(old.now.hold().expire(1).version))
    lake.advance(timedelta(days=20))
    stored = lake.paths()
    report = services.collect(POLICY)
    assert stored == lake.paths()
    assert_all_is_held_back(report, services, before)
    restore(services)
    assert old.state.needed <= lake.paths()


def test_s29_after_a_rollback_all_that_was_taken_from_the_table_gets_more_time(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake)
    empty = lake.table("db.x", location="memory://wh/db/x", content_id="x")
    first = empty.append("a.parquet")
    second = first.overwrite("b.parquet")
    for state in (first, second):
        lake.commit("main", put(state.version))
    lake.advance(timedelta(days=40))
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    lake.commit("main", put(replace(second, current=1)._stored().version))
    lake.advance(timedelta(days=20))
    report = services.collect(POLICY, sweep=FOLDER)
    assert (1, 0) == (report.exit_code, report.lost.files)
    assert {"memory://wh/db/x/"} == report.unknown.keys()
    assert any("`restore(under='memory://wh/db/x/')`" in text for text in report.warnings)
    extended = {file.location for file in records(services) if file.until > before[file.path]}
    assert {"memory://wh/db/x/"} == extended, "the other table needs nothing of what is in quarantine"
    assert old.now.needed <= lake.paths()


def test_s29_the_other_tables_are_collected(lake: MemoryLake, services: LakeServices) -> None:
    old = with_an_old_state(lake)
    other = lake.table("db.other", location="memory://wh/db/other", content_id="o").append("c.parquet")
    lake.commit("main", put(other.version))
    dead = lake.put("memory://wh/db/other/data/dead.parquet")
    services.collect(POLICY, sweep=FOLDER)
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=20))
    report = services.collect(POLICY)
    assert {HOME} == report.unknown.keys()
    assert dead not in lake.paths()


def test_s29_a_table_that_was_dropped_meanwhile_gets_more_time_where_it_was(
    lake: MemoryLake, services: LakeServices
) -> None:
    """Its location is no sweep unit: no metadata that can be read names it."""
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    lake.commit("main", delete("db.t"))
    lake.advance(timedelta(days=11))
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=11))
    report = services.collect(POLICY)
    assert (0, 1) == (report.tolerated_missing, report.exit_code)
    assert any(HOW in text for text in report.warnings)
    assert all(until > before[path] for path, until in ends(services).items())
    assert purge(services).done.files == 0


def test_s29_a_data_file_that_is_needed_again_freezes_its_table(lake: MemoryLake, services: LakeServices) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    again = old.now.append("a.parquet")
    lake.objects.delete("memory://wh/db/t/data/a.parquet")  # the writer believes that it is there
    lake.commit("main", put(again.version))
    dead = lake.put("memory://wh/db/t/data/dead.parquet")
    lake.advance(timedelta(days=20))
    assert_all_is_held_back(services.collect(POLICY), services, before)
    assert dead in lake.paths()


def test_s29_a_dry_run_says_the_same_and_changes_nothing(lake: MemoryLake, services: LakeServices) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    before = records(services)
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=20))
    report = services.collect(POLICY, sweep=SweepParameters(dry_run=True))
    assert (1, 0) == (report.exit_code, report.outcomes[Outcome.WOULD_DELETE].files)
    assert any(HOW in text for text in report.warnings)
    assert before == records(services)


def test_s29_a_run_that_leaves_the_table_out_gives_its_files_more_time(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake)
    other = lake.table("db.other", location="memory://wh/db/other", content_id="o").append("c.parquet")
    lake.commit("main", put(other.version))
    lake.advance(timedelta(days=3))
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    again = old.now.append("a.parquet")
    lake.objects.delete("memory://wh/db/t/data/a.parquet")
    lake.commit("main", put(again.version))
    lake.advance(timedelta(days=31))
    services.collect(POLICY, sweep=SweepParameters(include=["db[.]other"]))
    assert ["data/a.parquet"] == [path for path, until in ends(services).items() if until > before[path]]
    purge(services)
    assert ["data/a.parquet"] == [file.path for file in held(services)]


# ---- meanwhile ----------------------------------------------------------------------------------------
def test_s29_a_branch_between_mark_and_deletion_is_seen_by_the_recheck(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake, keep_its_files=True)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    lake.commit("main", put(old.now.hold().expire(1).version))
    lake.advance(timedelta(days=20))
    stored = lake.paths()
    report = services.collect(POLICY, between=lambda: lake.branch("audit", old.commit))
    assert stored == lake.paths()
    assert_all_is_held_back(report, services, before)


def test_s29_a_data_file_that_a_branch_needs_between_mark_and_deletion_is_kept_in_quarantine(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    lake.put("memory://wh/db/t/data/dead.parquet")
    lake.advance(timedelta(days=20))

    def branch() -> None:
        again = old.now.append("a.parquet")
        lake.objects.delete("memory://wh/db/t/data/a.parquet")
        lake.commit("dev", put(again.version))

    report = services.collect(POLICY, between=branch)
    assert "memory://wh/db/t/data/dead.parquet" in lake.paths()
    assert_all_is_held_back(report, services, before)


@pytest.mark.parametrize("meanwhile", [False, True])
def test_s29_a_file_that_was_written_again_is_not_the_one_in_quarantine(
    lake: MemoryLake, services: LakeServices, meanwhile: bool
) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    dead = lake.put("memory://wh/db/t/data/dead.parquet")
    lake.advance(timedelta(days=20))

    def write() -> None:
        lake.commit("main", put(old.now.append("a.parquet").version))

    if not meanwhile:
        write()
    report = services.collect(POLICY, between=write if meanwhile else lambda: None)
    assert (0, {}, 0) == (report.in_quarantine.files, report.unknown, report.exit_code)
    assert dead not in lake.paths()
    assert before == ends(services)


def test_s29_a_branch_before_deferred_deletions_keeps_them(lake: MemoryLake, services: LakeServices) -> None:
    old = with_an_old_state(lake, keep_its_files=True)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    lake.commit("main", put(old.now.hold().expire(1).version))
    lake.advance(timedelta(days=20))
    stored = lake.paths()
    live_set = services.mark(POLICY)
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    lake.branch("audit", old.commit)
    report = services.delete_deferred(live_set)
    assert stored == lake.paths()
    assert 1 == report.exit_code
    assert any(HOW in text for text in report.warnings)
    assert all(until > before[path] for path, until in ends(services).items())


def test_s29_what_this_very_run_has_taken_is_seen_by_its_recheck(lake: MemoryLake, services: LakeServices) -> None:
    """A branch is created when half of the old state is in quarantine."""
    old = with_an_old_state(lake)
    in_steps = replace(FOLDER, files_per_step=1, recheck_interval=timedelta(0))
    stored = lake.paths()

    def progress(phase: str, done: int, total: int | None) -> None:
        taken = [path for path in stored - lake.paths() if path == old.state.metadata_location]
        if phase == "delete" and taken and not any(ref.name == "audit" for ref in lake.history.references()):
            lake.branch("audit", old.commit)

    report = services.collect(POLICY, sweep=in_steps, progress=progress)
    assert any(ref.name == "audit" for ref in lake.history.references())
    assert (1, 0) == (report.exit_code, report.tolerated_missing)
    assert any(HOW in text for text in report.warnings), report.warnings
    lake.advance(timedelta(days=1))
    assert 0 == services.collect(POLICY).outcomes[Outcome.DELETED].files
    restore(services)
    assert old.state.needed <= lake.paths()


@pytest.mark.parametrize("state", [HeldState.MOVING, HeldState.RESTORING, HeldState.PURGING])
def test_s29_a_record_counts_in_every_state(lake: MemoryLake, services: LakeServices, state: HeldState) -> None:
    """Some run was killed."""
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    store = services.store
    assert isinstance(store, SupportsQuarantine)
    store.put_held_files([replace(file, state=state) for file in held(services)])
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=20))
    assert_all_is_held_back(services.collect(POLICY), services, before)
    restore(services)
    assert old.state.needed <= lake.paths()


def test_s29_a_file_in_quarantine_is_known_by_every_spelling(lake: MemoryLake, services: LakeServices) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    spelled = replace(old.state, metadata_location=old.state.metadata_location.replace("//wh/db/", "//wh//db/./"))
    lake.commit("audit", put(spelled.version))
    lake.advance(timedelta(days=20))
    assert_all_is_held_back(services.collect(POLICY), services, before)


# ---- other repositories -------------------------------------------------------------------------------
def test_s29_what_another_repository_of_the_run_needs_is_not_tolerated_either(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    old = with_an_old_state(lake)
    together.collect(POLICY, sweep=FOLDER)
    before = ends(together)
    beside.commit("main", put(old.state.version))
    lake.advance(timedelta(days=20))
    assert_all_is_held_back(together.collect(POLICY), together, before)


def test_s29_a_repository_that_is_collected_alone_with_the_same_store_gives_more_time(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    before = ends(services)
    beside.commit("main", put(old.state.version))
    lake.advance(timedelta(days=20))
    (second,) = together.others
    report = replace(services, repository=second).collect(POLICY)
    assert (0, 1) == (report.tolerated_missing, report.exit_code)
    assert any(HOW in text for text in report.warnings)
    assert all(until > before[path] for path, until in ends(services).items())


# ---- purge --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [FOLDER, HIDE], ids=["moved", "hidden"])
def test_s29_a_purge_asks_for_a_recent_collection(
    lake: MemoryLake, any_store: LakeServices, kind: SweepParameters
) -> None:
    lake.objects.keeps_versions = kind is HIDE
    with_an_old_state(lake)
    any_store.collect(POLICY, sweep=kind)
    files = len(records(any_store))
    lake.advance(timedelta(days=31))
    report = purge(any_store)
    assert (0, files) == (report.done.files, report.waiting.files)
    assert any("mark again" in text for text in report.warnings), report.warnings
    look(any_store, POLICY)
    assert files == purge(any_store).done.files


@pytest.mark.parametrize("dry_run", [False, True])
def test_s29_a_purge_sees_a_branch_that_is_younger_than_the_collection(
    lake: MemoryLake, any_store: LakeServices, dry_run: bool
) -> None:
    old = with_an_old_state(lake)
    any_store.collect(POLICY, sweep=FOLDER)
    lake.advance(timedelta(days=31))
    look(any_store, POLICY)
    lake.branch("audit", old.commit)
    before = records(any_store)
    report = purge(any_store, dry_run=dry_run)
    assert (0, len(before)) == (report.done.files, report.waiting.files)
    assert any("is in quarantine" in text for text in report.warnings)
    assert before == records(any_store)


def test_s29_a_dry_run_vouches_for_nothing(lake: MemoryLake, services: LakeServices) -> None:
    with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    lake.advance(timedelta(days=31))
    services.collect(POLICY, sweep=SweepParameters(dry_run=True))
    services.mark(POLICY)
    assert 0 == purge(services).done.files


def test_s29_an_expiry_vouches_for_nothing(lake: MemoryLake, any_store: LakeServices) -> None:
    """Its live set shows tables as they will be."""
    with_an_old_state(lake)
    any_store.collect(POLICY, sweep=FOLDER)
    lake.advance(timedelta(days=31))
    store, id_ = any_store.store, uuid4()
    store.start_identify(id_, repository=any_store.repository.identity(), created=lake.time, policies=["NONE"])
    head = ReferenceHead(name="main", commit_id=f"x{EXPECTED}", policy="NONE")
    store.finish_identify(id_, at=lake.time, references_listed=lake.time, heads=[head])
    store.start_expire(id_, at=lake.time)
    store.finish_expire(id_, at=lake.time)
    assert 0 == purge(any_store).done.files


def test_s29_what_was_needed_at_the_last_collection_is_not_purged_though_its_time_is_over(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake)
    at_once = replace(FOLDER, quarantine_for=timedelta(0))
    services.collect(POLICY, sweep=at_once)
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=1))
    services.collect(POLICY, sweep=at_once)
    lake.advance(timedelta(minutes=1))
    report = purge(services)
    assert (0, len(held(services))) == (report.done.files, report.waiting.files)


def test_s29_what_an_earlier_sweep_found_does_not_count_when_a_later_one_finds_the_file_needed(
    lake: MemoryLake, services: LakeServices
) -> None:
    """The later one has another policy; no reference has moved."""
    with_an_old_state(lake)
    at_once = replace(FOLDER, quarantine_for=timedelta(0))
    services.collect(POLICY, sweep=at_once)
    lake.advance(timedelta(minutes=1))
    services.collect("NONE", sweep=at_once)
    lake.advance(timedelta(minutes=1))
    report = purge(services)
    assert (0, len(held(services))) == (report.done.files, report.waiting.files)
    services.collect(POLICY)
    lake.advance(timedelta(minutes=1))
    assert len(held(services)) == purge(services).done.files


def test_s29_a_purge_that_had_begun_lets_the_files_be_restored(lake: MemoryLake, services: LakeServices) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    lake.advance(timedelta(days=31))
    look(services, POLICY)
    victim = held(services)[0]
    lake.faults.deleting_dies[victim.place + victim.held_path] = Killed()
    with pytest.raises(Killed):
        purge(services)
    lake.faults.deleting_dies.clear()
    assert {HeldState.PURGING} == {file.state for file in held(services)}
    lake.branch("audit", old.commit)
    services.collect(POLICY)
    assert {HeldState.HELD} == {file.state for file in held(services)}
    copies = sum(path.startswith("memory://wh/held/") for path in lake.paths())
    assert copies == restore(services).done.files > 0


# ---- tags ---------------------------------------------------------------------------------------------
def test_s29_a_tagged_file_that_somebody_deleted_is_not_tolerated_as_long_as_its_record_is_there(
    lake: MemoryLake, services: LakeServices
) -> None:
    """Such as a lifecycle rule. The others of the table get more time, too."""
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=TAG)
    before = ends(services)
    lake.objects.delete(old.state.metadata_location)
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=20))
    assert_all_is_held_back(services.collect(POLICY), services, before)


def test_s29_records_of_files_that_are_nowhere_can_be_forgotten_by_a_restore(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake)
    services.collect(POLICY, sweep=FOLDER)
    (gone,) = (file for file in held(services) if old.state.metadata_location == file.location + file.path)
    lake.objects.delete(gone.place + gone.held_path)
    lake.branch("audit", old.commit)
    lake.advance(timedelta(days=20))
    services.collect(POLICY)
    assert (1, 1) == (restore(services).missing.files, len(held(services)))
    assert (1, 0) == (restore(services, everything=True, forget_missing=True).missing.files, len(held(services)))
    report = services.collect(POLICY)
    assert (0, 0, 1) == (report.in_quarantine.files, report.tolerated_missing, report.exit_code)
    assert old.state.metadata_location in report.unreadable


# ---- explained ----------------------------------------------------------------------------------------
def test_s29_explain_says_where_a_needed_file_is_and_how_to_restore_it(
    lake: MemoryLake, services: LakeServices
) -> None:
    old = with_an_old_state(lake, keep_its_files=True)
    services.collect(POLICY, sweep=FOLDER)
    lake.branch("audit", old.commit)
    lake.commit("main", put(old.now.hold().expire(1).version))
    lake.advance(timedelta(days=20))
    metadata, data = old.state.metadata_location, "memory://wh/db/t/data/a.parquet"
    parameters = ExplainParameters(file=[metadata, data], default_cutoff=POLICY)
    report = ExplainService(parameters).run(services.run())
    missing, stored = report.files
    assert (Standing.IN_QUARANTINE, Standing.FROZEN, 1) == (missing.standing, stored.standing, report.exit_code)
    assert "it was moved to memory://wh/held/" in str(missing.reason)
    assert ["audit"] == [name for version in missing.needed_by for name in version.references]
    assert HOW in str(stored.reason)
    assert "nothing needs it" not in str(report)


# ---- both engines -------------------------------------------------------------------------------------
def test_s29_on_both_engines(engine: Engine, tmp_path: Path) -> None:
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC)) as lake:
        old = with_an_old_state(lake)
        folder = tmp_path / "lake"
        quarantine = SweepParameters(
            quarantine=[f"file://{folder}/held/"], min_age=timedelta(0), no_age_floor=True, min_depth=0
        )
        services = on_disk(lake, folder, engine)
        services.collect(POLICY, sweep=quarantine)
        store = services.store
        assert isinstance(store, MemoryLiveSetStore)
        before = {file.path: file.until for file in store.held_files()}
        assert before
        file = folder / "history.json"
        history = load_history(file)
        history.branch("audit", old.commit)
        save_history(history, file)
        lake.advance(timedelta(days=20))
        report = services.collect(POLICY, sweep=replace(quarantine, quarantine=()))
        assert (0, 0, 1) == (report.tolerated_missing, report.outcomes[Outcome.DELETED].files, report.exit_code)
        assert any("`restore(under='file:///" in text for text in report.warnings), report.warnings
        assert all(file.until > before[file.path] for file in store.held_files())
