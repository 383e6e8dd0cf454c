"""S32: a version hint stays with its table; where it names newer metadata than the catalog, the location is frozen."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, put

from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.marks import HINT_STAYS
from nessie_gc_core.services.explain.parameters import ExplainParameters
from nessie_gc_core.services.explain.report import Standing
from nessie_gc_core.services.explain.service import ExplainService
from nessie_gc_core.services.parameters import SweepParameters

HOME = "memory://wh/db/t"
HINT = f"{HOME}/metadata/version-hint.text"


class HintedTable:
    """A table with an older state that only its metadata shows, a file that nobody needs, and a hint."""

    def __init__(self, lake: MemoryLake) -> None:
        self.lake = lake
        self.older = lake.table("db.t", location=HOME).append("a.parquet")
        self.live = self.older.append("b.parquet")
        lake.commit("main", put(self.live.version))
        self.dead = lake.put(f"{HOME}/data/nobody.parquet")

    def hint(self, text: str) -> None:
        self.lake.put(HINT, text.encode())
        self.lake.advance(timedelta(days=5))


def number(state: TableState) -> str:
    return state.metadata_location.rpartition("/")[2].partition(".")[0]


@pytest.fixture
def table(lake: MemoryLake) -> HintedTable:
    return HintedTable(lake)


def test_s32_a_hint_that_names_live_metadata_stays_without_a_word(table: HintedTable, services: LakeServices) -> None:
    table.hint(number(table.live))
    report = services.collect("1")
    assert HINT in table.lake.paths()
    assert table.dead not in table.lake.paths()
    assert (0, {}, {}, []) == (report.exit_code, report.unknown, report.unread, report.spared_files)


def test_s32_explain_says_why_a_hint_stays(table: HintedTable, services: LakeServices) -> None:
    table.hint(number(table.live))
    (found,) = ExplainService(ExplainParameters(file=(HINT,))).run(services.run()).files
    assert (Standing.LIVE, HINT_STAYS) == (found.standing, found.reason)


def test_s32_an_old_hint_stays_and_stops_nothing(table: HintedTable, services: LakeServices) -> None:
    table.hint(number(table.older))
    report = services.collect("1")
    assert HINT in table.lake.paths()
    assert {table.dead, table.older.metadata_location}.isdisjoint(table.lake.paths())
    assert 0 == report.exit_code


def test_s32_a_hint_that_names_nothing_that_is_there_stops_nothing(table: HintedTable, services: LakeServices) -> None:
    table.hint("987654321")
    services.collect("1")
    assert HINT in table.lake.paths()
    assert table.dead not in table.lake.paths()


def test_s32_where_a_hint_names_newer_metadata_than_the_catalog_nothing_goes(
    table: HintedTable, services: LakeServices
) -> None:
    newer = table.live.append("c.parquet")
    table.hint(number(newer))
    before = table.lake.paths()
    report = services.collect("1")
    assert before == table.lake.paths()
    assert 1 == report.exit_code
    said = report.unknown[f"{HOME}/"]
    assert HINT in said
    assert newer.metadata_location in said
    assert "a state that the catalog does not have" in said


@pytest.mark.parametrize("text", ["", "latest!", "12 13", "x" * 5000])
def test_s32_a_hint_that_is_not_understood_freezes_its_location(
    table: HintedTable, services: LakeServices, text: str
) -> None:
    table.hint(text)
    before = table.lake.paths()
    report = services.collect("1")
    assert before == table.lake.paths()
    assert f"cannot read {HINT}" in report.unknown[f"{HOME}/"]


def test_s32_a_table_without_a_catalog_inside_another_one_is_left_alone(
    lake: MemoryLake, table: HintedTable, services: LakeServices
) -> None:
    inner = lake.table("db.inner", location=f"{HOME}/inner").append("i.parquet")
    lake.put(f"{HOME}/inner/metadata/version-hint.text", number(inner).encode())
    lake.advance(timedelta(days=5))
    before = lake.paths()
    report = services.collect("1")
    assert before == lake.paths()
    assert "no live table has its metadata there" in report.unread[f"{HOME}/"]


def test_s32_both_engines_keep_the_hint_with_its_sidecar(table: HintedTable, engine: Engine, tmp_path: Path) -> None:
    table.lake.put(f"{HOME}/metadata/.version-hint.text.crc")
    table.hint(number(table.live))
    services = on_disk(table.lake, tmp_path / "lake", engine)
    report = services.collect("1")
    left = {path.name for path in (tmp_path / "lake").rglob("*") if path.is_file()}
    assert {"version-hint.text", ".version-hint.text.crc"} <= left
    assert "nobody.parquet" not in left
    assert 0 == report.exit_code


def test_s32_both_engines_see_newer_metadata(table: HintedTable, engine: Engine, tmp_path: Path) -> None:
    table.hint(number(table.live.append("c.parquet")))
    services = on_disk(table.lake, tmp_path / "lake", engine)
    report = services.collect("1")
    assert 0 == report.unreferenced.files
    assert "a state that the catalog does not have" in str(report.unknown)


def test_s32_a_hint_whose_deletion_was_recorded_before_stays(table: HintedTable, services: LakeServices) -> None:
    table.lake.advance(timedelta(days=5))
    live_set = services.mark("1")
    recorded = FileDeletion(location=f"{HOME}/", path=HINT.removeprefix(f"{HOME}/"), size=1, modified=table.lake.time)

    def add(phase: str, done: int, total: int | None) -> None:  # as older versions did
        if phase == "delete":
            services.store.add_file_deletions(live_set, [recorded])

    services.sweep(live_set, SweepParameters(defer_deletes=True), progress=add)
    table.lake.put(HINT, number(table.live).encode())
    report = services.delete_deferred(live_set)
    assert HINT in table.lake.paths()
    assert table.dead not in table.lake.paths()
    assert [(HINT, HINT_STAYS)] == [(file.path, file.reason) for file in report.spared_files]
