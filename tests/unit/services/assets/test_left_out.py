"""Tables that an identification leaves out: nothing of them is written, and nothing of them goes."""

from __future__ import annotations

import json

import pytest
from nessie_gc_memory import put
from unit.services.assets.conftest import RUNS, AssetLake

from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.assets.report import AssetsReport, PurgeReport

OTHER = "memory://warehouse/db/u/data/"


@pytest.fixture
def two(assets: AssetLake) -> AssetLake:
    """A second table, with garbage of its own."""
    state = assets.lake.table("db.u", location="memory://warehouse/db/u").append("u.parquet")
    assets.lake.commit("main", put(state.version))
    assets.lake.put(f"{OTHER}nobody.parquet")
    return assets


def tables(assets: AssetLake, runid: int) -> set[str]:
    return {row["tableName"] for row in assets.rows() if row["runid"] == runid}


@pytest.mark.parametrize("patterns", [{"exclude": ("db[.]u",)}, {"include": ("db[.]t",)}])
def test_nothing_of_a_table_that_is_left_out_is_written(two: AssetLake, patterns: dict[str, tuple[str, ...]]) -> None:
    report = two.identify(**patterns)
    assert {"db.t"} == tables(two, 1)
    assert ["memory://warehouse/db/u/"] == list(report.collection.left_out)
    (row,) = (row for row in two.rows(table=RUNS) if row["status"] == "COMPLETE")
    kept = json.loads(row["settings"])
    assert (list(patterns.get("include", ())), list(patterns.get("exclude", ()))) == (kept["include"], kept["exclude"])


def test_files_that_a_table_that_is_left_out_needs_elsewhere_are_no_assets(two: AssetLake) -> None:
    needed = two.lake.put("memory://warehouse/db/t/data/of-u.parquet")
    state = two.lake.table("db.v", location="memory://warehouse/db/v").append(needed)
    two.lake.commit("main", put(state.version))
    two.identify(include=("db[.]t",))
    assert "orphan.parquet" in two.names(runid=1)
    assert "of-u.parquet" not in two.names(runid=1)


def test_what_a_table_that_is_left_out_lost_is_not_written(two: AssetLake) -> None:
    two.lake.objects.delete(f"{OTHER}u.parquet")
    two.identify(exclude=("db[.]u",), lost_table="gc.lost")
    assert [] == two.rows(table=("gc", "lost"))
    two.identify(lost_table="gc.lost")
    assert ["u.parquet"] == [row["name"] for row in two.rows(table=("gc", "lost"))]


def test_no_deletion_takes_what_the_latest_run_left_out(two: AssetLake) -> None:
    two.identify()
    two.identify()
    two.identify(exclude=("db[.]u",))
    report = two.delete(seen_count=1)
    assert {Outcome.DELETED} == {outcome for outcome, tally in report.outcomes.items() if tally.files}
    assert f"{OTHER}nobody.parquet" in two.lake.paths()
    assert "memory://warehouse/db/t/data/orphan.parquet" not in two.lake.paths()
    assert {"db.u"} == tables(two, 1) == tables(two, 2)


def test_a_deletion_leaves_out_what_the_latest_run_left_out_even_if_it_includes_it(two: AssetLake) -> None:
    two.identify(include=("db[.]t",))
    report = two.delete(seen_count=1, include=("db[.]u",))
    assert not report.outcomes[Outcome.DELETED].files
    assert {f"{OTHER}nobody.parquet", "memory://warehouse/db/t/data/orphan.parquet"} <= set(two.lake.paths())


def test_a_table_that_is_included_again_continues_where_it_was(two: AssetLake) -> None:
    two.identify()
    first = two.lake.time
    two.identify(exclude=("db[.]u",))
    two.identify()
    (again,) = (row for row in two.rows() if (row["name"], row["runid"]) == ("nobody.parquet", 3))
    assert first == again["firstSeen"]
    assert 0 == sum(name.startswith(OTHER) for name in deleted(two, seen_count=3))
    assert f"{OTHER}nobody.parquet" in deleted(two, seen_count=2)


def deleted(assets: AssetLake, **given: int) -> set[str]:
    before = set(assets.lake.paths())
    assets.delete(**given)
    return before - set(assets.lake.paths())


def test_a_deletion_has_patterns_of_its_own_beside_those_of_the_latest_run(two: AssetLake) -> None:
    two.identify()
    report = two.delete(seen_count=1, exclude=("db[.]u",), report_table="gc.report")
    assert f"{OTHER}nobody.parquet" in two.lake.paths()
    said = {row["path"]: (row["outcome"], row["reason"]) for row in two.rows(table=("gc", "report"))}
    outcome, reason = said[f"{OTHER}nobody.parquet"]
    assert ("spared", True) == (outcome, "left-out" in reason)
    assert report.outcomes[Outcome.ALREADY_GONE].files == 0
    assert {"db.u"} == tables(two, 1)


# ---- by table -------------------------------------------------------------------------------------------
def test_both_commands_report_by_table(two: AssetLake) -> None:
    def rows(report: AssetsReport | PurgeReport, outcome: Outcome) -> dict[str, int]:
        tables = report.collection.tables or ()
        return {row.tables[0]: row.outcomes[outcome].files for row in tables if outcome in row.outcomes}

    found = rows(two.identify(by_table=True), Outcome.WOULD_DELETE)
    assert {"db.t", "db.u"} == set(found)
    assert {"db.u": found["db.u"]} == rows(
        two.delete(by_table=True, seen_count=1, include=("db[.]u",)), Outcome.DELETED
    )
    assert two.identify().collection.tables is None
