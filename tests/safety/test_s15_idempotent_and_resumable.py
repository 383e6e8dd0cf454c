"""S15: killed at any point, the next run finishes the work, and every file has one outcome, reported once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from collecting import LakeServices, in_memory, on_disk
from nessie_gc_memory import MemoryFileDeleter, MemoryLake, delete, put
from scenes import START

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import FileDeleter, LiveSetStore
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import LeaseHeldError, LiveSetStateError, SafetyError, UnreadableFileError
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.files import DeleteOutcome, FileReference
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import PluginRegistry, installed
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

FILES_PER_STEP = 3


class Killed(BaseException):
    """The process ends here."""


class Dying(MemoryFileDeleter):
    """Deletes so many files, and dies before it can tell."""

    name = "dying"
    left = -1

    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        for file in files:
            if Dying.left == 0:
                raise Killed
            Dying.left -= 1
            yield from super().delete_files(location, [file])


class DyingPlugin:
    @hookimpl
    def nessie_gc_register_file_deleter(self) -> type[FileDeleter]:
        return Dying


def write(lake: MemoryLake) -> set[str]:
    """Two tables with 9 dead files together."""
    before: set[str] = set()
    for name, dead in (("a", 1), ("b", 6)):
        table = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("live.parquet")
        before |= table.needed
        lake.commit("main", put(table.version))
        for number in range(dead):
            lake.put(f"memory://wh/db/{name}/data/dead-{number}.parquet", 100 + number)
    lake.advance(timedelta(days=3))
    return lake.paths() - before


def dying(services: LakeServices) -> LakeServices:
    options = {**services.choice.options, ("file-deleter", "dying"): {"lake": _lake_of(services)}}
    return services.choosing(options=options, deleter="dying")


def _lake_of(services: LakeServices) -> str:
    return str(services.choice.options["file-lister", "memory"]["lake"])


def killed_after(services: LakeServices, live_set: UUID, files: int, settings: SweepParameters) -> None:
    """A sweep that ends after so many deletions."""
    Dying.left = files
    with LocalEngine(workers=1) as engine, pytest.raises(Killed):
        dying(replace(services, engine=engine)).sweep(live_set, settings)


def marked_and_killed_after(services: LakeServices, files: int, settings: SweepParameters) -> UUID:
    """A live set whose sweep ended after so many deletions."""
    live_set = services.mark("1")
    killed_after(services, live_set, files, settings)
    return live_set


def counts(report: GcReport) -> dict[str, tuple[int, int]]:
    return {outcome.value: (tally.files, tally.bytes) for outcome, tally in report.outcomes.items() if tally.files}


@pytest.fixture
def settings() -> SweepParameters:
    return SweepParameters(files_per_step=FILES_PER_STEP)


@pytest.fixture
def services(lake: MemoryLake, plugins: PluginRegistry) -> Iterator[LakeServices]:
    """What deletes with the usual deleter, whatever else claims the scheme."""
    plugins.register(DyingPlugin(), name="dying")
    with in_memory(lake) as services:
        yield services.choosing(deleter="memory", plugins=plugins)


@pytest.mark.parametrize("files", range(9))
def test_s15_a_sweep_that_dies_after_any_deletion_is_finished_and_reported_once(
    lake: MemoryLake, services: LakeServices, settings: SweepParameters, files: int
) -> None:
    dead = write(lake)
    sizes = sum(stored.size for path, stored in lake.objects.below("memory://") if path in dead)
    live = lake.paths() - dead
    live_set = marked_and_killed_after(services, files, settings)
    assert len(dead) - files == len(dead & lake.paths())
    assert LiveSetStatus.EXPIRY_FAILED is services.store.get(live_set).status
    report = services.sweep(live_set, replace(settings, resume=True))
    assert live == lake.paths()
    assert {"deleted": (len(dead), sizes)} == counts(report)
    assert LiveSetStatus.EXPIRY_SUCCESS is services.store.get(live_set).status


def test_s15_a_sweep_may_die_again_and_again(
    lake: MemoryLake, services: LakeServices, settings: SweepParameters
) -> None:
    dead = write(lake)
    live_set = services.mark("1")
    for attempt, files in enumerate((2, 3, 0, 1)):
        killed_after(services, live_set, files, replace(settings, resume=attempt > 0))
    report = services.sweep(live_set, replace(settings, resume=True))
    assert not dead & lake.paths()
    assert {"deleted": len(dead)} == {outcome: files for outcome, (files, _) in counts(report).items()}


def test_s15_a_resumed_sweep_with_other_steps_counts_the_same(
    lake: MemoryLake, services: LakeServices, settings: SweepParameters
) -> None:
    dead = write(lake)
    live_set = marked_and_killed_after(services, 4, settings)
    report = services.sweep(live_set, SweepParameters(resume=True))
    assert {"deleted": len(dead)} == {outcome: files for outcome, (files, _) in counts(report).items()}


def test_s15_a_location_that_is_frozen_when_the_sweep_is_resumed_is_not_counted_as_deleted(
    lake: MemoryLake, services: LakeServices, settings: SweepParameters
) -> None:
    dead = write(lake)
    live_set = marked_and_killed_after(services, 4, settings)
    gone = dead - lake.paths()
    metadata = next(path for path in sorted(lake.paths() - dead) if path.startswith("memory://wh/db/b/metadata/"))
    lake.faults.reading[metadata] = UnreadableFileError(metadata, "no answer")
    report = services.sweep(live_set, replace(settings, resume=True))
    frozen = {path for path in dead - gone if path.startswith("memory://wh/db/b/")}
    assert frozen
    assert frozen == dead & lake.paths()
    assert report.outcomes[Outcome.DELETED].files <= len(dead - frozen)
    assert any("memory://wh/db/b/ are unknown" in warning for warning in report.warnings)
    assert 1 == report.exit_code


def test_s15_a_file_that_a_veto_keeps_when_the_sweep_is_resumed_is_not_counted_as_deleted(
    lake: MemoryLake,
    services: LakeServices,
    settings: SweepParameters,
    plugins: PluginRegistry,
) -> None:
    class Veto:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
            return {file.path: "legal hold" for file in files}

    dead = write(lake)
    live_set = marked_and_killed_after(services, 4, settings)
    left = dead & lake.paths()
    plugins.register(Veto(), name="veto")
    report = services.sweep(live_set, replace(settings, resume=True))
    assert left == dead & lake.paths()
    assert {"deleted": len(dead - left), "spared": len(left)} == {o: n for o, (n, _) in counts(report).items()}


def test_s15_what_became_live_before_the_first_attempt_is_counted_once_as_spared(
    lake: MemoryLake, services: LakeServices, settings: SweepParameters
) -> None:
    old = lake.table("db.old", location="memory://wh/db/b").append("old.parquet")
    first = lake.commit("main", put(old.version))
    lake.commit("main", delete(old.key))
    dead = write(lake) | old.needed
    live_set = services.mark("1")
    lake.tag("tag", first)
    dead = {path for path in dead if path not in old.needed}
    killed_after(services, live_set, 4, settings)
    report = services.sweep(live_set, replace(settings, resume=True))
    assert not dead & lake.paths()
    assert old.needed <= lake.paths()
    assert {"deleted": len(dead), "spared": len(old.needed)} == {o: n for o, (n, _) in counts(report).items()}


def test_s15_a_file_that_a_veto_keeps_every_time_changes_no_count(
    lake: MemoryLake,
    services: LakeServices,
    settings: SweepParameters,
    plugins: PluginRegistry,
) -> None:
    class Veto:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
            return {file.path: "legal hold" for file in files if "dead-0" in file.path}

    plugins.register(Veto(), name="veto")
    dead = write(lake)
    live_set = marked_and_killed_after(services, 4, settings)
    report = services.sweep(live_set, replace(settings, resume=True))
    assert {"deleted": len(dead) - 2, "spared": 2} == {o: n for o, (n, _) in counts(report).items()}


def test_s15_a_deletion_that_failed_is_reported_and_tried_again_on_resume(
    lake: MemoryLake, services: LakeServices, settings: SweepParameters
) -> None:
    dead = write(lake)
    stuck = "memory://wh/db/a/data/dead-0.parquet"
    lake.faults.deleting[stuck] = "access denied"
    live_set = marked_and_killed_after(services, 5, settings)
    report = services.sweep(live_set, replace(settings, resume=True))
    assert {"deleted": len(dead) - 1, "failed": 1} == {o: n for o, (n, _) in counts(report).items()}
    assert [(stuck, "access denied")] == [(file.path, file.reason) for file in report.failed_files]
    assert 1 == report.exit_code
    lake.faults.deleting.clear()
    again = services.collect("1")
    assert (1, 0) == (again.outcomes[Outcome.DELETED].files, again.exit_code)


def test_s15_a_second_run_deletes_nothing(lake: MemoryLake, services: LakeServices) -> None:
    dead = write(lake)
    assert len(dead) == services.collect("1").outcomes[Outcome.DELETED].files
    assert {} == counts(services.collect("1"))


def test_s15_a_finished_sweep_is_not_resumed(lake: MemoryLake, services: LakeServices) -> None:
    write(lake)
    live_set = services.mark("1")
    services.sweep(live_set)
    for resume in (False, True):
        with pytest.raises(LiveSetStateError, match="EXPIRY_SUCCESS"):
            services.sweep(live_set, SweepParameters(resume=resume))


def test_s15_what_somebody_else_deleted_meanwhile_is_already_gone(lake: MemoryLake, services: LakeServices) -> None:
    dead = write(lake)
    first, second, *_ = sorted(path for path in dead if "/b/data/" in path)

    def someone_else(phase: str, done: int, total: int | None) -> None:
        if phase == "delete":
            lake.objects.delete(first)
            lake.objects.delete(second)

    live_set = services.mark("1")
    report = services.sweep(live_set, progress=someone_else)
    assert {"deleted": len(dead) - 2, "already_gone": 2} == {o: n for o, (n, _) in counts(report).items()}


def test_s15_deferred_deletions_that_fail_stay_recorded(lake: MemoryLake, services: LakeServices) -> None:
    dead = write(lake)
    stuck = "memory://wh/db/b/data/dead-0.parquet"
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    lake.faults.deleting[stuck] = "access denied"
    report = services.delete_deferred(live_set)
    assert {"deleted": len(dead) - 1, "failed": 1} == {o: n for o, (n, _) in counts(report).items()}
    assert ["data/dead-0.parquet"] == [deletion.path for deletion in services.store.file_deletions(live_set)]
    lake.faults.deleting.clear()
    assert {"deleted": 1} == {o: n for o, (n, _) in counts(services.delete_deferred(live_set)).items()}
    assert {} == counts(services.delete_deferred(live_set))


def test_s15_both_engines_resume_after_a_failure(engine: Engine, tmp_path: Path) -> None:
    lake = MemoryLake("s15-on-disk")
    lake.now = START
    dead = write(lake)
    services = on_disk(lake, tmp_path / "a" / "lake", engine)

    def die(phase: str, done: int, total: int | None) -> None:
        if (phase, done) == ("delete", 1):
            raise Killed

    live_set = services.mark("1")
    settings = SweepParameters(files_per_step=5)
    with pytest.raises(Killed):
        services.sweep(live_set, settings, progress=die)
    report = services.sweep(live_set, replace(settings, resume=True))
    assert {"deleted": len(dead)} == {o: n for o, (n, _) in counts(report).items()}
    assert 8 == sum(path.is_file() for path in (tmp_path / "a" / "lake" / "wh").rglob("*"))


KILLED_PROCESS = """
import sys, time
from datetime import datetime, timedelta, UTC
from pathlib import Path
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import installed
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.services.resources import Resources
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.sweep import SweepService
from nessie_gc_memory import MemoryRepository
from uuid import UUID

