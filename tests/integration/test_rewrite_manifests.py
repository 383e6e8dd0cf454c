"""Manifests are rewritten on real Spark: on Nessie and in a plain catalog, and no query gives other rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock
from uuid import uuid4

import pytest
from cli_runs import go_home
from click.testing import CliRunner
from versus.stage import Stage

from nessie_gc_core import Collector
from nessie_gc_core.api import ManifestsReport, ServicePlan
from nessie_gc_core.cli.main import cli
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.engines.spark import engine
from nessie_gc_core.engines.spark.java import IcebergClasses
from nessie_gc_core.engines.spark.maintenance import SparkMaintenance
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.manifests import ManifestContent
from nessie_gc_core.model.tables import TableName
from nessie_gc_core.services.manifests.report import Reorganized, ReorganizedTable
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Planner = Callable[..., ServicePlan[ManifestsReport]]
pytestmark = [pytest.mark.spark, pytest.mark.server]


@pytest.fixture(scope="module")
def nessie() -> Iterator[NessieServer]:
    """A server of its own: other tests read every table of theirs."""
    with running(NessieServer) as server:
        yield server


@pytest.fixture
def plan(collector: Collector, plain: Stage) -> Planner:
    return lambda **parameters: collector.rewrite_manifests(plain.catalog, **parameters)


def only(plan_or_report: Any) -> ReorganizedTable:
    (table,) = getattr(plan_or_report, "report", plan_or_report).tables
    assert isinstance(table, ReorganizedTable)
    return table


def manifests(stage: Stage, table: str = "t") -> list[tuple[str, int]]:
    """Content and length of each manifest of the current snapshot."""
    java = stage.java(table)
    java.refresh()
    found = java.currentSnapshot().allManifests(java.io())
    return [(manifest.content().toString(), manifest.length()) for manifest in found]


def write_evolved(run: Callable[[str], Any], table: str, version: int) -> None:
    """Appends in two partition specs, and deletes of rows in both; files in format version 1."""
    mode = "copy-on-write" if version == 1 else "merge-on-read"
    properties = f"'format-version' = '{version}', 'write.delete.mode' = '{mode}'"
    run(f"CREATE TABLE {table} (id BIGINT, p INT) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ({properties})")
    for start in (0, 10, 20):
        run(f"INSERT INTO {table} SELECT id, id % 4 FROM range({start}, {start + 10})")
    run(f"ALTER TABLE {table} ADD PARTITION FIELD bucket(2, id)")
    for start in (30, 40, 50):
        run(f"INSERT INTO {table} SELECT id, id % 4 FROM range({start}, {start + 10})")
    for number in (0, 1, 2):
        run(f"DELETE FROM {table} WHERE id IN ({number + 4}, {number + 34})")


# ---- Nessie -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [1, 2])
def test_every_branch_and_tag_of_nessie_gives_the_same_rows_as_before(
    spark: SparkSession, nessie: NessieServer, collector: Collector, tmp_path: Path, version: int
) -> None:
    use_catalog(spark, nessie.uri, tmp_path / "warehouse", name="reorganized")
    references, name = References(nessie.uri), f"n{uuid4().hex[:8]}"
    spark.sql(f"CREATE NAMESPACE reorganized.{name}")
    table = f"reorganized.{name}.t"
    write_evolved(spark.sql, table, version)
    references.create_branch(f"{name}_branch")
    references.create_tag(f"{name}_tag")
    spark.sql(f"INSERT INTO reorganized.{name}.`t@{name}_branch` VALUES (100, 1)")
    shown = [f"reorganized.{name}.`t@{reference}`" for reference in ("main", f"{name}_branch", f"{name}_tag")]
    before = [sorted(spark.table(each).collect()) for each in shown]
    commits, snapshots = references.commits("main", limit=500), spark.table(f"{table}.snapshots").count()

    planned = collector.rewrite_manifests("reorganized", include=[f"{name}[.]t"])
    assert commits == references.commits("main", limit=500)
    done = only(planned.apply())

    assert Reorganized.REWRITTEN is done.outcome
    assert len(commits) + 1 == len(references.commits("main", limit=500))
    assert before == [sorted(spark.table(each).collect()) for each in shown]
    last = spark.table(f"{table}.snapshots").orderBy("committed_at").collect()[-1]
    assert (done.snapshot_id, "replace") == (last.snapshot_id, last.operation)
    assert ("rewrite-manifests", "medium") == (last.summary["nessie-gc.service"], last.summary["nessie-gc.effort"])
    specs = len({(group.spec_id, group.content) for group in done.groups})
    assert (specs, specs) == (done.manifests_after, done.expected)
    rewritten_specs = {group.spec_id for group in done.groups if group.rewritten}
    assert snapshots + len(rewritten_specs) == spark.table(f"{table}.snapshots").count()  # all in one commit
    assert (
        Reorganized.NOT_WORTH_IT is only(collector.rewrite_manifests("reorganized", include=[f"{name}[.].*"])).outcome
    )


def test_a_branch_of_nessie_is_chosen_and_no_other_changes(
    spark: SparkSession, nessie: NessieServer, collector: Collector, tmp_path: Path
) -> None:
    use_catalog(spark, nessie.uri, tmp_path / "warehouse", name="branched")
    references, name = References(nessie.uri), f"n{uuid4().hex[:8]}"
    spark.sql(f"CREATE NAMESPACE branched.{name}")
    spark.sql(f"CREATE TABLE branched.{name}.t (id BIGINT) USING iceberg")
    for number in range(3):
        spark.sql(f"INSERT INTO branched.{name}.t VALUES ({number})")
    references.create_branch(name)
    commits = references.commits("main", limit=500)

    done = only(collector.rewrite_manifests("branched", table_branch=name, include=[f"{name}[.]t"]).apply())

    assert (Reorganized.REWRITTEN, name, 1) == (done.outcome, done.reference, done.manifests_after)
    assert commits == references.commits("main", limit=500)
    assert 3 == spark.table(f"branched.{name}.`t@{name}`").count()
    references.delete(name)
    with pytest.raises(NessieGcError, match=name):
        collector.rewrite_manifests("branched", table_branch=f"{name}_gone")


# ---- format version 3 ---------------------------------------------------------------------------------
def test_rows_of_format_version_3_keep_their_ids(plain: Stage, plan: Planner) -> None:
    """With an Iceberg whose Spark action gives them new ones (before 1.11.1), and with any other."""
    write_evolved(plain.sql, "{t}", 3)
    query = "SELECT id, p, _row_id, _last_updated_sequence_number FROM {t} ORDER BY id"
    before, snapshots = plain.sql(query).collect(), plain.snapshots()

    done = only(plan().apply())

    assert before == plain.sql(query).collect()
    assert Reorganized.REWRITTEN is done.outcome
    assert {ManifestContent.DATA, ManifestContent.DELETES} == {
        group.content for group in done.groups if group.rewritten
    }
    assert (done.expected, done.expected) == (done.manifests_after, len(manifests(plain)))
    assert {"replace"} == {each["summary"]["operation"] for each in plain.metadata()["snapshots"][len(snapshots) :]}
    assert Reorganized.NOT_WORTH_IT is only(plan()).outcome


def test_files_of_format_version_3_follow_their_partitions(plain: Stage, plan: Planner) -> None:
    plain.create(version=3, columns="id BIGINT, p INT", more="PARTITIONED BY (p)")
    plain.append(*(", ".join(f"({number}, {number})" for number in range(20)) for _ in range(4)))
    before = plain.sql("SELECT id, _row_id FROM {t} ORDER BY 1, 2").collect()

    done = only(plan(target_manifest_size="10KB", effort="high").apply())

    assert before == plain.sql("SELECT id, _row_id FROM {t} ORDER BY 1, 2").collect()
    assert (4.0, 1.0) == (done.overlap, done.overlap_after)
    assert 4 == done.manifests_after
    assert "commit.manifest.target-size-bytes" not in plain.metadata()["properties"]


# ---- a plain catalog ----------------------------------------------------------------------------------
def test_branches_and_tags_in_a_table_give_the_same_rows_as_before(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)", write_delete_mode="merge-on-read")
    plain.append("(1, 1), (2, 1)", "(3, 1), (4, 1)", "(5, 2), (6, 2)")
    plain.sql("ALTER TABLE {t} CREATE TAG first", "ALTER TABLE {t} CREATE BRANCH audit")
    plain.sql("DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id = 3", "DELETE FROM {t} WHERE id = 5")
    queries = [
        f"SELECT * FROM {{t}}{at} ORDER BY id" for at in ("", " VERSION AS OF 'first'", " VERSION AS OF 'audit'")
    ]
    before, snapshots = [plain.sql(query).collect() for query in queries], plain.snapshots()

    done = only(plan().apply())

    assert before == [plain.sql(query).collect() for query in queries]
    assert ["DATA", "DELETES"] == sorted(content for content, _ in manifests(plain))
    assert (6, 2, 2) == (done.manifests, done.expected, done.manifests_after)
    assert len(snapshots) + 1 == len(plain.snapshots())


def test_a_dry_run_writes_nothing(plain: Stage, plan: Planner) -> None:
    plain.create()
    plain.append("1", "2", "3")
    before = {path for path in plain.warehouse.rglob("*") if path.is_file()}

    planned = plan()

    assert (3, 1, None) == (only(planned).rewritten, only(planned).expected, only(planned).manifests_after)
    assert planned.report.dry_run
    assert before == {path for path in plain.warehouse.rglob("*") if path.is_file()}


def test_the_target_size_holds_for_new_manifests_and_stays_no_property(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)", commit_manifest_min__count__to__merge="1000")
    plain.append(*(f"({number}, 1), ({number}, {number})" for number in range(12)))
    there = manifests(plain)

    done = only(plan(target_manifest_size="16KB", effort="high").apply())

    assert 16 * 1024 == done.target_bytes
    assert done.expected == -(-sum(length for _, length in there) // (16 * 1024))
    assert len(there) > len(manifests(plain)) > 1
    assert all(length <= 1.2 * 16 * 1024 for _, length in manifests(plain))
    assert "commit.manifest.target-size-bytes" not in plain.metadata()["properties"]
    assert done.overlap is not None
    assert done.overlap_after is not None
    assert done.overlap > 2 * done.overlap_after


def test_manifests_that_follow_their_partitions_are_left_as_they_are(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)")
    plain.append(*(f"({number}, {number})" for number in range(5)))
    assert Reorganized.NOT_WORTH_IT is only(plan(target_manifest_size="7KB")).outcome
    assert 1.0 == only(plan(target_manifest_size="7KB")).overlap


def ranges(stage: Stage, paths: set[str]) -> tuple[set[int], set[int]]:
    """The partitions in manifests of the current snapshot that were there before, and in those that are new."""
    rows = stage.sql("SELECT path, partition_summaries[0] AS p FROM {t}.manifests").collect()
    found: dict[bool, set[int]] = {True: set(), False: set()}
    for row in rows:
        found[row.path in paths].update(range(int(row.p.lower_bound), int(row.p.upper_bound) + 1))
    return found[True], found[False]


def test_with_high_priority_no_partition_is_in_an_old_manifest_and_in_a_new_one(plain: Stage, plan: Planner) -> None:
    """Partitions 0 to 2 are in four manifests, 5 and 6 in one each; the effort suffices for all but the last."""
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)", commit_manifest_min__count__to__merge="1000")
    plain.append("(1, 0), (1, 1)", "(1, 1)", "(1, 2)", "(1, 1), (1, 2)")
    for partition in (5, 6):
        plain.append(", ".join(f"({number}, {partition})" for number in range(3)))
    before = {row.path for row in plain.sql("SELECT path FROM {t}.manifests").collect()}

    given = {"target_manifest_size": "38KB", "partition_priority": "high", "effort": "low"}
    done, again = only(plan(**given).apply()), only(plan(**given))

    kept, new = ranges(plain, before)
    assert Reorganized.REWRITTEN is done.outcome
    assert ({6}, {0, 1, 2, 3, 4, 5}) == (kept, new)
    assert Reorganized.NOT_WORTH_IT is again.outcome


def test_what_is_too_large_for_the_target_is_cut(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)")
    plain.append(", ".join(f"({number}, {number})" for number in range(100)), "(1, 1)")
    before = max(length for _, length in manifests(plain))
    done = only(plan(target_manifest_size="4KB").apply())
    assert Reorganized.REWRITTEN is done.outcome
    assert before > max(length for _, length in manifests(plain))


# ---- what happens meanwhile ---------------------------------------------------------------------------
def test_a_table_that_changed_since_the_plan_is_planned_again_and_keeps_what_came(plain: Stage, plan: Planner) -> None:
    plain.create()
    plain.append("1", "2", "3")
    planned = plan()
    plain.append("4")
    done = only(planned.apply())
    assert (Reorganized.REWRITTEN, 3, 2) == (done.outcome, done.rewritten, done.manifests_after)
    assert [1, 2, 3, 4] == [row.id for row in plain.sql("SELECT id FROM {t} ORDER BY id").collect()]


def test_manifests_that_others_rewrote_meanwhile_are_not_missed(plain: Stage, plan: Planner) -> None:
    plain.create()
    plain.append("1", "2", "3")
    planned, other = plan(), plan()
    other.apply()
    report = planned.apply()
    assert (Reorganized.NOT_WORTH_IT, 0) == (only(report).outcome, report.exit_code)


def test_tables_that_are_dropped_or_replaced_since_the_plan_are_not_touched(plain: Stage, plan: Planner) -> None:
    for table in ("t", "u"):
        plain.create(table)
        plain.append("1", "2", "3", table=table)
    planned = plan()
    plain.sql("DROP TABLE {t}", "DROP TABLE {u}")
    plain.create("u")
    plain.append("7", "8", "9", table="u")
    snapshots = plain.snapshots("u")
    assert [Reorganized.GONE, Reorganized.GONE] == [table.outcome for table in planned.apply().tables]
    assert snapshots == plain.snapshots("u")


def test_s18_a_table_that_cannot_be_read_stops_no_other(plain: Stage, plan: Planner) -> None:
    for table in ("t", "u"):
        plain.create(table)
        plain.append("1", "2", "3", table=table)
    for path in Path(plain.java("t").location().removeprefix("file:")).glob("metadata/snap-*"):
        path.unlink()
    report = plan().apply()
    assert {"db.t": Reorganized.UNREADABLE, "db.u": Reorganized.REWRITTEN} == {
        t.table: t.outcome for t in report.tables
    }
    assert 1 == report.exit_code


def test_tables_that_somebody_else_maintains_are_left_alone(plain: Stage, plan: Planner) -> None:
    plain.create(self__optimizing_enabled="true")
    plain.append("1", "2", "3")
    assert (Reorganized.LEFT_ALONE, "it is maintained by Amoro") == (only(plan()).outcome, only(plan()).reason)


# ---- between writing and committing -------------------------------------------------------------------
class RaisedError(Exception):
    """What Py4J raises, with an exception of Java in it."""

    def __init__(self, java: Any) -> None:
        self.java_exception = java


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Does something once, when new manifests are written and nothing is committed."""
    commit, waiting = SparkMaintenance._commit, list[Callable[[], object]]()

    def commit_late(self: SparkMaintenance, name: TableName, transaction: Any) -> None:
        while waiting:
            waiting.pop()()
        commit(self, name, transaction)

    monkeypatch.setattr(SparkMaintenance, "_commit", commit_late)
    return waiting.append


