"""Tables are compacted on real Spark: on Nessie and in a plain catalog, and no query gives other rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from nessie_gc_nessie import NessieConnector
from versus.stage import Stage

from nessie_gc_core import Collector
from nessie_gc_core.api import CompactionReport, ServicePlan
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.engines.spark.compaction import FileRewriter
from nessie_gc_core.engines.spark.java import IcebergClasses
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.services.compaction.report import Compacted, CompactedTable
from nessie_gc_core.services.work_branch import Merged
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.server]
NOW = {"skip_newer_than": "PT0S", "max_small_files": 1.5}
"""Everything here was written a moment ago, in small files."""

Planner = Callable[..., ServicePlan[CompactionReport]]


@pytest.fixture(scope="module")
def nessie() -> Iterator[NessieServer]:
    """A server of its own: other tests read every table of theirs."""
    with running(NessieServer) as server:
        yield server


@pytest.fixture
def plan(collector: Collector, plain: Stage) -> Planner:
    return lambda **parameters: collector.compact(plain.catalog, **{**NOW, **parameters})


def only(plan_or_report: Any) -> CompactedTable:
    (table,) = getattr(plan_or_report, "report", plan_or_report).tables
    assert isinstance(table, CompactedTable)
    return table


def files(stage: Stage, where: str = "true") -> list[str]:
    """The data files of some partitions."""
    rows = stage.sql(f"SELECT file_path FROM {{t}}.data_files WHERE {where}").collect()
    return sorted(row.file_path for row in rows)


def write_deleted(run: Callable[[str], Any], table: str, version: int) -> None:
    """Small files in two partitions, and deletes in one of them."""
    mode = "copy-on-write" if version == 1 else "merge-on-read"
    properties = f"'format-version' = '{version}', 'write.delete.mode' = '{mode}'"
    run(f"CREATE TABLE {table} (id BIGINT, p INT) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ({properties})")
    for start in (0, 10, 20):
        run(f"INSERT INTO {table} SELECT id, id % 2 FROM range({start}, {start + 10})")
    for number in (2, 12):
        run(f"DELETE FROM {table} WHERE id = {number}")


# ---- Nessie -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("version", [1, 2])
def test_every_branch_and_tag_of_nessie_gives_the_same_rows_as_before(
    spark: SparkSession, nessie: NessieServer, collector: Collector, tmp_path: Path, version: int
) -> None:
    use_catalog(spark, nessie.uri, tmp_path / "warehouse", name="compacted")
    references, name = References(nessie.uri), f"n{uuid4().hex[:8]}"
    spark.sql(f"CREATE NAMESPACE compacted.{name}")
    table = f"compacted.{name}.t"
    write_deleted(spark.sql, table, version)
    references.create_branch(f"{name}_branch")
    references.create_tag(f"{name}_tag")
    spark.sql(f"INSERT INTO compacted.{name}.`t@{name}_branch` VALUES (100, 1)")
    shown = [f"compacted.{name}.`t@{reference}`" for reference in ("main", f"{name}_branch", f"{name}_tag")]
    before = [sorted(spark.table(each).collect()) for each in shown]
    commits = references.commits("main", limit=500)

    planned = collector.compact("compacted", include=[f"{name}[.]t"], max_delete_files=0.5, **NOW)
    assert commits == references.commits("main", limit=500)
    done = only(planned.apply())

    assert (Compacted.REWRITTEN, None) == (done.outcome, done.reason)
    assert before == [sorted(spark.table(each).collect()) for each in shown]
    assert done.after is not None
    assert (2, 0) == (done.after.data_files, done.after.delete_files)
    assert len(commits) + len(done.snapshot_ids) == len(references.commits("main", limit=500))
    last = {row.snapshot_id: row for row in spark.table(f"{table}.snapshots").collect()}
    assert {("replace", "compact")} == {
        (last[each].operation, last[each].summary["nessie-gc.service"]) for each in done.snapshot_ids
    }
    again = only(collector.compact("compacted", include=[f"{name}[.]t"], **NOW))
    assert Compacted.NOT_WORTH_IT is again.outcome


def test_a_branch_of_nessie_is_chosen_and_no_other_changes(
    spark: SparkSession, nessie: NessieServer, collector: Collector, tmp_path: Path
) -> None:
    use_catalog(spark, nessie.uri, tmp_path / "warehouse", name="compacting")
    references, name = References(nessie.uri), f"n{uuid4().hex[:8]}"
    spark.sql(f"CREATE NAMESPACE compacting.{name}")
    spark.sql(f"CREATE TABLE compacting.{name}.t (id BIGINT) USING iceberg")
    for number in range(3):
        spark.sql(f"INSERT INTO compacting.{name}.t VALUES ({number})")
    references.create_branch(name)
    commits = references.commits("main", limit=500)

    done = only(collector.compact("compacting", table_branch=name, include=[f"{name}[.]t"], **NOW).apply())

    assert (Compacted.REWRITTEN, name, 3, 1) == (
        done.outcome,
        done.reference,
        done.removed_data_files,
        done.added_data_files,
    )
    assert commits == references.commits("main", limit=500)
    assert 3 == spark.table(f"compacting.{name}.`t@{name}`").count()
    references.delete(name)
    with pytest.raises(NessieGcError, match=name):
        collector.compact("compacting", table_branch=f"{name}_gone", **NOW)


@pytest.fixture
def aside(spark: SparkSession, nessie: NessieServer, tmp_path: Path) -> Iterator[tuple[Callable[..., Any], str]]:
    """How two tables of a namespace of Nessie are compacted on a branch of its own, and the namespace."""
    use_catalog(spark, nessie.uri, tmp_path / "warehouse", name="aside")
    name = f"n{uuid4().hex[:8]}"
    spark.sql(f"CREATE NAMESPACE aside.{name}")
    for table in ("t", "u"):
        spark.sql(f"CREATE TABLE aside.{name}.{table} (id BIGINT) USING iceberg")
        for number in range(3):
            spark.sql(f"INSERT INTO aside.{name}.{table} VALUES ({number})")
    with Collector(spark=spark, uri=nessie.uri) as collector:
        given = {"table_branch": "main", "work_branch": f"{name}_aside", **NOW}
        yield lambda **more: collector.compact("aside", include=[f"{name}[.]t"], **{**given, **more}), name


def heads(nessie: NessieServer) -> set[str]:
    return set(References(nessie.uri).names())


def test_a_branch_of_its_own_is_compacted_and_merged_back_when_asked(
    spark: SparkSession, nessie: NessieServer, aside: tuple[Callable[..., Any], str]
) -> None:
    plan, name = aside
    planned = plan(merge=True)
    assert f"{name}_aside" not in heads(nessie)
    spark.sql(f"INSERT INTO aside.{name}.u VALUES (3)")  # main goes on meanwhile

    report = planned.apply()

    assert (0, Merged.MERGED, None) == (report.exit_code, report.work_branch.outcome, report.work_branch.reason)
    assert f"{name}_aside" not in heads(nessie)
    assert 1 == spark.table(f"aside.{name}.t.data_files").count()
    assert [0, 1, 2] == sorted(row.id for row in spark.table(f"aside.{name}.t").collect())
    assert 4 == spark.table(f"aside.{name}.u").count()
    assert Compacted.NOT_WORTH_IT is only(plan(merge=True).apply()).outcome  # nothing is due, and no branch is made
    assert f"{name}_aside" not in heads(nessie)


def test_a_branch_of_its_own_is_left_to_be_looked_at_and_its_name_is_taken_then(
    spark: SparkSession, nessie: NessieServer, aside: tuple[Callable[..., Any], str]
) -> None:
    plan, name = aside
    report = plan().apply()
    assert (0, Merged.LEFT) == (report.exit_code, report.work_branch.outcome)
    assert 3 == spark.table(f"aside.{name}.t.data_files").count()
    assert {f"{name}_aside"} == {table.reference for table in report.tables}
    with pytest.raises(ConfigurationError, match=f"'{name}_aside' already exists"):
        plan()
    References(nessie.uri).delete(f"{name}_aside")


def test_a_table_that_changed_on_both_branches_is_not_merged(
    spark: SparkSession,
    nessie: NessieServer,
    aside: tuple[Callable[..., Any], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, name = aside
    merge = NessieConnector.merge_branch

    def late(*arguments: Any, **more: Any) -> None:
        spark.sql(f"INSERT INTO aside.{name}.t VALUES (9)")
        merge(*arguments, **more)

    monkeypatch.setattr(NessieConnector, "merge_branch", late)
    report = plan(merge=True).apply()
    assert (1, Merged.CONFLICT) == (report.exit_code, report.work_branch.outcome)
    assert [0, 1, 2, 9] == sorted(row.id for row in spark.table(f"aside.{name}.t").collect())
    assert f"{name}_aside" in heads(nessie)
    References(nessie.uri).delete(f"{name}_aside")


def test_a_catalog_of_another_nessie_is_refused_before_anything_is_committed(
    spark: SparkSession, aside: tuple[Callable[..., Any], str]
) -> None:
    _, name = aside
    with running(NessieServer) as other, Collector(spark=spark, uri=other.uri) as collector:
        given = {"table_branch": "main", "work_branch": f"{name}_aside", "include": [f"{name}[.]t"], **NOW}
        with pytest.raises(NessieGcError):
            collector.compact("aside", **given).apply()
        assert f"{name}_aside" not in References(other.uri).names()
    assert 3 == spark.table(f"aside.{name}.t.data_files").count()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"table_branch": None}, "`work_branch` needs `table_branch`"),
        ({"work_branch": None, "merge": True}, "`merge` needs `work_branch`"),
        ({"table_branch": "nowhere"}, "nowhere"),
    ],
)
def test_branches_that_make_no_sense_are_refused(
    aside: tuple[Callable[..., Any], str], parameters: dict[str, Any], said: str
) -> None:
    plan, _ = aside
    with pytest.raises(NessieGcError, match=said):
        plan(**parameters).apply()


# ---- what is rewritten --------------------------------------------------------------------------------
def test_only_partitions_that_are_due_are_rewritten_whatever_their_transforms(plain: Stage, plan: Planner) -> None:
    columns = "id INT, ts TIMESTAMP, s STRING, d DECIMAL(9, 2), b BINARY"
    plain.create(columns=columns, more="PARTITIONED BY (days(ts), bucket(4, id), truncate(2, s), d, b)")
    row = "(1, TIMESTAMP '1970-01-01 00:00:09', 'abc', 1.50, X'01ff')"
    others = [
        row.replace("1970-01-01", "2026-01-31"),
        row.replace("(1,", "(3,"),  # another bucket
        row.replace("'abc'", "NULL"),
        row.replace("1.50", "1.49"),
        row.replace("X'01ff'", "NULL"),
    ]
    plain.append(row, row, *others)
    rows, before = plain.sql("SELECT * FROM {t} ORDER BY ALL").collect(), files(plain)

    done = only(plan().apply())

    assert [("ts_day=1970-01-01/id_bucket=", 2, 1)] == [
        (each.partition[:28], each.input_files, each.output_files) for each in done.partitions
    ]
    assert (2, 1) == (done.removed_data_files, done.added_data_files)
    assert 5 == len(set(before) & set(files(plain)))
    assert rows == plain.sql("SELECT * FROM {t} ORDER BY ALL").collect()


def test_files_of_another_spec_are_never_rewritten_along(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)")
    plain.append("(1, 1)", "(2, 2)")
    plain.sql("ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)")
    plain.append("(1, 1)", "(1, 1)", "(1, 3)", "(1, 3)")
    before = files(plain)

    done = only(plan().apply())

    said = {each.partition: each.reason for each in done.partitions}
    assert {"p=1/id_bucket_2=0": "Iceberg would ", "p=3/id_bucket_2=0": None} == {
        name: reason and reason[:14] for name, reason in said.items()
    }
    assert 4 == len(set(before) & set(files(plain)))
    assert [1, 1, 1, 1, 1, 2] == [row.id for row in plain.sql("SELECT id FROM {t} ORDER BY id").collect()]


def test_a_table_that_became_partitioned_is_moved_to_its_spec_when_asked(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT")
    plain.append("(1, 1)", "(2, 2)")
    plain.sql("ALTER TABLE {t} ADD PARTITION FIELD p")
    plain.append("(3, 1)", "(4, 1)", "(5, 2)", "(6, 2)", "(7, 3)")
    rows, (lone,) = plain.sql("SELECT * FROM {t} ORDER BY ALL").collect(), files(plain, "partition.p = 3")

    held = only(plan().apply())
    assert Compacted.NOT_WORTH_IT is held.outcome
    assert "`earlier_specs`" in str(held.reason)
    done = only(plan(earlier_specs=True).apply())

    assert (Compacted.REWRITTEN, None, 6) == (done.outcome, done.reason, done.removed_data_files)
    assert {1} == {row.spec_id for row in plain.sql("SELECT spec_id FROM {t}.files").collect()}
    assert [lone] == files(plain, "partition.p = 3")  # the only one of its group, which Iceberg leaves
    assert rows == plain.sql("SELECT * FROM {t} ORDER BY ALL").collect()


def test_few_files_of_an_earlier_spec_are_moved_when_asked(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT")
    plain.append("(1, 1)", "(2, 2)")
    plain.sql("ALTER TABLE {t} ADD PARTITION FIELD p")
    done = only(plan(earlier_specs=True, max_small_files=10).apply())
    assert (Compacted.REWRITTEN, 2, 2) == (done.outcome, done.removed_data_files, done.added_data_files)
    again = only(plan(earlier_specs=True, max_small_files=10))
    assert Compacted.NOT_WORTH_IT is again.outcome


def test_one_file_of_an_earlier_spec_holds_nothing_back(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT")
    plain.append("(1, 1)")
    (old,) = files(plain)
    plain.sql("ALTER TABLE {t} ADD PARTITION FIELD p")
    plain.append("(3, 1)", "(4, 1)", "(5, 2)", "(6, 2)")

    done = only(plan().apply())

    assert (Compacted.REWRITTEN, 4, 2) == (done.outcome, done.removed_data_files, done.added_data_files)
    assert old in files(plain)


def test_rows_of_format_version_3_keep_their_ids_and_deletion_vectors_are_merged(plain: Stage, plan: Planner) -> None:
    write_deleted(plain.sql, "{t}", 3)
    plain.sql("UPDATE {t} SET p = p WHERE id = 4")
    query = "SELECT id, p, _row_id, _last_updated_sequence_number FROM {t} ORDER BY id"
    before = plain.sql(query).collect()

    done = only(plan(max_delete_files=0.1).apply())

    assert Compacted.REWRITTEN is done.outcome
    assert before == plain.sql(query).collect()
    assert done.before is not None
    assert done.after is not None
    assert done.before.delete_files > 0
    assert (2, 0) == (done.after.data_files, done.after.delete_files)


def test_equality_deletes_are_applied_and_taken_out(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id INT, p INT", more="PARTITIONED BY (p)")
    plain.append("(1, 1), (2, 1)", "(3, 1), (4, 1)", "(2, 2)")
    for id_ in (2, 3):
        delete_by_equality(plain, id_, partition=1)
    before = plain.sql("SELECT * FROM {t} ORDER BY ALL").collect()
    assert [1, 2, 4] == sorted(row.id for row in before)

    done = only(plan(max_delete_files=0.9).apply())

    assert before == plain.sql("SELECT * FROM {t} ORDER BY ALL").collect()
    assert (2, 2) == (done.removed_data_files, done.removed_delete_files)
    assert done.after is not None
    assert (2, 0) == (done.after.data_files, done.after.delete_files)


def test_equality_deletes_without_partition_stay_while_they_apply_to_files_of_other_specs(
    plain: Stage, plan: Planner
) -> None:
    plain.create(columns="id INT, p INT")
    plain.sql("ALTER TABLE {t} ADD PARTITION FIELD p")
    plain.append("(1, 1), (2, 1)", "(3, 1), (4, 1)", "(2, 2), (5, 2)", "(6, 2)", "(7, 2)")
    for id_ in (2, 3):
        delete_by_equality(plain, id_, partition=None)
    before = plain.sql("SELECT * FROM {t} ORDER BY ALL").collect()
    assert [1, 4, 5, 6, 7] == sorted(row.id for row in before)

    plan(max_delete_files=0.9, max_small_files=10).apply()

    assert before == plain.sql("SELECT * FROM {t} ORDER BY ALL").collect()
    assert 2 == plain.sql("SELECT * FROM {t}.delete_files WHERE content = 2").count()


def delete_by_equality(stage: Stage, id_: int, *, partition: int | None) -> None:
    """One file with an equality delete, as Flink writes them; ``None``: of the first spec, which has no partitions."""
    jvm: Any = stage.spark._jvm
    iceberg, table = jvm.org.apache.iceberg, stage.java()
    schema = table.schema().select(_array(jvm, "id"))
    spec = table.specs().get(0) if partition is None else table.spec()
    ids = stage.spark.sparkContext._gateway.new_array(jvm.int, 1)  # type: ignore[union-attr]
    ids[0] = table.schema().findField("id").fieldId()
    values = None if partition is None else iceberg.PartitionData(spec.partitionType())
    if values is not None:
        values.set(0, partition)
    output = table.io().newOutputFile(f"{table.location()}/data/equality-{uuid4().hex}.parquet")
    writer = iceberg.data.GenericAppenderFactory(table.schema(), spec, ids, schema, None).newEqDeleteWriter(
        iceberg.encryption.EncryptedFiles.encryptedOutput(output, iceberg.encryption.EncryptionKeyMetadata.EMPTY),
        iceberg.FileFormat.PARQUET,
        values,
    )
    record = iceberg.data.GenericRecord.create(schema)
    record.setField("id", id_)
    writer.write(record)
    writer.close()
    table.newRowDelta().addDeletes(writer.toDeleteFile()).commit()


def _array(jvm: Any, *names: str) -> Any:
    return jvm.java.util.ArrayList(list(names))


@pytest.mark.parametrize(
    "parameters", [{"strategy": "sort", "sort_order": ["id desc"]}, {"strategy": "zorder", "zorder_columns": ["id"]}]
)
def test_rows_are_sorted_where_a_strategy_says_so(plain: Stage, plan: Planner, parameters: dict[str, Any]) -> None:
    plain.create()
    plain.append("(2), (9)", "(5), (1)")
    assert Compacted.REWRITTEN is only(plan(**parameters).apply()).outcome
    found = [row.id for row in plain.sql("SELECT id FROM {t}").collect()]
    assert found == sorted(found, reverse="sort_order" in parameters)


def test_a_sort_without_any_order_is_refused(plain: Stage, plan: Planner) -> None:
    plain.create()
    plain.append("1", "2")
    done = plan(strategy="sort").apply()
    assert (Compacted.REFUSED, 1) == (only(done).outcome, done.exit_code)
    assert "sort order" in str(only(done).reason)


def test_a_column_that_a_table_lacks_is_refused_and_no_conflict(plain: Stage, plan: Planner) -> None:
    plain.create()
    plain.append("1", "2")
    done = only(plan(strategy="sort", sort_order=["nowhere"]).apply())
    assert Compacted.REFUSED is done.outcome
    assert "nowhere" in str(done.reason)


def test_partial_progress_makes_several_commits(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)")
    plain.append("(1, 1), (2, 2)", "(3, 1), (4, 2)")
    done = only(plan(partial_progress=True).apply())
    assert (Compacted.REWRITTEN, 2, 4, 2) == (
        done.outcome,
        len(done.snapshot_ids),
        done.removed_data_files,
        done.added_data_files,
    )


def test_a_dry_run_writes_nothing_and_says_what_is_done_then(plain: Stage, plan: Planner) -> None:
    plain.create()
    plain.append("1", "2", "3")
    before = {path for path in plain.warehouse.rglob("*") if path.is_file()}

    planned = plan()

    assert planned.report.dry_run
    assert before == {path for path in plain.warehouse.rglob("*") if path.is_file()}
    (partition,) = only(planned).partitions
    assert ("", 3, 1, None) == (
        partition.partition,
        partition.input_files,
        partition.output_files,
        only(planned).after,
    )
    done = only(planned.apply())
    assert (3, 1) == (done.removed_data_files, done.added_data_files)
    assert before <= {path for path in plain.warehouse.rglob("*") if path.is_file()}


# ---- what happens meanwhile ---------------------------------------------------------------------------
def test_a_table_that_changed_since_the_plan_is_planned_again_and_never_more_of_it(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)")
    plain.append("(1, 1)", "(2, 1)", "(3, 2)")
    planned = plan()
    plain.append("(4, 2)", "(5, 2)")
    done = only(planned.apply())
    assert (Compacted.REWRITTEN, 2, 1) == (done.outcome, done.removed_data_files, done.added_data_files)
    assert 3 == len(files(plain, "partition.p = 2"))
    assert [1, 2, 3, 4, 5] == [row.id for row in plain.sql("SELECT id FROM {t} ORDER BY id").collect()]


def test_partitions_that_are_being_written_wait(plain: Stage, plan: Planner) -> None:
    plain.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)")
    plain.append("(1, 1)", "(2, 1)", "(3, 2)", "(4, 2)")
    plain.date_back(3, 2, 1, 0)
    done = only(plan(skip_newer_than="PT1H").apply())
    said = {each.partition: each.reason for each in done.partitions}
    assert {"p=1": None, "p=2": "it is being written to: files were added to it recently"} == said
    assert 2 == len(files(plain, "partition.p = 2"))


def test_tables_that_are_dropped_or_replaced_since_the_plan_are_not_touched(plain: Stage, plan: Planner) -> None:
    for table in ("t", "u"):
        plain.create(table)
        plain.append("1", "2", table=table)
    planned = plan()
    plain.sql("DROP TABLE {t}", "DROP TABLE {u}")
    plain.create("u")
    plain.append("7", "8", table="u")
    snapshots = plain.snapshots("u")
    assert [Compacted.GONE, Compacted.GONE] == [table.outcome for table in planned.apply().tables]
    assert snapshots == plain.snapshots("u")


def test_s18_a_table_that_cannot_be_read_stops_no_other(plain: Stage, plan: Planner) -> None:
    for table in ("t", "u"):
        plain.create(table)
        plain.append("1", "2", table=table)
    for path in Path(plain.java("t").location().removeprefix("file:")).glob("metadata/*-m0.avro"):
        path.unlink()
    report = plan().apply()
    assert {"db.t": Compacted.UNREADABLE, "db.u": Compacted.REWRITTEN} == {t.table: t.outcome for t in report.tables}
    assert 1 == report.exit_code


def test_s19_what_an_action_raises_is_known_only_where_iceberg_or_spark_says_so(plain: Stage) -> None:
    plain.create()
    jvm: Any = plain.spark._jvm
    classes, errors = IcebergClasses(jvm, plain.java()), jvm.org.apache.iceberg.exceptions
    runtime = jvm.java.lang.RuntimeException

    class RaisedError(Exception):
        def __init__(self, java: Any) -> None:
            self.java_exception = java

    cause = runtime("the connection broke")
    failed = errors.CommitFailedException(cause, "others", None)
    assert classes.action_committed_nothing(RaisedError(runtime("wrapped", failed)))
    assert classes.action_committed_nothing(RaisedError(jvm.org.apache.spark.SparkException("a task failed")))
    assert not classes.action_committed_nothing(RaisedError(errors.CommitStateUnknownException(failed)))
    assert not classes.action_committed_nothing(RaisedError(cause))
    assert not classes.action_committed_nothing(ConnectionError("the gateway is gone"))


def test_s19_a_gateway_that_breaks_while_spark_works_leaves_the_outcome_unknown(
    plain: Stage, plan: Planner, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain.create()
    plain.append("1", "2")
    planned = plan()

    class Broken:
        def execute(self) -> None:
            raise ConnectionError("the gateway is gone")

    monkeypatch.setattr(FileRewriter, "actions", lambda self, table: [Broken()])
    done = planned.apply()
    assert (Compacted.UNKNOWN, 1) == (only(done).outcome, done.exit_code)
    assert "the gateway is gone" in str(only(done).reason)
    assert 2 == len(files(plain))
