"""S22: the empty directory of a dropped table is an asset, and is removed on request only."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import on_disk
from nessie_gc_iceberg_files.deleter import IcebergFileDeleter
from nessie_gc_memory import MemoryLake, MemoryTableCatalog, delete, put
from turns import Turns
from unit.services.assets.conftest import LONG_AGO, TABLE, AssetLake

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.assets import AssetType
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.assets.delete import DeleteUnreferencedService
from nessie_gc_core.services.assets.parameters import DeleteUnreferencedParameters
from nessie_gc_core.services.assets.report import AssetsReport
from nessie_gc_core.services.assets.table import AssetTable
from nessie_gc_core.services.ending import Terminated

DAYS = timedelta(days=10)


@dataclass
class DirectoryLake:
    """A table that stays and one that was dropped, on a disk, seen by live sets before and after the drop."""

    assets: AssetLake
    directory: Path
    """That of the dropped table."""

    def identify(self, **given: Any) -> AssetsReport:
        return self.assets.identify(dropped_after=DAYS, **given)

    def directories(self) -> set[str]:
        """Those in the table of assets."""
        rows = self.assets.rows("path", "assetType")
        return {row["path"] for row in rows if row["assetType"] == AssetType.TABLE.value}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[DirectoryLake]:
    name = str(uuid.uuid4())
    lake = MemoryLake.named(name)
    lake.now = LONG_AGO
    kept = lake.table("db.kept", location="memory://warehouse/db/kept").append("k.parquet")
    gone = lake.table("db.gone", location="memory://warehouse/db/gone").append("g.parquet")
    lake.commit("main", put(kept.version), put(gone.version))
    lake.advance(timedelta(days=20))
    with (
        LocalEngine(workers=2) as engine,
        MemoryTableCatalog.from_options({}) as tables,
        tables.open(name) as catalog,
    ):
        first = on_disk(lake, tmp_path, engine)
        first.collect("1")
        lake.commit("main", delete("db.gone"))
        lake.advance(timedelta(days=1))
        services = replace(on_disk(lake, tmp_path, engine), store=first.store)
        services.collect("1")
        lake.advance(timedelta(days=20))
        yield DirectoryLake(AssetLake(lake, services, catalog), tmp_path / "warehouse" / "db" / "gone")
    MemoryLake.forget(name)


def emptied(lake: DirectoryLake) -> None:
    """The files of the dropped table go first."""
    lake.identify()
    assert lake.directories() == set()
    assert lake.assets.delete(seen_count=1).outcomes[Outcome.DELETED].files > 0
    assert lake.directory.is_dir()
    assert not [path for path in lake.directory.rglob("*") if path.is_file()]


def test_s22_an_empty_directory_is_found_and_removed_on_request(lake: DirectoryLake) -> None:
    emptied(lake)
    lake.identify()
    assert lake.directories() == {f"{lake.directory.as_uri()}/"}
    spared = lake.assets.delete(seen_count=1)
    assert (spared.outcomes[Outcome.SPARED].files, lake.directory.is_dir()) == (1, True)
    would = lake.assets.delete(seen_count=1, remove_directories=True, dry_run=True)
    assert (would.outcomes[Outcome.WOULD_DELETE].files, lake.directory.is_dir()) == (1, True)
    done = lake.assets.delete(seen_count=1, remove_directories=True)
    assert (done.outcomes[Outcome.DELETED].files, done.tried, lake.directory.exists()) == (1, 1, False)
    assert lake.directories() == set()
    assert lake.directory.with_name("kept").is_dir()


def test_s22_a_directory_into_which_something_has_come_stays(lake: DirectoryLake) -> None:
    emptied(lake)
    lake.identify()
    (lake.directory / "data" / "new.parquet").write_bytes(b"x")
    report = lake.assets.delete(seen_count=1, remove_directories=True)
    assert report.outcomes[Outcome.DELETED].files == 0
    assert (lake.directory / "data" / "new.parquet").exists()


def test_s22_a_directory_in_which_another_table_lives_is_none(lake: DirectoryLake, tmp_path: Path) -> None:
    emptied(lake)
    inner = lake.assets.lake.table("db.inner", location="memory://warehouse/db/gone/inner")
    lake.assets.lake.commit("main", put(inner.version))
    services = replace(
        on_disk(lake.assets.lake, tmp_path, lake.assets.services.engine), store=lake.assets.services.store
    )
    lake.assets.services = services
    for path in (lake.directory / "data", lake.directory / "metadata"):
        for file in path.iterdir():
            file.unlink()
    lake.identify()
    assert lake.directories() == set()


def test_s15_a_run_that_has_to_end_removes_no_directory_and_drops_no_table(
    lake: DirectoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied(lake)
    lake.identify()
    lake.assets.lake.advance(timedelta(hours=1))
    parameters = DeleteUnreferencedParameters(table=TABLE, seen_count=1, remove_directories=True, drop_gc_table=True)
    done = list[str]()
    for turns in map(Turns, itertools.count()):
        with monkeypatch.context() as patch:
            turns.noting(patch, IcebergFileDeleter, "remove_empty_directory")
            turns.noting(patch, AssetTable, "drop")
            with suppress(Terminated):
                DeleteUnreferencedService(parameters).run(replace(lake.assets.run(), go_on=turns.go_on))
        assert ([], []) == (turns.unasked, turns.late)
        done += turns.deeds
        if "drop" in done:
            break
    assert ["remove_empty_directory", "drop"] == done


def test_s35_directories_stay_while_another_process_collects(lake: DirectoryLake) -> None:
    emptied(lake)
    lake.identify()
    run = lake.assets.run()
    identity, seen = run.repository.identity(), list[str]()

    def others_begin_after_the_sweep() -> None:
        holder = run.store.lease(identity)
        if holder is not None:
            seen.append(holder.owner)
        elif seen:
            run.store.acquire_lease(identity, "others", host="elsewhere", process=1, duration=timedelta(hours=1))

    lake.assets.lake.advance(timedelta(hours=1))
    parameters = DeleteUnreferencedParameters(table=TABLE, seen_count=1, remove_directories=True)
    report = DeleteUnreferencedService(parameters).run(replace(run, go_on=others_begin_after_the_sweep))
    assert (1, 0) == tuple(report.outcomes[each].files for each in (Outcome.SPARED, Outcome.DELETED))
    assert lake.directory.is_dir()
    assert report.assets is not None
    reasons = {row["reason"] for row in report.assets.summary().to_pylist()}
    assert any("process 1 on elsewhere" in str(reason) for reason in reasons)
