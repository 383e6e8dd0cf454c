"""S13: tables that `include` and `exclude` leave out are read like all others, and their locations are never swept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, delete, put

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.parameters import SweepParameters

AGE = timedelta(days=3)
SHARED = "memory://wh/shared/data"


def table(lake: MemoryLake, name: str, location: str | None = None) -> tuple[TableState, str]:
    """A table with one file, and the path of a file beside it that nothing needs."""
    at = location or f"memory://wh/{name.replace('.', '/')}"
    state = lake.table(name, location=at).append(f"{at}/data/a.parquet")
    lake.commit("main", put(state.version))
    return state, lake.put(f"{at}/data/nobody.parquet")


def choosing(*, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), **more: Any) -> SweepParameters:
    return SweepParameters(include=include, exclude=exclude, **more)


PATTERNS = [
    ({"exclude": ("sales[.].*",)}, {"hr.people", "hr.payroll"}),
    ({"include": ("hr[.].*",)}, {"hr.people", "hr.payroll"}),
    ({"include": ("hr[.].*",), "exclude": (".*[.]payroll",)}, {"hr.people"}),
    ({"include": ("hr",)}, set()),
    ({"exclude": ("hr",)}, {"sales.orders", "hr.people", "hr.payroll"}),
]


@pytest.mark.parametrize(("patterns", "swept"), PATTERNS)
def test_s13_only_locations_of_tables_that_are_meant_are_swept(
    lake: MemoryLake, services: LakeServices, patterns: dict[str, tuple[str, ...]], swept: set[str]
) -> None:
    dead = {name: table(lake, name)[1] for name in ("sales.orders", "hr.people", "hr.payroll")}
    lake.advance(AGE)
    report = services.collect(sweep=choosing(**patterns))
    assert swept == {name for name, path in dead.items() if path not in lake.paths()}
    assert len(dead) - len(swept) == len(report.left_out)


def test_s13_both_engines_leave_out_the_same_tables(lake: MemoryLake, engine: Engine, tmp_path: Path) -> None:
    for name in ("sales.orders", "hr.people"):
        table(lake, name)
    with on_disk(lake, tmp_path, engine) as services:
        report = services.collect(sweep=choosing(exclude=("sales[.].*",), no_age_floor=True, min_age=timedelta(0)))
    left = {path.name for path in tmp_path.rglob("nobody.parquet") if "sales" in path.parts}
    assert ({"nobody.parquet"}, 1) == (left, len(report.left_out))
    assert not list(tmp_path.rglob("hr/people/data/nobody.parquet"))


def test_s13_a_pattern_that_matches_nothing_is_warned_of(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "sales.orders")
    report = services.collect(sweep=choosing(exclude=("slaes[.].*",)))
    assert "`exclude` 'slaes[.].*' matches no live table or view" in report.warnings


def test_s13_a_pattern_that_is_no_regular_expression_is_refused(lake: MemoryLake, services: LakeServices) -> None:
    with pytest.raises(ConfigurationError, match=r"'exclude': '\(' "):
        services.collect(sweep=choosing(exclude=("(",)))


def test_s13_what_a_table_that_is_left_out_needs_elsewhere_stays(lake: MemoryLake, services: LakeServices) -> None:
    _, dead = table(lake, "hr.people")
    needed = lake.put("memory://wh/hr/people/data/of-orders.parquet")
    orders = lake.table("sales.orders", location="memory://wh/sales/orders").append(needed)
    lake.commit("main", put(orders.version))
    lake.advance(AGE)
    services.collect(sweep=choosing(include=("hr[.]people",)))
    assert (True, False) == (needed in lake.paths(), dead in lake.paths())


def test_s13_a_location_in_which_one_that_is_left_out_lies_is_not_swept(
    lake: MemoryLake, services: LakeServices
) -> None:
    dead = [table(lake, "a.outer", "memory://wh/a/t")[1], table(lake, "b.inner", "memory://wh/a/t/deep/inner")[1]]
    lake.advance(AGE)
    report = services.collect(sweep=choosing(exclude=("b[.].*",)))
    assert {"memory://wh/a/t/": "b.inner is left out"} == report.left_out
    assert set(dead) <= lake.paths()


def test_s13_one_of_several_names_is_enough_to_be_left_out(lake: MemoryLake, services: LakeServices) -> None:
    state, dead = table(lake, "hr.people")
    lake.branch("dev")
    lake.commit("dev", delete(state.key), put(state.renamed("secret.people").version))
    lake.advance(AGE)
    services.collect(sweep=choosing(exclude=("secret[.].*",)))
    assert dead in lake.paths()
    services.collect(sweep=choosing(include=("secret[.].*",)))
    assert dead not in lake.paths()


def test_s13_a_place_that_one_that_is_left_out_writes_to_is_not_swept(lake: MemoryLake, services: LakeServices) -> None:
    for name in ("hr.people", "sales.orders"):
        state = lake.table(name, location=f"memory://wh/{name.replace('.', '/')}")
        lake.commit("main", put(state.writing_to(SHARED).append(f"{SHARED}/{name}.parquet").version))
    dead = lake.put(f"{SHARED}/nobody.parquet")
    lake.advance(AGE)
    report = services.collect(sweep=choosing(exclude=("sales[.].*",), allow=["memory://wh/"]))
    assert dead in lake.paths()
    assert f"{SHARED}/" in report.left_out


def test_s13_deferred_deletions_of_a_table_that_is_left_out_by_now_stay_recorded(
    lake: MemoryLake, services: LakeServices
) -> None:
    dead = {name: table(lake, name, f"memory://wh//db/{name}")[1] for name in ("orders", "people")}
    lake.advance(AGE)
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    report = services.delete_deferred(live_set, choosing(exclude=("people",)))
    assert {"people"} == {name for name, path in dead.items() if path in lake.paths()}
    assert {"people is left out"} == {file.reason for file in report.spared_files}
    recorded = [found.location + found.path for found in services.store.file_deletions(live_set)]
    assert (True, False) == (dead["people"] in recorded, dead["orders"] in recorded)


def test_s20_a_dropped_table_that_the_patterns_do_not_name_stays(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "hr.people")
    dropped = [table(lake, name)[0] for name in ("hr.gone", "sales.gone")]
    lake.advance(AGE)
    services.collect()
    lake.advance(AGE)
    lake.commit("main", *(delete(state.key) for state in dropped))
    lake.advance(timedelta(days=40))
    for _ in range(2):  # the metadata that shows where it was goes after all else
        services.collect("1", sweep=choosing(include=("hr[.].*",), dropped_after=timedelta(days=7)))
    assert not dropped[0].needed & lake.paths()
    assert dropped[1].needed <= lake.paths()


def test_s13_a_place_that_is_spelled_with_dots_is_left_out_under_every_spelling(
    lake: MemoryLake, services: LakeServices
) -> None:
    _, dead = table(lake, "mine", "memory://wh/db/t")
    table(lake, "keep", "memory://wh/db/x/../t")
    lake.advance(AGE)
    services.collect(sweep=choosing(exclude=("keep",)))
    assert dead in lake.paths()


def test_s20_a_table_that_was_left_out_stays_so_when_it_is_dropped(lake: MemoryLake, services: LakeServices) -> None:
    _, dead = table(lake, "a.outer", "memory://wh/a/t")
    inner, _ = table(lake, "b.inner", "memory://wh/a/t/deep/inner")
    lake.advance(AGE)
    services.collect(sweep=choosing(exclude=("b[.].*",)))
    lake.commit("main", delete(inner.key))
    lake.advance(AGE)
    services.collect("1", sweep=choosing(exclude=("b[.].*",)))
    assert inner.needed <= lake.paths()
    services.collect("1")
    assert not inner.needed & lake.paths()
    assert dead not in lake.paths()


def test_s13_a_table_that_was_made_anew_is_swept_although_another_was_there(
    lake: MemoryLake, services: LakeServices
) -> None:
    old, _ = table(lake, "hr.people")
    lake.advance(AGE)
    services.collect(sweep=choosing(include=("hr[.].*",)))
    lake.commit("main", delete(old.key))
    new = lake.table("hr.people", location=old.location, content_id="another").append("b.parquet")
    lake.commit("main", put(new.version))
    dead = lake.put(f"{old.location}/data/nobody-2.parquet")
    lake.advance(AGE)
    services.collect("1", sweep=choosing(include=("hr[.].*",)))
    assert dead not in lake.paths()
    assert new.needed <= lake.paths()
