"""S13: a purge deletes tagged files at their own paths, so the limits of a deletion hold for them (S6, S10)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices
from in_quarantine import DEAD, held, purge, rows, there, with_garbage
from nessie_gc_memory import MemoryLake, TableState, put
from tagged_files import MONTH, tagged

from nessie_gc_core.errors import ConfigurationError


@pytest.fixture
def live(lake: MemoryLake, services: LakeServices) -> TableState:
    """A table whose garbage is tagged; its time is over, and a sweep says that nothing needs it."""
    live = with_garbage(lake)
    tagged(services)
    lake.advance(MONTH)
    services.sweep(services.mark())
    return live


def test_s13_a_tagged_file_outside_the_allowed_locations_is_not_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    report = purge(services, allow=["memory://wh/another/"])
    assert (0, 3, DEAD) == (report.done.files, report.waiting.files, there(lake).keys())
    assert ["3 files with a tag not purged: its location is outside the allowed locations"] == report.warnings
    assert 3 == len(held(services))
    assert 3 == purge(services, allow=["memory://wh/db/"]).done.files


def test_s13_a_tagged_file_that_waits_is_named_with_the_reason(
    lake: MemoryLake, live: TableState, services: LakeServices, tmp_path: Path
) -> None:
    file = tmp_path / "outcomes.jsonl"
    report = purge(services, allow=["memory://wh/another/"], outcomes_to=str(file))
    said = {("waiting", "its location is outside the allowed locations")}
    assert said == {(row["outcome"], row["reason"]) for row in rows(file)}
    assert {reason for _, reason in said} == {each.reason for each in report.failures}
    assert "3 files waiting: they are not purged yet" in str(report)
    assert 0 == report.exit_code


def test_s13_a_tagged_file_too_high_up_is_not_purged(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    report = purge(services, min_depth=3)
    assert (0, 3, DEAD) == (report.done.files, report.waiting.files, there(lake).keys())


def test_s13_an_allowed_location_that_means_nothing_is_refused(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    with pytest.raises(ConfigurationError, match="`allow`: "):
        purge(services, allow=["another/"])
    assert DEAD == there(lake).keys()


def test_s10_the_live_set_that_says_that_nothing_needs_a_file_may_not_be_too_old(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    lake.advance(timedelta(days=2))
    report = purge(services, max_live_set_age=timedelta(days=1))
    assert (0, 3, DEAD) == (report.done.files, report.waiting.files, there(lake).keys())
    assert 3 == purge(services).done.files


@pytest.mark.parametrize(("strict", "purged"), [(False, 3), (True, 0)])
def test_s06_what_a_moved_reference_needs_and_cannot_be_read_keeps_all_tagged_files_if_that_is_asked_for(
    lake: MemoryLake, live: TableState, services: LakeServices, strict: bool, purged: int
) -> None:
    other = lake.table("db.other", location="memory://wh/db/other", content_id="other").append("a.parquet")
    lake.commit("dev", put(other.version))
    lake.faults.reading[other.snapshots[max(other.snapshots)]] = OSError("it is torn")
    report = purge(services.read_before(), strict_unknown=strict)
    assert (purged, 3 - purged) == (report.done.files, report.waiting.files)
