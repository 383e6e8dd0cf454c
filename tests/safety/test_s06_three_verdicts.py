"""S6: unreferenced, unknown and lost are never folded; unknown freezes its own prefix only."""

from __future__ import annotations

from datetime import timedelta

from collected_scenes import CollectedScenes
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.services.parameters import SweepParameters


def test_s06_one_run_gives_all_three_verdicts(collected: CollectedScenes) -> None:
    result = collected.result("three_verdicts")
    manifest = next(path for path in result.stored if "db/broken" in path and path.endswith("-manifest.json"))
    assert {result.scene.path("db/fine/data/nobody.parquet"), result.scene.path("db/lossy/data/nobody.parquet")} < (
        result.gone
    )
    assert ({result.scene.path("db/broken/")}, {manifest}) == (set(result.unknown), set(result.unreadable))
    assert manifest in result.unknown[result.scene.path("db/broken/")]
    assert {result.scene.path("db/lossy/data/c.parquet")} == result.lost


def test_s06_lost_files_alone_are_a_warning(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    lake.objects.delete("memory://wh/db/t/data/a.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert (1, 0) == (report.lost.files, report.exit_code)


def two_tables(lake: MemoryLake) -> tuple[str, str]:
    """One with a manifest that cannot be read; a dead file of each."""
    for name in ("broken", "fine"):
        table = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("a.parquet")
        lake.commit("main", put(table.version))
        if name == "broken":
            (manifest,) = table.manifests[1]
            lake.faults.reading[manifest] = UnreadableFileError(manifest, "the disk is broken")
    dead = tuple(lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in ("broken", "fine"))
    lake.advance(timedelta(days=3))
    return dead[0], dead[1]


def test_s06_unknown_gives_exit_code_1_and_the_rest_goes_on(lake: MemoryLake, services: LakeServices) -> None:
    frozen, dead = two_tables(lake)
    report = services.read_before().collect("1")
    assert (True, False) == (frozen in lake.paths(), dead in lake.paths())
    assert (1, 0) == (report.exit_code, report.lost.files)


def test_s06_strict_unknown_freezes_everything(lake: MemoryLake, services: LakeServices) -> None:
    two_tables(lake)
    before = lake.paths()
    report = services.collect("1", sweep=SweepParameters(strict_unknown=True))
    assert before == lake.paths()
    assert {"memory://wh/db/broken/", "memory://wh/db/fine/"} <= set(report.unknown)


def test_s06_an_unreadable_content_freezes_every_location_that_its_other_versions_touch(
    lake: MemoryLake, services: LakeServices
) -> None:
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    second = first.move_to("memory://wh/db/elsewhere").append("b.parquet")
    host = lake.table("db.host", location="memory://wh/db/host").append("c.parquet")
    third = second.append("memory://wh/db/host/data/guest.parquet")
    fourth = third.overwrite("d.parquet")
    for state in (first, host, second, third, fourth):
        lake.commit("main", put(state.version))
    lake.put(fourth.metadata_location, b"broken")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    names = ("t", "elsewhere", "host")
    dead = {lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in names}
    report = services.collect("NONE")
    assert before | dead == lake.paths()
    assert {f"memory://wh/db/{name}/" for name in names} <= set(report.unknown)


def test_s06_a_location_that_the_content_had_in_an_earlier_run_is_frozen_too(
    lake: MemoryLake, services: LakeServices
) -> None:
    first = lake.table("db.t", location="memory://wh/db/first").append("a.parquet")
    lake.commit("main", put(first.version))
    other = lake.table("db.other", location="memory://wh/db/first").append("b.parquet")
    lake.commit("main", put(other.version))
    lake.advance(timedelta(days=3))
    services.collect("1")
    second = first.move_to("memory://wh/db/second").append("c.parquet")
    lake.commit("main", put(second.version))
    lake.put(second.metadata_location, b"broken")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    report = services.collect("1")
    assert before == lake.paths()
    assert "memory://wh/db/first/" in report.unknown
