"""S15, S20: what is left of a dropped table that only commits know is found again, until nothing is left."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, delete, put

from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

DAY = timedelta(days=1)
PLACE = "memory://wh/db/t/"
SWEEP = SweepParameters(dropped_after=15 * DAY, files_per_step=3, allow=("memory://wh/",))


class KilledError(BaseException):
    """The process is gone."""


@pytest.fixture
def data(lake: MemoryLake) -> list[str]:
    """The data files of a table that was dropped before the first run."""
    kept = lake.table("db.kept", location="memory://wh/db/kept", content_id="kept").append("k.parquet")
    gone = lake.table("db.t", location=PLACE.rstrip("/"), content_id="t")
    gone = gone.append(*(f"a{number}.parquet" for number in range(6)))
    lake.commit("main", put(kept.version), put(gone.version))
    lake.advance(DAY)
    lake.commit("main", delete("db.t"))
    lake.advance(60 * DAY)
    return left(lake, f"{PLACE}data/")


def left(lake: MemoryLake, prefix: str = PLACE) -> list[str]:
    return sorted(path for path in lake.paths() if path.startswith(prefix))


def collect(lake: MemoryLake, services: LakeServices) -> GcReport:
    lake.advance(20 * DAY)
    return services.collect("P10D", sweep=SWEEP)


def test_s20_files_that_could_not_be_deleted_are_found_again(
    lake: MemoryLake, services: LakeServices, data: list[str]
) -> None:
    lake.faults.deleting.update(dict.fromkeys(data[:3], "access denied"))
    assert collect(lake, services).outcomes[Outcome.FAILED].files == 3
    assert [path for path in left(lake) if "/data/" in path] == data[:3]
    lake.faults.deleting.clear()
    report = collect(lake, services)
    assert not [path for path in left(lake) if "/data/" in path]
    assert {PLACE.rstrip("/"): "db.t is dropped"} == report.dropped
    collect(lake, services)
    assert [] == left(lake)


def test_s20_a_run_that_was_killed_leaves_what_shows_the_rest(
    lake: MemoryLake, services: LakeServices, data: list[str]
) -> None:
    lake.faults.deleting_dies[data[-1]] = KilledError()
    with pytest.raises(KilledError):
        collect(lake, services)
    lake.faults.deleting_dies.clear()
    for _ in range(2):
        collect(lake, services)
    assert [] == left(lake)


def test_s20_the_metadata_that_shows_it_goes_alone_and_says_why_it_waits(
    lake: MemoryLake, services: LakeServices, data: list[str]
) -> None:
    report = collect(lake, services)
    (metadata,) = left(lake)
    assert metadata.endswith(".metadata.json")
    said = {file.path: file.reason for file in report.spared_files}
    assert "it alone shows where a dropped table is; it is deleted after the rest of it" == said[metadata]
    assert 1 == collect(lake, services).outcomes[Outcome.DELETED].files
    assert not collect(lake, services).dropped


def test_s20_what_live_sets_know_goes_at_once(lake: MemoryLake, services: LakeServices) -> None:
    lake.commit("main", put(lake.table("db.kept", location="memory://wh/db/kept").append("k.parquet").version))
    lake.commit("main", put(lake.table("db.t", location=PLACE.rstrip("/"), content_id="t").append("a").version))
    collect(lake, services)
    lake.commit("main", delete("db.t"))
    for _ in range(2):
        lake.advance(60 * DAY)
        collect(lake, services)
    assert [] == left(lake)


def test_s20_a_live_table_inside_the_place_does_not_keep_the_metadata(
    lake: MemoryLake, services: LakeServices, data: list[str]
) -> None:
    inside = lake.table("db.inside", location=f"{PLACE}inside", content_id="inside").append("i.parquet")
    lake.commit("main", put(inside.version))
    needed = lake.needed_files([inside.version])
    for _ in range(3):
        collect(lake, services)
    assert sorted(needed) == left(lake)
