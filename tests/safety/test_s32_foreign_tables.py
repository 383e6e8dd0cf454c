"""S32: what other formats and tools keep beside an Iceberg table is not ours: their places are frozen, and named."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from collecting import LakeServices, on_disk
from expiry_lakes import ExpiryLake
from in_quarantine import purge, with_garbage
from nessie_gc_memory import MemoryLake, TableState, content, delete, put
from tagged_files import MONTH, TAG, tagged

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.explain.parameters import ExplainParameters
from nessie_gc_core.services.explain.report import Standing
from nessie_gc_core.services.explain.service import ExplainService
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService
from nessie_gc_core.services.parameters import SweepParameters

HOME = "memory://wh/db/t"
OLD = datetime(2020, 1, 1, tzinfo=UTC)
ID = "3fa85f64-5717-4562-b3fc-2c963f66afa6"
MARKS = {
    "_delta_log/00000000000000000000.json": "a Delta Lake table",
    "_delta_log/_last_checkpoint": "a Delta Lake table",
    "_symlink_format_manifest/manifest": "a Delta Lake table",
    ".hoodie/hoodie.properties": "an Apache Hudi table",
    "day=1/.hoodie_partition_metadata": "an Apache Hudi table",
    "day=1/.hoodie_partition_metadata.parquet": "an Apache Hudi table",
    "snapshot/snapshot-1": "an Apache Paimon table",
    "snapshot/LATEST": "an Apache Paimon table",
    "schema/schema-0": "an Apache Paimon table",
    f"manifest/manifest-list-{ID}-0": "an Apache Paimon table",
    f"manifest/manifest-{ID}-1": "an Apache Paimon table",
    "_versions/1.manifest": "a Lance dataset",
    f"_transactions/0-{ID}.txn": "a Lance dataset",
    f"main/t/ducklake-{ID}.parquet": "a DuckLake table",
    "base_0000001/_orc_acid_version": "a transactional Hive table",
    "_spark_metadata/0.compact": "the log of a Spark file sink",
    "_checkpoint/offsets/12": "the checkpoint of a Spark stream",
    "flink/8d7f/chk-41/_metadata": "a Flink checkpoint",
}
DELTA = "_delta_log/00000000000000000000.json"
NO_MARKS = (
    "data/snapshot/a.parquet",
    "data/schema/part.parquet",
    "snapshot/00000-0-data.parquet",
    "data/manifest/manifest-of-july.parquet",
    "metadata/snap-1-1-3fa85f64.avro",
    "data/_delta_log=1/a.parquet",
    "data/offsets/a.parquet",
    "data/hoodie/x.parquet",
    "_SUCCESS",
)


class TwoTables:
    """A lake of two tables, each with a file that nobody needs."""

    def __init__(self, lake: MemoryLake) -> None:
        self.lake = lake
        self.table = self._table("t")
        self.other = self._table("u")
        self.dead, self.dead_elsewhere = (lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in "tu")

    def _table(self, name: str) -> TableState:
        table = self.lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("a.parquet")
        self.lake.commit("main", put(table.version))
        return table

    def put(self, *names: str) -> list[str]:
        return [self.lake.put(f"{HOME}/{name}") for name in names]

    def age(self) -> None:
        self.lake.advance(timedelta(days=5))


@pytest.fixture
def two(lake: MemoryLake) -> TwoTables:
    return TwoTables(lake)


@pytest.mark.parametrize(("mark", "inside"), [*((mark, "") for mark in MARKS), (DELTA, "deep/down/")])
def test_s32_a_table_of_another_format_freezes_its_place_at_every_depth(
    two: TwoTables, services: LakeServices, mark: str, inside: str
) -> None:
    theirs = {*two.put(inside + mark, f"{inside}part-0.parquet", f"{inside}dv.bin"), two.dead}
    two.age()
    report = services.collect("1")
    assert theirs <= two.lake.paths()
    assert two.dead_elsewhere not in two.lake.paths()
    assert [f"{HOME}/"] == list(report.unread)
    assert MARKS[mark] in report.unread[f"{HOME}/"]
    assert f"{HOME}/{inside}{mark}" in report.unread[f"{HOME}/"]
    assert 0 == report.exit_code


@pytest.mark.parametrize("name", NO_MARKS)
def test_s32_a_folder_of_the_same_name_is_no_mark(two: TwoTables, services: LakeServices, name: str) -> None:
    (garbage,) = two.put(name)
    two.age()
    report = services.collect("1")
    assert not report.unread
    assert garbage not in two.lake.paths()


def test_s32_every_format_that_is_there_is_named(two: TwoTables, services: LakeServices) -> None:
    two.put(DELTA, ".hoodie/hoodie.properties")
    two.age()
    said = services.collect("1").unread[f"{HOME}/"]
    assert "a Delta Lake table and an Apache Hudi table" in said


def test_s32_both_engines_find_it_in_a_listing_and_in_a_file_list(
    two: TwoTables, engine: Engine, tmp_path: Path
) -> None:
    two.put(DELTA, "_delta_log/.00000000000000000000.json.crc", "part-0.parquet")
    two.age()
    services = on_disk(two.lake, tmp_path / "lake", engine)
    files = [path for path in (tmp_path / "lake" / "wh").rglob("*") if path.is_file()]
    times = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in files]
    columns = {
        "file_path": [f"file:{path}" for path in files],
        "last_modified": pa.array(times, pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table(columns), tmp_path / "list.parquet")
    for sweep in (SweepParameters(dry_run=True), SweepParameters(file_list=[str(tmp_path / "list.parquet")])):
        report = services.collect("1", sweep=sweep)
        assert ["db/t/"] == [location[-5:] for location in report.unread]
        assert 2 == report.unreferenced.files
    gone = {path.relative_to(tmp_path / "lake").as_posix() for path in files if not path.exists()}
    assert two.dead_elsewhere.removeprefix("memory://") in gone
    assert not any(path.startswith("wh/db/t/") for path in gone)


def test_s32_remove_orphan_files_leaves_it_alone(two: TwoTables, services: LakeServices) -> None:
    two.put(DELTA, "part-0.parquet")
    two.age()
    before = two.lake.paths()
    report = RemoveOrphanFilesService(RemoveOrphanFilesParameters(table="db.t")).run(services.run())
    assert before == two.lake.paths()
    assert "a Delta Lake table" in report.unread[f"{HOME}/"]


def test_s32_a_dropped_table_that_another_format_uses_stays(two: TwoTables, services: LakeServices) -> None:
    sweep = SweepParameters(dropped_after=timedelta(days=2))
    services.collect("1", sweep=sweep)
    two.lake.commit("main", delete("db.t"))
    mine = {two.dead, *two.put(DELTA, "part-0.parquet")}
    for _ in range(4):
        two.age()
        services.collect("1", sweep=sweep)
    assert mine <= two.lake.paths()


def test_s32_explain_says_what_uses_the_place(two: TwoTables, services: LakeServices) -> None:
    two.put(DELTA)
    two.age()
    (found,) = ExplainService(ExplainParameters(file=(two.dead,))).run(services.run()).files
    assert Standing.FROZEN == found.standing
    assert "a Delta Lake table" in (found.reason or "")


def test_s32_no_snapshot_expires_where_another_format_needs_the_files(expiry_lake: ExpiryLake) -> None:
    expiry_lake.table()
    log = expiry_lake.warehouse / "db" / "t" / DELTA
    log.parent.mkdir()
    log.touch()
    snapshots, files = expiry_lake.snapshots(), expiry_lake.files()
    report = expiry_lake.expire()
    assert [Committed.LEFT_ALONE] == [table.outcome for table in report.tables]
    assert (snapshots, files) == (expiry_lake.snapshots(), expiry_lake.files())
    assert any("a Delta Lake table" in reason for reason in report.collection.unread.values())


@pytest.mark.parametrize("said", [{"properties": {"XTABLE_METADATA": "{}"}}, {"properties": {}}])
def test_s32_a_table_that_is_translated_from_another_format_freezes_its_place(
    lake: MemoryLake, services: LakeServices, tmp_path: Path, said: dict[str, dict[str, str]]
) -> None:
    metadata, garbage = (
        tmp_path / "t" / "metadata" / "00000-a.metadata.json",
        tmp_path / "t" / "data" / "nobody.parquet",
    )
    for file in (metadata, garbage):
        file.parent.mkdir(parents=True)
    metadata.write_text(json.dumps({"format-version": 2, "location": (tmp_path / "t").as_uri(), **said}))
    garbage.touch()
    for file in (metadata, garbage):
        os.utime(file, (lake.time.timestamp(),) * 2)
    lake.commit("main", put(content("db.t", metadata_location=metadata.as_uri(), content_type=ICEBERG_TABLE)))
    lake.advance(timedelta(days=5))
    report = services.collect("1")
    assert bool(said["properties"]) == garbage.exists()
    assert list(said["properties"]) == ["XTABLE_METADATA" for reason in report.unread.values() if "XTable" in reason]
    assert 0 == report.exit_code


def defer_also(services: LakeServices, live_set: UUID, *paths: str) -> None:
    """A sweep that records its deletions, and those of more files of the table, as older versions did."""
    more = [
        FileDeletion(location=f"{HOME}/", path=path.removeprefix(f"{HOME}/"), size=1, modified=OLD) for path in paths
    ]

    def add(phase: str, done: int, total: int | None) -> None:
        if phase == "delete":
            services.store.add_file_deletions(live_set, more)

    services.sweep(live_set, SweepParameters(defer_deletes=True), progress=add)


# ---- what was found before somebody made such a table -------------------------------------------------------
@pytest.mark.parametrize(
    "mark",
    [
        DELTA,
        ".hoodie/hoodie.properties",
        "snapshot/snapshot-1",
        "_versions/1.manifest",
    ],
)
def test_s32_a_deferred_deletion_sees_a_table_that_was_made_since(
    two: TwoTables, services: LakeServices, mark: str
) -> None:
    two.age()
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    two.put(mark)
    report = services.delete_deferred(live_set)
    assert two.dead in two.lake.paths()
    assert two.dead_elsewhere not in two.lake.paths()
    assert MARKS[mark] in report.unread[f"{HOME}/"]
    assert (2, 2) == (report.outcomes[Outcome.SPARED].files, report.outcomes[Outcome.DELETED].files)


def test_s32_a_log_whose_deletion_was_recorded_before_keeps_all_of_its_place(
    two: TwoTables, services: LakeServices
) -> None:
    two.age()
    live_set = services.mark("1")
    kept = two.put("deep/_delta_log/00000000000000000000.json", "deep/part-0.parquet")
    defer_also(services, live_set, *kept)
    report = services.delete_deferred(live_set)
    assert {two.dead, *kept} <= two.lake.paths()
    assert "a Delta Lake table" in report.unread[f"{HOME}/"]


def test_s32_where_a_deferred_deletion_cannot_look_nothing_goes(two: TwoTables, services: LakeServices) -> None:
    two.age()
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    two.lake.faults.listing[f"{HOME}/_delta_log/"] = ListingError("the connection broke")
    report = services.delete_deferred(live_set)
    assert two.dead in two.lake.paths()
    assert "the connection broke" in report.unknown[f"{HOME}/"]


def test_s32_a_purge_of_tagged_files_sees_a_table_that_was_made_since(lake: MemoryLake, services: LakeServices) -> None:
    with_garbage(lake)
    tagged(services)
    lake.advance(MONTH)
    services.sweep(services.mark(), TAG)
    lake.put(f"{HOME}/{DELTA}")
    before = lake.paths()
    report = purge(services)
    assert (0, 3) == (report.done.files, report.waiting.files)
    assert before == lake.paths()
    assert "a Delta Lake table" in str(report.warnings)
