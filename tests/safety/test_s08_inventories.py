"""S8: the age of an inventory counts: no file is judged by a state that is newer than it; what it lacks is unknown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from collecting import LakeServices
from inventories import S3Inventory, Stored
from nessie_gc_memory import MemoryLake, TableState, put
from pyiceberg.catalog.sql import SqlCatalog

from nessie_gc_core.algorithms.file_list import stored_from_lists
from nessie_gc_core.algorithms.file_list_source import open_file_list
from nessie_gc_core.algorithms.units import plan_units
from nessie_gc_core.config.meter import METER
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError, ListingError, SafetyError
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.services.parameters import SweepParameters

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOME = "memory://wh/db/t"


@pytest.fixture
def services(services: LakeServices, lake: MemoryLake) -> LakeServices:
    """The lake is on S3, as far as its inventories know; its clock stands at a whole second, as theirs do."""
    lake.now = datetime(2026, 1, 1, tzinfo=UTC)
    return services.choosing(scheme_aliases={"memory": "s3"})


@pytest.fixture
def table(lake: MemoryLake) -> TableState:
    state = lake.table("db.t", location=HOME).append("a.parquet")
    lake.commit("main", put(state.version))
    return state


@pytest.fixture
def dead(lake: MemoryLake, table: TableState) -> str:
    return lake.put(f"{HOME}/data/nobody.parquet")


Listed = Callable[..., SweepParameters]


@pytest.fixture
def listed(lake: MemoryLake, tmp_path: Path) -> Listed:
    """The sweep with an inventory of all that is in a bucket now."""

    def write(bucket: str = "wh", made: datetime | None = None) -> SweepParameters:
        start = f"memory://{bucket}/"
        rows = [Stored(path.removeprefix(start), file.modified) for path, file in lake.objects.below(start)]
        inventory = S3Inventory(folder=tmp_path / bucket, bucket=bucket, format="Parquet")
        return SweepParameters(file_list=[str(inventory.write(rows, made=made or lake.time))])

    return write


# ---- its age -----------------------------------------------------------------------------------------------
def test_s08_the_minimum_age_counts_from_when_the_inventory_was_made(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed
) -> None:
    lake.advance(12 * HOUR)
    old = listed()
    lake.advance(13 * HOUR)
    report = services.collect("1", sweep=old)
    assert dead in lake.paths()
    assert report.outcomes[Outcome.TOO_YOUNG].files > 0
    assert any(warning.startswith("the file list is 13 h old") for warning in report.warnings)
    services.collect("1", sweep=listed())
    assert table.needed == lake.paths()


def test_s08_of_several_inventories_the_oldest_counts(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed
) -> None:
    lake.advance(12 * HOUR)
    beside = listed("other")
    lake.advance(13 * HOUR)
    both = replace(beside, file_list=[*beside.file_list, *listed().file_list])
    services.collect("1", sweep=both)
    assert dead in lake.paths()


def test_s08_a_list_without_a_manifest_is_as_old_as_someone_says(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed, tmp_path: Path
) -> None:
    lake.advance(12 * HOUR)
    time = lake.time
    listed()
    plain = SweepParameters(file_list=[str(tmp_path / "wh" / "data")])
    lake.advance(13 * HOUR)
    services.collect("1", sweep=replace(plain, file_list_time=time))
    assert dead in lake.paths()
    services.collect("1", sweep=plain)
    assert table.needed == lake.paths()


def test_s08_an_inventory_that_is_too_old_is_refused_because_days_may_be_missing(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed
) -> None:
    lake.advance(DAY * 2)
    sweep = listed()
    lake.advance(DAY * 14 + HOUR)
    live_set = services.mark("1")
    with pytest.raises(SafetyError, match=r"14 d 1 h old, `file_list_max_age` is 14 d"):
        services.sweep(live_set, sweep)
    assert dead in lake.paths()
    services.sweep(live_set, replace(sweep, file_list_max_age=DAY * 15))
    assert dead not in lake.paths()


@pytest.mark.parametrize("by_manifest", [True, False])
def test_s08_an_inventory_from_the_future_is_refused(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed, *, by_manifest: bool
) -> None:
    lake.advance(DAY * 2)
    later = lake.time + HOUR
    sweep = listed(made=later) if by_manifest else replace(listed(), file_list_time=later)
    with pytest.raises(SafetyError, match="from the future"):
        services.collect("1", sweep=sweep)
    assert dead in lake.paths()


# ---- what it lacks -----------------------------------------------------------------------------------------
def test_s06_a_bucket_that_an_inventory_lacks_is_frozen_and_others_are_not(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed
) -> None:
    other = lake.table("db.other", location="memory://second/db/other").append("b.parquet")
    lake.commit("main", put(other.version))
    theirs = lake.put("memory://second/db/other/data/nobody.parquet")
    lake.advance(DAY * 2)
    report = services.collect("1", sweep=listed())
    assert (False, True) == (dead in lake.paths(), theirs in lake.paths())
    assert ["s3://second/db/other/"] == list(report.unknown)
    assert "no files in the swept locations of s3://second" in report.unknown["s3://second/db/other/"]
    assert report.exit_code == 1
    both = replace(listed(), file_list=[*listed().file_list, *listed("second").file_list])
    assert services.collect("1", sweep=both).exit_code == 0
    assert theirs not in lake.paths()


def test_s06_an_inventory_that_lacks_a_part_is_refused_before_anything_is_marked(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed, tmp_path: Path
) -> None:
    lake.advance(DAY * 2)
    sweep = listed()
    next((tmp_path / "wh" / "data").iterdir()).unlink()
    with pytest.raises(ConfigurationError, match="is not there"):
        services.collect("1", sweep=sweep)
    assert [] == list(services.store.live_sets())


def test_s06_a_part_that_is_gone_by_the_time_of_the_sweep_deletes_nothing(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, listed: Listed, tmp_path: Path
) -> None:
    lake.advance(DAY * 2)
    sweep = listed()
    part = next((tmp_path / "wh" / "data").iterdir())
    with pytest.raises((ConfigurationError, ListingError), match=r"wh-manifest|311200|manifest|completely"):
        services.collect("1", sweep=sweep, between=part.unlink)
    assert dead in lake.paths()


def test_s08_a_table_of_files_is_as_old_as_its_snapshot(
    lake: MemoryLake, services: LakeServices, table: TableState, dead: str, tmp_path: Path
) -> None:
    """The files of a lake, written to an Iceberg table of another catalog."""
    found = [(path.replace("memory:", "s3:"), file.modified) for path, file in lake.objects.below("memory://wh/")]
    times = pa.array([time for _, time in found], pa.timestamp("us", "UTC"))
    rows = pa.table({"file_path": [path for path, _ in found], "last_modified": times})
    with SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}/wh") as catalog:
        catalog.create_namespace("ops")
        listed = catalog.create_table("ops.files", rows.schema)
        listed.append(rows)
    snapshot = listed.current_snapshot()
    assert snapshot is not None
    sweep = SweepParameters(file_list=[listed.metadata_location])
    lake.now = datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC) + timedelta(hours=3)
    report = services.collect("1", sweep=sweep)
    assert table.needed == lake.paths()
    assert any(warning.startswith("the file list is 3 h") for warning in report.warnings)


# ---- where it is read --------------------------------------------------------------------------------------
def test_s06_workers_read_the_parts_of_a_list_that_is_in_a_store(engine: Engine, tmp_path: Path) -> None:
    """Workers of this session have the disk of this machine, so that the list may say that it is in a store."""
    parts = [[Stored(f"wh/t/{part}-{number}") for number in range(50)] for part in range(3)]
    folders = [(format_, tmp_path / format_) for format_ in ("CSV", "Parquet")]
    inventories = [S3Inventory(folder=folder, format=format_) for format_, folder in folders]
    opened = [open_file_list(str(each.write(*parts, [Stored("wh/t2/a")]))) for each in inventories]
    lists = [replace(each, is_local=False) for each in opened]
    rules = LocationRules()
    units = plan_units(["s3a://b/wh/t"], rules, AllowedLocations(min_depth=0)).units
    before = METER.work()
    stored, elsewhere = stored_from_lists(engine, lists, units, rules)
    here = (METER.work() - before).files_listed
    assert {row.key for part in parts for row in part} == {
        f"wh/t/{row['key']}" for row in stored.summary().to_pylist() if row["unit"] == "s3://b/wh/t/"
    }
    assert (150, 2) == (stored.count(), elsewhere)
    assert (0 if engine.distributed else 302) == here

    csv = next((tmp_path / "CSV" / "data").iterdir())
    csv.write_bytes(csv.read_bytes()[:-9])
    with pytest.raises(ListingError, match="completely"):
        stored_from_lists(engine, lists, units, rules)
