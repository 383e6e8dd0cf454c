"""S24: a live file is kept under every spelling of its place, in every unit, at every step."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices, on_disk
from lakes_by_hand import respell
from nessie_gc_memory import MemoryLake, TableState, put
from scenes import START

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import allowed_locations, plan_units
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.services.parameters import SweepParameters

SPELLINGS = {
    "doubled slash": ("memory://wh/", "memory://wh//"),
    "dot": ("memory://wh/", "memory://wh/./"),
    "step up": ("memory://wh/", "memory://wh/x/../"),
}


def moved_table(lake: MemoryLake, spelling: tuple[str, str]) -> tuple[TableState, set[str]]:
    """A table whose location was corrected; its older files are live by the paths of before, in the odd spelling.

    The store keeps clean keys, as many do. Gives the table, and a dead file of each location.
    """
    before = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    after = before.move_to("memory://wh/db/elsewhere").append("b.parquet")
    lake.commit("main", put(after.version))
    clean, odd = spelling
    for manifest in after.manifests[2]:
        respell(lake, manifest, lambda path: path.replace(clean, odd) if "db/t/" in path else path)
    other = lake.table("db.u", location="memory://wh/db/t").append("c.parquet")
    lake.commit("main", put(other.version))
    dead = {lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in ("t", "elsewhere")}
    lake.advance(timedelta(days=3))
    return after, dead


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=list(SPELLINGS))
def test_s24_a_live_path_in_an_odd_spelling_is_kept_in_whatever_unit_it_lies(
    lake: MemoryLake, services: LakeServices, spelling: tuple[str, str]
) -> None:
    table, dead = moved_table(lake, spelling)
    report = services.collect("1")
    assert table.needed <= lake.paths()
    assert not dead & lake.paths()
    assert ({}, 0, 0) == (report.unknown, report.lost.files, report.exit_code)


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=list(SPELLINGS))
def test_s24_the_re_check_knows_odd_spellings_too(
    lake: MemoryLake, services: LakeServices, spelling: tuple[str, str]
) -> None:
    table, _ = moved_table(lake, spelling)
    lake.tag("old", "main")
    lake.commit("main", put(lake.table("db.t", location="memory://wh/db/t").append("new.parquet").version))
    old = lake.drop("old").commit_id
    assert old is not None
    services.collect("1", between=lambda: lake.tag("again", old))
    assert table.needed <= lake.paths()


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=list(SPELLINGS))
def test_s24_deferred_deletion_knows_odd_spellings_too(
    lake: MemoryLake, services: LakeServices, spelling: tuple[str, str]
) -> None:
    table, dead = moved_table(lake, spelling)
    lake.tag("old", "main")
    lake.commit("main", put(lake.table("db.t", location="memory://wh/db/t").append("new.parquet").version))
    old = lake.drop("old").commit_id
    assert old is not None
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    lake.tag("again", old)
    services.delete_deferred(live_set)
    assert table.needed <= lake.paths()
    assert "memory://wh/db/t/data/nobody.parquet" in dead - lake.paths()


def test_s24_two_spellings_of_one_location_are_one_unit(lake: MemoryLake, services: LakeServices) -> None:
    one = lake.table("db.one", location="memory://wh/db/t").append("a.parquet")
    two = lake.table("db.two", location="memory://wh/db/t").append("b.parquet")
    lake.commit("main", put(one.version), put(two.version))
    respell(lake, two.metadata_location, lambda path: path.replace("memory://wh/", "memory://wh//"))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert one.needed | two.needed <= lake.paths()
    assert dead not in lake.paths()
    assert ({}, 1) == (report.unknown, report.locations)


def test_s24_an_allowed_warehouse_allows_no_other_spelling() -> None:
    """Object stores may keep both spellings apart; what is allowed is decided by what the store is asked for."""
    rules = LocationRules()
    allowed = allowed_locations(["s3://lake/wh"], rules)
    plan = plan_units(["s3://lake//wh/db/t", "s3://lake/wh/./db/t", "s3://lake/wh//db/t"], rules, allowed)
    assert {"s3://lake//wh/db/t"} == set(plan.refused)
    locations = {location for unit in plan.units for location in unit.locations}
    assert {"s3://lake/wh/./db/t/", "s3://lake/wh//db/t/"} == locations
    assert ("s3://lake/wh/db/t/",) == plan.roots


def test_s24_a_location_that_steps_up_is_not_swept() -> None:
    plan = plan_units(["s3://lake/wh/x/../t"], LocationRules(), AllowedLocations())
    assert [] == plan.units
    assert "'..'" in plan.unknown["s3://lake/wh/x/../t"]


def test_s24_a_backslash_of_azure_is_a_slash() -> None:
    index = UnitIndex(["abfs://c/wh/t/"], LocationRules())
    assert ("abfs://c/wh/t/", "data/a") == index.find("abfss://c@a.dfs.core.windows.net/wh\\t\\data\\a")


# ---- a local disk ---------------------------------------------------------------------------------------
@contextmanager
def linked(target: Path, link: Path) -> Iterator[None]:
    link.symlink_to(target, target_is_directory=True)
    yield


@contextmanager
def mounted(target: Path, mount: Path) -> Iterator[None]:
    """The folder at a second path without a link; needs the right to mount."""
    mount.mkdir()
    made = subprocess.run(["mount", "--bind", target, mount], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"a mount of a folder at a second path needs the right to mount: {made.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", mount], check=True)


SecondPath = Callable[[Path, Path], AbstractContextManager[None]]


@pytest.fixture(params=[linked, mounted], ids=["link", "mount"])
def second_path(request: pytest.FixtureRequest) -> SecondPath:
    path: SecondPath = request.param
    return path


@pytest.mark.thorough(engine="spark", second_path=mounted)
def test_s24_one_folder_by_two_paths_is_one_location(tmp_path: Path, engine: Engine, second_path: SecondPath) -> None:
    lake, folder, link = two_tables(tmp_path)
    one, two = (lake.table(f"db.{name}", location="memory://wh/db/t") for name in ("one", "two"))
    one, two = one.append("a.parquet", "b.parquet"), two.append("c.parquet", "d.parquet")
    lake.commit("main", put(one.version), put(two.version))
    lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    services = on_disk(lake, folder, engine)
    for path in two.needed:
        if path.endswith(".json"):
            rewrite(folder, path, lambda text: text.replace(f"file://{folder}/", f"file://{link}/"))
    with second_path(folder, link):
        report = services.collect("1")
        left = stored(folder)
    assert one.needed | two.needed <= left
    assert "memory://wh/db/t/data/nobody.parquet" not in left
    assert ({}, 0, 1) == (report.unknown, report.lost.files, report.locations)


@pytest.mark.thorough(engine="spark", second_path=mounted)
def test_s24_files_that_are_named_by_a_second_path_of_a_swept_folder_stay(
    tmp_path: Path, engine: Engine, second_path: SecondPath
) -> None:
    """No location is spelled like that: only the paths in the manifest are."""
    lake, folder, link = two_tables(tmp_path)
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet", "b.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    services = on_disk(lake, folder, engine)
    rewrite(folder, table.manifests[1][0], lambda text: text.replace(f"file://{folder}/wh/db/t", f"file://{link}"))
    with second_path(folder / "wh/db/t", link):
        report = services.collect("1")
        left = stored(folder)
    assert table.needed == left & (table.needed | {"memory://wh/db/t/data/nobody.parquet"})
    assert ({}, 0) == (report.unknown, report.lost.files)


def test_s24_what_a_live_link_to_a_file_leads_to_stays(tmp_path: Path, engine: Engine) -> None:
    lake, folder, _ = two_tables(tmp_path)
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/data/target.parquet")
    lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    services = on_disk(lake, folder, engine)
    data = folder / "wh/db/t/data"
    (data / "a.parquet").unlink()
    (data / "a.parquet").symlink_to("target.parquet")
    services.collect("1")
    assert {"a.parquet", "target.parquet"} == {path.name for path in data.iterdir()}
    assert (data / "a.parquet").exists()


def test_s24_every_link_of_a_chain_stays(tmp_path: Path, engine: Engine) -> None:
    lake, folder, _ = two_tables(tmp_path)
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    for name in ("middle", "target", "nobody"):
        lake.put(f"memory://wh/db/t/data/{name}.parquet")
    lake.advance(timedelta(days=3))
    services = on_disk(lake, folder, engine)
    data = folder / "wh/db/t/data"
    for name, target in (("a", "middle.parquet"), ("middle", data / "target.parquet")):
        (data / f"{name}.parquet").unlink()
        (data / f"{name}.parquet").symlink_to(target)
    services.collect("1")
    assert {"a.parquet", "middle.parquet", "target.parquet"} == {path.name for path in data.iterdir()}


@pytest.mark.parametrize("where", ["t/data", "t/mounted", "elsewhere"])
def test_s24_what_is_mounted_in_a_table_is_not_taken_for_its_garbage(tmp_path: Path, where: str) -> None:
    """Another table's folder, seen a second time in the location of this one, or a part of this one seen elsewhere."""
    lake, folder, _ = two_tables(tmp_path)
    t, u = (lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("a.parquet") for name in ("t", "u"))
    lake.commit("main", put(t.version), put(u.version))
    lake.put("memory://wh/db/t/nobody.parquet")
    lake.advance(timedelta(days=3))
    target, mount = (folder / "wh/db/t/data", folder / "elsewhere")
    if where != "elsewhere":
        target, mount = folder / "wh/db/u/data", folder / "wh/db" / where / "of-u"
    with LocalEngine(workers=2) as engine:
        services = on_disk(lake, folder, engine)
        mount.parent.mkdir(parents=True, exist_ok=True)
        for manifest in (*t.manifests[1], *u.manifests[1]):
            rewrite(folder, manifest, lambda text: text.replace(f"file://{target}", f"file://{mount}"))
        with mounted(target, mount):
            report = services.collect("1")
    left = stored(folder)
    assert t.needed | u.needed <= left
    assert "memory://wh/db/t/nobody.parquet" not in left
    assert ({}, 0) == (report.unknown, report.lost.files)


