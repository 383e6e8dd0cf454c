"""S15, S9: a run that has to end, because its lease was lost, deletes and commits nothing after the step under way."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from branch_lakes import MemoryBranchLake
from collecting import in_memory
from expiry_lakes import ExpiryLake
from in_quarantine import with_garbage
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryRepository, MemoryTableCatalog
from scenes import START
from tagged_lakes import BEGIN, tagged_lake
from turns import Turns, deeds_of
from unit.services.assets.conftest import TABLE, AssetLake
from unit.services.test_pruning import DAY, NOW, OLD, History

from nessie_gc_core.algorithms.delete import DeleteFiles
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.engines.local.tables import LocalTables
from nessie_gc_core.errors import CommitConflictError
from nessie_gc_core.services.assets.identify import IdentifyService
from nessie_gc_core.services.assets.parameters import IdentifyParameters
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.service import AutotagService
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.parameters import GcParameters, SweepParameters
from nessie_gc_core.services.pruning import prune
from nessie_gc_core.services.quarantine.parameters import PurgeParameters, RestoreParameters
from nessie_gc_core.services.quarantine.purge import PurgeService
from nessie_gc_core.services.quarantine.release import Release
from nessie_gc_core.services.quarantine.restore import RestoreService
from nessie_gc_core.services.stored_live_sets import LiveSetService

HOUR = timedelta(hours=1)


def test_s15_a_collection_asks_before_every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def collect(turns: Turns) -> None:
        with lake_at(START) as lake, in_memory(lake) as services, monkeypatch.context() as patch:
            with_garbage(lake)
            turns.noting(patch, DeleteFiles, "__init__")
            GcService(GcParameters(files_per_step=1)).run(replace(services.run(), go_on=turns.go_on))

    assert ["__init__"] * 3 == deeds_of(collect)


@pytest.mark.parametrize("service", [RestoreService, PurgeService])
def test_s15_files_in_quarantine_are_released_step_by_step(service: type[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def release(turns: Turns) -> None:
        with lake_at(START) as lake, in_memory(lake) as services, monkeypatch.context() as patch:
            with_garbage(lake)
            services.sweep(services.mark(), SweepParameters(quarantine=["memory://wh/.quarantine/"]))
            lake.advance(40 * DAY)
            turns.noting(patch, Release, "_step")
            run = replace(services.run(), go_on=turns.go_on)
            if service is RestoreService:
                RestoreService(RestoreParameters(everything=True, files_per_step=1)).run(run)
            else:
                PurgeService(PurgeParameters(files_per_step=1)).run(run)

    assert ["_step"] * 3 == deeds_of(release)


def test_s15_snapshots_expire_with_a_question_before_every_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: Any) -> None:
        raise CommitConflictError("others were faster")

    def expire(turns: Turns) -> None:
        with LocalEngine(workers=1) as engine:
            lake = ExpiryLake(tmp_path / str(uuid.uuid4()), engine)
            lake.table()
            lake.age()
            monkeypatch.setattr(lake.repository, "remove_snapshots", refused)
            turns.noting(monkeypatch, lake.repository, "remove_snapshots")
            given = ExpireSnapshotsParameters(older_than="PT0S", commit_retries=1)
            try:
                ExpireSnapshotsService(given).run(replace(lake.run(), go_on=turns.go_on))
            finally:
                lake.close()

    assert ["refused"] * 2 == deeds_of(expire)


def test_s15_branches_get_no_commit_when_a_run_has_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*given: Any, **more: Any) -> None:
        raise CommitConflictError("others were faster")

    def expire(turns: Turns) -> None:
        with LocalEngine(workers=1) as engine:
            lake = MemoryBranchLake(tmp_path / str(uuid.uuid4()) / "lake", engine)
            for _ in range(3):
                lake.write()
            monkeypatch.setattr(lake.repository, "commit_metadata", refused)
            turns.noting(monkeypatch, lake.repository, "commit_metadata")
            given = ExpireSnapshotsParameters(
                commit_to=["main"], older_than="PT0S", default_cutoff="1", commit_retries=1
            )
            try:
                ExpireSnapshotsService(given).run(replace(lake.services.run(), go_on=turns.go_on))
            finally:
                lake.close()

    assert ["refused"] * 2 == deeds_of(expire)


def test_s15_tags_are_made_and_deleted_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def tag(turns: Turns) -> None:
        with tagged_lake() as lake, monkeypatch.context() as patch:
            lake.commit(BEGIN - 20 * timedelta(minutes=1))
            lake.run(BEGIN, tag_policy=("hourly=2",))
            lake.lake.now = BEGIN + 5 * HOUR
            turns.noting(patch, MemoryRepository, "make_tag", "delete_tag")
            run = replace(lake.services.run(), go_on=turns.go_on)
            AutotagService(AutotagParameters(tag_policy=("hourly=2",))).run(run)

    assert ["make_tag", "make_tag", "delete_tag"] == deeds_of(tag)


def test_s15_live_sets_go_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def remove(turns: Turns) -> None:
        history = History()
        for days in (1, 40, 50):
            history.swept(days)
        with monkeypatch.context() as patch:
            turns.noting(patch, LiveSetService, "delete")
            prune(history.store, OLD, dry_run=False, clock=lambda: NOW, go_on=turns.go_on)

    assert ["delete", "delete"] == deeds_of(remove)


def test_s15_a_run_that_ends_early_is_no_sighting(monkeypatch: pytest.MonkeyPatch) -> None:
    def identify(turns: Turns) -> None:
        tables = MemoryTableCatalog.from_options({})
        with lake_at(START) as lake, in_memory(lake) as services, tables, tables.open(lake.name) as catalog:
            with_garbage(lake)
            run = replace(AssetLake(lake, services, catalog).run(), go_on=turns.go_on)
            parameters = IdentifyParameters(table=TABLE, default_cutoff="1", min_age=HOUR)
            with monkeypatch.context() as patch:
                turns.noting(patch, LocalTables, "append", "claim")
                IdentifyService(parameters).run(run)

    assert ["claim", "append", "append"] == deeds_of(identify)
