"""What becomes of planned compactions, whatever the catalog answers; the tables are real, the commits are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from expiry_lakes import ROWS, ExpiryLake
from scripted_maintenance import ScriptedMaintenance
from turns import Turns, deeds_of

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigurationError,
    IncompleteError,
    TableError,
)
from nessie_gc_core.model.compaction import Partition, RewriteFailure, RewrittenFiles, SortField, Strategy
from nessie_gc_core.model.tables import CurrentTable
from nessie_gc_core.services.compaction.applying import Compactor
from nessie_gc_core.services.compaction.looking import PlannedTable, TableLook
from nessie_gc_core.services.compaction.parameters import CompactParameters
from nessie_gc_core.services.compaction.report import Compacted, CompactedTable, CompactionReport
from nessie_gc_core.services.compaction.service import CompactService
from nessie_gc_core.services.current_tables import reported_location
from nessie_gc_core.services.run import GoOn, never_stopped

NOW = datetime(2026, 1, 31, tzinfo=UTC)
EAGER = CompactParameters(max_small_files=1.0, skip_newer_than=timedelta(0), commit_retries=2)


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> ExpiryLake:
    table = expiry_lake.catalog.create_table("db.t", ROWS.schema)
    for _ in range(4):
        table.append(ROWS)
    return expiry_lake


@pytest.fixture
def maintenance(lake: ExpiryLake) -> ScriptedMaintenance:
    return ScriptedMaintenance(lake)


@pytest.fixture
def look(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> Any:
    with OpenConnectors(lake.run().choice) as connectors:
        yield TableLook(maintenance=maintenance, connectors=connectors, rules=EAGER.rules(NOW), branch=None)


def planned(look: TableLook) -> PlannedTable:
    return look.looked(("db", "t"))


def compacted(
    look: TableLook, table: PlannedTable, go_on: GoOn = never_stopped, *, reviewed: bool = True
) -> CompactedTable:
    rewrite = EAGER.rewrite("compact")
    compactor = Compactor(
        maintenance=look.maintenance, look=look, rewrite=rewrite, commit_retries=2, reviewed=reviewed, go_on=go_on
    )
    return compactor.compacted(table)


def raising(error: Exception) -> Callable[[CurrentTable], RewrittenFiles]:
    def answer(table: CurrentTable) -> RewrittenFiles:
        raise error

    return answer


# ---- planning -----------------------------------------------------------------------------------------
def test_it_counts_what_manifests_name(lake: ExpiryLake, look: TableLook) -> None:
    report = planned(look).report
    sizes = [task.file.file_size_in_bytes for task in lake.load().scan().plan_files()]
    assert report.before is not None
    assert (Compacted.REWRITTEN, 4, sum(sizes), 4) == (
        report.outcome,
        report.before.data_files,
        report.before.bytes,
        report.before.small_files,
    )


def test_a_table_whose_summary_has_too_few_files_is_not_opened(lake: ExpiryLake, look: TableLook) -> None:
    for path in lake.load().inspect.manifests()["path"].to_pylist():
        (lake.folder / path.removeprefix("file://")).unlink()
    default = replace(look, rules=CompactParameters().rules(NOW))
    report = planned(default).report
    assert (Compacted.NOT_WORTH_IT, "it has 4 data files and 0 delete files", None) == (
        report.outcome,
        report.reason,
        report.before,
    )
    assert Compacted.UNREADABLE is planned(look).report.outcome


def test_a_table_has_the_location_that_a_sweep_reports(lake: ExpiryLake, look: TableLook) -> None:
    location = planned(look).report.location
    assert lake.load().location() == location
    run = lake.run()
    assert [f"{location}/", "s3://lake/t/", None, None] == [
        reported_location(each, run) for each in (location, "s3a://lake/t", "no-scheme-of-ours://lake/t", None)
    ]


# ---- applying -----------------------------------------------------------------------------------------
def test_what_commits_did_is_in_the_report(look: TableLook, maintenance: ScriptedMaintenance) -> None:
    maintenance.files = lambda table: RewrittenFiles(
        after=table, snapshot_ids=(7,), removed_data_files=4, added_data_files=1, removed_bytes=9, added_bytes=5
    )
    done = compacted(look, planned(look))
    assert (Compacted.REWRITTEN, (7,), 4, 1, 9, 5) == (
        done.outcome,
        done.snapshot_ids,
        done.removed_data_files,
        done.added_data_files,
        done.removed_bytes,
        done.added_bytes,
    )
    assert "4 data files became 1" in str(done)
    assert [(frozenset({Partition(0)}), True)] == [(each.partitions, each.is_all) for each in maintenance.rewritten]


def test_a_conflict_is_tried_again_so_often(look: TableLook, maintenance: ScriptedMaintenance) -> None:
    maintenance.files = raising(CommitConflictError("others were faster"))
    done = compacted(look, planned(look))
    assert (Compacted.CONFLICT, "others were faster", 3) == (done.outcome, done.reason, len(maintenance.rewritten))


def test_after_a_conflict_what_is_no_longer_due_is_left_alone(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    def answer(table: CurrentTable) -> RewrittenFiles:
        lake.load().overwrite(ROWS)
        raise CommitConflictError("others were faster")

    maintenance.files = answer
    done = compacted(look, planned(look))
    assert (Compacted.NOT_WORTH_IT, 1) == (done.outcome, len(maintenance.rewritten))


def test_a_table_that_vanished_or_was_replaced_is_gone(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    maintenance.files = raising(CommitConflictError("it is another"))
    table = planned(look)
    lake.catalog.drop_table("db.t")
    assert Compacted.GONE is compacted(look, table).outcome
    other = lake.catalog.create_table("db.t", ROWS.schema)
    for _ in range(4):
        other.append(ROWS)
    done = compacted(look, table)
    assert (Compacted.GONE, "it was replaced by another table with the same name") == (done.outcome, done.reason)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (CommitUnknownError("nobody knows"), Compacted.UNKNOWN),
        (TableError("the catalog says no"), Compacted.REFUSED),
        (ConnectionError("the gateway is gone"), Compacted.REFUSED),
    ],
)
def test_s19_what_fails_is_tried_once_and_fails_the_report(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance, error: Exception, outcome: Compacted
) -> None:
    maintenance.files = raising(error)
    files = lake.files()
    done = compacted(look, planned(look))
    assert (outcome, str(error), 1, files) == (done.outcome, done.reason, len(maintenance.rewritten), lake.files())
    report = CompactionReport(catalog="c", dry_run=False, tables=[done])
    assert 1 == report.exit_code
    with pytest.raises(IncompleteError, match=str(error)):
        report.raise_for_status()


def test_what_was_committed_before_something_failed_is_in_the_report(
    look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    maintenance.files = lambda table: RewrittenFiles(
        after=table,
        snapshot_ids=(7,),
        removed_data_files=2,
        failed="2 of 4 data files are as they were",
        failure=RewriteFailure.REFUSED,
    )
    done = compacted(look, planned(look))
    assert (Compacted.PARTLY, 2, "2 of 4 data files are as they were") == (
        done.outcome,
        done.removed_data_files,
        done.reason,
    )
    assert 1 == CompactionReport(catalog="c", dry_run=False, tables=[done]).exit_code


def test_a_table_in_which_iceberg_finds_nothing_is_not_counted_as_rewritten(
    look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    done = compacted(look, planned(look))
    assert (Compacted.NOT_WORTH_IT, "Iceberg found nothing to rewrite") == (done.outcome, done.reason)
    assert [False] == [row.rewritten for row in done.partitions]
    assert 1 == len(maintenance.rewritten)


@pytest.mark.parametrize(
    ("failure", "outcome", "calls"),
    [
        (RewriteFailure.UNKNOWN, Compacted.UNKNOWN, 1),
        (RewriteFailure.REFUSED, Compacted.PARTLY, 1),
        (RewriteFailure.CONFLICT, Compacted.PARTLY, 3),
    ],
)
def test_s19_only_conflicts_are_tried_again_after_some_commits(
    look: TableLook, maintenance: ScriptedMaintenance, failure: RewriteFailure, outcome: Compacted, calls: int
) -> None:
    maintenance.files = lambda table: RewrittenFiles(after=table, snapshot_ids=(7,), failed="no", failure=failure)
    done = compacted(look, planned(look))
    assert (outcome, "no", (7,) * calls) == (done.outcome, done.reason, done.snapshot_ids)
    assert calls == len(maintenance.rewritten)
    assert 1 == CompactionReport(catalog="c", dry_run=False, tables=[done]).exit_code


def test_why_delete_files_stay_is_said_of_a_table_that_is_done(
    look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    maintenance.files = lambda table: RewrittenFiles(after=table, snapshot_ids=(7,), kept="they may apply")
    done = compacted(look, planned(look))
    assert (Compacted.REWRITTEN, "they may apply") == (done.outcome, done.reason)


# ---- planned again ------------------------------------------------------------------------------------
WIDE = pa.table({"p": pa.array([1, 2], pa.int32())})


@pytest.fixture
def parted(lake: ExpiryLake, look: TableLook) -> PlannedTable:
    """Two partitions that are due, of which one is to have its deletes merged."""
    table = lake.catalog.create_table("db.p", WIDE.schema)
    with table.update_spec() as update:
        update.add_identity("p")
    for _ in range(4):
        table.append(WIDE)
    found = look.looked(("db", "p"))
    return found.with_plans([replace(plan, deletes_due=plan.partition.values == (2,)) for plan in found.plans])


def test_after_a_commit_and_a_conflict_the_table_is_taken_as_it_is_now(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance, parted: PlannedTable
) -> None:
    states: list[CurrentTable] = []

    def answer(table: CurrentTable) -> RewrittenFiles:
        states.append(table)
        if len(states) == 2:
            lake.load("db.p").append(WIDE.slice(0, 1))
            raise CommitConflictError("others were faster")
        return RewrittenFiles(after=table, snapshot_ids=(len(states),))

    maintenance.files = answer
    done = compacted(look, parted)
    assert (Compacted.REWRITTEN, None, (1, 3)) == (done.outcome, done.reason, done.snapshot_ids)
    assert [parted.current, parted.current, maintenance.current(("db", "p"))] == states
    assert [{(1,)}, {(2,)}, {(2,)}] == [{each.values for each in group.partitions} for group in maintenance.rewritten]


def test_s15_a_run_that_has_to_end_rewrites_no_other_partition_and_tries_no_conflict_again(
    look: TableLook, maintenance: ScriptedMaintenance, parted: PlannedTable
) -> None:
    def compact(turns: Turns) -> None:
        def answer(table: CurrentTable) -> RewrittenFiles:
            turns.note("rewrite")
            if len(turns.deeds) == 2:
                raise CommitConflictError("others were faster")
            return RewrittenFiles(after=table, snapshot_ids=(7,))

        maintenance.files = answer
        compacted(look, parted, turns.go_on)

    assert ["rewrite"] * 3 == deeds_of(compact)


def test_a_partition_of_which_more_would_be_rewritten_than_planned_waits(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance, parted: PlannedTable
) -> None:
    def answer(table: CurrentTable) -> RewrittenFiles:
        if len(maintenance.rewritten) == 1:
            lake.load("db.p").append(WIDE.slice(0, 1))
            raise CommitConflictError("others were faster")
        return RewrittenFiles(after=table, snapshot_ids=(len(maintenance.rewritten),))

    maintenance.files = answer
    done = compacted(look, parted)
    said = "another process changed it, and it needs more work now than planned"
    assert (Compacted.REWRITTEN, said, (2,)) == (done.outcome, done.reason, done.snapshot_ids)
    assert {"p=1": (False, said), "p=2": (True, None)} == {
        row.partition: (row.rewritten, row.reason) for row in done.partitions
    }


def test_a_partition_whose_deletes_came_due_meanwhile_waits(
    look: TableLook, maintenance: ScriptedMaintenance, parted: PlannedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(table: CurrentTable) -> RewrittenFiles:
        if len(maintenance.rewritten) == 1:
            raise CommitConflictError("others were faster")
        return RewrittenFiles(after=table, snapshot_ids=(7,))

    now = parted.with_plans([replace(plan, deletes_due=True) for plan in parted.plans])
    monkeypatch.setattr(TableLook, "looked", lambda self, name: now)
    maintenance.files = answer
    assert {"p=1": False, "p=2": True} == {row.partition: row.rewritten for row in compacted(look, parted).partitions}
    assert {(2,)} == {each.values for each in maintenance.rewritten[-1].partitions}


def test_what_is_not_planned_is_not_touched(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    lake.catalog.create_table("db.empty", ROWS.schema)
    done = compacted(look, look.looked(("db", "empty")))
    assert (Compacted.NOT_WORTH_IT, "it has no snapshot", []) == (done.outcome, done.reason, maintenance.rewritten)


def test_a_terminal_shows_the_first_tables_and_says_how_many_there_are() -> None:
    failed = [CompactedTable(table=f"f{n}", outcome=Compacted.REFUSED, reason="no") for n in range(25)]
    quiet = [CompactedTable(table=f"q{n}", outcome=Compacted.NOT_WORTH_IT, reason="few") for n in range(3)]
    lines = str(CompactionReport(catalog="c", dry_run=False, tables=[*failed, *quiet])).splitlines()
    assert [
        "compacted: 0 of 28 tables; 0 s",
        "  f0: refused: no",
        "  and 5 more tables; --json has them all",
        "  and 3 tables with nothing to rewrite",
    ] == [*lines[:2], *lines[-2:]]
    assert 1 + 20 + 2 == len(lines)


# ---- parameters ---------------------------------------------------------------------------------------
def test_another_engine_than_spark_is_refused(lake: ExpiryLake) -> None:
    with pytest.raises(ConfigurationError, match="compact needs Spark; use `engine` spark, not local"):
        CompactService(CompactParameters(catalog="c")).run(lake.run())


def test_the_defaults_are_those_of_the_original_service_and_sizes_are_binary() -> None:
    rules = CompactParameters().rules(NOW)
    assert (10.0, 10.0, 100 << 20, 256 << 20) == (
        rules.max_small_files,
        rules.max_delete_files,
        rules.small_bytes,
        rules.target_bytes,
    )


def test_a_sort_order_is_read_as_sql_has_it() -> None:
    given = ["id", "ts desc", "a.b ASC NULLS LAST"]
    assert (
        SortField(column="id"),
        SortField(column="ts", ascending=False, nulls_first=False),
        SortField(column="a.b", nulls_first=False),
    ) == CompactParameters(strategy=Strategy.SORT, sort_order=given).rewrite("s").sort_order


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`catalog` is missing"),
        ({"small_file_size": "100"}, "has no unit"),
        ({"target_rewrite_size": "big"}, "is not a size"),
        ({"max_bytes": "5"}, "has no unit"),
        ({"small_file_size": "256MB"}, "must be above 0 and at most half of"),
        ({"small_file_size": "129MB"}, "must be above 0 and at most half of"),
        ({"small_file_size": "0B"}, "must be above 0 and at most half of"),
        ({"sort_order": ["id"]}, "`sort_order` needs `strategy` sort"),
        ({"strategy": Strategy.SORT, "sort_order": ["id down"]}, "is not a column with a direction"),
        ({"strategy": Strategy.ZORDER}, "must be given together"),
        ({"zorder_columns": ["id"]}, "must be given together"),
        ({"include": ["("]}, "not a valid regular expression"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        CompactParameters(**given).check(NOW)


def test_a_strategy_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="strategy"):
        CompactParameters.from_mapping({"strategy": "shuffle"})


def takes_an_append(lake: ExpiryLake, maintenance: ScriptedMaintenance, name: str, rows: pa.Table) -> None:
    """Somebody appends a file between the plan and the first rewrite, which then finds another state."""

    def answer(table: CurrentTable) -> RewrittenFiles:
        if len(maintenance.rewritten) == 1:
            lake.load(name).append(rows)
            raise CommitConflictError("others were faster")
        return RewrittenFiles(after=table, snapshot_ids=(len(maintenance.rewritten),))

    maintenance.files = answer


def test_a_table_that_takes_appends_is_planned_again_where_nobody_reviewed_the_plan(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    before = planned(look)
    takes_an_append(lake, maintenance, "db.t", ROWS)
    done = compacted(look, before, reviewed=False)
    assert (Compacted.REWRITTEN, None, (2,)) == (done.outcome, done.reason, done.snapshot_ids)


def test_a_reviewed_plan_of_a_table_that_takes_appends_waits_and_says_so(
    lake: ExpiryLake, look: TableLook, maintenance: ScriptedMaintenance
) -> None:
    before = planned(look)
    takes_an_append(lake, maintenance, "db.t", ROWS)
    done = compacted(look, before)
    said = "another process changed it, and it needs more work now than planned"
    assert (Compacted.WAITING, said, ()) == (done.outcome, done.reason, done.snapshot_ids)
    assert not done.is_failed
    assert f"db.t: waiting: {said}" in str(done)
