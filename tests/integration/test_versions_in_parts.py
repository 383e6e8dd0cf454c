"""Large live sets in a database: the executors read them, each another part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest
from collecting import LakeServices, on_disk, spark_engine
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_memory import MemoryLake, put
from scenes import NOW, START

from nessie_gc_core.errors import SafetyError, StoreError
from nessie_gc_core.services import stored_versions
from nessie_gc_core.services.assets.identify import IdentifyService
from nessie_gc_core.services.assets.parameters import IdentifyParameters
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.testing.servers import PostgresServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.server]
TABLES = 30


@pytest.fixture
def store(postgres: PostgresServer) -> Iterator[JdbcLiveSetStore]:
    url = postgres.uri(postgres.create_database(f"parts_{uuid4().hex}"))
    with JdbcLiveSetStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"}) as store:
        yield store


@pytest.fixture
def services(
    store: JdbcLiveSetStore, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> LakeServices:
    """A lake with a dead file in each of its tables, whose few versions count as many."""
    monkeypatch.setattr(stored_versions, "READ_BY_WORKERS", 1)
    monkeypatch.setattr(stored_versions, "PART_VERSIONS", 4)
    lake = MemoryLake()
    lake.now = START
    for number in range(TABLES):
        table = lake.table(f"db.t{number}", location=f"memory://wh/db/t{number}").append("live.parquet")
        lake.commit("main", put(table.version))
        lake.put(f"memory://wh/db/t{number}/data/dead.parquet")
    lake.advance(NOW - START)  # the clock of the database is compared with the lake's
    return replace(on_disk(lake, tmp_path, spark_engine(spark)), store=store)


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*.parquet")}


def test_executors_read_all_of_a_live_set(
    services: LakeServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(stored_versions, "_by_driver")
    report = services.collect("1")
    assert report.content_versions == TABLES
    assert report.warnings == [each for each in report.warnings if "executors" not in each]
    assert left(tmp_path) == {"live.parquet"}, report


def test_executors_read_it_for_a_deferred_deletion_and_for_the_assets(
    services: LakeServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(stored_versions, "_by_driver")
    services.mark("1")
    parameters = IdentifyParameters(default_cutoff="1", history=True)
    assets = IdentifyService(parameters).find(services.run(), None).assets.summary()
    named = [row["tableName"] for row in assets.to_pylist() if row["name"] == "dead.parquet"]
    assert sorted(f"db.t{number}" for number in range(TABLES)) == sorted(named)
    sweep = SweepParameters(defer_deletes=True, min_age=timedelta(0), no_age_floor=True)
    live_set = services.collect("1", sweep=sweep).live_set_id
    assert left(tmp_path) == {"live.parquet", "dead.parquet"}
    report = services.delete_deferred(UUID(live_set), SweepParameters(by_table=True))
    assert {(f"db.t{number}",) for number in range(TABLES)} == {row.tables for row in report.tables or ()}
    assert left(tmp_path) == {"live.parquet"}, report


def test_the_driver_reads_what_they_cannot(
    services: LakeServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_versions._ReadParts, "schema", None)
    report = services.collect("1")
    assert [each for each in report.warnings if "the executors could not read the live-set store" in each]
    assert left(tmp_path) == {"live.parquet"}, report


@pytest.mark.parametrize("by_executors", [True, False])
def test_s06_a_live_set_that_is_not_read_whole_deletes_nothing(
    services: LakeServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_executors: bool
) -> None:
    if not by_executors:
        monkeypatch.setattr(stored_versions, "READ_BY_WORKERS", TABLES + 2)
    live_set = services.mark("1")
    count = services.store.count_content_versions

    def one_more(store: JdbcLiveSetStore, live_set_id: object) -> tuple[int, int]:
        versions, contents = count(live_set_id)  # type: ignore[arg-type]
        return versions + 1, contents

    monkeypatch.setattr(services.store, "count_content_versions", MethodType(one_more, services.store))
    change_versions(services, live_set, "versions_digest = NULL", "live_sets")  # as of an earlier release
    with pytest.raises(StoreError, match=f"jdbc gave {TABLES} of {TABLES + 1} content versions"):
        services.sweep(live_set)
    assert left(tmp_path) == {"live.parquet", "dead.parquet"}


@pytest.mark.parametrize("by_executors", [True, False])
def test_s34_a_live_set_of_which_one_row_changed_deletes_nothing(
    services: LakeServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_executors: bool
) -> None:
    if not by_executors:
        monkeypatch.setattr(stored_versions, "READ_BY_WORKERS", TABLES + 2)
    live_set = services.mark("1")
    first = f"(SELECT min(content_key) FROM nessie_gc_content_versions WHERE live_set_id = '{live_set}')"
    change_versions(services, live_set, "commit_id = 'c0ffee'", "content_versions", f"content_key = {first}")
    with pytest.raises(SafetyError, match=f"{TABLES} content versions of live set {live_set}, .* changed some"):
        services.sweep(live_set)
    assert left(tmp_path) == {"live.parquet", "dead.parquet"}


def change_versions(services: LakeServices, live_set_id: UUID, change: str, table: str, where: str = "true") -> None:
    """Changes rows of a live set behind the store's back."""
    assert isinstance(services.store, JdbcLiveSetStore)
    with services.store.database.engine.begin() as connection:
        statement = f"UPDATE nessie_gc_{table} SET {change} WHERE live_set_id = '{live_set_id}' AND {where}"
        assert 1 == connection.exec_driver_sql(statement).rowcount
