"""What the figures of a table of unreferenced assets say."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from unit.services.assets.conftest import NAME, RUNS, AssetLake
from unit.services.assets.made_up_runs import FIRST, add_run, make_table

from nessie_gc_core.errors import ConfigurationError, TableError
from nessie_gc_core.model.assets import ASSETS
from nessie_gc_core.services.assets.page.counting import by_sightings
from nessie_gc_core.services.assets.page.figures import Group, Grouping, LatestRun


def latest(assets: AssetLake, **given: Any) -> LatestRun:
    found = assets.show(**given).figures.latest
    assert found is not None
    return found


def named(grouping: Grouping) -> dict[str, tuple[int, int]]:
    return {group.name: (group.files, group.bytes) for group in grouping.rows}


def test_garbage_is_counted_by_table_type_and_reason(assets: AssetLake) -> None:
    add_run(
        assets,
        [
            {"name": "1", "tableName": "db.a", "sizeBytes": 5, "assetType": "DATA_FILE", "reason": "no reference"},
            {"name": "2", "tableName": "db.a", "sizeBytes": 7, "assetType": "DELETE_FILE", "reason": None},
            {"name": "3", "tableName": "db.b", "sizeBytes": 100, "assetType": "DATA_FILE", "reason": "no reference"},
            {"name": "4", "tableName": "", "sizeBytes": None, "assetType": "DATA_FILE", "reason": None},
        ],
    )
    found = latest(assets)
    assert (4, 112) == (found.files, found.bytes)
    assert named(found.by_table) == {"db.b": (1, 100), "db.a": (2, 12), "": (1, 0)}
    assert [group.name for group in found.by_table.rows] == ["db.b", "db.a", ""]  # the largest first
    assert named(found.by_type) == {"DATA_FILE": (3, 105), "DELETE_FILE": (1, 7)}
    assert named(found.by_reason) == {"no reference": (2, 105), "": (2, 7)}


def test_ages_are_those_of_the_modification_at_the_time_of_the_run(assets: AssetLake) -> None:
    second = timedelta(seconds=1)
    ages = {"a": -second, "b": timedelta(days=1) - second, "c": timedelta(days=1), "d": timedelta(days=7) - second}
    ages |= {"e": timedelta(days=7), "f": timedelta(days=30), "g": timedelta(days=90), "h": timedelta(days=365)}
    add_run(assets, [{"name": name, "modified": FIRST - age} for name, age in ages.items()])
    expected = {"less than a day": 2, "1 to 7 days": 2, "7 to 30 days": 1, "30 to 90 days": 1}
    expected |= {"90 days to a year": 1, "a year or more": 1}
    assert {group.name: group.files for group in latest(assets).by_age.rows} == expected
    add_run(assets, [{"name": "x", "modified": None}])
    assert latest(assets).by_age.rows[-1] == Group(name="not known", files=1, bytes=100)
    assert (1, 0) == (latest(assets).by_age.files, latest(assets).by_age.rows[0].files)


def test_twenty_groups_are_named_and_the_rest_is_a_sum(assets: AssetLake) -> None:
    add_run(assets, [{"name": str(n), "tableName": f"db.t{n}", "sizeBytes": n} for n in range(1, 24)])
    found = latest(assets).by_table
    assert [group.name for group in found.rows] == [f"db.t{n}" for n in range(23, 3, -1)]
    assert (3, 3, 1 + 2 + 3) == (found.others, found.other_files, found.other_bytes)
    assert (23, sum(range(24))) == (found.files, found.bytes)


def test_only_the_latest_complete_run_is_garbage_and_all_are_the_trend(assets: AssetLake) -> None:
    add_run(assets, [{"name": "gone"}, {"name": "stays"}])
    add_run(assets, [{"name": "stays"}, {"name": "new", "sizeBytes": 1}, {"name": "newer", "sizeBytes": 2}], unknown=4)
    started = [row for row in assets.rows(table=RUNS) if row["status"] == "STARTED"][-1]
    died = pa.Table.from_pylist([{**started, "runid": 3, "run": "died"}], assets.catalog.state(RUNS).schema)  # type: ignore[union-attr]
    assets.catalog.append(RUNS, died.to_batches())
    rows = [{**row, "runid": 3} for row in assets.rows() if row["runid"] == 2]
    assets.catalog.append(NAME, pa.Table.from_pylist(rows, ASSETS).to_batches())
    figures = assets.show().figures
    assert [(1, 2, 200, 0), (2, 3, 103, 4)] == [
        (run.runid, run.assets, run.size_bytes, run.unknown) for run in figures.trend
    ]
    assert (2, 3, 103) == (latest(assets).run.runid, latest(assets).files, latest(assets).bytes)
    assert named(latest(assets).sightings) == {"1": (2, 3), "2 or more": (1, 100)}


def test_the_trend_is_in_the_order_of_time_also_where_a_clock_went_back(assets: AssetLake) -> None:
    add_run(assets, [{"name": "a"}])
    add_run(assets, [{"name": "a"}], timestamp=FIRST - timedelta(days=3))
    assert [2, 1] == [run.runid for run in assets.show().figures.trend]
    assert 2 == latest(assets).run.runid


def test_sightings_count_up_to_the_threshold(assets: AssetLake) -> None:
    for seen in (["a", "b", "c"], ["a", "b"], ["a", "b", "d"], ["a", "d", "e"]):
        add_run(assets, [{"name": name} for name in seen])
    found = latest(assets, seen_count=3)
    assert named(found.sightings) == {"1": (1, 100), "2": (1, 100), "3 or more": (1, 100)}  # e, d and a
    assert (4, 1) == (found.counted, found.next_delete.files)
    assert named(latest(assets, seen_count=1).sightings) == {"1 or more": (3, 300)}


def test_runs_that_are_too_close_count_once(assets: AssetLake) -> None:
    for _ in range(4):
        add_run(assets, [{"name": "a"}])
    found = latest(assets, seen_apart=timedelta(hours=30))
    assert (2, 1) == (found.counted, found.next_delete.files)
    assert 0 == latest(assets, seen_apart=timedelta(hours=30), seen_count=3).next_delete.files


def test_a_high_threshold_has_one_group_for_the_lowest_numbers() -> None:
    seen = [Group(name=str(number), files=1, bytes=number) for number in (1, 5, 11, 12, 29, 30, 31)]
    found = by_sightings(seen, 30)
    assert 20 == len(found.rows)
    assert Group(name="1 to 11", files=3, bytes=17) == found.rows[0]
    assert Group(name="12", files=1, bytes=12) == found.rows[1]
    assert Group(name="30 or more", files=2, bytes=61) == found.rows[-1]


@pytest.mark.parametrize(
    "given",
    [{}, {"seen_count": 1}, {"seen_count": 3}, {"where": "name = 'a.parquet'"}, {"seen_apart": timedelta(hours=25)}],
    ids=str,
)
def test_the_next_deletion_is_what_a_dry_run_agrees_on(assets: AssetLake, given: dict[str, Any]) -> None:
    assets.identify()
    assets.write("c.parquet")
    assets.identify()
    expected = assets.delete(dry_run=True, **given).agreed
    found = latest(assets, **given).next_delete
    assert (expected.files, expected.bytes) == (found.files, found.bytes)
    assert expected.files > 0 or given


def test_a_predicate_is_about_the_deletion_and_not_about_what_there_is(assets: AssetLake) -> None:
    for _ in range(2):
        add_run(assets, [{"name": "a", "tableName": "db.a"}, {"name": "b", "tableName": "db.b"}])
    found = latest(assets, where="\"tableName\" = 'db.a'")
    assert (2, 1) == (found.files, found.sightings.files)
    assert named(found.next_delete) == {"db.a": (1, 100)}
    with pytest.raises(ConfigurationError, match="is not a valid predicate"):
        assets.show(where="tableName = ")


def test_what_was_deleted_has_left_the_table_and_not_the_trend(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    seen = latest(assets).files
    deleted = assets.delete().tried
    assert (deleted, seen - deleted, seen) == (
        latest(assets).gone,
        latest(assets).files,
        assets.show().figures.trend[-1].assets,
    )


def test_an_asset_that_two_rows_of_a_run_have_counts_once(assets: AssetLake) -> None:
    add_run(assets, [{"name": "a"}, {"name": "a"}])
    add_run(assets, [{"name": "a"}, {"name": "a"}])
    assert named(latest(assets).next_delete) == {"db.t": (1, 100)}
    assert 1 == latest(assets).files


def test_a_table_of_the_original_has_no_sizes_times_and_reasons(assets: AssetLake) -> None:
    add_run(assets, [{"name": "a", "sizeBytes": None, "modified": None, "reason": None}])
    found = latest(assets)
    assert (1, 0) == (found.files, found.bytes)
    assert ("not known", "") == (found.by_age.rows[-1].name, found.by_reason.rows[0].name)


def test_a_run_that_saw_nothing_has_figures_without_files(assets: AssetLake) -> None:
    add_run(assets, [])
    found = latest(assets)
    assert (0, 0, 1) == (found.files, found.next_delete.files, found.counted)
    assert () == found.by_table.rows


def test_a_table_without_a_complete_run_has_no_latest_one(assets: AssetLake) -> None:
    make_table(assets)
    figures = assets.show().figures
    assert (None, []) == (figures.latest, list(figures.trend))


def test_a_table_that_is_not_there_is_named(assets: AssetLake) -> None:
    with pytest.raises(ConfigurationError, match=r"unreferenced assets lake\.gc\.assets does not exist"):
        assets.show()


def test_a_table_of_something_else_is_refused(assets: AssetLake) -> None:
    assets.catalog.create(NAME, pa.schema([pa.field("tableName", pa.int64())]), properties={})
    with pytest.raises(TableError, match="is not a table of unreferenced-assets"):
        assets.show()


def test_nothing_is_written_but_the_page(assets: AssetLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assets.identify()
    monkeypatch.chdir(tmp_path)

    def state() -> tuple[object, ...]:
        live_sets = [live_set.id for live_set in assets.services.store.live_sets()]
        return assets.rows(), assets.rows(table=RUNS), assets.lake.paths(), live_sets

    before = state()
    assets.show(output="page.html")
    assert before == state()
    assert ["page.html"] == [path.name for path in tmp_path.iterdir()]
