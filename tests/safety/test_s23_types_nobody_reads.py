"""S23: a content whose type no installed plugin reads is live as a whole."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collected_scenes import CollectedScenes
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, content, put


def test_s23_its_location_is_never_swept_and_never_called_unused(collected: CollectedScenes) -> None:
    result = collected.result("types_nobody_reads")
    assert result.scene.path("db/delta/part-0.parquet") in result.stored
    assert not any("db/delta" in path for path in result.outcomes)
    assert "DELTA" in result.unread[result.scene.path("db/delta")]


def test_s23_a_location_around_it_is_not_swept_either(collected: CollectedScenes) -> None:
    result = collected.result("types_nobody_reads")
    assert not any("db/around" in path for path in result.outcomes)
    assert "DELTA" in result.unread[result.scene.path("db/around/")]


def test_s23_one_whose_location_nobody_knows_is_reported_and_stops_nothing(collected: CollectedScenes) -> None:
    result = collected.result("types_nobody_reads")
    assert "UDF" in result.unread["content nowhere"]
    assert result.scene.path("db/t/data/nobody.parquet") in result.gone


def test_s23_the_home_of_its_metadata_is_frozen_where_that_is_all_that_is_known(
    lake: MemoryLake, services: LakeServices
) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    metadata = lake.put("memory://wh/db/t/strange/metadata/0.json")
    strange = content("db.s", metadata_location=metadata, content_type="STRANGE")
    lake.commit("main", put(table.version), put(strange))
    lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    report = services.collect("1")
    assert before == lake.paths()
    assert 0 == report.exit_code
    assert "STRANGE" in report.unread["memory://wh/db/t/"]


def test_s23_an_older_version_of_such_a_type_counts_as_long_as_it_is_live(
    lake: MemoryLake, services: LakeServices
) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    strange = content("db.s", metadata_location=None, content_type="STRANGE", location="memory://wh/db/t/s")
    lake.commit("main", put(table.version))
    tagged = lake.commit("main", put(strange))
    from nessie_gc_memory import delete

    lake.commit("main", delete("db.s"))
    lake.tag("tag", tagged)
    dead = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    services.collect("1")
    assert dead in lake.paths()
    lake.drop("tag")
    services.collect("1")
    assert dead not in lake.paths()


@pytest.mark.parametrize("location", ["wh/db/t/strange", "warp://wh/db/t/strange", "file://host/wh/db/t"])
def test_s23_a_location_that_cannot_be_compared_stops_all_deletion(
    lake: MemoryLake, services: LakeServices, location: str
) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    strange = content("db.s", metadata_location=None, content_type="STRANGE", location=location)
    lake.commit("main", put(table.version), put(strange))
    kept = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert kept in lake.paths()
    assert "its place is unknown" in report.unknown["memory://wh/db/t/"]


def test_s23_the_metadata_of_one_stays_where_it_lies_apart(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    metadata = lake.put("memory://wh/db/t/strange/metadata/0.json")
    strange = content("db.s", metadata_location=metadata, content_type="STRANGE", location="memory://wh/elsewhere/s")
    lake.commit("main", put(table.version), put(strange))
    lake.advance(timedelta(days=3))
    services.collect("1")
    assert metadata in lake.paths()


def test_s23_locations_of_one_content_are_all_frozen(lake: MemoryLake, services: LakeServices) -> None:
    """Its versions differ in nothing but where they are."""
    tables = [lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("a.parquet") for name in ("t", "u")]
    lake.commit("main", *(put(table.version) for table in tables))
    for name in ("t", "u"):
        location = f"memory://wh/db/{name}/strange"
        lake.commit("main", put(content("db.s", metadata_location=None, content_type="STRANGE", location=location)))
    for name in ("t", "u"):
        lake.put(f"memory://wh/db/{name}/strange/part-0")
    lake.advance(timedelta(days=3))
    before = lake.paths()
    report = services.collect("NONE")
    assert before == lake.paths()
    assert {f"memory://wh/db/{name}/strange" for name in ("t", "u")} <= set(report.unread)
