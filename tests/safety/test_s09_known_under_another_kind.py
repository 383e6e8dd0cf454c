"""S9: the re-check skips nothing but what was expanded before, to its end, as the same kind; and keeps odd names."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, content, put, save_history
from scenes import START

from nessie_gc_core.dataset import Engine
from nessie_gc_core.services.parameters import SweepParameters


def name_as_data(lake: MemoryLake, manifest: str, *paths: str) -> None:
    """Somebody's manifest names these files as data files."""
    stored = lake.objects.get(manifest)
    assert stored is not None
    assert stored.data is not None
    value = json.loads(stored.data)
    lake.objects.put(manifest, json.dumps({**value, "files": [*value["files"], *paths]}).encode(), modified=START)


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("level", ["manifest list", "manifest"])
def test_s09_a_file_that_was_known_as_a_data_file_is_expanded_by_the_re_check(
    lake: MemoryLake, services: LakeServices, level: str, *, deferred: bool
) -> None:
    old = lake.table("db.t", location="memory://wh/db/t").append("old.parquet")
    first = lake.commit("main", put(old.version))
    new = old.overwrite("new.parquet")
    name_as_data(lake, new.manifests[2][0], old.snapshots[1] if level == "manifest list" else old.manifests[1][0])
    lake.commit("main", put(new.version))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    if deferred:
        live_set = services.mark("1")
        services.sweep(live_set, SweepParameters(defer_deletes=True))
        lake.branch("rescue", first)
        services.delete_deferred(live_set)
    else:
        services.collect("1", between=lambda: lake.branch("rescue", first))
    assert old.needed <= lake.paths()
    assert dead not in lake.paths()


def test_s09_a_live_data_file_with_the_name_of_a_sidecar_is_kept_by_the_re_check(
    tmp_path: Path, engine: Engine
) -> None:
    """On a disk its row carries the key of the file whose sidecar it seems to be."""
    lake = MemoryLake(f"s09-{tmp_path}")
    lake.now = START
    old = lake.table("db.t", location="memory://wh/db/t").append(".x.crc", ".lonely.crc", "x")
    first = lake.commit("main", put(old.version))
    lake.commit("main", put(old.overwrite("new.parquet").version))
    dead = {lake.put(f"memory://wh/db/t/data/{name}") for name in ("nobody", ".nobody.crc")}
    lake.advance(timedelta(days=3))
    folder = tmp_path.resolve() / "a" / "lake"
    services = on_disk(lake, folder, engine)
    live_set = services.mark("1")
    lake.branch("rescue", first)
    save_history(
        lake.history, folder / "history.json", rename=lambda path: path.replace("memory://", f"file://{folder}/")
    )
    services.sweep(live_set)
    stored = {f"memory://{path.relative_to(folder)}" for path in (folder / "wh").rglob("*") if path.is_file()}
    assert old.needed <= stored
    assert not dead & stored


def test_s09_a_content_that_nobody_reads_is_named_by_the_re_check(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    strange = content("db.strange", metadata_location=None, content_type="STRANGE")
    report = services.collect("1", between=lambda: lake.commit("main", put(strange)))
    assert "STRANGE" in report.unread["content db.strange"]
    assert dead not in lake.paths()
