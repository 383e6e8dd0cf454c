"""S15, S8: noncurrent versions go only with a dead file, after the same proofs, and never from a quarantine."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, TableState, put

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.finding_parameters import NoncurrentVersions
from nessie_gc_core.services.parameters import SweepParameters

DEAD = "memory://wh/db/t/data/dead.parquet"
HIDDEN = "memory://wh/db/t/data/hidden.parquet"
DELETE = SweepParameters(noncurrent_versions=NoncurrentVersions.DELETE)


class Killed(BaseException):
    """Ends a run in the middle."""


@pytest.fixture
def live(lake: MemoryLake) -> TableState:
    """A table of a lake that keeps versions; a file that nobody needs has three, one that was deleted has two."""
    lake.objects.keeps_versions = True
    empty = lake.table("db.t", location="memory://wh/db/t", content_id="t")
    live = empty.append("live.parquet")
    lake.put("memory://wh/db/t/data/live.parquet", b"the same again")
    lake.commit("main", put(empty.version))
    lake.commit("main", put(live.version))
    for path in (DEAD, DEAD, DEAD, HIDDEN, HIDDEN):
        lake.put(path, path.encode())
    lake.objects.hide(HIDDEN, at=lake.time)
    lake.advance(timedelta(days=40))
    return live


def everything(lake: MemoryLake, *, but: str) -> dict[str, int]:
    """How many versions and markers of each live or deleted path are kept."""
    return {path: len(lake.objects.versions(path)) for path in {*lake.paths(), HIDDEN} - {but}}


def test_s15_a_dead_file_goes_with_its_versions_and_no_other_does(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    before = everything(lake, but=DEAD)
    report = services.sweep(services.mark(), DELETE)
    assert (1, 0) == (report.outcomes[Outcome.DELETED].files, report.exit_code)
    assert (2, 2 * len(DEAD)) == (report.noncurrent_versions.files, report.noncurrent_versions.bytes)
    assert ([], before) == (lake.objects.versions(DEAD), everything(lake, but=DEAD))
    assert 2 in before.values(), "a live file has an older version"


def test_s15_versions_stay_unless_they_are_asked_for(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    report = services.sweep(services.mark())
    assert (1, 0) == (report.outcomes[Outcome.DELETED].files, report.noncurrent_versions.files)
    assert 4 == len(lake.objects.versions(DEAD)), "three versions, and the delete marker"


def test_s08_a_file_that_was_written_again_keeps_its_versions(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    def write_again(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and done == 0:
            lake.put(DEAD, b"written again")

    report = services.sweep(services.mark(), DELETE, progress=write_again)
    assert (1, 1) == (report.outcomes[Outcome.FAILED].files, report.exit_code)
    assert 4 == len(lake.objects.versions(DEAD))


def test_s08_a_young_file_keeps_its_versions(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    lake.put(DEAD, b"young")
    report = services.sweep(services.mark(), DELETE)
    assert (1, 4) == (report.outcomes[Outcome.TOO_YOUNG].files, len(lake.objects.versions(DEAD)))


def test_s21_a_dry_run_deletes_no_version(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    services.sweep(services.mark(), replace(DELETE, dry_run=True))
    assert 3 == len(lake.objects.versions(DEAD))


def test_s15_a_killed_deletion_of_versions_goes_on(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    lake.faults.deleting_dies[DEAD] = Killed()
    live_set = services.mark()
    with pytest.raises(Killed):
        services.sweep(live_set, DELETE)
    lake.faults.deleting_dies.clear()
    assert 1 == len(lake.objects.versions(DEAD)), "what is current goes last"
    report = services.sweep(live_set, replace(DELETE, resume=True))
    assert (1, []) == (report.outcomes[Outcome.DELETED].files, lake.objects.versions(DEAD))


def test_s15_versions_in_quarantine_are_not_deleted(lake: MemoryLake, live: TableState, services: LakeServices) -> None:
    services.sweep(services.mark(), SweepParameters(quarantine=["versions:memory://wh/"]))
    lake.put(DEAD, b"written again")
    lake.advance(timedelta(days=3))
    report = services.sweep(services.mark(), DELETE)
    store = services.store
    assert isinstance(store, MemoryLiveSetStore)
    (held,) = store.held_files()
    assert held.held_path.split("/")[2] in {each.version for each in lake.objects.versions(DEAD)}
    assert any("files are in quarantine there" in text for text in report.warnings)


def test_s15_where_versions_cannot_go_the_file_goes_alone_and_the_report_says_so(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    lake.faults.releasing = "MFA delete is on"
    report = services.sweep(services.mark(), DELETE)
    assert (1, 4) == (report.outcomes[Outcome.DELETED].files, len(lake.objects.versions(DEAD)))
    assert "noncurrent versions in memory://wh stay: MFA delete is on" in report.warnings


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"quarantine": ["versions:memory://wh/"]}, "are mutually exclusive"),
        ({"defer_deletes": True}, "give `noncurrent_versions` to 'deferred-deletes' instead"),
    ],
)
def test_s27_options_that_do_not_go_together_are_refused(
    lake: MemoryLake, live: TableState, services: LakeServices, changed: dict[str, object], said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        services.sweep(services.mark(), replace(DELETE, **changed))  # type: ignore[arg-type]  # they are options


def test_s15_deferred_deletions_can_take_versions_along(
    lake: MemoryLake, live: TableState, services: LakeServices
) -> None:
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    report = services.delete_deferred(live_set, DELETE)
    assert (1, 2, []) == (
        report.outcomes[Outcome.DELETED].files,
        report.noncurrent_versions.files,
        lake.objects.versions(DEAD),
    )
