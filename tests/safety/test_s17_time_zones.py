"""S17: nothing is stored truncated, and a time zone changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from collecting import LakeServices, in_memory, on_disk
from nessie_gc_memory import MemoryLake, put
from scenes import START

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import RepositoryError
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import installed

ZONES = [("Asia/Tokyo", "America/New_York"), ("America/New_York", "Asia/Tokyo"), ("UTC", "Pacific/Kiritimati")]


@pytest.fixture
def in_zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """Moves this process into a time zone."""

    def move(zone: str) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()

    yield move
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[LiveSetStore]:
    spec = ConnectorSpec(kind="live-set-store", name="jdbc", options={"url": f"sqlite:///{tmp_path}/live-sets.db"})
    with installed().open(LiveSetStore, spec) as store:
        yield store


def write(lake: MemoryLake) -> tuple[set[str], set[str]]:
    """What must go and what must stay, around each border by a microsecond."""
    lake.now = START
    old = lake.table("db.t", location="memory://wh/db/t").append("old.parquet")
    lake.commit("main", put(old.version))
    lake.advance(timedelta(days=2))
    edge = old.overwrite("edge.parquet")
    lake.commit("main", put(edge.version))
    lake.advance(timedelta(hours=36))
    new = edge.overwrite("new.parquet")
    lake.commit("main", put(new.version))
    lake.advance(timedelta(hours=36))
    day = lake.time - timedelta(days=1)
    dead = lake.put("memory://wh/db/t/data/just-old.parquet", modified=day)
    young = lake.put("memory://wh/db/t/data/just-young.parquet", modified=day + timedelta(microseconds=1))
    gone = {dead, *old.needed, *(path for path in lake.paths() if path.endswith("00001.metadata.json"))}
    return gone, {young, *edge.needed, *new.needed}


@pytest.mark.parametrize(("mark_zone", "sweep_zone"), ZONES)
def test_s17_marking_in_one_time_zone_and_sweeping_in_another_changes_nothing(
    lake: MemoryLake, store: LiveSetStore, in_zone, mark_zone: str, sweep_zone: str
) -> None:
    dead, live = write(lake)
    with LocalEngine(workers=2) as engine:
        services = replace(in_memory(lake, engine), store=store)
        in_zone(mark_zone)
        live_set = services.mark("P3D")
        in_zone(sweep_zone)
        services.sweep(live_set)
    assert live == lake.paths()
    assert not dead & lake.paths()


def test_s17_a_clock_of_another_zone_changes_nothing(lake: MemoryLake, services: LakeServices) -> None:
    _, live = write(lake)
    moved = replace(services, clock=lambda: lake.time.astimezone(ZoneInfo("Asia/Tokyo")))
    moved.collect("P3D")
    assert live == lake.paths()


def test_s17_engines_in_any_time_zone_read_the_same_times(engine: Engine, tmp_path: Path, in_zone) -> None:
    lake = MemoryLake("s17-on-disk")
    write(lake)
    # a disk's clock is the real one: only files around one day before now tell zones apart
    now = datetime.now(UTC)
    lake.now = now
    young = lake.put("memory://wh/db/t/data/23-hours.parquet", modified=now - timedelta(hours=23))
    old = lake.put("memory://wh/db/t/data/25-hours.parquet", modified=now - timedelta(hours=25))
    in_zone("Pacific/Kiritimati")
    folder = (tmp_path / "a" / "lake").resolve()
    on_disk(lake, folder, engine).collect("1")
    stored = {f"memory://{path.relative_to(folder)}" for path in (folder / "wh").rglob("*") if path.is_file()}
    assert (True, False) == (young in stored, old in stored)


def test_s17_times_and_texts_come_back_whole(store: LiveSetStore, lake: MemoryLake) -> None:
    lake.now = START.replace(microsecond=1)
    long = "memory://wh/db/" + "/".join(["ü" * 100] * 40)
    table = lake.table("db.t", location=long).append("a.parquet")
    lake.commit("main", put(table.version))
    with LocalEngine(workers=2) as engine:
        services = replace(in_memory(lake, engine), store=store)
        live_set = services.mark("2026-01-01T12:34:56.123456+09:00")
        services.sweep(live_set)
    found = store.get(live_set)
    assert (lake.time, lake.time) == (found.created, found.references_listed)
    assert ("2026-01-01T03:34:56.123456+00:00",) == found.policies
    assert [("db.t", long)] == list(store.base_locations(live_set))
    assert [table.metadata_location] == [v.metadata_location for v in store.content_versions(live_set)]


def test_s17_errors_are_stored_whole(store: LiveSetStore, lake: MemoryLake) -> None:
    said = "the server said: " + "x" * 5000 + " (end)"
    lake.faults.references = RepositoryError(said)
    with LocalEngine(workers=2) as engine, pytest.raises(RepositoryError):
        replace(in_memory(lake, engine), store=store).mark("NONE")
    (live_set,) = store.live_sets()
    assert said in str(live_set.error_message)
