from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository, put, save_history

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.engines.spark import SparkEngine
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class DeferredLake:
    """A lake on a disk whose garbage has been recorded and not deleted."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder, self.engine = folder, engine
        self.lake = MemoryLake()
        self.lake.now = LONG_AGO
        self.empty = self.lake.table("db.t", location="memory://warehouse/db/t")
        self.old = self.empty.append("a.parquet")
        for state in (self.empty, self.old, self.old.overwrite("b.parquet")):
            self.lake.commit("main", put(state.version))
        for name in ("orphan.parquet", ".orphan.parquet.crc", "x #%41.parquet"):
            self.lake.put(f"memory://warehouse/db/t/data/{name}")
        self.history = self.lake.write_to(folder)
        self.repository = MemoryRepository.from_options({"history_file": str(self.history)})
        self.store: LiveSetStore = MemoryLiveSetStore.from_options({})
        self.id = self._sweep()

    def _sweep(self) -> UUID:
        parameters = SweepParameters(defer_deletes=True, min_age=timedelta(0), no_age_floor=True)
        report = self._services().collect("1", sweep=parameters)
        assert report.unreferenced == report.outcomes[Outcome.DEFERRED]
        return UUID(report.live_set_id)

    def _services(self) -> LakeServices:
        return LakeServices(repository=self.repository, store=self.store, engine=self.engine, clock=utc_now)

    def delete(self, settings: SweepParameters | None = None) -> GcReport:
        """One run; its arithmetic holds."""
        before = len(self.recorded())
        report = self._services().delete_deferred(self.id, settings)
        gone = report.outcomes[Outcome.DELETED].files + report.outcomes[Outcome.ALREADY_GONE].files
        assert report.files_listed == report.unreferenced
        if report.outcomes[Outcome.ALREADY_GONE].files == 0:
            assert gone + report.sidecars.files * (not report.dry_run) == before - len(self.recorded())
        return report

    def recorded(self) -> list[str]:
        """The paths that are still recorded."""
        return [deletion.path for deletion in self.store.file_deletions(self.id)]

    def stored(self) -> set[str]:
        """The paths in the table's folder."""
        root = self.folder / "warehouse" / "db" / "t"
        return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}

    def branch_at_old_state(self) -> None:
        """Makes the old state live again."""
        head = self.lake.history.commit_of(self.lake.history.reference("main").commit_id or "")
        self.lake.branch("rescue", head.parent_id)
        here = str(self.folder / "warehouse")
        save_history(
            self.lake.history, self.history, rename=lambda path: path.replace("memory://warehouse", f"file://{here}")
        )


@pytest.fixture
def deferred(tmp_path: Path) -> Iterator[DeferredLake]:
    with LocalEngine(workers=2) as engine:
        yield DeferredLake(tmp_path / "lake", engine)


def test_all_that_was_recorded_goes_and_nothing_else(deferred: DeferredLake) -> None:
    before, recorded = deferred.stored(), set(deferred.recorded())
    report = deferred.delete()
    assert before - recorded == deferred.stored()
    assert (len(recorded) - 1, 1) == (report.outcomes[Outcome.DELETED].files, report.sidecars.files)
    assert [] == deferred.recorded()


def test_s21_a_dry_run_takes_the_same_way_and_deletes_nothing(deferred: DeferredLake) -> None:
    before, recorded = deferred.stored(), deferred.recorded()
    dry = deferred.delete(SweepParameters(dry_run=True))
    assert (before, recorded) == (deferred.stored(), deferred.recorded())
    assert dry.outcomes[Outcome.WOULD_DELETE] == deferred.delete().outcomes[Outcome.DELETED]


def test_s09_what_a_new_branch_reaches_is_spared_and_stays_recorded(deferred: DeferredLake) -> None:
    deferred.branch_at_old_state()
    needed = {path.rpartition("db/t/")[2] for path in deferred.lake.needed_files([deferred.old.version])}
    report = deferred.delete()
    assert 1 == report.references_moved
    assert needed <= deferred.stored()
    assert set(deferred.recorded()) == needed & set(deferred.recorded()) != set()
    assert report.outcomes[Outcome.SPARED].files == len(deferred.recorded())
    assert "data/orphan.parquet" not in deferred.stored()


@pytest.mark.spark
def test_s09_spark_spares_and_deletes_the_same_files(tmp_path: Path, spark: SparkSession) -> None:
    left = []
    with LocalEngine(workers=2) as local:
        for name, engine in (("local", local), ("spark", SparkEngine(spark))):
            deferred = DeferredLake(tmp_path / name, engine)
            deferred.branch_at_old_state()
            counts = {outcome: tally.files for outcome, tally in deferred.delete().outcomes.items()}
            left.append((deferred.stored(), sorted(deferred.recorded()), counts))
    assert left[0] == left[1]


def test_s06_what_cannot_be_read_any_more_freezes_its_location(deferred: DeferredLake) -> None:
    deferred.branch_at_old_state()
    metadata = (deferred.old.version.metadata_location or "").rpartition("db/t/")[2]
    (deferred.folder / "warehouse" / "db" / "t" / metadata).unlink()
    before = deferred.stored()
    report = deferred.delete()
    assert before == deferred.stored()
    assert 1 == report.exit_code
    assert f"file://{deferred.folder}/warehouse/db/t/" in report.unknown
    assert report.unreferenced == report.outcomes[Outcome.SPARED]


def test_s15_a_second_run_after_a_kill_finishes_and_finds_files_gone(deferred: DeferredLake) -> None:
    for path in deferred.recorded()[:2]:
        (deferred.folder / "warehouse" / "db" / "t" / path).unlink()
    report = deferred.delete()
    gone = report.outcomes[Outcome.ALREADY_GONE].files
    assert 1 <= gone <= 2
    assert [] == deferred.recorded()


def test_s07_deleted_metadata_files_have_tombstones(deferred: DeferredLake) -> None:
    root = f"file://{deferred.folder}/warehouse/db/t/"
    metadata = [root + path for path in deferred.recorded() if path.endswith(".metadata.json")]
    assert metadata
    assert set() == deferred.store.tombstones(deferred.repository.identity(), metadata)
    deferred.delete()
    assert set(metadata) == deferred.store.tombstones(deferred.repository.identity(), metadata)


def test_s13_a_cap_keeps_everything(deferred: DeferredLake) -> None:
    before = deferred.stored()
    report = deferred.delete(SweepParameters(max_deletes=1))
    assert before == deferred.stored()
    assert report.unreferenced == report.outcomes[Outcome.SPARED]


def test_many_small_steps_do_the_same(deferred: DeferredLake) -> None:
    before, recorded = deferred.stored(), set(deferred.recorded())
    deferred.delete(SweepParameters(files_per_step=3))
    assert before - recorded == deferred.stored()


def test_another_collector_keeps_it_out(deferred: DeferredLake) -> None:
    repository, hour = deferred.repository.identity(), timedelta(hours=1)
    deferred.store.acquire_lease(repository, "another", host="elsewhere", process=1, duration=hour)
    before = deferred.stored()
    with pytest.raises(LeaseHeldError, match="another"):
        deferred.delete()
    assert before == deferred.stored()


def test_files_whose_folder_is_gone_are_already_gone(deferred: DeferredLake) -> None:
    shutil.rmtree(deferred.folder / "warehouse")
    report = deferred.delete()
    assert report.unreferenced == report.outcomes[Outcome.ALREADY_GONE]
    assert [] == deferred.recorded()
