"""S18: one content that cannot be read never stops the others."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collected_scenes import CollectedScenes
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.errors import UnreadableFileError


def test_s18_metadata_that_is_nonsense_stops_its_content_only(collected: CollectedScenes) -> None:
    result = collected.result("corrupt_metadata")
    assert {result.scene.path("db/fine/data/nobody.parquet")} <= result.gone
    assert not any("db/broken" in path for path in result.gone)
    assert any("db/broken" in location for location in result.unknown)


@pytest.mark.parametrize("level", ["metadata", "manifest list", "manifest"])
@pytest.mark.parametrize(
    "error", [UnreadableFileError("x", "it is truncated"), RuntimeError("a defect"), KeyError("k"), OSError("no disk")]
)
def test_s18_whatever_goes_wrong_at_any_level_stops_its_content_only(
    lake: MemoryLake, services: LakeServices, level: str, error: Exception
) -> None:
    older = lake.table("db.broken", location="memory://wh/db/broken").append("a.parquet")
    broken = older.append("c.parquet")
    fine = lake.table("db.fine", location="memory://wh/db/fine").append("b.parquet")
    lake.commit("main", put(older.version), put(fine.version))
    lake.commit("main", put(broken.version))
    frozen = lake.put("memory://wh/db/broken/data/nobody.parquet")
    dead = lake.put("memory://wh/db/fine/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    path = {
        "metadata": broken.metadata_location,
        "manifest list": broken.snapshots[2],
        "manifest": broken.manifests[2][0],
    }[level]
    lake.faults.reading[path] = error
    report = services.read_before().collect("NONE")
    assert (True, False) == (frozen in lake.paths(), dead in lake.paths())
    assert 1 == report.exit_code
    assert path in report.unreadable
    assert broken.needed | fine.needed <= lake.paths()


def test_s18_files_that_fail_once_and_then_can_be_read_freeze_their_content(
    lake: MemoryLake, services: LakeServices
) -> None:
    """A parent that cannot be read when the blame is sought may name the bad file, so it is to blame."""
    broken = lake.table("db.broken", location="memory://wh/db/broken").append("a.parquet")
    lake.commit("main", put(broken.version))
    frozen = lake.put("memory://wh/db/broken/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    manifest_list, manifest = broken.snapshots[1], broken.manifests[1][0]

    class ThenTheListToo(dict[str, Exception]):
        """Once the manifest has failed, its manifest list fails as well."""

        def __getitem__(self, path: str) -> Exception:
            error = super().__getitem__(path)
            self[manifest_list] = error
            return error

    lake.faults.reading = ThenTheListToo({manifest: UnreadableFileError(manifest, "no answer")})
    report = services.collect("1")
    assert frozen in lake.paths()
    assert 1 == report.exit_code
