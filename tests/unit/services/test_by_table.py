"""The report table by table: what each location holds, what became of it, and why it was left alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, delete, put

from nessie_gc_core.algorithms.assets import TableIndex
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.tally import Tally

AGE = timedelta(days=3)


def table(lake: MemoryLake, name: str, *dead: int, at: str | None = None) -> None:
    """A table with one file, and files of some sizes that nothing needs."""
    location = at or f"memory://wh/{name.replace('.', '/')}"
    state = lake.table(name, location=location)
    lake.objects.delete(state.metadata_location)
    lake.commit("main", put(state.append("a.parquet").version))
    for number, size in enumerate(dead):
        lake.put(f"{location}/data/dead-{number}.parquet", size)


def swept(lake: MemoryLake, services: LakeServices, **given: Any) -> GcReport:
    lake.advance(AGE)
    return services.collect(sweep=SweepParameters(by_table=True, **given))


def test_tables_with_the_most_garbage_come_first(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "db.small", 10)
    table(lake, "db.clean")
    table(lake, "db.large", 500, 500)
    report = swept(lake, services)
    assert [("db.large",), ("db.small",), ("db.clean",)] == [row.tables for row in report.tables or ()]
    assert [Tally(2, 1000), Tally(1, 10), Tally(0, 0)] == [row.unreferenced for row in report.tables or ()]
    assert {Outcome.DELETED: Tally(2, 1000)} == (report.tables or [])[0].outcomes


def test_the_rows_add_up_to_the_report(lake: MemoryLake, services: LakeServices) -> None:
    for number in range(4):
        table(lake, f"db.t{number}", *range(number))
    report = swept(lake, services, dry_run=True)
    rows = report.tables or []
    assert report.unreferenced == Tally(
        sum(row.unreferenced.files for row in rows), sum(row.unreferenced.bytes for row in rows)
    )
    assert report.files_listed.files == sum(row.listed.files for row in rows)


def test_tables_whose_locations_overlap_share_a_row(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "db.outer", 1, at="memory://wh/db/outer")
    table(lake, "db.inner", 2, at="memory://wh/db/outer/in/inner")
    (row,) = swept(lake, services).tables or []
    assert (("db.inner", "db.outer"), "memory://wh/db/outer/") == (row.tables, row.location)


def test_a_location_that_is_not_swept_says_why(lake: MemoryLake, services: LakeServices) -> None:
    for name in ("db.mine", "db.theirs", "db.out"):
        table(lake, name, 1)
    report = swept(lake, services, allow=["memory://wh/db/mine", "memory://wh/db/out"], exclude=["db[.]out"])
    reasons = {row.tables: row.left_alone for row in report.tables or ()}
    assert reasons[("db.mine",)] is None
    assert "is outside the allowed locations" in str(reasons[("db.theirs",)])
    assert "db.out is left out" == reasons[("db.out",)]


def stays_and_goes(lake: MemoryLake, services: LakeServices) -> None:
    """Two tables that an earlier run saw, of which one was dropped a month ago."""
    table(lake, "db.stays")
    table(lake, "db.goes")
    swept(lake, services)
    lake.advance(AGE)
    lake.commit("main", delete("db.goes"))
    lake.advance(timedelta(days=30))


def test_a_dropped_table_is_named_as_one(lake: MemoryLake, services: LakeServices) -> None:
    stays_and_goes(lake, services)
    report = services.collect("1", sweep=SweepParameters(by_table=True, dropped_after=timedelta(days=7)))
    assert {("db.stays",), ("db.goes (dropped)",)} == {row.tables for row in report.tables or ()}


def test_nothing_is_said_of_tables_unless_it_is_asked_for(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "db.t", 1)
    assert services.collect().to_dict()["tables"] is None


# ---- other services that delete -------------------------------------------------------------------------
def test_deferred_deletions_are_reported_by_table(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "db.a", 10, 20)
    table(lake, "db.b", 500)
    table(lake, "db.clean")
    lake.advance(AGE)
    deferring = services.collect(sweep=SweepParameters(defer_deletes=True))
    report = services.delete_deferred(UUID(deferring.live_set_id), SweepParameters(by_table=True, exclude=["db[.]b"]))
    found = {row.tables: (row.listed, row.outcomes, row.left_alone) for row in report.tables or ()}
    assert {
        ("db.a",): (Tally(2, 30), {Outcome.DELETED: Tally(2, 30)}, None),
        ("db.b",): (Tally(1, 500), {Outcome.SPARED: Tally(1, 500)}, "db.b is left out"),
    } == found


def test_deferred_deletions_of_a_table_that_nobody_knows_have_a_row(lake: MemoryLake, services: LakeServices) -> None:
    stays_and_goes(lake, services)
    parameters = SweepParameters(defer_deletes=True, dropped_after=timedelta(days=7))
    deferring = services.collect("1", sweep=parameters)
    report = services.delete_deferred(UUID(deferring.live_set_id), SweepParameters(by_table=True))
    rows = {row.location: row for row in report.tables or ()}
    assert ((), report.unreferenced) == (rows["memory://wh/db/goes/"].tables, rows["memory://wh/db/goes/"].unreferenced)


def test_orphan_files_are_reported_by_table(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "db.a", 10)
    table(lake, "db.b", 20)
    lake.advance(timedelta(days=9))
    report = RemoveOrphanFilesService(RemoveOrphanFilesParameters(table="db.a", by_table=True)).run(services.run())
    (row,) = report.tables or []
    assert (("db.a",), {Outcome.DELETED: Tally(1, 10)}) == (row.tables, row.outcomes)


@pytest.fixture
def through_a_link(lake: MemoryLake, tmp_path: Path) -> Iterator[LakeServices]:
    """What collects a lake on a disk, of which one table is spelled through a link; each table has a dead file."""
    for name in ("linked", "plain"):
        table(lake, f"db.{name}", 10)
    lake.advance(AGE)
    folder = tmp_path.resolve()
    with LocalEngine(workers=2) as engine:
        services = on_disk(lake, folder / "lake", engine)
        (folder / "link").symlink_to(folder / "lake")
        for path in (folder / "lake/wh/db/linked/metadata").iterdir():
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace(f"file://{folder}/lake/", f"file://{folder}/link/"), encoding="utf-8")
        yield services


NAMED = {("db.linked",): (1, 10), ("db.plain",): (1, 10)}


def test_a_table_that_is_spelled_through_a_link_has_a_row(through_a_link: LakeServices) -> None:
    report = through_a_link.collect(sweep=SweepParameters(by_table=True))
    rows = report.tables or ()
    assert NAMED == {row.tables: (row.unreferenced.files, row.unreferenced.bytes) for row in rows}


def test_so_it_has_among_deferred_deletions(through_a_link: LakeServices) -> None:
    live_set = through_a_link.mark()
    through_a_link.sweep(live_set, SweepParameters(defer_deletes=True))
    report = through_a_link.delete_deferred(live_set, SweepParameters(by_table=True))
    rows = report.tables or ()
    assert NAMED == {row.tables: (row.unreferenced.files, row.unreferenced.bytes) for row in rows}


def test_assets_are_named_by_the_table_that_is_spelled_through_a_link(tmp_path: Path) -> None:
    folder = tmp_path.resolve()
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real")
    index = TableIndex([(f"file://{folder}/link/t", "db.t")], LocationRules())
    assert "db.t" == index.name(f"file://{folder}/real/t/data/a.parquet")