def test_what_others_append_before_the_commit_stays(
    plain: Stage,
    plan: Planner,
    before_commit: Callable[[Callable[[], object]], None],
) -> None:
    plain.create()
    plain.append("1", "2", "3")
    before_commit(lambda: plain.append("4"))
    done = only(plan().apply())
    assert (Reorganized.REWRITTEN, 2) == (done.outcome, done.manifests_after)
    assert [1, 2, 3, 4] == [row.id for row in plain.sql("SELECT id FROM {t} ORDER BY id").collect()]


def test_what_others_rewrite_before_the_commit_is_rewritten_once(
    plain: Stage,
    plan: Planner,
    before_commit: Callable[[Callable[[], object]], None],
) -> None:
    plain.create()
    plain.append("1", "2", "3")
    snapshots = plain.snapshots()
    before_commit(lambda: plain.call("rewrite_manifests", "'db.t'"))
    done = only(plan().apply())
    assert Reorganized.NOT_WORTH_IT is done.outcome
    assert len(snapshots) + 1 == len(plain.snapshots())
    assert [1, 2, 3] == [row.id for row in plain.sql("SELECT id FROM {t} ORDER BY id").collect()]


def test_s19_nothing_is_cleaned_up_after_a_commit_that_nobody_knows_of(
    plain: Stage, plan: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.create()
    plain.append("1", "2", "3")
    jvm: Any = plain.spark._jvm
    cause = jvm.java.lang.RuntimeException("the connection broke")
    unknown = RaisedError(jvm.org.apache.iceberg.exceptions.CommitStateUnknownException(cause))
    commit = SparkMaintenance._commit
    lost = Mock(**{"commitTransaction.side_effect": unknown})
    monkeypatch.setattr(SparkMaintenance, "_commit", lambda self, name, transaction: commit(self, name, lost))

    report = plan().apply()

    assert (Reorganized.UNKNOWN, 1) == (only(report).outcome, report.exit_code)
    assert 1 == len(list(plain.warehouse.rglob("optimized-m-*.avro")))
    assert 1 == lost.commitTransaction.call_count


def test_s19_what_iceberg_does_not_call_a_failure_for_certain_is_unknown(plain: Stage) -> None:
    plain.create()
    jvm: Any = plain.spark._jvm
    classes, errors = IcebergClasses(jvm, plain.java()), jvm.org.apache.iceberg.exceptions
    cause = jvm.java.lang.RuntimeException("the connection broke")
    assert classes.is_certain_failure(RaisedError(errors.CommitFailedException(cause, "others", None)))
    assert not classes.is_certain_failure(RaisedError(errors.CommitStateUnknownException(cause)))
    assert not classes.is_certain_failure(RaisedError(cause))
    assert not classes.is_certain_failure(ConnectionError("the gateway is gone"))


# ---- the command --------------------------------------------------------------------------------------
def test_the_command_rewrites_and_a_dry_run_of_it_does_not(
    plain: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.create()
    plain.append("1", "2", "3")
    go_home(tmp_path, monkeypatch)
    monkeypatch.setattr(engine, "open_session", lambda master, conf: plain.spark)
    monkeypatch.setattr(engine.SparkEngine, "close", lambda self: None)
    command = ["rewrite-manifests", "--catalog", plain.catalog, "--include", "db[.]t"]

    dry = CliRunner().invoke(cli, [*command, "--dry-run"], catch_exceptions=False)
    snapshots = plain.snapshots()
    done = CliRunner().invoke(cli, [*command, "--json"], catch_exceptions=False)

    assert (0, 0, 3) == (dry.exit_code, done.exit_code, len(snapshots))
    assert "db.t: 3 manifests, about 1 afterwards; 3 rewritten" in dry.stdout
    assert ("rewritten", 1) == tuple(
        json.loads(done.stdout)["tables"][0][key] for key in ("outcome", "manifests_after")
    )
    assert 4 == len(plain.snapshots())


# ---- bad input ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("catalog", "said"),
    [
        ("nowhere", "the Spark session has no catalog 'nowhere'"),
        ("spark_catalog", "'spark_catalog' .* is not an Iceberg catalog"),
    ],
)
def test_catalogs_that_are_none_are_refused(collector: Collector, catalog: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        collector.rewrite_manifests(catalog)
