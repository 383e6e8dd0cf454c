"""What is written into the table of unreferenced assets, and what is not."""

from __future__ import annotations

import uuid
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from nessie_gc_memory import delete, put
from unit.services.assets.conftest import NAME, RUNS, TABLE, AssetLake

from nessie_gc_core.cli.screen import show_result
from nessie_gc_core.errors import ConfigurationError, RepositoryError, TableError
from nessie_gc_core.model.asset_runs import ASSET_RUNS
from nessie_gc_core.model.assets import ASSETS, ORIGINAL_COLUMNS
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.assets.identify import IdentifyService, open_table
from nessie_gc_core.services.assets.parameters import IdentifyParameters


def test_each_run_adds_a_row_for_every_asset_that_it_sees(assets: AssetLake) -> None:
    first, second = assets.identify(), assets.identify()
    assert (1, 2) == (first.found.runid, second.found.runid)
    assert first.found.assets == len(assets.names(runid=1)) > 0
    assert assets.names(runid=1) == assets.names(runid=2)
    assert {"a.parquet", "orphan.parquet"} <= assets.names(runid=1)
    assert "b.parquet" not in assets.names(runid=1)


def test_nothing_is_deleted(assets: AssetLake) -> None:
    before = assets.lake.paths()
    assets.identify()
    assert before == assets.lake.paths()


def test_the_table_has_the_columns_of_the_original_and_ours(assets: AssetLake) -> None:
    assets.identify()
    state = assets.catalog.state(NAME)
    assert state is not None
    assert state.schema.equals(ASSETS, check_metadata=False)
    assert state.schema.names[:8] == list(ORIGINAL_COLUMNS)
    (row,) = (row for row in assets.rows() if row["name"] == "orphan.parquet")
    assert row["tableName"] == "db.t"
    assert row["path"] == "memory://warehouse/db/t/data/orphan.parquet"
    assert row["location"] == "memory://warehouse/db/t/"
    assert (row["snapshotId"], row["sizeBytes"]) == ("", 100)
    assert row["timestamp"] == row["firstSeen"] == row["lastSeen"] == assets.lake.time


def test_an_asset_keeps_the_time_at_which_it_was_first_seen(assets: AssetLake) -> None:
    assets.identify()
    first = assets.lake.time
    assets.write("c.parquet")
    assets.identify()
    seen = {row["name"]: row for row in assets.rows() if row["runid"] == 2}
    assert (first, assets.lake.time) == (seen["a.parquet"]["firstSeen"], seen["a.parquet"]["lastSeen"])
    assert seen["b.parquet"]["firstSeen"] == assets.lake.time


def test_a_run_keeps_the_settings_that_it_was_made_with(assets: AssetLake) -> None:
    assets.identify(cutoff=("dev-.*=P30D",), min_age=timedelta(hours=2), allow=("memory://warehouse/",))
    assets.identify()
    (row,) = (row for row in assets.rows(table=RUNS) if (row["runid"], row["status"]) == (1, "COMPLETE"))
    assert '"default_cutoff": "1"' in row["settings"]
    assert '"cutoff": ["dev-.*=P30D"]' in row["settings"]
    assert '"min_age": "PT2H"' in row["settings"]
    assert '"allow": ["memory://warehouse/"]' in row["settings"]
    assert row["repository"] == assets.services.repository.identity()


def test_the_same_run_again_does_nothing(assets: AssetLake) -> None:
    identity = str(uuid.uuid4())
    first = assets.identify(run_id=identity)
    rows = len(assets.rows())
    again = assets.identify(run_id=identity.upper())
    assert (first.found.runid, rows) == (again.found.runid, len(assets.rows()))


def test_a_dry_run_writes_nothing(assets: AssetLake) -> None:
    report = assets.identify(dry_run=True)
    assert (report.found.runid, report.found.assets > 0) == (0, True)
    assert assets.catalog.state(NAME) is None


