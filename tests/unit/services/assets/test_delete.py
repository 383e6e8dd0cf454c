"""Which assets are deleted: those of which enough runs agree, and that nothing needs now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from nessie_gc_memory import delete as drop
from nessie_gc_memory import put
from unit.services.assets.conftest import NAME, RUNS, TABLE, AssetLake
from unit.services.assets.made_up_runs import FIRST, add_run, make_table

from nessie_gc_core.algorithms.assets import ApprovedAssets
from nessie_gc_core.algorithms.planned import PLANNED_FILES
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import ConfigurationError, LiveSetStateError, ServiceUnavailableError
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.assets import ASSETS, asset_id
from nessie_gc_core.model.batches import from_micros, to_batches
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.assets.agreed import spaced, times_seen
from nessie_gc_core.services.assets.delete import DeleteUnreferencedService
from nessie_gc_core.services.assets.parameters import DeleteUnreferencedParameters
from nessie_gc_core.services.deletion import Deletion
from nessie_gc_core.services.ending import Command, how_it_ended
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.run import Run

DATA = "memory://warehouse/db/t/data/"


def test_an_asset_goes_when_enough_runs_have_seen_it(assets: AssetLake) -> None:
    assets.identify()
    assert assets.delete().agreed.files == 0
    assets.write("c.parquet")
    assets.identify()
    report = assets.delete()
    assert report.agreed.files == report.outcomes[Outcome.DELETED].files == report.tried > 0
    assert not {f"{DATA}a.parquet", f"{DATA}orphan.parquet"} & assets.lake.paths()
    assert {f"{DATA}b.parquet", f"{DATA}c.parquet"} <= assets.lake.paths()  # b was seen once


def test_a_table_that_nobody_knows_goes_when_enough_runs_have_found_it_in_its_warehouse(assets: AssetLake) -> None:
    place = "memory://warehouse/db/forgotten"
    forgotten = assets.lake.table("db.forgotten", location=place).append("f.parquet")
    needed = assets.lake.needed_files([forgotten.version])
    rule = {"dropped_after": timedelta(hours=30), "dropped_under": ["memory://warehouse"]}
    found = [assets.identify(allow=["memory://warehouse"], **rule).found.assets for _ in range(3)]
    assert [False, False, True] == ["f.parquet" in assets.names(runid=run) for run in (1, 2, 3)]
    shown = [path for path in assets.lake.paths() if path.startswith(place)]
    assert found[2] - found[1] == len(shown) - 1  # its newest metadata shows it, and goes when all else is gone
    assert needed <= assets.lake.paths()
    assert assets.delete(seen_count=2).outcomes[Outcome.DELETED].files == found[1]
    for _ in range(3):
        assets.identify(allow=["memory://warehouse"], **rule)
        assets.delete(seen_count=2)
    assert not any(path.startswith(place) for path in assets.lake.paths())


def test_rows_of_deleted_assets_leave_the_table_and_others_stay(assets: AssetLake) -> None:
    assets.identify()
    assets.write("c.parquet")
    assets.identify()
    assets.delete()
    assert "b.parquet" in assets.names(runid=2)
    assert not {"a.parquet", "orphan.parquet"} & {row["name"] for row in assets.rows()}


def test_rows_stay_where_they_are_to_stay(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    rows = len(assets.rows())
    assert assets.delete(delete_on_purge=False).outcomes[Outcome.DELETED].files > 0
    assert rows == len(assets.rows())


def test_what_the_latest_run_did_not_see_stays(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    assets.lake.branch("again", at=None)
    assets.lake.commit("again", put(assets.state.overwrite("x.parquet").version))
    assets.identify(min_age=timedelta(days=300))  # sees nothing at all
    assert assets.delete(seen_count=1).agreed.files == 0


def test_what_became_live_since_the_latest_run_stays(assets: AssetLake) -> None:
    old = assets.state
    assets.write("c.parquet")
    assets.identify()
    assets.identify()
    assets.lake.commit("back", put(old.version))  # b.parquet is needed again
    report = assets.delete(report_table="gc.report")
    assert report.outcomes[Outcome.SPARED].files > 0
    assert f"{DATA}b.parquet" in assets.lake.paths()
    assert f"{DATA}a.parquet" not in assets.lake.paths()
    said = {row["path"]: row for row in assets.rows(table=("gc", "report"))}
    assert ("spared", "a live state needs it now") == (
        said[f"{DATA}b.parquet"]["outcome"],
        said[f"{DATA}b.parquet"]["reason"],
    )
    assert said[f"{DATA}a.parquet"]["outcome"] == "deleted"
    assert report.agreed.files == len(said) == sum(tally.files for tally in report.outcomes.values())


def test_a_file_that_was_written_again_stays(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    assets.lake.put(f"{DATA}orphan.parquet", 7)
    assets.lake.advance(timedelta(days=2))
    report = assets.delete()
    assert report.outcomes[Outcome.SPARED].files == 1
    assert f"{DATA}orphan.parquet" in assets.lake.paths()


def test_what_somebody_else_deleted_is_gone(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    assets.lake.objects.delete(f"{DATA}orphan.parquet")
    report = assets.delete()
    assert report.outcomes[Outcome.ALREADY_GONE].files == 1
    assert "orphan.parquet" not in {row["name"] for row in assets.rows()}


def test_a_dry_run_deletes_nothing_and_says_what_would_go(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    before, rows = assets.lake.paths(), assets.rows()
    report = assets.delete(dry_run=True, report_table="gc.report", drop_gc_table=True)
    assert report.outcomes[Outcome.WOULD_DELETE].files == report.agreed.files > 0
    assert (before, rows) == (assets.lake.paths(), assets.rows())
    assert assets.catalog.state(("gc", "report")) is None


def test_a_person_approves_by_a_predicate(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    report = assets.delete(where="name = 'orphan.parquet' AND \"sizeBytes\" < 1000")
    assert report.agreed.files == report.outcomes[Outcome.DELETED].files == 1
    assert f"{DATA}a.parquet" in assets.lake.paths()


@pytest.mark.parametrize("predicate", ["nope = 1", "1; DROP TABLE x", "true) OR (true", "", "name"])
def test_what_is_no_predicate_is_refused(assets: AssetLake, predicate: str) -> None:
    assets.identify()
    assets.identify()
    before = assets.lake.paths()
    with pytest.raises(ConfigurationError, match="predicate"):
        assets.delete(where=predicate)
    assert before == assets.lake.paths()


def test_the_table_is_dropped_only_where_that_is_said(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    assets.delete()
    assert assets.catalog.state(NAME) is not None
    assets.delete(drop_gc_table=True)
    assert (None, None) == (assets.catalog.state(NAME), assets.catalog.state(RUNS))


def test_the_policies_of_the_latest_run_are_those_of_the_deletion(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    kept = assets.delete(default_cutoff="NONE", where="name = 'a.parquet'")  # what was ever committed is live
    assert kept.outcomes[Outcome.SPARED].files == kept.agreed.files == 1
    assert any("`default_cutoff` differs from the latest run" in text for text in kept.collection.warnings)
    assert assets.delete(where="name = 'a.parquet'").outcomes[Outcome.DELETED].files == 1


def test_another_repository_is_refused(assets: AssetLake) -> None:
    assets.identify()
    rows = [{**row, "repository": "nessie:elsewhere"} for row in assets.rows(table=RUNS)]
    schema = assets.catalog.state(RUNS).schema  # type: ignore[union-attr]
    assets.catalog.drop(RUNS)
    assets.catalog.create(RUNS, schema, properties={})
    assets.catalog.append(RUNS, pa.Table.from_pylist(rows, schema).to_batches())
    with pytest.raises(ConfigurationError, match="belongs to the repository nessie:elsewhere"):
        assets.delete()


def test_a_table_that_is_not_there_is_named(assets: AssetLake) -> None:
    with pytest.raises(ConfigurationError, match=r"unreferenced assets lake\.gc\.assets does not exist"):
        assets.delete()


@pytest.mark.parametrize("count", [0, -1])
def test_a_threshold_is_at_least_one(assets: AssetLake, count: int) -> None:
    with pytest.raises(ConfigurationError, match="seen_count"):
        assets.delete(seen_count=count)


def test_runs_that_are_too_close_count_once(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    assert assets.delete(seen_apart=timedelta(hours=25)).agreed.files == 0
    assert assets.delete(seen_apart=timedelta(hours=23)).agreed.files > 0


def run(runid: int, hours: float) -> AssetRun:
    at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=hours)
    return AssetRun(runid=runid, run=str(runid), timestamp=at, repository="r", live_set="l", engine="local")


@pytest.mark.parametrize(
    ("hours", "apart", "expected"),
    [
        ([0, 1, 2, 3], 0, [4, 3, 2, 1]),
        ([0, 1, 2, 3], 2, [4, 2]),
        ([0, 1, 2, 3], 3, [4, 1]),
        ([0, 1, 2, 3], 4, [4]),
        ([0, 5, 1, 6], 2, [4, 3]),  # the clock went back before the third
        ([], 1, []),
    ],
)
def test_runs_that_count_are_far_enough_apart(hours: list[float], apart: float, expected: list[int]) -> None:
    runs = [run(number, at) for number, at in enumerate(hours, start=1)]
    assert expected == [each.runid for each in spaced(runs, timedelta(hours=apart))]


def test_the_files_of_a_dropped_table_go_once_enough_runs_have_seen_them(assets: AssetLake) -> None:
    assets.lake.commit("main", drop("db.t"))
    assets.lake.advance(timedelta(days=3))
    for _ in range(2):  # the metadata that shows where it was goes after all else
        for _ in range(2):
            assets.identify(dropped_after=timedelta(days=2))
        report = assets.delete(seen_count=2)
        assert (report.agreed.files, 0) == (report.tried, report.failed)
    assert not [path for path in assets.lake.paths() if "/db/t/" in path]


def test_a_checksum_file_alone_is_nothing_that_anybody_agreed_upon() -> None:
    rules, place = LocationRules(), "file:///lake/t/"
    files = [
        ("u", name, place, path, 9, 7, sidecar)
        for name, path, sidecar in (
            ("a", "a", False),
            ("a", ".a.crc", True),
            ("b", "b", False),
            ("b", ".b.crc", True),
            ("c", ".c.crc", True),
        )
    ]
    row = {**dict.fromkeys(ASSETS.names), "asset": asset_id(f"{place}a", rules), "sizeBytes": 9}
    row |= {"modified": from_micros(7), "timestamp": from_micros(7), "runid": 1}
    row |= dict.fromkeys(("tableName", "snapshotId", "assetType", "path", "name"), "")
    with LocalEngine() as engine:
        agreed = engine.dataset(to_batches([tuple(row.values())], ASSETS), ASSETS)
        dead = engine.dataset(to_batches(files, PLANNED_FILES), PLANNED_FILES)
        others = ApprovedAssets(agreed, rules).others(dead).summary().to_pylist()
    assert {"b", ".c.crc"} == {other["path"] for other in others}


@pytest.fixture
def ended(assets: AssetLake, monkeypatch: pytest.MonkeyPatch) -> tuple[UUID, Run]:
    """A deletion that ended after its first step; a file that only the latest run saw is not agreed upon."""
    assets.identify()
    assets.write("c.parquet")
    assets.identify()
    real, run = Deletion._take, assets.run()

    def take(self: Deletion, *arguments: Any) -> None:
        real(self, *arguments)
        raise ServiceUnavailableError("no answer")

    with monkeypatch.context() as patched, pytest.raises(ServiceUnavailableError):
        patched.setattr(Deletion, "_take", take)
        DeleteUnreferencedService(DeleteUnreferencedParameters(table=TABLE, seen_count=2)).run(run)
    assert f"{DATA}orphan.parquet" not in assets.lake.paths()
    return UUID(run.report.live_set_id), run


@pytest.mark.parametrize("killed", [False, True])
@pytest.mark.parametrize("resume", [False, True])
def test_s21_no_sweep_goes_on_with_a_deletion_that_ended_early(
    assets: AssetLake, ended: tuple[UUID, Run], *, killed: bool, resume: bool
) -> None:
    id_, before = ended[0], assets.lake.paths()
    if killed:
        assets.services.store.start_expire(id_, at=assets.lake.time, resume=True)
    sweep = SweepParameters(resume=resume, min_age=timedelta(0), no_age_floor=True)
    for act in (partial(assets.services.sweep, id_, sweep), partial(assets.services.delete_deferred, id_)):
        with pytest.raises(LiveSetStateError, match="belongs to 'delete-unreferenced', which deletes less"):
            act()
    assert before == assets.lake.paths()


def test_s21_nothing_but_a_deletion_sweeps_its_live_set_when_it_only_looked(assets: AssetLake) -> None:
    assets.identify()
    assets.identify()
    id_ = UUID(assets.delete(dry_run=True).collection.live_set_id)
    assert assets.services.store.get(id_).status is LiveSetStatus.IDENTIFY_SUCCESS
    with pytest.raises(LiveSetStateError, match="belongs to 'delete-unreferenced'"):
        assets.services.sweep(id_)


def test_a_deletion_that_ended_early_is_run_again(assets: AssetLake, ended: tuple[UUID, Run]) -> None:
    report = ended[1].report
    ending = how_it_ended(Command(name="delete-unreferenced", report=report))
    assert ending is not None
    assert "nessie-gc delete-unreferenced" == ending.next
    assert "b.parquet" in assets.names(runid=2)
    assert {f"{DATA}b.parquet", f"{DATA}c.parquet"} <= assets.lake.paths()
    assert 0 == assets.delete().failed
    assert f"{DATA}b.parquet" in assets.lake.paths()


def test_a_limit_of_nothing_is_a_limit() -> None:
    assert {"min_depth": 0} == DeleteUnreferencedParameters(table="c.n.t", min_depth=0).settings


def test_what_is_listed_in_another_spelling_is_not_taken_for_gone(assets: AssetLake) -> None:
    for _ in range(2):
        assets.identify()
    rows = [{**row, "path": row["path"].replace("/db/t/", "/db//t/")} for row in assets.rows()]
    rows = [{**row, "asset": asset_id(row["path"], assets.services.choice.rules())} for row in rows]
    assets.catalog.drop(NAME)
    assets.catalog.create(NAME, ASSETS, properties={})
    assets.catalog.append(NAME, pa.Table.from_pylist(rows, ASSETS).to_batches())
    report = assets.delete(seen_count=2)
    assert (0, 0) == (report.outcomes[Outcome.ALREADY_GONE].files, report.tried)
    assert len(rows) == len(assets.rows())


def test_accounts_and_servers_tell_assets_apart() -> None:
    rules = LocationRules()
    paths = ("abfss://lake@one.dfs.core.windows.net/t/f", "abfss://lake@two.dfs.core.windows.net/t/f")
    assert 2 == len({asset_id(path, rules) for path in paths})
    assert 2 == len({asset_id(path, rules) for path in ("hdfs://a/t/f", "hdfs://b/t/f")})
    assert 1 == len({asset_id(path, rules) for path in ("s3://b/t/f", "s3a://b/t/f")})


# ---- sightings in a row --------------------------------------------------------------------------------
def seen(assets: AssetLake, *, apart: timedelta = timedelta(0)) -> dict[str, int]:
    """How often each asset of the latest run was seen in an unbroken series."""
    table = make_table(assets)
    rows = times_seen(table, table.runs(), apart, assets.services.choice.rules()).summary().to_pylist()
    return {row["asset"].decode(): row["seen"] for row in rows}


def test_an_asset_that_was_needed_in_between_begins_again(assets: AssetLake) -> None:
    for names in ("ab", "b", "ab"):
        add_run(assets, [{"name": name} for name in names])
    assert {"a": 1, "b": 3} == seen(assets)


def test_a_run_that_is_too_close_to_count_ends_a_series_all_the_same(assets: AssetLake) -> None:
    for names in ("ab", "ab", "b", "ab"):
        add_run(assets, [{"name": name} for name in names])
    assert {"a": 1, "b": 2} == seen(assets, apart=timedelta(days=2))


def test_a_run_that_left_the_table_out_ends_no_series(assets: AssetLake) -> None:
    add_run(assets, [{"name": "a"}])
    add_run(assets, [], settings={"exclude": ["db[.]t"]})
    add_run(assets, [], settings={"include": ["hr[.].*"]})
    add_run(assets, [], settings={"left_out": ["memory://warehouse/"]})
    add_run(assets, [], settings={"left_out": ["*"]})
    add_run(assets, [{"name": "a"}])
    assert {"a": 2} == seen(assets)


@pytest.mark.parametrize(
    "settings", [{}, {"include": ["db[.].*"]}, {"left_out": ["memory://elsewhere/"]}, {"exclude": "hr[.].*"}]
)
def test_a_run_that_looked_at_the_table_ends_the_series_of_what_it_did_not_see(
    assets: AssetLake, settings: dict[str, object]
) -> None:
    add_run(assets, [{"name": "a"}])
    add_run(assets, [], settings=settings)
    add_run(assets, [{"name": "a"}])
    assert {"a": 1} == seen(assets)


@pytest.mark.parametrize("changed", [{"sizeBytes": 7}, {"modified": FIRST}])
def test_sightings_of_an_earlier_file_do_not_count_for_a_later_one_at_its_path(
    assets: AssetLake, changed: dict[str, object]
) -> None:
    for more in ({}, {}, changed, changed, changed):
        add_run(assets, [{"name": "a", **more}])
    assert {"a": 3} == seen(assets)


def test_a_row_that_a_run_added_twice_counts_once(assets: AssetLake) -> None:
    add_run(assets, [{"name": "a"}, {"name": "a"}])
    add_run(assets, [{"name": "a"}])
    assert {"a": 2} == seen(assets)


def test_more_runs_than_one_number_has_bits_are_counted(assets: AssetLake) -> None:
    for number in range(130):
        add_run(assets, [{"name": "a"}], run=str(number))
    assert {"a": 130} == seen(assets)


def test_a_file_that_a_branch_needed_for_a_while_is_deleted_only_after_new_sightings(assets: AssetLake) -> None:
    old = assets.state
    assets.write("c.parquet")
    assets.identify()
    assets.lake.commit("back", put(old.version))  # b.parquet is needed again
    assets.identify()
    assets.lake.commit("back", put(assets.state.version))
    assets.lake.advance(timedelta(days=10))
    assets.identify()
    assets.delete()
    assert f"{DATA}b.parquet" in assets.lake.paths()
    assert f"{DATA}a.parquet" not in assets.lake.paths()
    assets.identify()
    assets.delete()
    assert f"{DATA}b.parquet" not in assets.lake.paths()


def test_files_that_too_few_runs_have_seen_are_not_said_to_have_changed(assets: AssetLake) -> None:
    assets.identify()
    assets.write("c.parquet")
    assets.identify()
    report = assets.delete()
    reasons = {file.reason for file in report.collection.spared_files}
    assert {"too few runs have seen it, the predicate leaves it out, or it has changed since the latest run"} == reasons


@pytest.mark.parametrize(("cutoff", "differs"), [("main=P1D", False), ("main=P2D", True)])
def test_only_policies_that_differ_are_said_to_differ(assets: AssetLake, cutoff: str, *, differs: bool) -> None:
    for _ in range(2):
        assets.identify(cutoff=["main=P1D"])
    report = assets.delete(cutoff=[cutoff])
    assert differs is any("`cutoff` differs from the latest run" in text for text in report.collection.warnings)


def test_s30_an_asset_that_may_be_a_lost_file_stays(assets: AssetLake) -> None:
    """Whatever the table says of it: by now a table needs a file of this name, which is not where it should be."""
    assets.identify()
    assets.identify()
    taker = assets.lake.table("db.taker", location="memory://warehouse/db/taker").append("orphan.parquet")
    assets.lake.commit("main", put(taker.version))
    assets.lake.objects.delete("memory://warehouse/db/taker/data/orphan.parquet")
    report = assets.delete()
    assert f"{DATA}orphan.parquet" in assets.lake.paths()
    assert f"{DATA}a.parquet" not in assets.lake.paths()
    reasons = {file.path: file.reason for file in report.collection.spared_files}
    assert "it may be the lost file memory://warehouse/db/taker/data/orphan.parquet" == reasons[f"{DATA}orphan.parquet"]
