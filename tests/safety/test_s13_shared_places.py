"""S13: places that tables write to beside their locations are swept only by name, and never where others may need them.

Live files are kept there in any case; S1, S6, S20 and S23 decide what else is.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, MemoryRepository, TableState, content, delete, put

from nessie_gc_core.dataset import Engine
from nessie_gc_core.model import Outcome
from nessie_gc_core.services.parameters import SweepParameters

ALL = "memory://wh/all/data"
ALLOW = SweepParameters(allow=["memory://wh/"])
AGE = timedelta(days=3)


def table(lake: MemoryLake, name: str, *places: str, file: str | None = None) -> TableState:
    """A committed table that writes to some places, with one file in the first of them."""
    state = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").writing_to(*places)
    state = state.append(file or f"{places[0]}/{name}.parquet")
    lake.commit("main", put(state.version))
    return state


@pytest.fixture
def dead(lake: MemoryLake) -> str:
    return lake.put(f"{ALL}/0110/1010/11/nobody.parquet")


# ---- by name --------------------------------------------------------------------------------------------
def test_s13_a_place_that_two_tables_share_is_swept_on_both_engines(engine: Engine, lake: MemoryLake, tmp_path) -> None:
    """In the layout for object stores: folders of a hash between the place and the name of the table."""
    tables = [table(lake, name, ALL, file=f"{ALL}/0101/1100/01/db/{name}/a.parquet") for name in ("one", "two")]
    lake.put(f"{ALL}/0101/1100/01/db/one/b.parquet")
    lake.put(f"{ALL}-2/precious.parquet")
    lake.advance(AGE)
    services = on_disk(lake, tmp_path, engine)
    here = lambda path: tmp_path / path.removeprefix("memory://")  # noqa: E731 - short
    report = services.collect("1", sweep=SweepParameters(allow=[f"file://{tmp_path}/wh"]))
    assert all(here(path).exists() for state in tables for path in state.needed)
    assert not here(f"{ALL}/0101/1100/01/db/one/b.parquet").exists()
    assert here(f"{ALL}-2/precious.parquet").exists()
    assert ({}, {}, 3, 0) == (report.refused, report.unknown, report.locations, report.lost.files)


@pytest.mark.parametrize("allow", [[], ["memory://wh/db"], ["memory://wh/all/data-2"], ["memory://wh/all/data/0110"]])
def test_s13_a_place_that_is_not_allowed_by_name_is_refused_and_no_error(
    lake: MemoryLake, services: LakeServices, dead: str, allow: list[str]
) -> None:
    table(lake, "t", ALL)
    garbage = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=SweepParameters(allow=allow))
    assert dead in lake.paths()
    assert (garbage not in lake.paths()) == (allow in ([], ["memory://wh/db"]))
    assert "`allow`" in report.refused[ALL]
    assert len(report.refused[ALL].splitlines()) == 1
    assert report.exit_code == 0


@pytest.mark.parametrize("allow", ["memory://wh/all/data", "memory://wh/all/", "memory://wh", "memory://wh//all"])
def test_s13_a_place_that_is_allowed_or_lies_in_what_is_is_swept(
    lake: MemoryLake, services: LakeServices, dead: str, allow: str
) -> None:
    state = table(lake, "t", ALL)
    lake.advance(AGE)
    services.collect("1", sweep=SweepParameters(allow=[allow]))
    assert (dead in lake.paths()) == ("//all" in allow)
    assert state.needed <= lake.paths()


@pytest.mark.parametrize(
    "place", ["", "all", "../a", "memory://wh", "memory://wh/", "memory:", "warp://wh/all/data", "/"]
)
def test_s13_what_is_no_place_to_sweep_is_refused_with_a_reason(
    lake: MemoryLake, services: LakeServices, dead: str, place: str
) -> None:
    state = table(lake, "t", place, file="a.parquet")
    garbage = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=SweepParameters(allow=["memory://wh/", "/"]))
    assert state.needed | {dead} <= lake.paths()
    assert garbage not in lake.paths()
    assert [place] == list(report.refused)
    assert report.refused[place]
    assert report.exit_code == 0


def test_s13_a_place_that_holds_locations_of_tables_is_refused_and_these_are_swept(
    lake: MemoryLake, services: LakeServices, dead: str
) -> None:
    state = table(lake, "t", "memory://wh", "memory://wh/db")
    garbage = lake.put("memory://wh/db/t/data/nobody.parquet")
    others = lake.put("memory://wh/db/table-of-another-catalog/data/a.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=ALLOW)
    assert state.needed | {dead, others} <= lake.paths()
    assert garbage not in lake.paths()
    assert "contains table locations" in report.refused["memory://wh/db"]


def test_s13_a_place_in_which_no_live_file_lies_is_not_swept(lake: MemoryLake, services: LakeServices) -> None:
    """Nothing but a property says that it is this table's."""
    table(lake, "t", ALL, file="a.parquet")
    others = lake.put(f"{ALL}/of-somebody.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=ALLOW)
    assert others in lake.paths()
    assert "no live table" in report.refused[f"{ALL}/"]
    assert report.exit_code == 0


def test_s13_caps_hold_for_shared_places(lake: MemoryLake, services: LakeServices, dead: str) -> None:
    table(lake, "t", ALL)
    lake.advance(AGE)
    report = services.collect("1", sweep=replace(ALLOW, max_deletes_per_location=0))
    assert dead in lake.paths()
    assert report.outcomes[Outcome.SPARED].files > 0


def test_s13_deletions_in_shared_places_are_not_deferred(lake: MemoryLake, services: LakeServices, dead: str) -> None:
    state = table(lake, "t", ALL)
    garbage = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(AGE)
    live_set = services.mark("1")
    report = services.sweep(live_set, replace(ALLOW, defer_deletes=True))
    assert "delete at once" in report.refused[f"{ALL}/"]
    services.delete_deferred(live_set, ALLOW)
    assert state.needed | {dead} <= lake.paths()
    assert garbage not in lake.paths()


def test_s21_a_dry_run_names_what_the_run_deletes_there(lake: MemoryLake, services: LakeServices, dead: str) -> None:
    table(lake, "t", ALL)
    lake.advance(AGE)
    dry = services.collect("1", sweep=replace(ALLOW, dry_run=True))
    assert dead in lake.paths()
    wet = services.collect("1", sweep=ALLOW)
    assert dead not in lake.paths()
    assert dry.outcomes[Outcome.WOULD_DELETE].files == wet.outcomes[Outcome.DELETED].files


# ---- together with other locations ----------------------------------------------------------------------
@pytest.mark.parametrize("allow", [[], ["memory://wh/db"]])
def test_s01_a_place_within_a_location_is_swept_with_it_and_needs_no_word(
    lake: MemoryLake, services: LakeServices, allow: list[str]
) -> None:
    host = lake.table("db.host", location="memory://wh/db/host").append("a.parquet")
    lake.commit("main", put(host.version))
    guest = table(lake, "guest", "memory://wh/db/host/data", "memory://wh/db/guest/data")
    garbage = lake.put("memory://wh/db/host/data/nobody.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=SweepParameters(allow=allow))
    assert host.needed | guest.needed <= lake.paths()
    assert garbage not in lake.paths()
    assert {} == report.refused


def test_s01_a_place_that_an_older_live_state_wrote_to_is_swept(lake: MemoryLake, services: LakeServices) -> None:
    older = table(lake, "t", ALL)
    newer = older.writing_to("memory://wh/new").append("memory://wh/new/b.parquet")
    lake.commit("main", put(newer.version))
    dead = {lake.put(f"{ALL}/nobody.parquet"), lake.put("memory://wh/new/nobody.parquet")}
    lake.advance(AGE)
    services.collect("NONE", sweep=ALLOW)
    assert older.needed | newer.needed <= lake.paths()
    assert dead.isdisjoint(lake.paths())


def test_s01_what_a_table_of_another_catalog_was_seen_to_write_to_is_not_swept(
    lake: MemoryLake, services: LakeServices, dead: str
) -> None:
    other = MemoryLake.named(f"{lake.name}-other")
    try:
        theirs = other.table("x.t", location="memory://wh/x/t").writing_to(ALL)
        theirs = replace(theirs, lake=lake).append(f"{ALL}/theirs.parquet")
        other.commit("main", put(theirs.version))
        repository = MemoryRepository.from_options({"lake": other.name})
        replace(services, repository=repository).collect("1", sweep=replace(ALLOW, dry_run=True))
        mine = table(lake, "t", ALL)
        lake.advance(AGE)
        report = services.collect("1", sweep=ALLOW)
    finally:
        MemoryLake.forget(other.name)
    assert mine.needed | theirs.needed | {dead} <= lake.paths()
    assert repository.identity() in report.refused[f"{ALL}/"]


# ---- lost, unknown, unread ------------------------------------------------------------------------------
def test_s06_a_lost_file_in_a_shared_place_is_reported(lake: MemoryLake, services: LakeServices, dead: str) -> None:
    one, two = table(lake, "one", ALL), table(lake, "two", ALL)
    lake.objects.delete(f"{ALL}/one.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=ALLOW)
    assert [f"{ALL}/one.parquet"] == [file.path for file in report.lost_files]
    assert dead not in lake.paths()
    assert (one.needed | two.needed) - {f"{ALL}/one.parquet"} <= lake.paths()


def test_s06_a_shared_place_that_shows_no_file_of_those_that_should_be_there_is_frozen(
    lake: MemoryLake, services: LakeServices, dead: str
) -> None:
    table(lake, "t", ALL)
    lake.objects.delete(f"{ALL}/t.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=ALLOW)
    assert dead in lake.paths()
    assert "shows none" in report.unknown[f"{ALL}/"]


@pytest.mark.parametrize("broken", ["metadata", "manifest"])
def test_s06_a_table_that_cannot_be_read_freezes_every_shared_place(
    lake: MemoryLake, services: LakeServices, dead: str, broken: str
) -> None:
    """Whether or not it names the place itself: of metadata that makes no sense nobody knows where its data is."""
    fine = table(lake, "fine", ALL)
    unknown = lake.table("db.unknown", location="memory://wh/db/unknown").append(f"{ALL}/unknown.parquet")
    lake.commit("main", put(unknown.version))
    services.collect("1", sweep=replace(ALLOW, dry_run=True))  # now it is known where its location is
    lake.put(unknown.metadata_location if broken == "metadata" else unknown.manifests[1][0], b"\0 no JSON")
    garbage = lake.put("memory://wh/db/fine/data/nobody.parquet")
    lake.advance(AGE)
    report = services.collect("1", sweep=ALLOW)
    assert fine.needed | unknown.needed | {dead} <= lake.paths()
    assert garbage not in lake.paths()
    assert f"{ALL}/" in report.unknown
    assert report.exit_code == 1


def test_s09_what_becomes_live_and_cannot_be_read_spares_the_shared_places(
    lake: MemoryLake, services: LakeServices, dead: str
) -> None:
    table(lake, "t", ALL)
    fine = lake.table("db.unknown", location="memory://wh/db/unknown").append("a.parquet")
    lake.commit("main", put(fine.version))
    unknown = fine.append(f"{ALL}/unknown.parquet")
    lake.put(unknown.metadata_location, b"\0 no JSON")
    garbage = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(AGE)
    services.collect("1", sweep=replace(ALLOW, dry_run=True))
    services.collect("1", sweep=ALLOW, between=lambda: lake.commit("main", put(unknown.version)))
    assert unknown.needed | {dead} <= lake.paths()
    assert garbage not in lake.paths()


def test_s23_a_content_that_nobody_reads_and_that_becomes_live_spares_the_shared_places(
    lake: MemoryLake, services: LakeServices, dead: str
) -> None:
    table(lake, "t", ALL)
    odd = content("db.odd", metadata_location=None, content_type="ODD", location="memory://wh/db/odd")
    garbage = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(AGE)
    services.collect("1", sweep=ALLOW, between=lambda: lake.commit("main", put(odd)))
    assert dead in lake.paths()
    assert garbage not in lake.paths()


@pytest.mark.parametrize("known", [False, True])
def test_s23_a_content_that_nobody_reads_freezes_the_shared_places_unless_its_files_are_known(
    lake: MemoryLake, services: LakeServices, dead: str, known: bool
) -> None:
    """A table that its catalog shows as a table, too, so as to freeze its location, is known."""
    state = table(lake, "t", ALL)
    metadata = state.metadata_location if known else "memory://wh/db/odd/metadata/1.json"
    odd = content("db.odd", metadata_location=metadata, content_type="ODD", location="memory://wh/db/odd")
    lake.commit("main", put(odd))
    lake.advance(AGE)
    report = services.collect("1", sweep=ALLOW)
    assert (dead not in lake.paths()) == known
    assert (f"{ALL}/" in report.unread) == (not known)
    assert report.exit_code == 0


# ---- dropped --------------------------------------------------------------------------------------------
@pytest.fixture
def dropped(lake: MemoryLake, services: LakeServices) -> tuple[TableState, TableState]:
    """A table that stays, and one that was swept once and is dropped since."""
    stays, goes = table(lake, "stays", ALL), table(lake, "goes", ALL)
    services.collect("1", sweep=ALLOW)
    lake.advance(AGE)
    lake.commit("main", delete(goes.key))
    return stays, goes


def test_s20_files_of_a_dropped_table_stay_in_a_shared_place_until_it_was_gone_for_long_enough(
    lake: MemoryLake, services: LakeServices, dropped: tuple[TableState, TableState]
) -> None:
    stays, goes = dropped
    report = services.collect("1", sweep=ALLOW)
    assert "`dropped_after`" in report.refused[f"{ALL}/"]
    after = replace(ALLOW, dropped_after=timedelta(days=7))
    assert f"{ALL}/" in services.collect("1", sweep=after).refused
    assert stays.needed | goes.needed <= lake.paths()
    lake.advance(timedelta(days=8))
    assert {} == services.collect("1", sweep=after).refused
    assert f"{ALL}/goes.parquet" not in lake.paths()
    assert stays.needed <= lake.paths()


def test_s20_a_table_that_a_mark_still_had_is_not_gone_since_it_was_swept(
    lake: MemoryLake, services: LakeServices
) -> None:
    table(lake, "stays", ALL)
    goes = table(lake, "goes", ALL)
    services.collect("1", sweep=ALLOW)
    lake.advance(timedelta(days=8))
    services.mark("1")
    lake.advance(timedelta(hours=1))
    lake.commit("main", delete(goes.key))
    report = services.collect("1", sweep=replace(ALLOW, dropped_after=timedelta(days=7)))
    assert f"{ALL}/" in report.refused
    assert goes.needed <= lake.paths()


def test_s20_a_dropped_table_does_not_make_a_shared_place_its_location(
    lake: MemoryLake, services: LakeServices, dropped: tuple[TableState, TableState]
) -> None:
    """Its location is swept when it was gone for long enough; what it wrote to besides needs its word all the same."""
    services.collect("1")
    lake.advance(timedelta(days=8))
    report = services.collect("1", sweep=SweepParameters(dropped_after=timedelta(days=7)))
    assert f"{ALL}/goes.parquet" in lake.paths()
    assert ["memory://wh/db/goes"] == list(report.dropped)
    assert [ALL] == list(report.refused)


def test_s20_a_place_that_cannot_be_compared_keeps_no_dropped_table_from_being_found(
    lake: MemoryLake, services: LakeServices
) -> None:
    """Whoever can set a property must not stop the search for what no catalog has."""
    table(lake, "t", "relative", file="a.parquet")
    lake.table("db.gone", location="memory://wh/db/gone").append("a.parquet")
    lake.advance(AGE)
    services.collect("1", sweep=ALLOW)
    lake.advance(timedelta(days=30))
    under = replace(ALLOW, dropped_after=timedelta(days=7), dropped_under=["memory://wh/"])
    report = services.collect("1", sweep=under)
    assert ["memory://wh/db/gone/"] == list(report.dropped)
