"""What becomes of planned tables, whatever the catalog answers; the tables are real, the commits are not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from expiry_lakes import ROWS, ExpiryLake
from scripted_maintenance import ScriptedMaintenance, with_snapshot
from turns import Turns, deeds_of

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigurationError,
    IncompleteError,
    TableError,
)
from nessie_gc_core.model.tables import CurrentTable, TableName
from nessie_gc_core.services.manifests import placing
from nessie_gc_core.services.manifests.applying import ManifestRewriter
from nessie_gc_core.services.manifests.looking import PlannedTable, TableLook, planned_tables
from nessie_gc_core.services.manifests.parameters import RewriteManifestsParameters
from nessie_gc_core.services.manifests.report import ManifestsReport, Reorganized, ReorganizedTable
from nessie_gc_core.services.manifests.service import RewriteManifestsService
from nessie_gc_core.services.run import GoOn, never_stopped
from nessie_gc_core.tables import Maintenance


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> ExpiryLake:
    table = expiry_lake.catalog.create_table("db.t", ROWS.schema)
    for _ in range(4):
        table.append(ROWS)
    return expiry_lake


@pytest.fixture
def maintenance(lake: ExpiryLake) -> ScriptedMaintenance:
    return ScriptedMaintenance(lake)


def planned(lake: ExpiryLake, maintenance: Maintenance, **given: Any) -> list[PlannedTable]:
    return list(planned_tables(lake.run(), maintenance, RewriteManifestsParameters(**given)))


def applied(
    lake: ExpiryLake, maintenance: Maintenance, tables: list[PlannedTable], go_on: GoOn = never_stopped
) -> ReorganizedTable:
    run, parameters = lake.run(), RewriteManifestsParameters(commit_retries=2)
    with OpenConnectors(run.choice) as connectors:
        look = TableLook(maintenance=maintenance, parameters=parameters, connectors=connectors)
        rewriter = ManifestRewriter(maintenance=maintenance, look=look, service="s", go_on=go_on)
        (found,) = map(rewriter.rewritten, tables)
        return found


def raising(error: Exception) -> Callable[[CurrentTable], CurrentTable]:
    def answer(table: CurrentTable) -> CurrentTable:
        raise error

    return answer


# ---- planning -----------------------------------------------------------------------------------------
def test_it_reads_what_manifest_lists_say(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    (table,) = planned(lake, maintenance)
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    lengths = [manifest.manifest_length for manifest in snapshot.manifests(lake.load().io)]
    assert lake.load().location() == table.report.location
    assert (4, sum(lengths), 4, 1) == (
        table.report.manifests,
        table.report.bytes,
        table.report.rewritten,
        table.report.expected,
    )


def test_a_target_of_a_table_holds_where_none_is_given(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    with lake.load().transaction() as transaction:
        transaction.set_properties({"commit.manifest.target-size-bytes": "65536"})
    assert [65536] == [table.report.target_bytes for table in planned(lake, maintenance)]
    assert [8 << 20] == [table.report.target_bytes for table in planned(lake, maintenance, target_manifest_size="8MB")]


def test_a_target_that_is_no_number_is_said_of_its_table(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    with lake.load().transaction() as transaction:
        transaction.set_properties({"commit.manifest.target-size-bytes": "big"})
    (table,) = planned(lake, maintenance)
    assert (Reorganized.UNREADABLE, "'big': set a number of bytes") == (
        table.report.outcome,
        str(table.report.reason)[-28:],
    )


def test_what_is_no_iceberg_table_is_left_alone(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    maintenance.more = (("db", "hive"),)
    found = {table.report.table: table.report.outcome for table in planned(lake, maintenance)}
    assert {"db.t": Reorganized.REWRITTEN, "db.hive": Reorganized.LEFT_ALONE} == found


def test_tables_are_chosen_by_patterns(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    lake.catalog.create_table("db.tt", ROWS.schema)
    assert ["db.t"] == [table.report.table for table in planned(lake, maintenance, include=["db[.]t"])]
    assert ["db.tt"] == [table.report.table for table in planned(lake, maintenance, exclude=["db[.]t"])]


@pytest.fixture
def of_version_3(maintenance: ScriptedMaintenance, monkeypatch: pytest.MonkeyPatch) -> ScriptedMaintenance:
    """Tables of format version 3, and an Iceberg that gives their rows new ids."""
    known = maintenance.current

    def current(name: TableName) -> CurrentTable | None:
        found = known(name)
        return None if found is None else replace(found, format_version=3)

    monkeypatch.setattr(ScriptedMaintenance, "loses_row_ids", True)
    monkeypatch.setattr(maintenance, "current", current)
    return maintenance


def test_files_of_format_version_3_are_dealt_out_here_where_their_rows_would_get_new_ids(
    lake: ExpiryLake, of_version_3: ScriptedMaintenance
) -> None:
    files = {task.file.file_path for task in lake.load().scan().plan_files()}
    assert Reorganized.REWRITTEN is applied(lake, of_version_3, planned(lake, of_version_3)).outcome
    assert dict.fromkeys(files, 1) == of_version_3.placed


def test_more_files_of_format_version_3_than_fit_are_left_alone(
    lake: ExpiryLake, of_version_3: ScriptedMaintenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "MOST_FILES", 3)
    (table,) = planned(lake, of_version_3)
    assert (Reorganized.LEFT_ALONE, {}) == (table.report.outcome, table.paths)


# ---- applying -----------------------------------------------------------------------------------------
def test_a_conflict_is_tried_again_so_often(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    maintenance.answer = raising(CommitConflictError("others were faster"))
    done = applied(lake, maintenance, planned(lake, maintenance))
    assert (Reorganized.CONFLICT, "others were faster", 3) == (done.outcome, done.reason, len(maintenance.commits))


def test_after_a_conflict_no_more_is_rewritten_than_was_planned(
    lake: ExpiryLake, maintenance: ScriptedMaintenance
) -> None:
    tables = planned(lake, maintenance)

    def answer(table: CurrentTable) -> CurrentTable:
        if len(maintenance.commits) == 1:
            lake.load().append(ROWS)
            raise CommitConflictError("others were faster")
        return with_snapshot(table)

    maintenance.answer = answer
    done = applied(lake, maintenance, tables)
    assert (Reorganized.REWRITTEN, 5, 4, 2) == (done.outcome, done.manifests, done.rewritten, done.expected)
    assert [tables[0].paths, tables[0].paths] == maintenance.commits


def test_a_table_that_vanished_or_was_replaced_is_gone(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    maintenance.answer = raising(CommitConflictError("it is another"))
    tables = planned(lake, maintenance)
    lake.catalog.drop_table("db.t")
    assert Reorganized.GONE is applied(lake, maintenance, tables).outcome
    table = lake.catalog.create_table("db.t", ROWS.schema)
    for _ in range(4):
        table.append(ROWS)
    done = applied(lake, maintenance, tables)
    assert (Reorganized.GONE, "it was replaced by another table with the same name") == (done.outcome, done.reason)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (CommitUnknownError("nobody knows"), Reorganized.UNKNOWN),
        (TableError("the catalog says no"), Reorganized.REFUSED),
        (OSError("the gateway is gone"), Reorganized.REFUSED),
    ],
)
def test_s19_what_fails_is_tried_once_and_fails_the_report(
    lake: ExpiryLake, maintenance: ScriptedMaintenance, error: Exception, outcome: Reorganized
) -> None:
    maintenance.answer = raising(error)
    files = lake.files()
    done = applied(lake, maintenance, planned(lake, maintenance))
    assert (outcome, str(error), 1, files) == (done.outcome, done.reason, len(maintenance.commits), lake.files())
    report = ManifestsReport(catalog="c", dry_run=False, tables=[done])
    assert 1 == report.exit_code
    with pytest.raises(IncompleteError, match=str(error)):
        report.raise_for_status()


def test_a_table_in_which_iceberg_finds_nothing_is_not_counted_as_rewritten(
    lake: ExpiryLake, maintenance: ScriptedMaintenance
) -> None:
    maintenance.answer = lambda table: table
    done = applied(lake, maintenance, planned(lake, maintenance))
    said = "Iceberg found nothing to rewrite in what was planned"
    assert (Reorganized.NOT_WORTH_IT, said) == (done.outcome, done.reason)


def test_a_commit_whose_state_cannot_be_read_is_done_once(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    maintenance.answer = lambda table: None
    done = applied(lake, maintenance, planned(lake, maintenance))
    assert (Reorganized.REWRITTEN, None, None) == (done.outcome, done.snapshot_id, done.manifests_after)
    assert 1 == len(maintenance.commits)


def test_a_reader_that_breaks_after_a_commit_leaves_it_done(
    lake: ExpiryLake, maintenance: ScriptedMaintenance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: TableLook, current: CurrentTable) -> None:
        raise ConnectionError("the store is gone")

    tables = planned(lake, maintenance)
    monkeypatch.setattr(TableLook, "manifests", broken)
    assert Reorganized.REWRITTEN is applied(lake, maintenance, tables).outcome


def test_what_is_not_planned_is_not_touched(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    lake.catalog.drop_table("db.t")
    lake.catalog.create_table("db.empty", ROWS.schema)
    done = applied(lake, maintenance, planned(lake, maintenance))
    assert (Reorganized.NOT_WORTH_IT, "it has no snapshot", []) == (done.outcome, done.reason, maintenance.commits)


# ---- parameters ---------------------------------------------------------------------------------------
def test_another_engine_than_spark_is_refused(lake: ExpiryLake) -> None:
    with pytest.raises(ConfigurationError, match="needs Spark; use `engine` spark, not local"):
        RewriteManifestsService(RewriteManifestsParameters(catalog="c")).run(lake.run())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "`catalog` is missing"),
        ({"catalog": "c", "target_manifest_size": "8"}, "has no unit"),
        ({"catalog": "c", "target_manifest_size": "8B"}, "less than 1KiB"),
        ({"catalog": "c", "include": ["("]}, "not a valid regular expression"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        RewriteManifestsParameters(**given).check()


def test_s15_a_run_that_has_to_end_tries_no_conflict_again(lake: ExpiryLake, maintenance: ScriptedMaintenance) -> None:
    tables = planned(lake, maintenance)

    def rewrite(turns: Turns) -> None:
        def answer(table: CurrentTable) -> CurrentTable:
            turns.note("rewrite")
            raise CommitConflictError("others were faster")

        maintenance.answer = answer
        applied(lake, maintenance, tables, turns.go_on)

    assert ["rewrite"] * 3 == deeds_of(rewrite)
