"""A plain catalog is collected: what its tables list stays, what only storage knows goes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from collecting import LakeServices
from expiry_lakes import rewrite
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.guarded_io import GuardedFileIO
from nessie_gc_memory import MemoryLiveSetStore
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io import InputFile
from pyiceberg.table import Table

from nessie_gc_core.engines.local.engine import LocalEngine
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

Change = Callable[[dict[str, Any]], object]
ROWS = pa.table({"id": pa.array([1, 2], pa.int64())})


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    (tmp_path / "warehouse").mkdir()
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with load_catalog("prod", type="sql", uri=uri, warehouse=f"file://{tmp_path}/warehouse") as catalog:
        catalog.create_namespace("sales")
        yield catalog


def write(catalog: Catalog, name: str, *, appends: int, properties: dict[str, str] | None = None) -> Table:
    """A table with some snapshots, and a file beside them that nothing names."""
    table = catalog.create_table(f"sales.{name}", ROWS.schema, properties=properties or {})
    for _ in range(appends):
        table.append(ROWS)
    orphan(table).parent.mkdir(parents=True, exist_ok=True)
    orphan(table).write_bytes(b"left over")
    return table


def orphan(table: Table) -> Path:
    return Path(table.location().removeprefix("file://"), "data", "orphan.parquet")


def stage_second_snapshot(metadata: dict[str, Any]) -> None:
    """What write-audit-publish leaves: a snapshot that the table never showed."""
    first, second, third, *_ = metadata["snapshots"]
    second["summary"]["wap.id"] = "audit-me"
    third["parent-snapshot-id"] = first["snapshot-id"]
    metadata["snapshot-log"] = [e for e in metadata["snapshot-log"] if e["snapshot-id"] != second["snapshot-id"]]


def collect(
    folder: Path, sweep: SweepParameters | None = None, *, read_before: bool = False, **more: OptionValue
) -> GcReport:
    """Ages every file, and collects with the policy that keeps least; perhaps after all contents were read once."""
    long_ago = time.time() - 30 * 86400
    for path in (folder / "warehouse").rglob("*"):
        os.utime(path, (long_ago, long_ago))
    options: dict[str, OptionValue] = {"catalog_name": "prod", "uri": f"sqlite:///{folder}/catalog.db", **more}
    engine = LocalEngine(spill_directory=str(folder))
    store = MemoryLiveSetStore.from_options({})
    with IcebergCatalogConnector.from_options(options) as repository, store, engine:
        services = LakeServices(repository=repository, store=store, engine=engine, clock=utc_now)
        return (services.read_before() if read_before else services).collect("1", sweep=sweep)


def collect_on_days(folder: Path, days: Mapping[int, Callable[[], object]], **more: OptionValue) -> None:
    """Collections so many days ago, each after something happened; what is gone for 10 days is swept."""
    now, ages = utc_now(), [0]
    store = MemoryLiveSetStore.from_options({})
    store.clock = lambda: now - timedelta(days=ages[-1])
    options: dict[str, OptionValue] = {"catalog_name": "prod", "uri": f"sqlite:///{folder}/catalog.db", **more}
    sweep = SweepParameters(dropped_after=timedelta(days=10), max_live_set_age=timedelta(days=90))
    with store, LocalEngine(spill_directory=str(folder)) as engine:
        for day, happens in days.items():
            ages.append(day)
            happens()
            with IcebergCatalogConnector.from_options(options) as repository:
                LakeServices(repository=repository, store=store, engine=engine, clock=store.clock).collect(sweep=sweep)


def test_every_listed_snapshot_can_still_be_read_and_orphans_are_gone(catalog: Catalog, tmp_path: Path) -> None:
    table = write(catalog, "orders", appends=4)

    report = collect(tmp_path)

    rows = [table.scan(snapshot_id=each.snapshot_id).to_arrow().num_rows for each in table.metadata.snapshots]
    assert [2, 4, 6, 8] == rows
    assert all(Path(entry.metadata_file.removeprefix("file://")).is_file() for entry in table.metadata.metadata_log)
    assert not orphan(table).exists()
    assert 1 == report.unreferenced.files
    assert 0 == report.exit_code


def test_files_of_expired_snapshots_go(catalog: Catalog, tmp_path: Path) -> None:
    table = write(catalog, "orders", appends=3)
    expired = table.metadata.snapshots[0]
    table.maintenance.expire_snapshots().by_id(expired.snapshot_id).commit()

    report = collect(tmp_path)

    assert not Path(expired.manifest_list.removeprefix("file://")).exists()
    assert 2 == report.unreferenced.files
    assert 0 == report.lost.files
    assert 6 == catalog.load_table("sales.orders").scan().to_arrow().num_rows


def test_what_two_tables_write_to_in_the_layout_for_object_stores_is_swept_by_name(
    catalog: Catalog, tmp_path: Path
) -> None:
    shared = tmp_path / "warehouse" / "all"
    properties = {"write.data.path": f"file://{shared}", "write.object-storage.enabled": "true"}
    tables = [write(catalog, name, appends=3, properties=properties) for name in ("orders", "clicks")]
    data = [path for path in shared.rglob("*.parquet") if len(path.relative_to(shared).parts) > 4]
    assert 6 == len(data)
    left_over = data[0].with_name("left-over.parquet")
    left_over.write_bytes(b"left over")

    refused = collect(tmp_path).refused
    assert left_over.exists()
    report = collect(tmp_path, SweepParameters(allow=[f"file://{tmp_path}/warehouse"]))

    assert [f"file://{shared}"] == list(refused)
    assert not left_over.exists()
    assert all(path.exists() for path in data)
    assert [6, 6] == [catalog.load_table(table.name()).scan().to_arrow().num_rows for table in tables]
    assert ({}, {}, 0) == (report.refused, report.unread, report.exit_code)


def test_a_location_that_a_table_has_left_is_not_swept_and_keeps_what_is_needed(
    catalog: Catalog, tmp_path: Path
) -> None:
    """Its metadata log still names files there, which may be those of a table that others registered elsewhere."""
    table = write(catalog, "orders", appends=2)
    left = orphan(table)
    rewrite(table, lambda metadata: metadata.update({"location": f"file://{tmp_path}/warehouse/sales/moved"}))
    moved = catalog.load_table("sales.orders")
    moved.append(ROWS)
    orphan(moved).write_bytes(b"left over")

    report = collect(tmp_path)

    assert left.exists()
    assert not orphan(moved).exists()
    moved = catalog.load_table("sales.orders")
    assert [2, 4, 6] == [moved.scan(snapshot_id=s.snapshot_id).to_arrow().num_rows for s in moved.metadata.snapshots]
    assert 0 == report.lost.files


@pytest.mark.parametrize("theirs", ["all", "all-of-theirs"])
def test_a_table_that_another_tool_collects_freezes_what_it_writes_to_and_nothing_else(
    catalog: Catalog, tmp_path: Path, theirs: str
) -> None:
    shared, place = tmp_path / "warehouse" / "all", f"file://{tmp_path}/warehouse/{theirs}"
    write(catalog, "orders", appends=2, properties={"write.data.path": f"file://{shared}"})
    write(catalog, "theirs", appends=2, properties={"write.data.path": place, "gc.enabled": "false"})
    left_over = shared / "left-over.parquet"
    left_over.write_bytes(b"left over")

    report = collect(tmp_path, SweepParameters(allow=[f"file://{tmp_path}/warehouse"]))

    assert left_over.exists() == (theirs == "all")
    assert 4 == catalog.load_table("sales.theirs").scan().to_arrow().num_rows
    assert 0 == report.exit_code


def test_a_table_that_another_tool_collects_keeps_every_file(catalog: Catalog, tmp_path: Path) -> None:
    table = write(catalog, "orders", appends=2, properties={"gc.enabled": "false"})

    report = collect(tmp_path)

    assert orphan(table).exists()
    assert 0 == report.unreferenced.files


@pytest.mark.parametrize("options", [{"exclude": [r"sales\.left"]}, {"include": [r"sales\.orders"]}])
def test_a_table_that_is_left_out_keeps_every_file_wherever_it_is(
    catalog: Catalog, tmp_path: Path, options: dict[str, Any]
) -> None:
    orders = write(catalog, "orders", appends=2)
    elsewhere = f"{orders.location()}/of-another"  # in the location of a table that is collected
    left = write(catalog, "left", appends=2, properties={"write.data.path": elsewhere})
    inside = write(catalog, "inside", appends=1)

    report = collect(tmp_path, None, **options)

    assert 4 == catalog.load_table("sales.left").scan().to_arrow().num_rows
    assert orphan(left).exists()
    assert orphan(orders).exists()  # the two places are one unit, which is frozen
    assert orphan(inside).exists() == ("include" in options)
    assert left.location() in report.unread
    assert "ICEBERG_CONTENT_LEFT_OUT" in report.unread[left.location()]
    assert 0 == report.exit_code


def test_files_of_a_table_that_is_left_out_stay_in_a_place_that_is_swept(catalog: Catalog, tmp_path: Path) -> None:
    orders = write(catalog, "orders", appends=1)
    left = write(catalog, "left", appends=2)
    borrowed = Path(orders.location().removeprefix("file://"), "data", "borrowed.parquet")
    data = [Path(each.file.file_path.removeprefix("file://")) for each in left.scan().plan_files()]
    borrowed.write_bytes(data[0].read_bytes())
    left.add_files([borrowed.as_uri()])

    collect(tmp_path, exclude=[r"sales\.left"])

    assert borrowed.exists()
    assert not orphan(orders).exists()
    assert 6 == catalog.load_table("sales.left").scan().to_arrow().num_rows


def test_a_table_of_somebody_else_is_collected_only_where_it_is_named(catalog: Catalog, tmp_path: Path) -> None:
    table = write(catalog, "orders", appends=2, properties={"self-optimizing.enabled": "true"})

    left_alone = collect(tmp_path)
    was_there = orphan(table).exists()
    collect(tmp_path, managed_tables=[r"sales\.orders"])

    assert was_there
    assert "ICEBERG_TABLE_MANAGED_BY_AMORO" in left_alone.unread[table.location()]
    assert not orphan(table).exists()


@pytest.mark.parametrize("left_out", [False, True])
def test_s20_a_table_that_was_left_out_is_not_swept_when_it_is_dropped(
    catalog: Catalog, tmp_path: Path, left_out: bool
) -> None:
    write(catalog, "orders", appends=1)
    table = write(catalog, "left", appends=1)
    long_ago = time.time() - 90 * 86400
    for path in (tmp_path / "warehouse").rglob("*"):
        os.utime(path, (long_ago, long_ago))
    options: dict[str, OptionValue] = {"exclude": [r"sales\.left"]} if left_out else {}

    drop = {40: lambda: None, 25: lambda: None, 24: lambda: catalog.drop_table("sales.left"), 1: lambda: None}
    collect_on_days(tmp_path, drop, **options)

    assert left_out == Path(table.metadata_location.removeprefix("file://")).exists()


def test_a_table_that_cannot_be_read_stops_no_other_where_its_place_is_told(catalog: Catalog, tmp_path: Path) -> None:
    broken = write(catalog, "broken", appends=2)
    orders = write(catalog, "orders", appends=2)
    Path(broken.metadata_location.removeprefix("file://")).write_text("{", encoding="utf-8")

    report = collect(tmp_path, unreadable_tables={"sales.broken": broken.location()})

    assert orphan(broken).exists()
    assert not orphan(orders).exists()
    assert broken.location() in report.unread


def test_a_table_that_cannot_be_read_stops_all_where_nothing_tells_where_its_files_are(
    catalog: Catalog, tmp_path: Path
) -> None:
    broken = write(catalog, "broken", appends=2)
    orders = write(catalog, "orders", appends=2)
    Path(broken.metadata_location.removeprefix("file://")).write_text("{", encoding="utf-8")

    report = collect(tmp_path)

    assert orphan(broken).exists()
    assert orphan(orders).exists()
    assert 1 == report.exit_code
    assert any("`set_aside` 'sales[.]broken'" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    "breaks",
    [
        lambda metadata: metadata.update({"format-version": 99}),
        lambda metadata: metadata["snapshots"].pop(),
        lambda metadata: Path(metadata["snapshots"][-1]["manifest-list"].removeprefix("file://")).write_bytes(b""),
    ],
    ids=["later format version", "lost its newest snapshot", "newest manifest list is empty"],
)
def test_s31_a_table_that_never_was_read_to_its_end_keeps_what_it_took_over(
    catalog: Catalog, tmp_path: Path, breaks: Callable[[dict[str, Any]], object]
) -> None:
    """Older metadata files of its log, which are kept as files, and older snapshots do not say what it needs."""
    orders, later = write(catalog, "orders", appends=1), write(catalog, "later", appends=6)
    taken = orphan(orders).with_name("taken.parquet")
    pq.write_table(ROWS, taken)
    later.add_files([taken.as_uri()])
    rewrite(later, breaks)

    report = collect(tmp_path)

    assert taken.exists()
    assert 1 == report.exit_code
    assert any("`set_aside` 'sales[.]later'" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("properties", "options"),
    [({}, {}), ({"gc.enabled": "false"}, {}), ({}, {"exclude": ["sales.orders"]})],
    ids=["plain", "gc.enabled=false", "excluded"],
)
def test_s06_a_table_that_only_its_reader_can_read_keeps_every_file_wherever_its_metadata_is(
    catalog: Catalog,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    properties: dict[str, str],
    options: dict[str, Any],
) -> None:
    """Its catalog has no credentials for it, and can but guess that it is where its metadata is."""
    elsewhere = f"file://{tmp_path}/warehouse/elsewhere"
    places = {"write.metadata.path": f"{elsewhere}/metadata", **properties}
    orders = write(catalog, "orders", appends=3, properties=places)
    rewrite(orders, log_at(orders.location()))
    fine = write(catalog, "fine", appends=1)
    unreadable_at(monkeypatch, elsewhere)
    before = files_of(orders) | files_of(fine) - {orphan(fine)}

    report = collect(tmp_path, SweepParameters(allow=[f"file://{tmp_path}/warehouse"]), retries=0, **options)

    assert before == files_of(orders) | files_of(fine)
    assert {f"{orders.location()}/", elsewhere} <= set(report.unknown)
    assert 1 == report.exit_code


def files_of(table: Table) -> set[Path]:
    return {path for path in Path(table.location().removeprefix("file://")).rglob("*") if path.is_file()}


def unreadable_at(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    """The catalog cannot read any file there."""
    read = GuardedFileIO.new_input

    def refused(self: GuardedFileIO, location: str) -> InputFile:
        if location.startswith(place):
            raise PermissionError(location)
        return read(self, location)

    monkeypatch.setattr(GuardedFileIO, "new_input", refused)


def log_at(location: str) -> Change:
    """An older metadata file of the log is at a location; it is of before a property moved the metadata."""
    older = Path(location.removeprefix("file://"), "metadata", "00000-older.metadata.json")
    older.parent.mkdir(parents=True, exist_ok=True)
    older.write_text("{}", encoding="utf-8")
    entry = {"metadata-file": f"file://{older}", "timestamp-ms": 1}
    return lambda metadata: metadata["metadata-log"].insert(0, entry)


ODD: dict[str, Change] = {
    "a snapshot id above 64 bits": lambda found: found["snapshots"][0].update({"snapshot-id": 2**70}),
    "a current snapshot id above 64 bits": lambda found: found.update({"current-snapshot-id": 2**64}),
    "half a character in the location": lambda found: found.update({"location": found["location"] + "/\ud800"}),
    "NUL in the location": lambda found: found.update({"location": found["location"] + "/\0/x"}),
    "half a character in the metadata log": lambda found: found["metadata-log"][0].update({"metadata-file": "\udc80"}),
    "NUL in the table's id": lambda found: found.update({"table-uuid": "\0"}),
}


@pytest.mark.parametrize("odd", ODD)
def test_s18_a_table_with_something_odd_in_it_keeps_every_file_and_stops_no_other(
    catalog: Catalog, tmp_path: Path, odd: str
) -> None:
    broken = write(catalog, "broken", appends=2)
    orders = write(catalog, "orders", appends=2)
    metadata = Path(broken.metadata_location.removeprefix("file://"))
    changed = json.loads(metadata.read_text(encoding="utf-8"))
    ODD[odd](changed)
    metadata.write_text(json.dumps(changed), encoding="utf-8")
    before = {path for path in (tmp_path / "warehouse/sales/broken").rglob("*") if path.is_file()}

    report = collect(tmp_path, read_before=True)

    assert before == {path for path in (tmp_path / "warehouse/sales/broken").rglob("*") if path.is_file()}
    assert not orphan(orders).exists()
    assert 1 == report.exit_code or report.unread


def test_a_missing_file_of_the_metadata_log_stops_nothing(catalog: Catalog, tmp_path: Path) -> None:
    table = write(catalog, "orders", appends=3)
    Path(table.metadata.metadata_log[0].metadata_file.removeprefix("file://")).unlink()

    report = collect(tmp_path)

    assert not orphan(table).exists()
    assert {} == report.unknown
    assert 1 == report.lost.files


def test_s25_a_staged_snapshot_stays_where_policies_give_up_listed_ones(catalog: Catalog, tmp_path: Path) -> None:
    table = write(catalog, "orders", appends=4)
    rewrite(table, stage_second_snapshot)

    report = collect(tmp_path, keep_listed_snapshots=False)

    lists = [Path(each.manifest_list.removeprefix("file://")) for each in table.metadata.snapshots]
    assert [False, True, False, True] == [path.exists() for path in lists]
    assert 4 == table.scan(snapshot_id=table.metadata.snapshots[1].snapshot_id).to_arrow().num_rows
    assert 0 == report.exit_code


def test_s25_a_table_without_a_current_snapshot_keeps_all_whatever_the_policy(catalog: Catalog, tmp_path: Path) -> None:
    table = write(catalog, "orders", appends=4)
    rewrite(table, lambda metadata: metadata.update({"current-snapshot-id": None, "refs": {}, "snapshot-log": []}))

    report = collect(tmp_path, keep_listed_snapshots=False)

    rows = [table.scan(snapshot_id=each.snapshot_id).to_arrow().num_rows for each in table.metadata.snapshots]
    assert [2, 4, 6, 8] == rows
    assert not orphan(table).exists()
    assert 0 == report.exit_code
