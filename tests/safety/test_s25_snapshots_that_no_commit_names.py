"""S25: a version without a snapshot id keeps all that its metadata lists; staged snapshots are live."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, content, put
from scenes import START

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.dataset import Engine

GUARDED = timedelta(days=3)


def test_s25_time_travel_survives_a_connector_that_names_no_snapshot(
    lake: MemoryLake, engine: Engine, tmp_path: Path
) -> None:
    states = [lake.table("db.t", location="memory://wh/db/t").append("a.parquet")]
    for name in ("b.parquet", "c.parquet", "d.parquet"):
        states.append(states[-1].overwrite(name))
    lake.commit("main", put(replace(states[-1].version, snapshot_id=None)))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(GUARDED)
    report = on_disk(lake, tmp_path, engine).collect("1")
    assert 0 == report.exit_code
    stored = {f"memory://{path.relative_to(tmp_path)}" for path in tmp_path.rglob("*") if path.is_file()}
    listed = {path for state in states for path in state.needed if not path.endswith(".metadata.json")}
    assert len(listed) > 10
    assert set() == listed - stored
    assert dead not in stored


def test_s25_a_policy_gives_up_snapshots_of_versions_that_name_one(lake: MemoryLake, services: LakeServices) -> None:
    one = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    two = one.overwrite("b.parquet")
    lake.commit("main", put(one.version))
    lake.commit("main", put(two.version))
    lake.advance(GUARDED)
    services.collect("1")
    assert set() == two.needed - lake.paths()
    assert set() == (one.needed - two.needed) & lake.paths()


def iceberg_table(folder: Path, snapshots: dict[int, dict[str, str]], current: int) -> str:
    """Metadata of an Iceberg table whose snapshots embed no manifests; gives its path."""
    (folder / "metadata").mkdir(parents=True)
    listed = []
    for snapshot_id, summary in snapshots.items():
        listed.append({"snapshot-id": snapshot_id, "timestamp-ms": 1, "summary": summary, "manifests": []})
    (folder / "data").mkdir()
    metadata = folder / "metadata" / "1.metadata.json"
    fields = {
        "format-version": 1,
        "location": f"file://{folder}",
        "last-column-id": 1,
        "current-snapshot-id": current,
        "snapshots": listed,
        "statistics": [
            {"snapshot-id": snapshot_id, "statistics-path": f"file://{folder}/data/{snapshot_id}.puffin"}
            for snapshot_id in snapshots
        ],
    }
    for snapshot_id in snapshots:
        (folder / "data" / f"{snapshot_id}.puffin").write_bytes(b"?")
    metadata.write_text(json.dumps(fields))
    for path in folder.rglob("*.*"):
        os.utime(path, (START.timestamp(), START.timestamp()))
    return f"file://{metadata}"


@pytest.mark.parametrize(("ignored", "kept"), [(False, {"2.puffin", "3.puffin"}), (True, {"2.puffin"})])
def test_s25_staged_snapshots_stay_unless_an_option_says_otherwise(
    lake: MemoryLake, engine: Engine, tmp_path: Path, ignored: bool, kept: set[str]
) -> None:
    folder = tmp_path / "iceberg" / "db" / "t"
    location = iceberg_table(folder, {1: {}, 2: {}, 3: {"wap.id": "staged"}}, current=2)
    lake.commit("main", put(content("db.t", metadata_location=location, snapshot_id=2)))
    lake.advance(GUARDED)
    options = {("content-to-files", "iceberg"): {"ignore_staged_snapshots": ignored}}
    services = replace(on_disk(lake, tmp_path / "lake", engine), choice=ConnectorChoice(options=options))
    report = services.collect("1")
    assert {} == report.unknown
    assert kept == {path.name for path in folder.joinpath("data").iterdir()}
