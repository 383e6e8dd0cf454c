"""S15: a file that is hidden by a delete marker is never lost: not by a crash, not by others who write or delete."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from collecting import LakeServices
from in_quarantine import DEAD, FIRST, Killed, held, look, purge, restore, there, with_garbage
from nessie_gc_memory import MemoryFileDeleter, MemoryLake, TableState, put

from nessie_gc_core.algorithms.hold import HELD_FILES, Hold, Purge, held_row
from nessie_gc_core.algorithms.restorable import restore_file
from nessie_gc_core.algorithms.still_held import NEEDED_BY_NOBODY
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.quarantine import HeldState
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.explain.held import in_quarantine
from nessie_gc_core.services.parameters import SweepParameters

PLACE = "versions:memory://wh/"
HIDE = SweepParameters(quarantine=[PLACE])


@pytest.fixture
def live(lake: MemoryLake) -> TableState:
    """The table of a lake that keeps versions: a live file, and three that nobody needs; all are old."""
    lake.objects.keeps_versions = True
    return with_garbage(lake)


def versions(lake: MemoryLake, path: str) -> int:
    """How many versions of a path are kept, markers aside."""
    return sum(not each.marker for each in lake.objects.versions(path))


def killed_while_hiding(lake: MemoryLake, services: LakeServices, path: str) -> Any:
    """A sweep that dies when it has hidden a file and before it knows its ids."""
    lake.faults.deleting_dies[path] = Killed()
    live_set = services.mark()
    with pytest.raises(Killed):
        services.sweep(live_set, HIDE)
    lake.faults.deleting_dies.clear()
    return live_set


# ---- there and back -----------------------------------------------------------------------------------
def test_s15_what_is_hidden_comes_back(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    before, paths = there(lake), lake.paths()
    report = services.sweep(services.mark(), HIDE)
    assert (3, 0) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.DELETED].files)
    assert paths - DEAD == lake.paths()
    assert {(PLACE, HeldState.HELD)} == {(file.place, file.state) for file in held(services)}
    restored = restore(services)
    assert (3, 0) == (restored.done.files, restored.exit_code)
    assert (before, []) == (there(lake), held(services))


def test_s15_a_purge_leaves_nothing_of_what_was_hidden(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    assert 3 == purge(services).waiting.files
    lake.advance(timedelta(days=31))
    look(services)
    paths = lake.paths()
    assert (3, 0) == (purge(services).done.files, restore(services).done.files)
    assert [[], [], []] == [lake.objects.versions(path) for path in DEAD]
    assert (paths, []) == (lake.paths(), held(services))
    assert live.needed <= lake.paths()


def test_s15_a_later_sweep_collects_the_bucket_as_before(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    lake.put("memory://wh/db/t/data/new-dead.parquet", b"x")
    lake.advance(timedelta(days=3))
    report = services.sweep(services.mark(), HIDE)
    assert (1, {}) == (report.outcomes[Outcome.QUARANTINED].files, report.unknown)
    assert 4 == restore(services).done.files


def test_s15_explain_says_which_version_a_hidden_file_is(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    (listed,) = lake.objects.versions(FIRST)
    services.sweep(services.mark(), HIDE)
    said = in_quarantine(services.store, [FIRST], services.choice.rules())[FIRST]
    where = f"it is in quarantine, hidden as version {listed.version} of its bucket"
    assert said.startswith(f"{where}; {restore_file(FIRST)} brings it back until ")


def test_s15_what_is_needed_again_is_named_and_not_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    again, path = live.append("dead-1.parquet").version, "memory://wh/db/t/data/dead-1.parquet"
    lake.objects.delete_version(path, lake.objects.versions(path)[0].version)  # the writer believes that it is there
    lake.commit("dev", put(again))
    lake.advance(timedelta(days=20))
    report = services.sweep(services.mark())
    assert any("are in quarantine: `restore(under='memory://wh/db/t/')`" in text for text in report.warnings)
    lake.advance(timedelta(days=15))
    assert 3 == purge(services).waiting.files
    assert 3 == restore(services).done.files
    report = services.sweep(services.mark())
    assert (0, 0) == (report.lost.files, report.in_quarantine.files)


# ---- killed at any point ------------------------------------------------------------------------------
@pytest.mark.parametrize("path", sorted(DEAD))
def test_s15_killed_between_hiding_and_recording_the_next_run_finishes(
    lake: MemoryLake, live: TableState, services: LakeServices, path: str
) -> None:
    before = there(lake)
    live_set = killed_while_hiding(lake, services, path)
    assert path not in lake.paths()
    report = services.sweep(live_set, replace(HIDE, resume=True))
    assert 3 == report.outcomes[Outcome.QUARANTINED].files, "each file is reported once"
    assert {} == there(lake)
    restored = restore(services)
    assert (3, 0) == (restored.done.files, restored.exit_code)
    assert (before, []) == (there(lake), held(services))


def test_s15_what_a_killed_sweep_hid_is_purged_when_its_time_is_over(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    killed_while_hiding(lake, services, max(DEAD))
    hidden = DEAD - lake.paths()
    lake.advance(timedelta(days=31))
    look(services)
    report = purge(services)
    assert (len(hidden), 3 - len(hidden)) == (report.done.files, report.unmoved.files)
    assert {path: 0 if path in hidden else 1 for path in DEAD} == {path: versions(lake, path) for path in DEAD}


def test_s15_a_purge_killed_between_version_and_marker_goes_on(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    lake.advance(timedelta(days=31))
    look(services)
    lake.faults.deleting_dies[FIRST] = Killed()
    with pytest.raises(Killed):
        purge(services)
    lake.faults.deleting_dies.clear()
    assert 3 == restore(services).blocked.files
    report = purge(services)
    assert (3, 0) == (report.done.files, report.exit_code)
    assert [[], [], []] == [lake.objects.versions(path) for path in DEAD]


def test_s15_a_killed_restore_goes_on_and_is_never_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    before = there(lake)
    services.sweep(services.mark(), HIDE)
    lake.advance(timedelta(days=31))
    lake.faults.deleting_dies[FIRST] = Killed()
    with pytest.raises(Killed):
        restore(services)
    lake.faults.deleting_dies.clear()
    assert (0, 3) == (purge(services).done.files, len(held(services)))
    assert 3 == restore(services).done.files
    assert (before, []) == (there(lake), held(services))


def test_s15_of_two_records_of_one_version_only_one_counts(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    """The first sweep was killed before it knew the ids; its file was made visible by hand, and hidden again."""
    killed_while_hiding(lake, services, FIRST)
    for each in lake.objects.versions(FIRST):
        if each.marker:
            lake.objects.delete_version(FIRST, each.version)
    lake.advance(timedelta(days=20))
    services.sweep(services.mark(), HIDE)
    assert 2 == sum(file.path.endswith("dead-0.parquet") for file in held(services))
    lake.advance(timedelta(days=11))
    look(services)
    purge(services)
    assert 1 == versions(lake, FIRST), "the time of the second record is not over"
    report = restore(services)
    assert (3, []) == (report.done.files, held(services))
    assert set(there(lake)) == DEAD


def test_s15_a_task_that_is_tried_again_knows_what_its_first_attempt_hid(lake: MemoryLake, live: TableState) -> None:
    (now,) = lake.objects.versions(FIRST)
    file = FileReference(
        location="memory://wh/", path=FIRST[len("memory://wh/") :], size=now.size, modified=now.modified
    )
    hold = Hold(live_set_id=UUID(int=1), places={"memory://wh": PLACE})
    with MemoryFileDeleter.from_options({"lake": lake.name}) as deleter:
        first = list(hold.move(deleter, "memory://wh/", [file]))
        by_somebody = list(hold.move(deleter, "memory://wh/", [file]))
        attempt = task_attempt.set(1)
        again = list(hold.move(deleter, "memory://wh/", [file]))
        task_attempt.reset(attempt)
    assert (Outcome.QUARANTINED, Outcome.ALREADY_GONE) == (first[0][1], by_somebody[0][1])
    assert first == again, "with the same ids"


# ---- others who write and delete ----------------------------------------------------------------------
def test_s15_an_attempt_that_finds_nothing_visible_leaves_the_record_of_the_first_one(
    lake: MemoryLake, live: TableState
) -> None:
    """Two markers hide the file, and which of them the first attempt made is unknown."""
    hold = Hold(live_set_id=UUID(int=1), places={"memory://wh": PLACE})
    stored = lake.objects.get(FIRST)
    assert stored is not None
    file = FileReference(location="memory://wh/", path=FIRST[12:], size=stored.size, modified=stored.modified)
    for _ in range(2):
        lake.objects.hide(FIRST, at=lake.time)
    deleter = MemoryFileDeleter.from_options({"lake": lake.name})
    attempt = task_attempt.set(1)
    try:
        ((_, outcome, reason),) = hold.move(deleter, "memory://wh/", [file])
    finally:
        task_attempt.reset(attempt)
    assert outcome is Outcome.FAILED
    assert "an earlier attempt of this task may have hidden it" in reason


def test_s15_a_killed_deferred_deletion_loses_no_record_of_what_it_hid(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    lake.faults.deleting_dies[max(DEAD)] = Killed()
    with pytest.raises(Killed):
        services.delete_deferred(live_set, HIDE)
    lake.faults.deleting_dies.clear()
    services.delete_deferred(live_set, HIDE)
    assert [*sorted(DEAD)] == [file.location + file.path for file in held(services)]
    assert 3 == restore(services).done.files
    assert DEAD == there(lake).keys()


def test_s15_what_an_attempt_of_the_same_task_purged_is_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    rows = [dict(zip(HELD_FILES.names, held_row(file), strict=True)) for file in held(services)]
    batch = pa.RecordBatch.from_pylist(rows, schema=HELD_FILES)
    for _ in Purge(services.choice, NEEDED_BY_NOBODY)(iter([batch])):
        pass
    attempt = task_attempt.set(1)
    try:
        again = [
            row["status"]
            for each in Purge(services.choice, NEEDED_BY_NOBODY)(iter([batch]))
            for row in each.to_pylist()
        ]
    finally:
        task_attempt.reset(attempt)
    assert [Outcome.DELETED.value] * 3 == again


def test_s15_a_file_that_was_written_again_since_the_listing_is_not_hidden(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    def write_again(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and done == 0:
            lake.put(FIRST, b"written again")

    report = services.sweep(services.mark(), HIDE, progress=write_again)
    assert (2, 1) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.FAILED].files)
    assert {FIRST: b"written again"} == there(lake)
    assert "it was written again since it was listed" in {file.reason for file in report.failed_files}


def test_s15_a_file_that_others_deleted_is_not_in_our_quarantine(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    def delete(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and done == 0:
            lake.objects.hide(FIRST, at=lake.time)

    report = services.sweep(services.mark(), HIDE, progress=delete)
    assert (2, 1) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.ALREADY_GONE].files)
    assert 2 == restore(services).done.files
    assert FIRST not in there(lake)


def test_s15_what_somebody_made_visible_is_not_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    lake.objects.delete_version(FIRST, lake.objects.versions(FIRST)[0].version)
    lake.advance(timedelta(days=31))
    look(services)
    report = purge(services)
    assert (2, 1, []) == (report.done.files, report.visible.files, held(services))
    assert "1 file visible again: they are not in quarantine any more" in str(report)
    assert {FIRST: FIRST.encode()} == there(lake)


def test_s15_a_newer_file_at_the_path_is_never_touched(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    lake.put(FIRST, b"newer")
    report = restore(services)
    assert (2, 1, 1) == (report.done.files, report.failed.files, report.exit_code)
    assert b"newer" == there(lake)[FIRST]
    lake.advance(timedelta(days=31))
    look(services)
    assert 1 == purge(services).done.files
    assert (b"newer", 1) == (there(lake)[FIRST], versions(lake, FIRST))


def test_s15_two_versions_of_one_file_are_in_quarantine_side_by_side(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    lake.put(FIRST, b"newer")
    lake.advance(timedelta(days=3))
    services.sweep(services.mark(), HIDE)
    assert (4, 2) == (len(held(services)), versions(lake, FIRST))
    report = restore(services, matching=".*dead-0.parquet")
    assert (1, b"newer") == (report.done.files, there(lake)[FIRST])
    lake.advance(timedelta(days=31))
    look(services)
    assert (3, 0) == (purge(services).done.files, purge(services).exit_code)
    assert (b"newer", 1) == (there(lake)[FIRST], versions(lake, FIRST))


# ---- what is refused ----------------------------------------------------------------------------------
def test_s15_where_no_versions_are_kept_nothing_is_deleted(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    lake.objects.keeps_versions = False
    before = lake.paths()
    report = services.sweep(services.mark(), HIDE)
    assert (3, before) == (report.outcomes[Outcome.SPARED].files, lake.paths())
    assert any("keeps no versions" in text for text in report.warnings)


def test_s15_locations_in_other_buckets_are_spared(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    before = lake.paths()
    report = services.sweep(services.mark(), SweepParameters(quarantine=["versions:memory://other/"]))
    assert (3, before) == (report.outcomes[Outcome.SPARED].files, lake.paths())
    assert any("no `quarantine` is in its store" in text for text in report.warnings)


def test_s15_a_store_that_lets_no_version_go_is_refused_before_a_purge(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    services.sweep(services.mark(), HIDE)
    before = held(services)
    lake.faults.releasing = "MFA delete is on"
    lake.advance(timedelta(days=31))
    with pytest.raises(ConfigurationError, match="MFA delete is on"):
        purge(services)
    assert before == held(services)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        (["versions:memory://wh/held/"], "is a folder; name its whole bucket"),
        (["versions:"], "`quarantine`: "),
        ([PLACE, "memory://wh/.quarantine/"], "in one store; name one of them"),
    ],
)
def test_s15_places_that_mean_nothing_are_refused(
    lake: MemoryLake, live: TableState, services: LakeServices, places: list[str], said: str
) -> None:
    before = lake.paths()
    with pytest.raises(ConfigurationError, match=said):
        services.sweep(services.mark(), SweepParameters(quarantine=places))
    assert before == lake.paths()
