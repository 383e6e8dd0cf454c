"""S8: a list of files in place of a listing costs no file: what it says is old is looked at again before it goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, put

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError, ListingError
from nessie_gc_core.model import FileReference, Outcome
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.parameters import SweepParameters

AGE = timedelta(days=3)
HOME = "memory://wh/db/t"


@pytest.fixture
def table(lake: MemoryLake) -> TableState:
    state = lake.table("db.t", location=HOME).append("a.parquet", "_hidden/.b.parquet")
    lake.commit("main", put(state.version))
    return state


@pytest.fixture
def dead(lake: MemoryLake, table: TableState) -> str:
    return lake.put(f"{HOME}/data/nobody.parquet")


class Lists:
    """Writes lists of what a lake has."""

    def __init__(self, folder: Path, lake: MemoryLake) -> None:
        self.folder, self.lake = folder, lake
        self.written = 0

    def __call__(self, *paths: str) -> SweepParameters:
        """Of some paths, or of all, with their times; the sweep that has it."""
        found = dict(self.lake.objects.below("memory://"))
        names = list(paths or found)
        times = [(found[name].modified if name in found else self.lake.time) for name in names]
        return self.of(names, times)

    def of(
        self, names: Iterable[str], times: Iterable[datetime | None], sizes: Iterable[int] | None = None
    ) -> SweepParameters:
        self.written += 1
        file = self.folder / f"list-{self.written}.parquet"
        columns = {
            "file_path": pa.array(list(names), pa.string()),
            "last_modified": pa.array(list(times), pa.timestamp("us", "UTC")),
            **({} if sizes is None else {"size": list(sizes)}),
        }
        pq.write_table(pa.table(columns), file)
        return SweepParameters(file_list=[str(file)])


@pytest.fixture
def listed(lake: MemoryLake, tmp_path: Path) -> Lists:
    return Lists(tmp_path, lake)


# ---- what it stands for ---------------------------------------------------------------------------------
def test_s21_a_list_gives_what_a_listing_gives_on_both_engines(
    engine: Engine, lake: MemoryLake, table: TableState, dead: str, tmp_path: Path
) -> None:
    old = table.overwrite("c.parquet")
    lake.commit("main", put(old.version))
    lake.put(f"{HOME}/data/_young.parquet", modified=lake.time + AGE)
    lake.put(f"{HOME}2/data/neighbour.parquet")
    lake.put(f"{HOME}/data/%20 #?ü.parquet")
    lake.put(f"{HOME}/data/.nobody.parquet.crc")
    lake.advance(AGE)
    services = on_disk(lake, tmp_path / "lake", engine)
    files = [path for path in (tmp_path / "lake" / "wh").rglob("*") if path.is_file()]
    times = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in files]
    lists = Lists(tmp_path, lake)
    names = [f"file:{path}" for path in files]
    again = [str(path) for path in files[:3]]
    sizes = [path.stat().st_size for path in files]
    given = lists.of([*names, *again], [*times, *times[:3]], [*sizes, *sizes[:3]])
    by_listing = services.collect("1", sweep=SweepParameters(dry_run=True))
    by_list = services.collect("1", sweep=replace(given, dry_run=True))
    assert by_listing.outcomes == by_list.outcomes
    assert by_listing.sidecars == by_list.sidecars
    assert by_listing.files_in == by_list.files_in
    assert ["ignored 1 row of the file list outside the swept locations"] == by_list.warnings[-1:]
    services.collect("1", sweep=given)
    gone = {path.relative_to(tmp_path / "lake").as_posix() for path in files if not path.exists()}
    assert {path.removeprefix("memory://") for path in lake.paths() - old.needed} - gone == {
        "wh/db/t/data/_young.parquet",
        "wh/db/t2/data/neighbour.parquet",
    }


def test_hidden_files_are_files_like_others(
    lake: MemoryLake, services: LakeServices, table: TableState, listed: Lists
) -> None:
    hidden = {lake.put(f"{HOME}/_tmp/{name}") for name in (".a", "_b", ".c/d")}
    lake.advance(AGE)
    services.collect("1", sweep=listed())
    assert hidden.isdisjoint(lake.paths())
    assert table.needed <= lake.paths()


def test_s02_and_s03_rows_elsewhere_are_ignored_and_counted(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    beside = [lake.put(f"{HOME}2/data/a"), lake.put("memory://other/db/t/data/a"), lake.put(f"{HOME}-b")]
    lake.advance(AGE)
    odd = ["warp://wh/db/t/data/a", "data/a", "", HOME]
    report = services.collect("1", sweep=listed(*table.needed, dead, *beside, *odd, f"{HOME}/../t2/data/a"))
    assert dead not in lake.paths()
    assert {*table.needed, *beside} <= lake.paths()
    assert any(
        warning.startswith(f"ignored {len(beside) + len(odd)} rows of the file list") for warning in report.warnings
    )


def test_s24_a_row_that_is_spelled_otherwise_is_that_file_or_none(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    """``//`` is another file in an object store, which a listing of the location shows under that name."""
    odd = lake.put(f"{HOME}/data//odd.parquet")
    live = f"{HOME}/data//a.parquet"
    lake.put(live)
    above = lake.put("memory://wh//db/t/data/above.parquet")
    lake.advance(AGE)
    services.collect("1", sweep=listed())
    assert {odd, dead}.isdisjoint(lake.paths())
    assert {live, above} | table.needed <= lake.paths()


