"""S18: a content that no relation and no database can hold is unknown, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_memory import MemoryLake, put
from scenes import NOW, START

from nessie_gc_core.algorithms.storable import storable, storable_text
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.testing.servers import PostgresServer

UNTIL_NOW = NOW - START
"""The clock of a database is compared with the lake's."""
ODD: dict[str, Callable[[ContentVersion], ContentVersion]] = {
    "snapshot id above 64 bits": lambda version: replace(version, snapshot_id=2**63),
    "snapshot id below 64 bits": lambda version: replace(version, snapshot_id=-(2**63) - 1),
    "half a character in the metadata's name": lambda version: replace(
        version, metadata_location=f"{version.metadata_location}\udc80"
    ),
    "NUL in the metadata's name": lambda version: replace(version, metadata_location=f"{version.metadata_location}\0"),
    "half a character in the location": lambda version: replace(version, location=f"{version.location}/\ud800/x"),
    "NUL in the location": lambda version: replace(version, location=f"{version.location}/\0/x"),
    "half a character in the content's id": lambda version: replace(version, content_id="id\ud800"),
    "NUL in the content's type": lambda version: replace(version, content_type="MEMORY\0TABLE"),
    "NUL in the content's key": lambda version: replace(version, content_key="db.\0bad"),
}


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.server)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveSetStore]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/live-sets.db"
    else:
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.uri(server.create_database(f"s18_{uuid4().hex}"))
    with JdbcLiveSetStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"}) as store:
        yield store


def write(lake: MemoryLake, odd: str) -> tuple[str, set[str]]:
    """A good and a bad table, each with a file that nobody needs: the good one's, and all that must stay."""
    good = lake.table("db.good", location="memory://wh/db/good").append("a.parquet")
    bad = lake.table("db.bad", location="memory://wh/db/bad").append("b.parquet")
    lake.commit("main", put(good.version))
    lake.commit("main", put(ODD[odd](replace(bad.version, location=bad.location))))
    dead = lake.put("memory://wh/db/good/data/dead.parquet")
    kept = lake.put("memory://wh/db/bad/data/kept.parquet")
    lake.advance(UNTIL_NOW)
    return dead, {*bad.needed, kept}


@pytest.mark.parametrize("odd", ODD)
def test_s18_a_version_that_cannot_be_held_is_unknown_and_the_others_go_on(
    lake: MemoryLake, services: LakeServices, store: LiveSetStore, odd: str
) -> None:
    dead, kept = write(lake, odd)
    report = replace(services, store=store).read_before().collect("NONE")
    assert dead not in lake.paths()
    assert kept <= lake.paths()
    assert 1 == report.exit_code
    assert "memory://wh/db/good/" not in report.unknown


def test_s18_both_engines_go_on(lake: MemoryLake, engine: Engine, tmp_path: Path) -> None:
    write(lake, "snapshot id above 64 bits")
    folder = tmp_path / "a" / "lake"
    report = on_disk(lake, folder, engine).read_before().collect("NONE")
    names = {path.name for path in folder.rglob("*.parquet")}
    assert (1, {"a.parquet", "b.parquet", "kept.parquet"}) == (report.exit_code, names)


def test_s18_what_became_live_since_the_mark_may_be_odd_as_well(lake: MemoryLake, services: LakeServices) -> None:
    good = lake.table("db.good", location="memory://wh/db/good").append("a.parquet")
    bad = lake.table("db.bad", location="memory://wh/db/bad").append("b.parquet")
    lake.commit("main", put(good.version), put(bad.version))
    dead, kept = lake.put(f"{good.location}/dead.parquet"), lake.put(f"{bad.location}/dead.parquet")
    lake.advance(UNTIL_NOW)
    between = lambda: lake.commit("main", put(replace(bad.version, snapshot_id=2**70)))  # noqa: E731 - done in between
    report = services.collect("1", between=between)
    assert dead not in lake.paths()
    assert kept in lake.paths()
    assert 1 == report.exit_code


@pytest.mark.parametrize("name", ["1.json\0", "1.json\ud800"])
def test_s18_metadata_that_cannot_be_named_costs_no_file_in_the_location_of_another_table(
    lake: MemoryLake, services: LakeServices, name: str
) -> None:
    """Its folder says nothing of its files, which lie where another table has its own."""
    good = lake.table("db.good", location="memory://wh/db/good").append("a.parquet")
    guest = lake.table("db.guest", location="memory://wh/db/good").append("b.parquet")
    odd = replace(guest.version, metadata_location=f"memory://wh/elsewhere/guest/metadata/{name}", location=None)
    lake.commit("main", put(good.version), put(odd))
    lake.put(f"{good.location}/dead.parquet")
    lake.advance(UNTIL_NOW)
    before = lake.paths()
    assert 1 == services.collect("NONE").exit_code
    assert before == lake.paths()


def test_s18_metadata_of_an_odd_snapshot_says_where_its_files_are(lake: MemoryLake, services: LakeServices) -> None:
    good = lake.table("db.good", location="memory://wh/db/good").append("a.parquet")
    guest = lake.table("db.guest", location="memory://wh/db/host").append("b.parquet")
    host = lake.table("db.host", location="memory://wh/db/host").append("c.parquet")
    lake.commit("main", put(good.version), put(host.version), put(replace(guest.version, snapshot_id=2**63)))
    dead, kept = lake.put(f"{good.location}/dead.parquet"), lake.put(f"{host.location}/dead.parquet")
    lake.advance(UNTIL_NOW)
    assert 1 == services.read_before().collect("NONE").exit_code
    assert dead not in lake.paths()
    assert {kept, *guest.needed} <= lake.paths()


def test_s18_names_of_references_may_be_odd(lake: MemoryLake, services: LakeServices, store: LiveSetStore) -> None:
    good = lake.table("db.good", location="memory://wh/db/good").append("a.parquet")
    lake.commit("ma\0in", put(good.version))
    dead = lake.put(f"{good.location}/dead.parquet")
    lake.advance(UNTIL_NOW)
    report = replace(services, store=store).collect("1")
    assert (0, good.needed) == (report.exit_code, lake.paths())
    assert dead not in lake.paths()


def test_s18_different_texts_stay_different_where_they_are_escaped() -> None:
    odd = ["a\ud800", "a\udc00", "a\0", "a\\u0000\0", "a\0\0", "\\a\0", "\\\\a\0", "\ud800a"]
    assert len(odd) == len({storable_text(text) for text in odd})
    assert all(storable_text(text).isprintable() for text in odd)
    assert "a\\u0000" == storable_text("a\\u0000")


@pytest.mark.parametrize(
    ("location", "metadata", "expected"),
    [
        ("s3://b/wh/t\ud800/x", None, "s3://b/wh/"),
        ("s3://b\ud800/wh", None, "s3://b\\ud800/wh"),
        ("s3://b/wh/t", "s3://b/wh/t/metadata/1\0.json", "s3://b/wh/t"),
        (None, "s3://b/wh/t/metadata/1\0.json", None),
    ],
)
def test_s18_as_much_of_a_location_as_can_be_said_is_frozen(
    location: str | None, metadata: str | None, expected: str | None
) -> None:
    version = ContentVersion(
        content_id="c\ud800",
        content_type="T",
        metadata_location=metadata,
        snapshot_id=1,
        content_key="k",
        commit_id="0",
        location=location,
    )
    assert expected == storable(version).location