def test_a_run_that_died_does_not_count_and_leaves_its_number(assets: AssetLake) -> None:
    assets.identify()
    rows = [row for row in assets.rows(table=RUNS) if row["status"] == "STARTED"]
    schema = assets.catalog.state(RUNS).schema  # type: ignore[union-attr]
    assets.catalog.append(RUNS, pa.Table.from_pylist([{**rows[0], "runid": 2, "run": "died"}], schema).to_batches())
    dead = [{**row, "runid": 2, "run": "died"} for row in assets.rows()]
    assets.catalog.append(NAME, pa.Table.from_pylist(dead, ASSETS).to_batches())
    assert assets.identify().found.runid == 3
    assert assets.delete(seen_count=3).agreed.files == 0
    assert assets.delete(seen_count=2).agreed.files > 0


def test_a_clock_that_went_back_changes_no_number(assets: AssetLake) -> None:
    assets.identify()
    assets.lake.now = assets.lake.time - timedelta(hours=30)
    assert assets.identify().found.runid == 2
    assert assets.delete(dry_run=True).latest.runid == 2  # type: ignore[union-attr]


def test_history_says_what_held_an_asset_last(assets: AssetLake) -> None:
    assets.lake.branch("dev")
    assets.lake.commit("dev", put(assets.state.overwrite("dev.parquet").version))
    assets.identify(table="lake.other.assets", default_cutoff="NONE")  # its live set remembers what dev held
    assets.lake.drop("dev")
    assets.identify(history=True)
    found = {row["name"]: row for row in assets.rows()}
    assert ("expired commit", "main") == (found["a.parquet"]["reason"], found["a.parquet"]["lastReference"])
    assert ("no reference", None) == (found["dev.parquet"]["reason"], found["dev.parquet"]["lastReference"])
    assert ("never committed", None) == (found["orphan.parquet"]["reason"], found["orphan.parquet"]["lastReference"])
    assert {"walk", "name"} == {row["typeFrom"] for row in found.values()}


def test_a_name_that_nothing_can_hold_stops_no_history(assets: AssetLake) -> None:
    assets.lake.branch("half\ud800")
    for name in ("odd.parquet", "last.parquet"):
        assets.state = assets.state.overwrite(name)
        assets.lake.commit("half\ud800", put(assets.state.version))
    assets.identify(history=True)
    (row,) = (row for row in assets.rows() if row["name"] == "odd.parquet")
    assert row["reason"] == "expired commit"
    assert row["lastReference"].startswith("half")


def test_without_history_no_reason_is_given(assets: AssetLake) -> None:
    assets.identify()
    assert {None} == {row["reason"] for row in assets.rows()}


def test_a_dropped_table_is_a_reason(assets: AssetLake) -> None:
    for _ in range(3):
        assets.identify(dropped_after=timedelta(hours=30))
    assets.lake.commit("main", delete("db.t"))
    for _ in range(3):
        assets.identify(dropped_after=timedelta(hours=30))
    last = [row for row in assets.rows() if row["runid"] == 6]
    assert {("db.t", "dropped table")} == {(row["tableName"], row["reason"]) for row in last}
    assert "b.parquet" in assets.names(runid=6)


@pytest.mark.parametrize("table", [None, "", "t", "ns.t", "c..t", ".ns.t", "c.ns."])
def test_a_table_is_named_with_its_catalog_and_namespace(assets: AssetLake, table: str | None) -> None:
    with pytest.raises(ConfigurationError, match="`table`"):
        assets.identify(table=table)


def test_a_run_id_is_a_uuid(assets: AssetLake) -> None:
    with pytest.raises(ConfigurationError, match="'mine' is not a UUID"):
        assets.identify(run_id="mine")


def test_a_table_of_something_else_is_refused(assets: AssetLake) -> None:
    assets.catalog.create(NAME, pa.schema([pa.field("tableName", pa.int64())]), properties={})
    with pytest.raises(
        TableError, match=r"gc\.assets is not a table of unreferenced-assets: .*'tableName' of type string"
    ):
        assets.identify()
    assert assets.rows() == []


def test_a_table_of_a_later_version_is_refused(assets: AssetLake) -> None:
    assets.catalog.create(NAME, ASSETS, properties={"nessie-gc.table-version": "2"})
    with pytest.raises(TableError, match="created by a later version"):
        assets.identify()


