"""What reports say of tables, as their services write them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.quarantine import HeldFile
from nessie_gc_core.model.schedule import MOST_BYTES, TableBytes
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.assets.page.figures import AssetFigures, Group, Grouping, LatestRun, Threshold
from nessie_gc_core.services.assets.page.service import AssetPageReport
from nessie_gc_core.services.assets.report import AssetsReport, PurgeReport
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.expiry.report import ExpiredTable, ExpiryReport
from nessie_gc_core.services.health.report import HealthReport, TableHealth
from nessie_gc_core.services.quarantine.by_table import FilesByTable
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.schedule import outcome
from nessie_gc_core.services.schedule.tables import MOST_TABLES, reclaimable_bytes, tables_of
from nessie_gc_core.services.tally import TableTally, Tally
from nessie_gc_core.testing.schedule_samples import job, run_of

AT = datetime(2026, 3, 1, tzinfo=UTC)
RUN = AssetRun(
    runid=3,
    run="x",
    timestamp=AT,
    repository="r",
    live_set="l",
    engine="local",
    settings={},
    unknown=0,
    assets=5,
    size_bytes=50,
)


def swept(**tables: tuple[int, int]) -> GcReport:
    """A sweep that found and deleted so many bytes in each table."""
    report = GcReport()
    report.tables = []
    for name, (found, deleted) in tables.items():
        outcomes = {Outcome.DELETED: Tally(1, deleted), Outcome.TOO_YOUNG: Tally(1, found - deleted)}
        report.tables.append(TableTally(tables=(f"sales.{name}",), location=f"s3://lake/{name}/", outcomes=outcomes))
        report.add_outcome(name, Outcome.DELETED, 1, deleted)
    return report


def in_quarantine(table: str, size: int) -> HeldFile:
    return HeldFile(
        repository="r", live_set_id=UUID(int=1), place="s3://q/", held_path=f"{table}/{size}", size=size, table=table,
        location=f"s3://lake/{table}/", path=f"data/{size}", held=AT, until=AT,
    )  # fmt: skip


def said(report: Any) -> list[tuple[str | None, int, int]]:
    return [(each.table, each.garbage, each.reclaimed) for each in tables_of(json.dumps(report.to_dict()))]


def test_a_sweep_says_what_it_found_and_what_it_deleted() -> None:
    assert [("sales.b", 9, 0), ("sales.a", 5, 3)] == said(swept(a=(5, 3), b=(9, 0)))


def test_a_place_of_several_tables_or_of_none_has_its_location() -> None:
    report = GcReport()
    unreferenced = {Outcome.WOULD_DELETE: Tally(1, 4)}
    report.tables = [
        TableTally(tables=("a", "b"), location="s3://lake/t/", outcomes=unreferenced),
        TableTally(tables=(), location="s3://lake/rest/", outcomes=unreferenced),
    ]
    assert [("s3://lake/rest/", 4, 0), ("s3://lake/t/", 4, 0)] == said(report)


@pytest.mark.parametrize(("tables", "expected"), [(2, "t0, t1"), (1502, "t0, t1 and 1,500 more")])
def test_a_place_without_a_location_names_two_of_its_tables(tables: int, expected: str) -> None:
    place = {"tables": [f"t{number}" for number in range(tables)], "unreferenced": {"bytes": 4}}
    assert [expected] == [each.table for each in tables_of(json.dumps({"tables": [place]}))]


@pytest.mark.parametrize(
    ("name", "expected"), [("a\0b", "a\\x00b"), ("a\ud800", "a\\ud800"), ("a\x1b[31m\n", "a\\x1b[31m\\n")]
)
def test_s28_names_that_a_database_cannot_hold_are_written_so_that_it_can(name: str, expected: str) -> None:
    tables = [
        {"tables": [name], "unreferenced": {"bytes": 1}},
        {"table": name, "reclaimable_bytes": 1},
        {"location": name, "unreferenced": {"bytes": 1}},
    ]
    groups = {"by_table": {"groups": [{"name": name, "bytes": 1}]}}
    assert [TableBytes(table=expected, garbage=4)] == tables_of(json.dumps({"tables": tables, "latest": groups}))


def test_a_look_at_the_health_says_what_expired_snapshots_alone_need_where_it_is_known() -> None:
    found = [
        TableHealth(table="a", reference="main", reclaimable_bytes=7),
        TableHealth(table="b", reference="main"),
        TableHealth(table="c", reference="main", reclaimable_bytes=0),
    ]
    health = HealthReport(repository="r", checked=AT, last_sweep=None, findings=[], tables=found)
    assert [("a", 7, 0), ("c", 0, 0)] == said(health)


def test_tables_with_one_name_are_told_apart_by_their_locations() -> None:
    report = swept(orders=(5, 3), items=(2, 0))
    staging = TableTally(
        tables=("sales.orders",), location="s3://staging/orders/", outcomes={Outcome.TOO_YOUNG: Tally(1, 4)}
    )
    report.tables = [*(report.tables or ()), staging]
    assert [("s3://lake/orders/", 5, 3), ("s3://staging/orders/", 4, 0), ("sales.items", 2, 0)] == said(report)


def test_a_table_at_several_references_counts_once_with_the_most() -> None:
    rows = [
        TableHealth(
            table="sales.orders",
            reference=reference,
            metadata_location=f"s3://lake/{folder}/metadata/{number:05}-a.metadata.json",
            reclaimable_bytes=size,
        )
        for number, (reference, folder, size) in enumerate(
            [("main", "orders", 100), ("dev", "orders", 90), ("etl", "orders", 110), ("old", "other", 1)]
        )
    ]
    seen, dev, etl, _ = rows
    health = HealthReport(repository="r", checked=AT, last_sweep=None, findings=[], tables=[seen, dev, etl])
    assert [("sales.orders", 110, 0)] == said(health)
    assert [("s3://lake/orders/", 110, 0), ("s3://lake/other/", 1, 0)] == said(replace(health, tables=rows))
    assert 111 == reclaimable_bytes(replace(health, tables=rows).to_dict()["tables"])


@pytest.mark.parametrize(("deleted", "expected"), [(6, 6), (0, 0)], ids=["deleted", "a dry run or a quarantine"])
def test_an_expiry_says_what_only_expired_snapshots_needed(deleted: int, expected: int) -> None:
    table = ExpiredTable(table="a", outcome=Committed.EXPIRED, files=Tally(2, 6))
    report = ExpiryReport(
        dry_run=not deleted, tables=[table], looked_at=1, files_by_kind={}, collection=swept(a=(deleted, deleted))
    )
    assert [("a", 6, expected)] == said(report)


def test_the_report_on_unreferenced_assets_says_how_much_there_is() -> None:
    by_table = Grouping(rows=[Group(name="a", files=1, bytes=5), Group(name="")], others=3, other_bytes=2)
    figures = AssetFigures(
        table="t", branch=None, threshold=Threshold(seen_count=3), latest=LatestRun(run=RUN, by_table=by_table)
    )
    assert [("a", 5, 0), (None, 2, 0)] == said(AssetPageReport(figures=figures))


def test_what_reads_a_collection_says_what_that_says() -> None:
    collection = swept(a=(5, 3))
    identified = AssetsReport(table="t", branch="b", dry_run=False, found=RUN, collection=collection)
    purged = PurgeReport(table="t", branch="b", dry_run=False, runs=1, latest=RUN, collection=collection)
    assert [[("sales.a", 5, 3)]] * 2 == [said(identified), said(purged)]


def test_a_purge_says_nothing_of_tables_whose_files_only_wait() -> None:
    purge = ReleaseReport(verb="purged", by_table=FilesByTable(rules=LocationRules(), dry_run=False))
    for tally, name, size in ((purge.waiting, "a", 3), (purge.waiting, "b", 5), (purge.done, "b", 7)):
        purge.count(tally, in_quarantine(name, size))
    assert [("b", 7, 7)] == said(purge)


def test_the_largest_tables_are_named_and_the_others_are_one_sum() -> None:
    tables = {f"t{number:03}": (number, 0) for number in range(MOST_TABLES + 3)}
    *named, others = said(swept(**tables))
    assert [f"sales.t{number:03}" for number in reversed(range(3, MOST_TABLES + 3))] == [name for name, *_ in named]
    assert (None, 0 + 1 + 2, 0) == others


@pytest.mark.parametrize(
    "report",
    [
        None,
        "",
        "no JSON",
        "[]",
        '{"tables": 3}',
        '{"tables": [3, null, {}]}',
        '{"tables": {"a": 1}, "latest": 1}',
        '{"tables": [{"table": "a", "reclaimable_bytes": null}]}',
        '{"latest": {"by_table": {"groups": 3, "other": null}}}',
    ],
)
def test_a_report_that_says_nothing_of_tables_is_none(report: str | None) -> None:
    assert [] == tables_of(report)


def test_a_number_that_nobody_can_mean_is_one_that_a_database_holds() -> None:
    report = '{"tables": [{"table": 3, "location": "x", "unreferenced": {"bytes": 1e3}, "deleted": {"bytes": %d}}]}'
    assert [TableBytes(table="x", reclaimed=MOST_BYTES)] == tables_of(report % 10**30)
    assert [TableBytes(table="x")] == tables_of(report % -3)


def test_bytes_are_reclaimed_wherever_a_report_says_so_and_once() -> None:
    swept_, expired = (
        swept(a=(5, 3)),
        ExpiryReport(dry_run=False, tables=[], looked_at=1, files_by_kind={}, collection=swept(a=(5, 4))),
    )
    purged = PurgeReport(table="t", branch="b", dry_run=False, runs=1, latest=RUN, collection=swept(a=(9, 9)))
    purged.outcomes[Outcome.DELETED].add(1, 2)
    reclaimed = []
    for report in (swept_, expired, purged):
        numbers = dict(outcome.numbers_of(report.to_dict()))
        reclaimed.append(replace(run_of(job()), numbers=numbers).reclaimed)
    assert [3, 4, 2] == reclaimed


@pytest.mark.parametrize(("service", "expected"), [("gc", 5), ("sweep", 0)], ids=["gc", "counted when it is resumed"])
def test_what_a_run_deleted_before_it_failed_is_reclaimed(service: str, expected: int) -> None:
    done = {"deleted": {"files": 2, "bytes": 5}, "already_gone": {"files": 1, "bytes": 9}}
    numbers = dict(outcome.numbers_of({"error": "terminated", "exit_code": 143, "done": done}))
    assert 5 == numbers["done.deleted.bytes"]
    assert expected == replace(run_of(job()), service=service, numbers=numbers).reclaimed


def test_what_a_purge_deleted_before_it_failed_is_reclaimed() -> None:
    done = {"purged": {"files": 2, "bytes": 5}, "failed": {"files": 1, "bytes": 9}}
    numbers = dict(outcome.numbers_of({"error": "terminated", "exit_code": 143, "done": done}))
    assert 5 == replace(run_of(job()), service="purge", numbers=numbers).reclaimed
