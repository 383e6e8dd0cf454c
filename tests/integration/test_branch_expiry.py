"""Branches of a real Nessie get metadata without what no live commit has; Spark reads it, and what it says is there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from branch_lakes import BranchLake
from click.testing import CliRunner

from nessie_gc_core import Collector
from nessie_gc_core.cli.main import cli
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.server, pytest.mark.spark]
CATALOG = "branches"


@pytest.fixture(scope="module")
def server(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NessieServer]:
    """A server of its own: what is collected here is written by others elsewhere."""
    with running(NessieServer) as server:
        use_catalog(spark, server.uri, tmp_path_factory.mktemp("branches") / "warehouse", name=CATALOG)
        spark.sql(f"CREATE NAMESPACE {CATALOG}.db")
        yield server


@pytest.fixture
def lake(server: NessieServer) -> Iterator[BranchLake]:
    with LocalEngine(workers=2) as engine:
        lake = BranchLake(server.uri, engine)
        yield lake
        lake.close()


@pytest.fixture
def new_table(spark: SparkSession) -> Callable[..., str]:
    """Makes a table each of whose snapshots has data files of its own."""

    def make(overwrites: int = 5, properties: str = "'format-version' = '2'") -> str:
        key = f"db.t{uuid4().hex[:8]}"
        spark.sql(f"CREATE TABLE {CATALOG}.{key} (id BIGINT) USING iceberg TBLPROPERTIES ({properties})")
        for number in range(overwrites):
            overwrite(spark, key, number)
        return key

    return make


def overwrite(spark: SparkSession, key: str, number: int) -> None:
    spark.sql(f"INSERT OVERWRITE {CATALOG}.{named(key)} VALUES ({number})")


def named(key: str) -> str:
    namespace, _, name = key.partition(".")
    return f"{namespace}.`{name}`"


def rows(spark: SparkSession, key: str) -> list[int]:
    return sorted(row[0] for row in spark.sql(f"SELECT id FROM {CATALOG}.{named(key)}").collect())


def count(spark: SparkSession, key: str, metadata_table: str) -> int:
    return spark.sql(f"SELECT * FROM {CATALOG}.{named(key)}.{metadata_table}").count()


def test_what_no_live_commit_has_is_not_listed_and_metadata_tables_can_be_read_after_a_sweep(
    spark: SparkSession, lake: BranchLake, new_table: Callable[..., str]
) -> None:
    key, other = new_table(2), new_table()
    tag, dev = (f"{kind}{uuid4().hex[:8]}" for kind in ("tag", "dev"))
    lake.references.create_tag(tag)
    overwrite(spark, key, 2)
    lake.references.create_branch(dev)
    for number in (3, 4, 5):
        overwrite(spark, key, number)
    before, content = lake.listed(key), lake.content(key)
    tagged = lake.content(key, tag)

    report = lake.expire(key.replace(".", "[.]"))

    assert [before[1], before[2], before[5]] == lake.listed(key)
    (table,) = report.tables
    assert (key, "main", Committed.EXPIRED, 6, 3) == (
        table.table,
        table.reference,
        table.outcome,
        table.snapshots,
        table.expired,
    )
    assert {**content, "metadataLocation": ""} == {**lake.content(key), "metadataLocation": ""}
    assert tagged == lake.content(key, tag)
    assert 0 == lake.collect().exit_code
    assert [[5], [1], [2]] == [rows(spark, name) for name in (key, f"{key}@{tag}", f"{key}@{dev}")]
    assert [3, 3] == [count(spark, key, name) for name in ("snapshots", "all_data_files")]
    assert [True] * 3 == [count(spark, key, name) > 0 for name in ("all_manifests", "files", "history")]
    assert [1] == [row[0] for row in spark.sql(f"SELECT id FROM {CATALOG}.{key} VERSION AS OF {before[1]}").collect()]
    with pytest.raises(Exception, match=r"(?i)not ?found|does not exist|failed to open"):
        count(spark, other, "all_data_files")
    overwrite(spark, key, 6)
    assert [6] == rows(spark, key)


def test_the_command_line_says_what_is_missing_and_does_what_it_says(
    server: NessieServer, lake: BranchLake, new_table: Callable[..., str], tmp_path: Path
) -> None:
    key = new_table(3)
    before = lake.head()
    url = f"sqlite:///{tmp_path}/store.db"
    now = datetime.now(UTC).isoformat()
    given = ["expire-snapshots", "--uri", server.uri, "--jdbc-url", url, "--engine", "local", "--older-than", "PT0S"]
    given += ["--include", key.replace(".", "[.]"), "--default-cutoff", now, "-R", now]

    without = CliRunner().invoke(cli, given)
    dry = CliRunner().invoke(cli, [*given, "--commit-to", "main", "--dry-run"])
    assert before == lake.head()
    real = CliRunner().invoke(cli, [*given, "--commit-to", "main", "--json"])

    assert (2, 0, 0) == (without.exit_code, dry.exit_code, real.exit_code), without.output + dry.output + real.output
    assert "choose those to commit to with --commit-to" in without.stderr
    assert f"would expire: 2 snapshots of 1 table\n  {key} on main: 2 of 3 snapshots\n" in dry.stdout
    assert "no files are deleted here" in dry.stdout
    (table,) = json.loads(real.stdout)["tables"]
    assert (key, "main", "expired", 2) == (table["table"], table["reference"], table["outcome"], table["expired"])
    assert [lake.content(key)["snapshotId"]] == lake.listed(key)


def test_from_python_nothing_is_committed_unless_it_is_said(
    server: NessieServer, lake: BranchLake, new_table: Callable[..., str]
) -> None:
    key = new_table(2)
    before = lake.head()
    words = {"commit_to": ["main"], "older_than": "PT0S", "default_cutoff": "1", "include": [key.replace(".", "[.]")]}
    with Collector(uri=server.uri, engine="local", inmemory=True) as gc:
        assert (1, before) == (gc.expire_snapshots(delete=False, **words).snapshots, lake.head())
        assert (1, 1) == (gc.expire_snapshots(delete=True, **words).snapshots, len(lake.listed(key)))


def test_every_format_version_is_still_read_and_written(
    spark: SparkSession, lake: BranchLake, new_table: Callable[..., str]
) -> None:
    versions = ("'format-version' = '1'", "'format-version' = '3', 'write.metadata.compression-codec' = 'gzip'")
    for properties in versions:
        key = new_table(3, properties)
        report = lake.expire(key.replace(".", "[.]"))
        assert [2] == [table.expired for table in report.tables], report
        assert properties.endswith("'gzip'") is lake.metadata_file(key).name.endswith(".gz.metadata.json")
        overwrite(spark, key, 3)
        assert ([3], 2) == (rows(spark, key), count(spark, key, "snapshots"))


def test_a_writer_that_commits_meanwhile_wins_and_its_snapshot_stays_listed(
    spark: SparkSession, lake: BranchLake, new_table: Callable[..., str]
) -> None:
    key, other = new_table(3), new_table(3)
    before = lake.listed(key)
    writes = [lambda: overwrite(spark, key, 7)]
    lake.repository.before_commit = lambda: writes.pop()() if writes else None

    report = lake.expire(*(name.replace(".", "[.]") for name in (key, other)))

    assert {key: Committed.EXPIRED, other: Committed.EXPIRED} == {each.table: each.outcome for each in report.tables}
    after = lake.listed(key)
    assert (before[2], 2) == (after[0], len(after))
    assert [7] == rows(spark, key)
    assert 1 == len(lake.listed(other))


def test_a_staged_snapshot_stays_listed_until_it_is_published(
    spark: SparkSession, lake: BranchLake, new_table: Callable[..., str]
) -> None:
    key = new_table(2, "'write.wap.enabled' = 'true'")
    spark.conf.set("spark.wap.id", key)
    spark.sql(f"INSERT INTO {CATALOG}.{key} VALUES (100)")
    spark.conf.unset("spark.wap.id")
    overwrite(spark, key, 2)
    staged = lake.listed(key)[2]

    lake.expire(key.replace(".", "[.]"))
    lake.collect()

    assert [staged, lake.content(key)["snapshotId"]] == lake.listed(key)
    spark.sql(f"CALL {CATALOG}.system.cherrypick_snapshot('{key}', {staged})").collect()
    assert [2, 100] == rows(spark, key)