def test_s24_an_alias_within_a_location_costs_no_file(lake: MemoryLake, services: LakeServices) -> None:
    """An alias adds a spelling, and takes none away; it may lead on to others."""
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet", "b.parquet")
    lake.commit("main", put(table.version))
    first = table.needed
    for manifest in table.manifests[1]:
        respell(lake, manifest, lambda path: path.replace("memory://wh/db/t/data/b", "memory://gw/x/b"))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    aliases = {
        "memory://wh/db/t/data": "memory://archive/t",
        "memory://gw/x": "memory://bridge/y",
        "memory://bridge": "memory://wh/db/t",
        "memory://wh/db/t/y": "memory://wh/db/t/data",
    }
    report = services.choosing(path_aliases=aliases).collect("1")
    assert first <= lake.paths()
    assert dead not in lake.paths()
    assert 0 == report.exit_code


@pytest.mark.parametrize("spelled", ["memory:///wh/db/t/data/", "memory://wh/db/t/data/a.parquet/"])
def test_s24_a_path_without_a_bucket_or_with_a_slash_at_its_end_keeps_its_file(
    lake: MemoryLake, services: LakeServices, spelled: str
) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    for manifest in table.manifests[1]:
        respell(lake, manifest, lambda path: spelled if spelled.endswith("parquet/") else f"{spelled}a.parquet")
    lake.advance(timedelta(days=3))
    services.collect("1")
    assert table.needed <= lake.paths()