history, url, live_set = sys.argv[1:]

def progress(phase, done, total):
    if phase == "delete" and done == 2:
        print("deleting", flush=True)
        time.sleep(600)

resources = Resources.borrowed(
    repository=MemoryRepository.from_options({"history_file": history}),
    store=installed().open(LiveSetStore, ConnectorSpec(kind="live-set-store", name="jdbc", options={"url": url})),
    engine=LocalEngine(workers=2),
)
run = Run(resources=resources, choice=ConnectorChoice(), clock=lambda: datetime.now(UTC), progress=progress)
SweepService(SweepParameters(files_per_step=3, lease=timedelta(seconds=3), live_set_id=live_set)).run(run)
"""


def test_s15_a_process_that_was_killed_is_resumed_by_another(tmp_path: Path) -> None:
    lake = MemoryLake("s15-killed")
    lake.now = START
    dead = write(lake)
    url = f"sqlite:///{tmp_path}/live-sets.db"
    spec = ConnectorSpec(kind="live-set-store", name="jdbc", options={"url": url})
    with LocalEngine(workers=2) as engine, installed().open(LiveSetStore, spec) as store:
        services = on_disk(lake, tmp_path / "a" / "lake", engine)
        services = replace(services, store=store, clock=lambda: datetime.now(UTC))
        live_set = services.mark("1")
        history = str((tmp_path / "a" / "lake" / "history.json").resolve())
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED_PROCESS, history, url, str(live_set)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert "deleting" == process.stdout.readline().strip()
        settings = SweepParameters(files_per_step=FILES_PER_STEP, resume=True)
        with pytest.raises(LeaseHeldError):
            services.sweep(live_set, settings)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert LiveSetStatus.EXPIRY_IN_PROGRESS is store.get(live_set).status
        with pytest.raises(LiveSetStateError if _lease_ran_out() else LeaseHeldError):
            services.sweep(live_set, replace(settings, resume=False))
        stored = _stored(tmp_path)
        assert 8 < len(stored) < 8 + len(dead), "some were deleted, some were not"
        report = services.sweep(live_set, settings)
        assert {"deleted": len(dead)} == {o: n for o, (n, _) in counts(report).items()}
        assert 8 == len(_stored(tmp_path))
        assert LiveSetStatus.EXPIRY_SUCCESS is store.get(live_set).status


def _lease_ran_out() -> bool:
    time.sleep(3.5)
    return True


def _stored(tmp_path: Path) -> list[Path]:
    return [path for path in (tmp_path / "a" / "lake" / "wh").rglob("*") if path.is_file()]


def test_s15_two_sweeps_at_once_are_refused(lake: MemoryLake, services: LakeServices) -> None:
    write(lake)
    first, second = services.mark("1"), services.mark("1")

    def sweep_too(phase: str, done: int, total: int | None) -> None:
        with pytest.raises(LeaseHeldError):
            services.sweep(second)

    services.sweep(first, progress=sweep_too)


def test_s15_a_sweep_that_lost_its_lease_stops(lake: MemoryLake, services: LakeServices) -> None:
    """Its process stood still for so long that another one may have begun."""
    dead = write(lake)
    live_set = services.mark("1")

    def stand_still(phase: str, done: int, total: int | None) -> None:
        lake.advance(timedelta(minutes=3))

    with pytest.raises(SafetyError, match="lease"):
        services.sweep(live_set, progress=stand_still)
    assert dead <= lake.paths()
