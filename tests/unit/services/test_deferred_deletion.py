from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from collecting import Collector
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


class Scene:
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
        report = self._collector().collect("1", sweep=parameters)
        assert report.unreferenced == report.outcomes[Outcome.DEFERRED]
        return UUID(report.live_set_id)

    def _collector(self) -> Collector:
        return Collector(repository=self.repository, store=self.store, engine=self.engine, clock=utc_now)

    def delete(self, settings: SweepParameters | None = None) -> GcReport:
        """One run; its arithmetic holds."""
        before = len(self.recorded())
        report = self._collector().delete_deferred(self.id, settings)
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
def scene(tmp_path: Path) -> Iterator[Scene]:
    with LocalEngine(workers=2) as engine:
        yield Scene(tmp_path / "lake", engine)


def test_all_that_was_recorded_goes_and_nothing_else(scene: Scene) -> None:
    before, recorded = scene.stored(), set(scene.recorded())
    report = scene.delete()
    assert before - recorded == scene.stored()
    assert (len(recorded) - 1, 1) == (report.outcomes[Outcome.DELETED].files, report.sidecars.files)
    assert [] == scene.recorded()


def test_s21_a_dry_run_takes_the_same_way_and_deletes_nothing(scene: Scene) -> None:
    before, recorded = scene.stored(), scene.recorded()
    dry = scene.delete(SweepParameters(dry_run=True))
    assert (before, recorded) == (scene.stored(), scene.recorded())
    assert dry.outcomes[Outcome.WOULD_DELETE] == scene.delete().outcomes[Outcome.DELETED]


def test_s09_what_a_new_branch_reaches_is_spared_and_stays_recorded(scene: Scene) -> None:
    scene.branch_at_old_state()
    needed = {path.rpartition("db/t/")[2] for path in scene.lake.needed_files([scene.old.version])}
    report = scene.delete()
    assert 1 == report.references_moved
    assert needed <= scene.stored()
    assert set(scene.recorded()) == needed & set(scene.recorded()) != set()
    assert report.outcomes[Outcome.SPARED].files == len(scene.recorded())
    assert "data/orphan.parquet" not in scene.stored()


@pytest.mark.spark
def test_s09_spark_spares_and_deletes_the_same_files(tmp_path: Path, spark: SparkSession) -> None:
    left = []
    with LocalEngine(workers=2) as local:
        for name, engine in (("local", local), ("spark", SparkEngine(spark))):
            scene = Scene(tmp_path / name, engine)
            scene.branch_at_old_state()
            counts = {outcome: tally.files for outcome, tally in scene.delete().outcomes.items()}
            left.append((scene.stored(), sorted(scene.recorded()), counts))
    assert left[0] == left[1]


def test_s06_what_cannot_be_read_any_more_freezes_its_location(scene: Scene) -> None:
    scene.branch_at_old_state()
    metadata = (scene.old.version.metadata_location or "").rpartition("db/t/")[2]
    (scene.folder / "warehouse" / "db" / "t" / metadata).unlink()
    before = scene.stored()
    report = scene.delete()
    assert before == scene.stored()
    assert 1 == report.exit_code
    assert f"file://{scene.folder}/warehouse/db/t/" in report.unknown
    assert report.unreferenced == report.outcomes[Outcome.SPARED]


def test_s15_a_second_run_after_a_kill_finishes_and_finds_files_gone(scene: Scene) -> None:
    for path in scene.recorded()[:2]:
        (scene.folder / "warehouse" / "db" / "t" / path).unlink()
    report = scene.delete()
    gone = report.outcomes[Outcome.ALREADY_GONE].files
    assert 1 <= gone <= 2
    assert [] == scene.recorded()


def test_s07_deleted_metadata_files_have_tombstones(scene: Scene) -> None:
    root = f"file://{scene.folder}/warehouse/db/t/"
    metadata = [root + path for path in scene.recorded() if path.endswith(".metadata.json")]
    assert metadata
    assert set() == scene.store.tombstones(scene.repository.identity(), metadata)
    scene.delete()
    assert set(metadata) == scene.store.tombstones(scene.repository.identity(), metadata)


def test_s13_a_cap_keeps_everything(scene: Scene) -> None:
    before = scene.stored()
    report = scene.delete(SweepParameters(max_deletes=1))
    assert before == scene.stored()
    assert report.unreferenced == report.outcomes[Outcome.SPARED]


def test_many_small_steps_do_the_same(scene: Scene) -> None:
    before, recorded = scene.stored(), set(scene.recorded())
    scene.delete(SweepParameters(files_per_step=3))
    assert before - recorded == scene.stored()


def test_another_collector_keeps_it_out(scene: Scene) -> None:
    repository, hour = scene.repository.identity(), timedelta(hours=1)
    scene.store.acquire_lease(repository, "another", host="elsewhere", process=1, duration=hour)
    before = scene.stored()
    with pytest.raises(LeaseHeldError, match="another"):
        scene.delete()
    assert before == scene.stored()


def test_files_whose_folder_is_gone_are_already_gone(scene: Scene) -> None:
    shutil.rmtree(scene.folder / "warehouse")
    report = scene.delete()
    assert report.unreferenced == report.outcomes[Outcome.ALREADY_GONE]
    assert [] == scene.recorded()