def test_s24_a_location_that_cannot_be_resolved_is_frozen(tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    raw = f"file://{tmp_path}/one/db/t"
    plan = plan_units([raw, f"file://{tmp_path}/fine/db/t"], LocationRules(), AllowedLocations())
    assert [raw] == list(plan.unknown)
    assert "cannot resolve" in plan.unknown[raw]
    assert 1 == len(plan.units)
    with pytest.raises(UnknownLocationError, match="cannot resolve"):
        UnitIndex(plan.roots, LocationRules()).find(f"{raw}/data/a.parquet")


def test_s24_one_link_above_many_locations_is_one_alias(tmp_path: Path) -> None:
    """An alias says no more than what is true of every path below it."""
    root = tmp_path.resolve()
    for name in ("real/db/t", "real/db/u", "other/db/t"):
        (root / name).mkdir(parents=True)
    (root / "link").symlink_to(root / "real")
    (root / "mixed").mkdir()
    (root / "mixed" / "db").mkdir()
    (root / "mixed" / "db" / "t").symlink_to(root / "other" / "db" / "t")
    locations = [f"file://{root}/{name}" for name in ("link/db/t", "link/db/u", "link/db/new", "mixed/db/t")]
    plan = plan_units(locations, LocationRules(), AllowedLocations())
    start = f"file://{root}"
    expected = {f"{start}/link/": f"{start}/real/", f"{start}/mixed/db/t/": f"{start}/other/db/t/"}
    assert expected == plan.rules.path_aliases
    assert f"{start}/mixed/db/u/x" == plan.rules.canonical(f"{start}/mixed/db/u/x")


def test_s24_an_allowed_warehouse_is_what_it_is_on_the_disk(tmp_path: Path) -> None:
    real, outside = tmp_path.resolve() / "real", tmp_path.resolve() / "outside"
    for path in (real / "db/t", outside / "t"):
        path.mkdir(parents=True)
    link = tmp_path.resolve() / "link"
    link.symlink_to(real)
    (real / "way-out").symlink_to(outside)
    rules = LocationRules()
    for warehouse in (real, link):
        allowed = allowed_locations([f"file://{warehouse}"], rules)
        plan = plan_units([f"file://{link}/db/t", f"file://{link}/way-out/t"], rules, allowed)
        assert (f"file://{real}/db/t/",) == plan.roots
        assert [f"file://{link}/way-out/t"] == list(plan.refused)


def test_s24_a_path_alias_says_what_links_do_not(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    for manifest in table.manifests[1]:
        respell(lake, manifest, lambda path: path.replace("memory://wh/db/", "memory://gateway/share/"))
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    aliases = {"memory://gateway/share": "memory://wh/db"}
    report = services.choosing(path_aliases=aliases).collect("1")
    assert table.needed <= lake.paths()
    assert dead not in lake.paths()
    assert ({}, 0) == (report.unknown, report.lost.files)


def two_tables(tmp_path: Path) -> tuple[MemoryLake, Path, Path]:
    """An empty lake, the folder for it, and the second path of something in it."""
    root = tmp_path.resolve()
    lake = MemoryLake(f"s24-{root}")
    lake.now = START
    return lake, root / "a" / "lake", root / "second"


def rewrite(folder: Path, path: str, change: Callable[[str], str]) -> None:
    """Changes a metadata file of the disk, which keeps its times."""
    file = folder / path.removeprefix("memory://")
    times = file.stat()
    text = change(file.read_text(encoding="utf-8"))
    json.loads(text)
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


def stored(folder: Path) -> set[str]:
    return {f"memory://{path.relative_to(folder)}" for path in (folder / "wh").rglob("*") if path.is_file()}
