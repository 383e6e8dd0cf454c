"""S15: a file that is in quarantine with a tag is never lost, leaked or taken twice; one that is needed stays (S9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from collecting import LakeServices
from in_quarantine import DEAD, FIRST, held, purge, restore, rows, there, with_garbage
from killing import Killer
from nessie_gc_memory import MemoryFileDeleter, MemoryLake, TableState
from tagged_files import MONTH, PLACE, TAG, marks, tagged

from nessie_gc_core.algorithms.hold import Hold
from nessie_gc_core.algorithms.restorable import restore_file
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import QUARANTINE_TAG
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.quarantine import HeldState
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.explain.held import in_quarantine
from nessie_gc_core.services.parameters import SweepParameters


@pytest.fixture
def live(lake: MemoryLake) -> TableState:
    return with_garbage(lake)


@pytest.fixture
def killer(lake: MemoryLake, live: TableState, services: LakeServices, monkeypatch: pytest.MonkeyPatch) -> Killer:
    return Killer(lake, services, monkeypatch)


UNTOUCHED = dict.fromkeys(DEAD)


# ---- there and back -----------------------------------------------------------------------------------
def test_s15_a_tagged_file_stays_where_it_is_and_is_restored(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    lake.objects.set_tags(FIRST, {"team": "a"})
    before, live_set = there(lake), services.mark()
    report = services.sweep(live_set, TAG)
    assert (3, 0) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.DELETED].files)
    assert (before, dict.fromkeys(DEAD, str(live_set))) == (there(lake), marks(lake))
    assert {(PLACE, HeldState.HELD)} == {(file.place, file.state) for file in held(services)}
    restored = restore(services)
    assert (3, 0) == (restored.done.files, restored.exit_code)
    assert (before, UNTOUCHED, []) == (there(lake), marks(lake), held(services))
    found = lake.objects.tagged(FIRST)
    assert found is not None
    assert {"team": "a"} == found.tags


def test_s15_a_purge_deletes_what_a_sweep_has_just_found_unneeded(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    assert (0, 3) == ((report := purge(services)).done.files, report.waiting.files)
    lake.advance(MONTH)
    services.sweep(services.mark(), TAG)
    others = lake.paths() - DEAD
    report = purge(services)
    assert (3, 0, []) == (report.done.files, report.exit_code, report.warnings)
    assert (others, []) == (lake.paths(), held(services))
    assert live.needed <= lake.paths()


@pytest.mark.parametrize("later", [TAG, SweepParameters(), SweepParameters(dry_run=True)])
def test_s15_a_later_sweep_neither_takes_a_file_twice_nor_moves_its_clock(
    lake: MemoryLake, live: TableState, services: LakeServices, later: SweepParameters
) -> None:
    tagged(services)
    clocks, before = {file.path: file.until for file in held(services)}, marks(lake)
    lake.put("memory://wh/db/t/data/new-dead.parquet", b"x")
    lake.advance(timedelta(days=3))
    report = services.sweep(services.mark(), later)
    done = [report.outcomes[name].files for name in (Outcome.QUARANTINED, Outcome.DELETED, Outcome.WOULD_DELETE)]
    assert (1, 3) == (sum(done), report.outcomes[Outcome.SPARED].files)
    assert {"it is in quarantine already, with a tag"} == {file.reason for file in report.spared_files}
    assert (clocks, before) == (
        {file.path: file.until for file in held(services) if file.path in clocks},
        marks(lake),
    )


def test_s15_deferred_deletions_leave_tagged_files_alone(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    before = tagged(services)
    report = services.delete_deferred(live_set)
    assert (0, 3) == (report.outcomes[Outcome.DELETED].files, report.outcomes[Outcome.SPARED].files)
    assert dict.fromkeys(DEAD, str(before)) == marks(lake)


def test_s15_explain_says_that_a_file_has_a_tag(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    live_set = tagged(services)
    said = in_quarantine(services.store, [FIRST], services.choice.rules(), tagged=True)[FIRST]
    where = f"it is in quarantine at its path, with the tag nessie-gc-quarantine={live_set}"
    assert said.startswith(f"{where}; {restore_file(FIRST)} takes it off until ")


# ---- killed at any point ------------------------------------------------------------------------------
POINTS = range(10)
"""After so many changes a run is killed; the last is never reached."""


@pytest.mark.parametrize("after", POINTS)
def test_s15_a_killed_sweep_is_resumed_and_each_file_reported_once(
    lake: MemoryLake, killer: Killer, services: LakeServices, after: int
) -> None:
    before, live_set = there(lake), services.mark()
    if killer.kills(lambda: services.sweep(live_set, TAG), after):
        report = services.sweep(live_set, replace(TAG, resume=True))
        assert (3, 0) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.SPARED].files)
    else:
        assert POINTS[-1] == after
    assert (before, dict.fromkeys(DEAD, str(live_set))) == (there(lake), marks(lake))
    restored = restore(services)
    assert (3, 0) == (restored.done.files, restored.exit_code)
    assert (UNTOUCHED, []) == (marks(lake), held(services))


@pytest.mark.thorough
@pytest.mark.parametrize("after", POINTS)
def test_s15_after_a_killed_sweep_the_next_one_and_a_purge_leave_nothing(
    lake: MemoryLake, killer: Killer, services: LakeServices, after: int
) -> None:
    live_set = services.mark()
    killer.kills(lambda: services.sweep(live_set, TAG), after)
    lake.advance(timedelta(days=1))
    services.sweep(services.mark(), TAG)
    assert DEAD == there(lake).keys()
    lake.advance(MONTH)
    services.sweep(services.mark(), TAG)
    report = purge(services)
    assert (3, 0) == (report.done.files, report.exit_code)
    assert ({}, []) == (there(lake), held(services))


@pytest.mark.parametrize("after", POINTS)
def test_s15_after_a_killed_sweep_a_restore_takes_every_tag_off(
    lake: MemoryLake, killer: Killer, services: LakeServices, after: int
) -> None:
    before, live_set = there(lake), services.mark()
    killer.kills(lambda: services.sweep(live_set, TAG), after)
    report = restore(services)
    assert (0, before, UNTOUCHED) == (report.exit_code, there(lake), marks(lake))
    lake.advance(MONTH)
    assert 0 == purge(services).exit_code
    assert (before, []) == (there(lake), held(services))


@pytest.mark.parametrize("after", POINTS)
def test_s15_a_killed_purge_of_interrupted_tags_only_takes_them_off(
    lake: MemoryLake, killer: Killer, services: LakeServices, after: int
) -> None:
    before, live_set = there(lake), services.mark()
    assert killer.kills(lambda: services.sweep(live_set, TAG), 5)
    lake.advance(MONTH)
    services.sweep(services.mark(), SweepParameters(min_age=timedelta(days=99)))
    killer.kills(lambda: purge(services), after)
    purge(services)
    assert (before, UNTOUCHED, []) == (there(lake), marks(lake), held(services))


@pytest.mark.thorough
@pytest.mark.parametrize("after", POINTS)
def test_s15_two_killed_sweeps_leave_no_tag_that_a_restore_does_not_know(
    lake: MemoryLake, killer: Killer, services: LakeServices, after: int
) -> None:
    first = services.mark()
    killer.kills(lambda: services.sweep(first, TAG), 5)
    second = services.mark()
    killer.kills(lambda: services.sweep(second, TAG), after)
    restore(services)
    assert UNTOUCHED == marks(lake)


@pytest.mark.parametrize("after", POINTS)
def test_s15_a_killed_purge_goes_on(lake: MemoryLake, killer: Killer, services: LakeServices, after: int) -> None:
    tagged(services)
    lake.advance(MONTH)
    services.sweep(services.mark())
    if killer.kills(lambda: purge(services), after):
        report = purge(services)
        assert 0 == report.exit_code
    assert ({}, []) == (there(lake), held(services))


@pytest.mark.thorough
@pytest.mark.parametrize("after", POINTS)
def test_s15_a_killed_restore_goes_on_and_is_never_purged(
    lake: MemoryLake, killer: Killer, services: LakeServices, after: int
) -> None:
    before = there(lake)
    tagged(services)
    killer.kills(lambda: restore(services), after)
    restored = {path for path, mark in marks(lake).items() if mark is None}
    lake.advance(MONTH)
    services.sweep(services.mark(), TAG)
    purge(services)
    assert restored <= there(lake).keys()
    restore(services)
    assert [] == held(services)
    assert set(marks(lake).values()) <= {None}
    assert before.items() >= there(lake).items()


def test_s15_a_record_of_an_interrupted_tag_on_a_file_that_is_another_one_now_is_removed(
    lake: MemoryLake, killer: Killer, services: LakeServices
) -> None:
    first = services.mark()
    assert killer.kills(lambda: services.sweep(first, TAG), 5)
    for path in DEAD:
        lake.put(path, b"written again")
    lake.advance(timedelta(days=3))
    second = tagged(services)
    report = restore(services, live_set_id=str(first))
    assert {"another sweep has tagged it since"} == {file.reason for file in report.failures}
    lake.advance(MONTH)
    services.sweep(services.mark())
    report = purge(services)
    assert (3, 3, 0) == (report.done.files, report.released.files, report.exit_code)
    assert (0, []) == (sum(mark == str(second) for mark in marks(lake).values()), held(services))


def test_s15_a_sweep_without_a_quarantine_deletes_files_whose_tagging_was_interrupted(
    lake: MemoryLake, killer: Killer, services: LakeServices, tmp_path: Path
) -> None:
    live_set, file = services.mark(), tmp_path / "outcomes.jsonl"
    assert killer.kills(lambda: services.sweep(live_set, TAG), 5)
    assert 3 == services.sweep(services.mark()).outcomes[Outcome.DELETED].files
    lake.advance(MONTH)
    report = purge(services, outcomes_to=str(file))
    assert (3, 0, []) == (report.released.files, report.exit_code, held(services))
    assert {("released", "it is gone, and its tagging was interrupted")} == {
        (row["outcome"], row["reason"]) for row in rows(file)
    }


def test_s15_a_task_that_is_tried_again_finds_its_own_tag(lake: MemoryLake, live: TableState) -> None:
    stored = lake.objects.get(FIRST)
    assert stored is not None
    file = FileReference(location="memory://wh/", path=FIRST[12:], size=stored.size, modified=stored.modified)
    hold = Hold(live_set_id=UUID(int=1), places={"memory://wh": PLACE})
    with MemoryFileDeleter.from_options({"lake": lake.name}) as deleter:
        first = list(hold.move(deleter, "memory://wh/", [file]))
        attempt = task_attempt.set(1)
        again = list(hold.move(deleter, "memory://wh/", [file]))
        lake.objects.delete(FIRST)
        gone = list(hold.move(deleter, "memory://wh/", [file]))
        task_attempt.reset(attempt)
    assert [Outcome.QUARANTINED] == [outcome for _, outcome, _ in first]
    assert first == again
    assert [Outcome.ALREADY_GONE] == [outcome for _, outcome, _ in gone], "no attempt can have hidden it"


# ---- others who write, tag and delete -----------------------------------------------------------------
def at_the_deletion(act: Callable[[], object]) -> Callable[[str, int, int | None], None]:
    def told(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and done == 0:
            act()

    return told


def test_s15_a_file_that_was_written_again_since_the_listing_is_not_tagged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    write = at_the_deletion(lambda: lake.put(FIRST, b"written again"))
    report = services.sweep(services.mark(), TAG, progress=write)
    assert (2, 1) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.FAILED].files)
    assert (b"written again", None) == (there(lake)[FIRST], marks(lake)[FIRST])
    assert {"it was written again since it was listed"} == {file.reason for file in report.failed_files}


def test_s15_a_file_that_others_deleted_is_not_in_our_quarantine(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    delete = at_the_deletion(lambda: lake.objects.delete(FIRST))
    report = services.sweep(services.mark(), TAG, progress=delete)
    assert (2, 1) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.ALREADY_GONE].files)
    assert 2 == len(held(services))


def test_s15_a_file_with_as_many_tags_as_there_can_be_fails_and_stays(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    full = {f"k{number}": "v" for number in range(10)}
    lake.objects.set_tags(FIRST, full)
    report = services.sweep(services.mark(), TAG)
    assert (2, 1) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.FAILED].files)
    assert {"it has 10 tags already, and an object can have no more"} == {file.reason for file in report.failed_files}
    found = lake.objects.tagged(FIRST)
    assert found is not None
    assert full == found.tags
    services.sweep(services.mark(), TAG)
    assert DEAD - {FIRST} == {file.location + file.path for file in held(services)}, "it has no record"


def changed(lake: MemoryLake, how: str, live_set: UUID) -> None:
    if how == "written again":
        lake.put(FIRST, b"another one")
    value = {"untagged": {}, "tagged by others": {QUARANTINE_TAG: "x"}}.get(how, {QUARANTINE_TAG: str(live_set)})
    lake.objects.set_tags(FIRST, value)


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("how", ["untagged", "written again", "tagged by others"])
def test_s15_what_is_not_as_it_was_recorded_is_not_purged(
    lake: MemoryLake, live: TableState, services: LakeServices, how: str, late: bool
) -> None:
    live_set = tagged(services)
    if not late:
        changed(lake, how, live_set)
    lake.advance(MONTH)
    services.sweep(services.mark(), SweepParameters(min_age=timedelta(days=60)))
    if late:
        changed(lake, how, live_set)
    report = purge(services)
    assert (2, 1, []) == (report.done.files, report.released.files, held(services))
    assert {FIRST} == there(lake).keys()
    assert "1 file without their tag, changed or gone: they are not in quarantine any more" in str(report)


def test_s15_a_file_that_was_written_again_is_tagged_anew(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.put(FIRST, b"written again")
    lake.advance(timedelta(days=3))
    live_set = services.mark()
    report = services.sweep(live_set, TAG)
    assert (1, 2) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.SPARED].files)
    assert str(live_set) == marks(lake)[FIRST]
    lake.advance(MONTH)
    services.sweep(services.mark())
    assert 1 == restore(services, matching=".*dead-0.parquet").done.files
    assert marks(lake)[FIRST] is None


def test_s15_what_a_rule_of_the_bucket_deleted_is_missing_until_its_record_is_removed(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.advance(MONTH)
    lake.objects.delete(FIRST)
    services.sweep(services.mark())
    report = purge(services)
    assert (2, 1, 1) == (report.done.files, report.missing.files, report.exit_code)
    assert 1 == purge(services, forget_missing=True).missing.files
    assert [] == held(services)


# ---- what is refused ----------------------------------------------------------------------------------
def test_s15_where_no_tags_are_kept_nothing_is_deleted(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    lake.faults.tagging = "memory://wh/ keeps no tags"
    before = lake.paths()
    report = services.sweep(services.mark(), TAG)
    assert (3, before) == (report.outcomes[Outcome.SPARED].files, lake.paths())
    assert any("memory://wh/ keeps no tags" in text for text in report.warnings)


def test_s15_a_file_whose_tag_cannot_be_removed_stays_in_quarantine(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.faults.deleting[FIRST] = "s3:PutObjectTagging is not allowed"
    report = restore(services)
    assert (2, 1, 1) == (report.done.files, report.failed.files, report.exit_code)
    assert {"s3:PutObjectTagging is not allowed"} == {file.reason for file in report.failures}
    assert {HeldState.HELD} == {file.state for file in held(services)}


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (["tags:memory://wh/held/"], "is a folder; name its whole bucket"),
        (["tags:"], "`quarantine`: "),
        ([PLACE, "versions:memory://wh/"], "in one store; name one of them"),
    ],
)
def test_s15_places_that_mean_nothing_are_refused(
    lake: MemoryLake, live: TableState, services: LakeServices, places: list[str], said: str
) -> None:
    before = lake.paths()
    with pytest.raises(ConfigurationError, match=said):
        services.sweep(services.mark(), SweepParameters(quarantine=places))
    assert before == lake.paths()
