"""What is due is decided once: health names what compact and rewrite-manifests do then, on real Spark and Nessie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner
from next_steps import proposed_in, proposes

from nessie_gc_core import Collector
from nessie_gc_core.api import HealthReport
from nessie_gc_core.cli.command import Call
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.given import Rank
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.services.compaction.report import Compacted
from nessie_gc_core.services.manifests.report import Reorganized
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.server]
NOW = {"skip_newer_than": "PT0S"}
"""Everything here was written a moment ago."""


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    """A server of its own: every table of it is looked at."""
    with running(NessieServer) as server:
        yield server.uri


@pytest.fixture(scope="module")
def _written(spark: SparkSession, uri: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """One table for each thing that can be due, and one of which nothing is."""
    use_catalog(spark, uri, Path(tmp_path_factory.mktemp("due")) / "warehouse", name="due")
    spark.sql("CREATE NAMESPACE due.db")
    reads = "'format-version' = '2', 'write.delete.mode' = 'merge-on-read', 'write.delete.granularity' = 'partition'"
    for name, more in (("well", ""), ("small", ""), ("halves", "PARTITIONED BY (p)"), ("deletes", "")):
        spark.sql(f"CREATE TABLE due.db.{name} (id BIGINT, p INT) USING iceberg {more} TBLPROPERTIES ({reads})")
    for number in range(4):
        spark.sql(f"INSERT INTO due.db.small VALUES ({number}, 0)")
        spark.sql(f"INSERT INTO due.db.halves VALUES ({number}, {number % 2})")
    for name in ("well", "deletes"):
        spark.sql(f"INSERT INTO due.db.{name} SELECT /*+ COALESCE(1) */ id, 0 FROM range(100)")
    for number in range(3):
        spark.sql(f"DELETE FROM due.db.deletes WHERE id >= {20 * number} AND id < {20 * number + 15}")


@pytest.fixture
def health(uri: str, _written: None) -> Callable[..., HealthReport]:
    def look(**parameters: Any) -> HealthReport:
        with Collector(uri=uri, inmemory=True) as gc:
            return gc.health(include=["db[.].*"], **parameters)

    return look


def named(report: HealthReport, *findings: str) -> set[str]:
    """The tables of which one of these is due."""
    return {table.table for table in report.tables for each in table.findings if each.name.value in findings}


@pytest.mark.parametrize(
    ("limits", "due"),
    [
        ({}, set[str]()),
        ({"max_small_files": 3}, {"db.small"}),
        ({"max_small_files": 1.5, "max_delete_files": 2}, {"db.small", "db.halves", "db.deletes"}),
        ({"max_delete_files": 0}, {"db.deletes"}),
    ],
)
def test_what_manifests_say_is_what_compact_rewrites(
    health: Callable[..., HealthReport], collector: Collector, limits: dict[str, Any], due: set[str]
) -> None:
    report = health(read_manifests=True, **limits)
    planned = collector.compact("due", **NOW, **limits).report
    assert due == named(report, "small-files", "delete-files")
    assert due == {table.table for table in planned.tables if table.outcome is Compacted.REWRITTEN}
    by_name = {table.table: table for table in planned.tables}
    for table in report.tables:
        expected = by_name[table.table]
        assert table.due_bytes == expected.input_bytes
        assert table.due_partitions == len(expected.chosen)
        if expected.before is not None:
            assert (table.data_files, table.delete_files) == (expected.before.data_files, expected.before.delete_files)
            assert (table.small_files, table.partitions) == (expected.before.small_files, expected.before.partitions)


@pytest.mark.parametrize("effort", ["low", "medium", "high"])
def test_what_manifest_lists_say_is_what_rewrite_manifests_rewrites(
    health: Callable[..., HealthReport], collector: Collector, effort: str
) -> None:
    report = health(read_manifests=True, effort=effort)
    planned = collector.rewrite_manifests("due", effort=effort).report
    rewritten = {table.table: table for table in planned.tables if table.outcome is Reorganized.REWRITTEN}
    assert rewritten.keys() == named(report, "manifests")
    assert bool(rewritten) is (effort != "low")
    for table in report.tables:
        if table.table in rewritten:
            assert (table.manifests, table.manifest_overlap) == (
                rewritten[table.table].manifests,
                rewritten[table.table].overlap,
            )


def test_without_manifests_a_table_without_partitions_is_seen_the_same_way(
    health: Callable[..., HealthReport],
) -> None:
    assert {"db.small", "db.halves"} == named(health(max_small_files=3), "small-files", "delete-files")
    (halves,) = (table for table in health(max_small_files=3).tables if table.table == "db.halves")
    assert halves.findings[0].text.endswith("smaller than 100.0 MiB, in all partitions together")
    assert {"db.deletes"} == named(health(), "delete-ratio")
    assert {"db.deletes"} == named(health(max_delete_files=2), "delete-files")


@pytest.mark.usefixtures("_written")
@proposes("services/health/files_due.py: * *")
def test_what_health_proposes_does_what_is_due(spark: SparkSession, uri: str, collector: Collector) -> None:
    """People know what their session calls the catalog; here the session of the tests goes on."""
    spark.sql("CREATE NAMESPACE due.next")
    spark.sql("CREATE TABLE due.next.t (id BIGINT) USING iceberg")
    for number in range(4):
        spark.sql(f"INSERT INTO due.next.t VALUES ({number})")
    limits = ("--max-small-files", "1.5", "--effort", "high")
    look = ("health", "--uri", uri, "--inmemory", "--include", "next[.]t", "--read-manifests", *limits)
    health = CliRunner().invoke(cli, look).stdout
    proposed = {each.arguments[0]: each for each in proposed_in(health) if "--catalog CATALOG" in each.command}
    assert {"compact", "rewrite-manifests"} == proposed.keys()
    for name, each in proposed.items():
        arguments = [word.replace("CATALOG", "due") for word in each.arguments[1:]]
        given = Call(cli.commands[name].make_context(name, arguments)).given()
        own = {key for key in given.values if given.rank(key) is Rank.CALLER} - {"uri", "inmemory"}
        more = NOW if name == "compact" else {}
        assert 0 == collector.run(name, **{key: given.values[key] for key in own}, **more, dry_run=False).exit_code
    assert 1 == spark.sql("SELECT * FROM due.next.t.files").count()
    assert "--catalog CATALOG" not in CliRunner().invoke(cli, look).stdout
    spark.sql("DROP TABLE due.next.t")
