"""What is due is said from metadata alone: on a plain catalog, and on Nessie."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from click.testing import CliRunner
from expiry_lakes import ROWS, ExpiryLake, rewrite
from lakes.nessie import NessieCommits

from nessie_gc_core import Collector
from nessie_gc_core.cli.main import cli
from nessie_gc_core.demo.lake import Lake
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import HealthReport, TableHealth
from nessie_gc_core.services.health.service import HealthService
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DAY = 86_400_000


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> ExpiryLake:
    return expiry_lake


def health(lake: ExpiryLake, **parameters: Any) -> HealthReport:
    return HealthService(HealthParameters(**parameters)).run(lake.run())


def found(report: HealthReport) -> dict[str, list[str]]:
    return {table.table: sorted(finding.name.value for finding in table.findings) for table in report.tables}


def of(report: HealthReport, name: str = "db.t") -> TableHealth:
    return next(table for table in report.tables if table.table == name)


# ---- a plain catalog ----------------------------------------------------------------------------------
def test_it_says_what_is_due_of_a_plain_catalog(lake: ExpiryLake) -> None:
    lake.table(history__expire__max_snapshot_age_ms="0")
    lake.table("db.u", overwrites=1)
    time.sleep(0.01)

    report = health(lake, snapshot_threshold=6)

    assert {"db.t": ["snapshots"], "db.u": []} == found(report)
    assert ["db.t", "db.u"] == [table.table for table in report.tables]
    table, loaded = of(report), lake.load()
    assert (7, 6, 1) == (table.snapshots, table.expirable, table.data_files)
    assert loaded.metadata_location == table.metadata_location
    assert len(loaded.metadata.metadata_log) == table.metadata_versions
    assert Path(loaded.metadata_location.removeprefix("file://")).stat().st_size == table.metadata_bytes
    assert (0, 2) == (table.delete_files, table.records)
    assert 0 == report.exit_code


def test_it_counts_what_would_expire(lake: ExpiryLake) -> None:
    lake.table(history__expire__max_snapshot_age_ms="0", history__expire__min_snapshots_to_keep="2")
    time.sleep(0.01)
    said = of(health(lake)).expirable
    assert [said] == [each.expired for each in lake.expire(older_than=None, dry_run=True).tables]


def test_nothing_but_metadata_files_is_read(lake: ExpiryLake) -> None:
    table = lake.table()
    for path in lake.files():
        if not path.endswith(".metadata.json") or path != table.metadata_location.removeprefix("file://"):
            Path(path).unlink()
    assert 7 == of(health(lake)).snapshots


def test_s18_a_table_that_cannot_be_read_stops_no_other(lake: ExpiryLake) -> None:
    for name in ("db.t", "db.cut", "db.gone"):
        lake.table(name, overwrites=1)
    cut, gone = (Path(lake.load(name).metadata_location.removeprefix("file://")) for name in ("db.cut", "db.gone"))
    cut.write_text(cut.read_text(encoding="utf-8")[:-5], encoding="utf-8")
    gone.unlink()

    report = health(lake)

    assert {"db.cut": True, "db.gone": True, "db.t": False} == {t.table: t.problem is not None for t in report.tables}
    assert str(gone) in str(of(report, "db.gone").problem)
    assert 1 == report.exit_code
    assert "db.cut: cannot be read: " in str(report)


def test_a_table_of_somebody_else_is_named_and_not_ours(lake: ExpiryLake) -> None:
    lake.table(gc__enabled="false")
    report = health(lake)
    assert {"db.t": ["unread"]} == found(report)
    assert (False, ("ICEBERG_TABLE_GC_DISABLED",), 7) == (
        of(report).gc_enabled,
        of(report).unread,
        of(report).snapshots,
    )
    assert 0 == report.exit_code


def test_tables_are_chosen(lake: ExpiryLake) -> None:
    for name in ("db.a", "db.ab", "db.b"):
        lake.table(name, overwrites=1)
    assert {"db.a", "db.ab"} == set(found(health(lake, include=["db.a.*"])))
    assert {"db.a", "db.b"} == set(found(health(lake, exclude=["db.ab"])))
    assert {"db.b"} == set(found(health(lake, reference=["db.b"])))
    with pytest.raises(ConfigurationError, match=r"the branch or tag 'db\.c' does not exist"):
        health(lake, reference=["db.c"])


def test_metadata_that_makes_little_sense_is_no_reason_to_stop(lake: ExpiryLake) -> None:
    rewrite(lake.table(), lambda metadata: metadata["properties"].update({"write.target-file-size-bytes": "big"}))
    assert {"db.t": ["invalid-property"]} == found(health(lake))


# ---- what manifests say -------------------------------------------------------------------------------
def test_it_says_how_many_bytes_an_expiry_frees(lake: ExpiryLake) -> None:
    lake.table(history__expire__max_snapshot_age_ms="0")
    time.sleep(0.01)
    data = {path: Path(path).stat().st_size for path in lake.files() if path.endswith(".parquet")}
    said = of(health(lake)).reclaimable_bytes
    lake.expire(older_than=None)
    assert said == sum(data.values()) - sum(data[path] for path in data if Path(path).exists())


def test_manifests_are_read_when_asked_for(lake: ExpiryLake) -> None:
    table = lake.table("db.t", overwrites=1)
    for _ in range(4):
        table.append(ROWS)
    small = {"max_small_files": 3, "small_file_size": "1MB"}

    (plain,) = health(lake, **small).tables
    (exact,) = health(lake, read_manifests=True, **small).tables

    assert (False, 5, 5, None) == (plain.manifests_read, plain.data_files, plain.small_files, plain.partitions)
    assert (True, 5, 5, 1) == (exact.manifests_read, exact.data_files, exact.small_files, exact.partitions)
    assert (5, 1) == (exact.manifests, exact.due_partitions)
    assert sum(table.inspect.files()["file_size_in_bytes"].to_pylist()) == exact.due_bytes
    assert [["small-files"], ["manifests", "small-files"]] == [
        sorted(finding.name.value for finding in each.findings) for each in (plain, exact)
    ]


def test_s18_manifests_that_cannot_be_read_hide_nothing_that_metadata_says(lake: ExpiryLake) -> None:
    lake.table(history__expire__max_snapshot_age_ms="0")
    for path in lake.files():
        if path.endswith(".avro"):
            Path(path).unlink()
    report = health(lake, read_manifests=True, snapshot_threshold=1)
    assert {"db.t": ["snapshots"]} == found(report)
    assert ".avro" in str(of(report).problem)
    assert (7, False, 1) == (of(report).snapshots, of(report).manifests_read, report.exit_code)


def test_manifests_of_a_table_that_others_maintain_are_not_read(lake: ExpiryLake) -> None:
    lake.table(self_optimizing__enabled="true")
    for path in lake.files():
        if path.endswith(".avro"):
            Path(path).unlink()
    report = health(lake, read_manifests=True)
    assert {"db.t": ["unread"]} == found(report)
    assert (None, 0) == (of(report).problem, report.exit_code)


# ---- the last sweep -----------------------------------------------------------------------------------
def test_a_sweep_of_everything_counts_and_a_dry_run_or_an_expiry_does_not(lake: ExpiryLake) -> None:
    lake.table()
    lake.age()
    never = health(lake)
    lake.services().collect(sweep=SweepParameters(dry_run=True))
    lake.expire()
    assert [live_set.status.value for live_set in lake.store.live_sets()].count("EXPIRY_SUCCESS") == 1
    still = health(lake)
    lake.services().collect()
    swept = health(lake)

    assert [None, None] == [never.last_sweep, still.last_sweep]
    assert ["orphans"] == [finding.name.value for finding in never.findings]
    assert swept.last_sweep is not None
    assert () == swept.findings
    assert ["orphans"] == [finding.name.value for finding in health(lake, sweep_interval=timedelta(0)).findings]


# ---- the command, and Python --------------------------------------------------------------------------
def test_the_command_needs_no_engine_and_prints_a_table_or_json(lake: ExpiryLake) -> None:
    lake.table(history__expire__max_snapshot_age_ms="0")
    time.sleep(0.01)
    command = ["health", "--repository", "iceberg-catalog", "-u", lake.uri, "-r", "catalog_name=prod"]
    command += ["--jdbc-url", f"sqlite:///{lake.folder}/store.db", "--snapshot-threshold", "1"]

    shown = CliRunner().invoke(cli, command, catch_exceptions=False)
    printed = CliRunner().invoke(cli, [*command, "--json"], catch_exceptions=False)

    assert (0, 0) == (shown.exit_code, printed.exit_code)
    assert "7, 6 can expire" in shown.stdout
    assert re.search(
        r"db\.t: 6 of 7 snapshots can expire, which frees about \S+ KiB: `nessie-gc expire-snapshots --include 'db",
        shown.stdout,
    )
    assert 6 == json.loads(printed.stdout)["tables"][0]["expirable"]
    assert "--engine" not in CliRunner().invoke(cli, ["health", "--help"]).stdout


# ---- Nessie -------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def server() -> Iterator[NessieServer]:
    """One whose default branch has a name of its own, and on which files may vanish."""
    with running(lambda: NessieServer(properties={"nessie.server.default-branch": "prod"})) as server:
        yield server


@pytest.fixture
def commits(server: NessieServer) -> Iterator[NessieCommits]:
    with NessieCommits(server.uri) as commits:
        yield commits


@pytest.fixture
def written(tmp_path: Path, commits: NessieCommits) -> Callable[..., str]:
    """Writes the metadata of a table whose snapshots are a day apart, and puts it on a branch; gives its key."""

    def write(branch: str, *, snapshots: int, current: int | None = None, name: str | None = None) -> str:
        name, number = name or f"t{uuid4().hex}", uuid4().hex
        now = int(time.time() * 1000)
        listed = [
            {
                "snapshot-id": n + 1,
                "parent-snapshot-id": n or None,
                "timestamp-ms": now - (snapshots - n - 1) * DAY,
                "summary": {"total-data-files": str(10 * (n + 1)), "total-files-size": "1000"},
            }
            for n in range(snapshots)
        ]
        fields = {
            "format-version": 2,
            "location": f"file://{tmp_path}/{name}",
            "current-snapshot-id": snapshots,
            "snapshots": listed,
            "properties": {"gc.enabled": "false"},
        }
        path = tmp_path / f"{number}.metadata.json"
        path.write_text(json.dumps(fields), encoding="utf-8")
        content = {"type": "ICEBERG_TABLE", "metadataLocation": f"file://{path}", "snapshotId": current or snapshots}
        ids = {"schemaId": 0, "specId": 0, "sortOrderId": 0}
        commits.put(branch, {(name,): {**content, **ids}}, message="written for a test")
        return name

    return write


@pytest.mark.server
def test_it_says_what_is_due_on_nessies_default_branch(
    server: NessieServer, commits: NessieCommits, written: Callable[..., str]
) -> None:
    table = written("prod", snapshots=30)
    dev = f"dev-{uuid4().hex}"
    commits.create_branch(dev, source="prod")
    other = written(dev, snapshots=2)

    with Collector(uri=server.uri, inmemory=True) as gc:
        on_prod, on_dev = gc.health(include=["t.*"]), gc.health(reference=[dev], include=[table, other])

    (row,) = (each for each in on_prod.tables if each.table == table)
    assert ("prod", 30, 25, 300) == (row.reference, row.snapshots, row.expirable, row.data_files)
    assert ["small-files", "snapshots"] == sorted(finding.name.value for finding in row.findings)
    assert other not in found(on_prod)
    assert {table, other} == set(found(on_dev))
    assert 0 == on_dev.exit_code


@pytest.mark.server
def test_the_current_snapshot_is_the_one_that_nessie_names(server: NessieServer, written: Callable[..., str]) -> None:
    table = written("prod", snapshots=3, current=2)
    with Collector(uri=server.uri, inmemory=True) as gc:
        (row,) = gc.health(include=[table]).tables
    assert 20 == row.data_files


@pytest.mark.server
def test_s18_metadata_that_is_gone_from_nessie_stops_no_other(
    server: NessieServer, written: Callable[..., str], tmp_path: Path
) -> None:
    lost = written("prod", snapshots=1)
    for path in tmp_path.glob("*.metadata.json"):
        path.unlink()
    table = written("prod", snapshots=1)
    with Collector(uri=server.uri, inmemory=True) as gc:
        report = gc.health(include=[lost, table])
    assert [(lost, True), (table, False)] == [(each.table, each.problem is not None) for each in report.tables]
    assert 1 == report.exit_code


def number(rows: DataFrame) -> int:
    """What the one row has in its column ``n``."""
    row = rows.first()
    assert row is not None
    return int(row["n"])


@pytest.mark.server
@pytest.mark.spark
def test_what_it_says_of_tables_that_spark_wrote_is_what_spark_says(written_lake: Lake, nessie: NessieServer) -> None:
    with Collector(uri=nessie.uri, inmemory=True) as gc:
        report = gc.health(include=["shop[.].*"])
    assert 0 == report.exit_code
    assert len(report.tables) >= 2
    assert of(report, "shop.orders").delete_files
    for row in report.tables:
        counts = {
            name: number(written_lake.spark.sql(f"SELECT count(*) AS n FROM nessie.{row.table}.{name}"))
            for name in ("data_files", "delete_files", "manifests", "snapshots")
        }
        said = {name: getattr(row, name) for name in counts}
        assert counts == said
        sizes = written_lake.spark.sql(f"SELECT sum(file_size_in_bytes) AS n FROM nessie.{row.table}.files")
        assert number(sizes) // counts["data_files"] == row.average_file_bytes
        assert row.gc_enabled is False
