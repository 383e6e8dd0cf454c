"""S9: a tagged file that is needed again is not purged, whatever needs it, though every table reads it as before."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from collecting import LakeServices
from in_quarantine import FIRST, Killed, held, purge, restore, there, with_garbage
from killing import Killer
from nessie_gc_memory import MemoryLake, TableState, put
from tagged_files import MONTH, TAG, marks, tagged

from nessie_gc_core.errors import ServiceUnavailableError
from nessie_gc_core.model.quarantine import HeldFile
from nessie_gc_core.services.parameters import SweepParameters

NEEDED_AGAIN = (
    "1 file in quarantine with a tag is needed again, such as memory://wh/db/t/data/dead-1.parquet: "
    "`restore(matching='memory://wh/db/t/data/dead-1[.]parquet')` takes its tag off"
)


@pytest.fixture
def live(lake: MemoryLake) -> TableState:
    return with_garbage(lake)


def test_s09_a_purge_asks_for_a_sweep_that_has_looked_lately(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.advance(MONTH)
    report = purge(services)
    assert (0, 3, 3) == (report.done.files, report.waiting.files, len(there(lake)))
    assert any("run `gc()` first" in text or "mark again" in text for text in report.warnings)


@pytest.mark.parametrize("dry_run", [False, True])
def test_s09_a_reference_that_moved_after_the_sweep_keeps_its_file_from_a_purge(
    lake: MemoryLake, live: TableState, services: LakeServices, dry_run: bool
) -> None:
    tagged(services)
    lake.advance(MONTH)
    services.sweep(services.mark())
    lake.commit("dev", put(live.append("dead-1.parquet").version))
    report = purge(services, dry_run=dry_run)
    assert (2, 1) == (report.done.files, report.kept.files)
    assert "memory://wh/db/t/data/dead-1.parquet" in there(lake)
    assert {"a new or moved reference needs it"} == {file.reason for file in report.failures}


def test_s09_a_sweep_that_finds_a_file_needed_extends_its_time(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.commit("dev", put(live.append("dead-1.parquet").version))
    lake.advance(MONTH)
    report = services.sweep(services.mark())
    assert NEEDED_AGAIN in report.warnings
    assert 0 == report.lost.files
    purged = purge(services)
    assert (2, 1) == (purged.done.files, purged.waiting.files)
    assert 1 == restore(services).done.files
    assert {"memory://wh/db/t/data/dead-1.parquet": None} == marks(lake)


def test_s09_a_sweep_warns_of_a_needed_file_whose_tagging_was_interrupted(
    lake: MemoryLake, live: TableState, services: LakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    live_set = services.mark()
    assert Killer(lake, services, monkeypatch).kills(lambda: services.sweep(live_set, TAG), 5)
    before = {file.path: file.until for file in held(services)}
    lake.commit("dev", put(live.append("dead-1.parquet").version))
    lake.advance(MONTH)
    report = services.sweep(services.mark(), SweepParameters(min_age=timedelta(days=99)))
    assert NEEDED_AGAIN in report.warnings
    later = {file.path: file.until - before[file.path] for file in held(services)}
    assert {"data/dead-1.parquet": MONTH} == {path: by for path, by in later.items() if by}


def test_s09_what_an_earlier_sweep_found_does_not_count_when_a_later_one_finds_the_file_needed(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    """The later one has another policy, by which an older commit is live; no reference has moved."""
    old = live.append("dead-0.parquet")
    lake.commit("main", put(old.version))
    lake.commit("main", put(live.version))
    lake.advance(timedelta(days=40))
    at_once = replace(TAG, quarantine_for=timedelta(0))
    services.sweep(services.mark("1"), at_once)
    tagged_files = len(held(services))
    lake.advance(timedelta(minutes=1))
    services.sweep(services.mark("NONE"), at_once)
    lake.advance(timedelta(minutes=1))
    report = purge(services)
    assert (2, tagged_files - 2) == (report.done.files, report.waiting.files)
    assert {FIRST} == there(lake).keys()


def test_s09_a_purge_that_had_begun_lets_a_needed_file_be_restored(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.advance(MONTH)
    services.sweep(services.mark())
    lake.faults.deleting_dies[FIRST] = Killed()
    with pytest.raises(Killed):
        purge(services)
    lake.faults.deleting_dies.clear()
    lake.commit("dev", put(live.append("dead-1.parquet").version))
    assert 1 == purge(services).kept.files
    assert 1 == restore(services).done.files
    assert {"memory://wh/db/t/data/dead-1.parquet"} == there(lake).keys()


def test_s09_where_the_references_cannot_be_read_nothing_is_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.advance(MONTH)
    services.sweep(services.mark())
    lake.faults.references = ServiceUnavailableError("the server is away")
    report = purge(services)
    assert (0, 3, 3) == (report.done.files, report.waiting.files, len(there(lake)))
    assert any("the server is away" in text for text in report.warnings)


def test_s06_what_a_moved_reference_needs_and_cannot_be_read_keeps_its_location_from_a_purge(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.advance(MONTH)
    services.sweep(services.mark())
    version = live.append("dead-1.parquet").version
    lake.commit("dev", put(version))
    assert version.metadata_location is not None
    lake.faults.reading[version.metadata_location] = OSError("it is torn")
    report = purge(services)
    assert (0, 3, 3) == (report.done.files, report.waiting.files, len(there(lake)))
    assert any("it is torn" in text for text in report.warnings)


def test_s01_what_another_repository_needs_since_the_sweep_is_not_purged(
    lake: MemoryLake, live: TableState, beside: MemoryLake, together: LakeServices
) -> None:
    together.collect(sweep=TAG)
    lake.advance(MONTH)
    together.collect()
    beside.commit("main", put(live.append("dead-1.parquet").version))
    report = purge(together)
    assert (2, 1) == (report.done.files, report.kept.files)
    assert {"memory://wh/db/t/data/dead-1.parquet"} == there(lake).keys()


def test_s01_without_one_of_the_repositories_of_the_sweep_nothing_is_purged(
    lake: MemoryLake, live: TableState, beside: MemoryLake, services: LakeServices, together: LakeServices
) -> None:
    together.collect(sweep=TAG)
    lake.advance(MONTH)
    together.collect()
    report = purge(services)
    assert (0, 3, 3) == (report.done.files, report.waiting.files, len(there(lake)))
    assert any("was marked together with" in text for text in report.warnings)


@pytest.mark.parametrize("purged_reversed", [False, True])
def test_s01_the_order_of_the_repositories_may_change_between_sweeps(
    lake: MemoryLake, live: TableState, beside: MemoryLake, together: LakeServices, purged_reversed: bool
) -> None:
    reversed_ = replace(together, repository=together.others[0], others=(together.repository,))
    together.collect(sweep=TAG)
    lake.advance(MONTH)
    reversed_.collect()
    beside.commit("main", put(live.append("dead-1.parquet").version))
    report = purge(reversed_ if purged_reversed else together)
    assert (2, 1, {"memory://wh/db/t/data/dead-1.parquet"}) == (
        report.done.files,
        report.kept.files,
        there(lake).keys(),
    )


def test_s09_a_sweep_with_deferred_deletes_says_as_well_that_nothing_needs_a_file(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    tagged(services)
    lake.advance(MONTH)
    lake.commit("dev", put(live.append("dead-1.parquet").version))
    report = services.sweep(services.mark(), SweepParameters(defer_deletes=True))
    assert any("is needed again" in text for text in report.warnings)
    purged = purge(services)
    assert (2, 1) == (purged.done.files, purged.waiting.files)


def test_s09_records_that_say_so_already_are_not_written_again(
    lake: MemoryLake, live: TableState, services: LakeServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagged(services)
    written: list[HeldFile] = []
    monkeypatch.setattr(services.store, "put_held_files", written.extend)
    services.sweep(services.mark())
    assert [] == written
