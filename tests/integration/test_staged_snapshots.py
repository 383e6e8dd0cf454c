"""S25 with real Spark: what write-audit-publish staged survives collections, and can be published afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.demo.collector import LIVE_COMMITS, collect
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion
from nessie_gc_core.plugins import installed
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.server, pytest.mark.spark]
CATALOG = "staging"


@pytest.fixture(scope="module")
def staging(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NessieServer]:
    """A server of its own: what is collected here is written by others elsewhere."""
    with running(NessieServer) as server:
        use_catalog(spark, server.uri, tmp_path_factory.mktemp("staging") / "warehouse", name=CATALOG)
        spark.sql(f"CREATE NAMESPACE {CATALOG}.db")
        yield server


def write(spark: SparkSession, table: str) -> int:
    """A table with dead rows, live rows and a staged row, which no live commit's snapshot has; gives its snapshot."""
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    spark.conf.set("spark.wap.id", "audit-me")
    spark.sql(f"INSERT INTO {table} VALUES (100)")
    spark.conf.unset("spark.wap.id")
    spark.sql(f"INSERT OVERWRITE {table} VALUES (2)")
    for number in range(LIVE_COMMITS):
        spark.sql(f"INSERT INTO {table} VALUES ({3 + number})")
    (staged,) = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots WHERE summary['wap.id'] = 'audit-me'").collect()
    return int(staged[0])


def rows(spark: SparkSession, table: str) -> set[int]:
    return {int(row[0]) for row in spark.sql(f"SELECT id FROM {table}").collect()}


def lists(server: NessieServer, key: str) -> set[str]:
    """The manifest lists that the newest state of a table keeps."""
    references = References(server.uri)
    (head,) = references.commits("main", limit=1)
    found = references.contents("main", head)[key]
    version = ContentVersion(
        content_id=key,
        content_type=ICEBERG_TABLE,
        metadata_location=found["metadataLocation"],
        snapshot_id=found["snapshotId"],
        content_key=key,
        commit_id=head,
    )
    with installed().open(ContentToFiles, ConnectorSpec(kind="content-to-files", name="iceberg")) as reader:
        return {file.path for file in reader.files(version) if file.kind == "MANIFEST_LIST"}


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.thorough(engine="spark")
def test_s25_a_staged_snapshot_survives_and_can_be_picked(
    spark: SparkSession, staging: NessieServer, tmp_path: Path, engine: str
) -> None:
    key = f"db.t_{engine}"
    table = f"{CATALOG}.{key}"
    staged = write(spark, table)
    before = rows(spark, table)
    assert 100 not in before
    assert any(f"snap-{staged}-" in path for path in lists(staging, key))

    run = collect(staging.uri, engine=engine, folder=tmp_path)
    assert (0, [], []) == (run.exit_code, run.report["unknown"], run.report["unreadable"]), run.complaints
    assert run.count("deleted") > 0
    assert before == rows(spark, table)
    assert {100} <= {row[0] for row in spark.sql(f"SELECT id FROM {table} VERSION AS OF {staged}").collect()}

    spark.sql(f"CALL {CATALOG}.system.cherrypick_snapshot('{key}', {staged})").collect()
    assert before | {100} == rows(spark, table)
    assert not any(f"snap-{staged}-" in path for path in lists(staging, key))
    again = collect(staging.uri, engine=engine, folder=tmp_path)
    assert 0 == again.exit_code, again.complaints
    assert before | {100} == rows(spark, table)