def test_a_row_that_comes_twice_counts_once_and_is_as_young_as_the_younger(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    lake.advance(AGE)
    other = lake.put(f"{HOME}/data/other.parquet", modified=lake.time - AGE)
    everything = sorted(lake.paths())
    old, young = lake.time - AGE, lake.time
    names = [*everything, *everything, other]
    report = services.collect("1", sweep=listed.of(names, [*([old] * (len(names) - 1)), young]))
    assert len(everything) == report.files_listed.files
    assert (False, True) == (dead in lake.paths(), other in lake.paths())


def test_s22_a_directory_marker_in_a_list_is_no_file(
    lake: MemoryLake, services: LakeServices, table: TableState, listed: Lists
) -> None:
    marker = lake.put(f"{HOME}/data/", 0)
    lake.advance(AGE)
    report = services.collect("1", sweep=listed())
    assert marker in lake.paths()
    assert report.outcomes[Outcome.FAILED].files == 0


# ---- what has changed since ----------------------------------------------------------------------------
def test_s08_a_row_without_a_time_is_too_young(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    lake.advance(AGE)
    names = sorted(lake.paths())
    report = services.collect("1", sweep=listed.of(names, [None] * len(names)))
    assert dead in lake.paths()
    assert report.outcomes[Outcome.TOO_YOUNG].files > 0


def test_s08_a_file_that_was_written_since_is_as_young_as_it_is(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    sweep = listed()
    lake.advance(AGE)
    lake.put(dead, 7)
    report = services.collect("1", sweep=sweep)
    assert dead in lake.paths()
    assert (1, 7) == (report.outcomes[Outcome.TOO_YOUNG].files, report.outcomes[Outcome.TOO_YOUNG].bytes)


def test_s15_a_file_that_is_gone_since_is_nobodys_work(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    sweep = listed()
    lake.advance(AGE)
    lake.objects.delete(dead)
    report = services.collect("1", sweep=sweep)
    old_metadata = report.unreferenced.files
    assert {"deleted": old_metadata} == {name: t.files for name, t in report.outcomes.items() if t.files}


def test_s18_a_file_that_nobody_can_look_at_is_spared(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    lake.advance(AGE)
    lake.faults.listing[f"{HOME}/"] = ListingError("the store is away")
    report = services.collect("1", sweep=listed())
    assert dead in lake.paths()
    assert all("the store is away" in (file.reason or "") for file in report.spared_files)
    assert 0 < report.outcomes[Outcome.SPARED].files == report.unreferenced.files


def test_s09_what_became_live_since_the_mark_is_spared(
    lake: MemoryLake, services: LakeServices, table: TableState, listed: Lists
) -> None:
    later = table.append("later.parquet")
    lake.advance(AGE)
    sweep = listed()
    services.collect("1", sweep=sweep, between=lambda: lake.commit("main", put(later.version)))
    assert later.needed <= lake.paths()


def test_s15_a_sweep_that_is_killed_is_resumed_with_the_same_list(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    more = {lake.put(f"{HOME}/data/more-{number}") for number in range(10)}
    lake.advance(AGE)
    sweep = replace(listed(), files_per_step=3)
    live_set = services.mark("1")
    victim = sorted(more)[4]
    lake.faults.deleting_dies[victim] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        services.sweep(live_set, sweep)
    left = len(lake.paths() - table.needed)
    lake.faults.deleting_dies.clear()
    report = services.sweep(live_set, replace(sweep, resume=True))
    assert table.needed == lake.paths()
    assert report.outcomes[Outcome.ALREADY_GONE].files == 0
    assert report.outcomes[Outcome.DELETED].files >= left > 0


# ---- what a list cannot say -----------------------------------------------------------------------------
def test_s06_files_that_a_list_lacks_are_not_called_lost(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    lake.advance(AGE)
    report = services.collect("1", sweep=listed(*(lake.paths() - {f"{HOME}/data/a.parquet"})))
    assert dead not in lake.paths()
    assert (0, []) == (report.lost.files, report.lost_files)
    assert any(warning.startswith("1 needed file is not in the file list") for warning in report.warnings)
    assert report.exit_code == 0


def test_s06_a_location_of_which_a_list_has_no_file_that_should_be_there_is_frozen(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    lake.advance(AGE)
    report = services.collect("1", sweep=listed(dead))
    assert dead in lake.paths()
    assert "shows none" in report.unknown[f"{HOME}/"]
    assert report.exit_code == 1


def test_a_location_of_which_a_list_has_nothing_is_named_and_no_error(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Lists
) -> None:
    other = lake.table("db.other", location="memory://wh/db/other").append("a.parquet")
    lake.commit("main", put(other.version))
    lake.advance(AGE)
    report = services.collect("1", sweep=listed(*table.needed, dead))
    assert dead not in lake.paths()
    assert other.needed <= lake.paths()
    assert ({}, 0) == (report.unknown, report.exit_code)
    assert any(
        "no files for 1 location" in warning and "memory://wh/db/other/" in warning for warning in report.warnings
    )


def test_a_list_that_breaks_off_deletes_nothing(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, tmp_path: Path
) -> None:
    lake.advance(AGE)
    before = lake.paths()
    path = tmp_path / "l.csv"
    rows = [f"{dead},2020-01-01T00:00:00Z"] * 50_000
    path.write_text("\n".join(["file_path,last_modified", *rows, f"{dead},when?", ""]))
    with pytest.raises(ListingError, match="read completely"):
        services.collect("1", sweep=SweepParameters(file_list=[str(path)]))
    assert before == lake.paths()


# ---- what is refused ------------------------------------------------------------------------------------
def test_a_list_that_is_none_is_refused_before_anything_is_marked(
    services: LakeServices, table: TableState, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="does not exist"):
        services.collect("1", sweep=SweepParameters(file_list=[str(tmp_path / "none.parquet")]))
    assert [] == list(services.store.live_sets())


class PlainLister(FileLister):
    name = "plain"
    schemes = frozenset({"memory"})

    def list_files(self, location: str) -> Iterator[FileReference]:
        yield from ()


class Plugin:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> type[FileLister]:
        return PlainLister


def test_a_lister_that_cannot_look_at_single_files_takes_no_list(
    lake: MemoryLake, services: LakeServices, table: TableState, listed: Lists, plugins: PluginRegistry
) -> None:
    plugins.register(Plugin(), name="plain")
    before = lake.paths()
    with pytest.raises(ConfigurationError, match="which 'plain' cannot"):
        services.choosing(plugins=plugins, lister="plain").collect("1", sweep=listed())
    assert before == lake.paths()


def test_s20_a_list_does_not_show_tables_that_nobody_knows(services: LakeServices, table: TableState) -> None:
    sweep = SweepParameters(
        file_list=["l.csv"], dropped_after=AGE, dropped_under=["memory://wh/"], allow=["memory://wh/"]
    )
    with pytest.raises(ConfigurationError, match="are mutually exclusive"):
        services.collect("1", sweep=sweep)