def test_the_table_of_the_original_gets_our_columns(assets: AssetLake) -> None:
    original = pa.schema([ASSETS.field(name) for name in ORIGINAL_COLUMNS])
    assets.catalog.create(NAME, original, properties={})
    old = {**dict.fromkeys(ORIGINAL_COLUMNS, "x"), "asset": b"x", "timestamp": assets.lake.time, "runid": 41}
    assets.catalog.append(NAME, pa.Table.from_pylist([old], original).to_batches())
    assert assets.identify().found.runid == 42
    found = {(row["runid"], row["location"]) for row in assets.rows()}
    assert found == {(41, None), (42, "memory://warehouse/db/t/")}


def test_one_look_counts_once_however_often_it_is_added(assets: AssetLake) -> None:
    service = IdentifyService(IdentifyParameters(table=TABLE, default_cutoff="1", min_age=timedelta(hours=1)))
    assets.lake.advance(timedelta(days=1))
    run = assets.run()
    table = open_table(run, service.parameters, make_branch=True)
    assert table is not None
    found = service.find(run, table)
    assert [1, 1] == [service.update(table, found).runid for _ in range(2)]
    again = [{**row, "runid": 2} for row in assets.rows(table=RUNS)]  # as a second process would have added it
    assets.catalog.append(RUNS, pa.Table.from_pylist(again, ASSET_RUNS).to_batches())
    sightings = [{**row, "runid": 2} for row in assets.rows()]
    assets.catalog.append(NAME, pa.Table.from_pylist(sightings, ASSETS).to_batches())
    assert assets.delete(seen_count=2).agreed.files == 0
    assert assets.delete(seen_count=1).agreed.files == found.run.assets


def test_a_table_of_another_repository_is_refused(assets: AssetLake) -> None:
    assets.identify()
    (row,) = (row for row in assets.rows(table=RUNS) if row["status"] == "COMPLETE")
    other = pa.Table.from_pylist([{**row, "runid": 2, "run": "other", "repository": "memory:other"}], ASSET_RUNS)
    assets.catalog.append(RUNS, other.to_batches())
    with pytest.raises(ConfigurationError, match="belongs to the repository memory:other"):
        assets.identify()
    with pytest.raises(ConfigurationError, match="belongs to the repository memory:other"):
        assets.delete()


def test_history_that_cannot_be_read_is_left_out_and_said(assets: AssetLake) -> None:
    (main,) = assets.services.repository.references()
    (*_, first) = assets.services.repository.commit_log(main)
    assets.lake.faults.log[first.commit_id] = RepositoryError("the server forgot this commit")
    report = assets.identify(history=True)
    assert report.found.assets > 0
    assert any("the history is incomplete: main: the server forgot" in each for each in report.collection.warnings)


def test_the_screen_says_what_was_found_and_not_what_would_be_deleted(
    assets: AssetLake, capsys: pytest.CaptureFixture[str]
) -> None:
    report = assets.identify()
    show_result("identify-unreferenced", report, as_json=False)
    shown = capsys.readouterr().out
    assert "this command deletes no files" in shown
    assert "dry run" not in shown
    assert "would delete" not in shown


def test_unreferenced_files_of_its_own_tables_are_counted_apart(assets: AssetLake) -> None:
    assets.identify()
    report = assets.identify()
    report.collection.outcomes[Outcome.WOULD_DELETE].files += 3
    assert 3 == report.left_out
    assert "left out: 3 unreferenced files of this program's own tables" in str(report)


def test_what_was_unknown_in_the_run_before_is_no_news(assets: AssetLake, tmp_path: Path) -> None:
    known = str(tmp_path / "known.json")
    assets.identify()
    assets.write("d.parquet")
    assets.lake.faults.reading[assets.state.metadata_location] = ValueError("not JSON")
    assert 1 == assets.identify(known_unknowns=known, dry_run=True).exit_code
    assert [1, 0] == [assets.identify(known_unknowns=known).exit_code for _ in range(2)]
