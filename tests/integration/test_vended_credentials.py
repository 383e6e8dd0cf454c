"""Runs over a REST catalog that gives credentials with its tables, on a store whose users see one table each."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from catalog_kinds import ROWS, Kind
from cli_runs import go_home
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import Table
from vending_proxy import VendingProxy, proxied

from nessie_gc_core import Collector
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.testing.servers import IcebergRestServer, running
from nessie_gc_core.testing.servers.s3 import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.server, pytest.mark.spark]
TABLES = ("orders", "items")
EVERYTHING = ("Read", "Write", "List")


def of_table(table: str, *actions: str) -> tuple[str, ...]:
    return tuple(f"{action}:lake/vended/db/{table}/*" for action in actions)


USERS = {
    "orders": of_table("orders", *EVERYTHING),
    "items": of_table("items", *EVERYTHING),
    "orders-reader": of_table("orders", "Read", "List"),
    "items-reader": of_table("items", "Read", "List"),
    "blind": ("Write:lake", "List:lake"),
    "nobody": ("Read:elsewhere",),
}


@pytest.fixture(scope="module")
def store() -> Iterator[S3Server]:
    with running(lambda: S3Server(users=USERS)) as server:
        yield server


@pytest.fixture(scope="module")
def rest(store: S3Server) -> Iterator[IcebergRestServer]:
    with running(lambda: IcebergRestServer("s3://lake/vended", properties=store.properties)) as server:
        yield server


@dataclass
class Lake:
    """Two tables, each with a file that nobody names."""

    catalog: Catalog
    store: S3Server
    uri: str
    folder: Path
    tables: Mapping[str, Table]
    orphans: set[str] = field(default_factory=set)

    @property
    def files(self) -> set[str]:
        return self._kind.files()

    @property
    def _kind(self) -> Kind:
        return Kind(writer={}, warehouse="s3://lake/vended", storage=self.store.properties)

    def leave_orphans(self) -> None:
        self.orphans = {self._kind.put(f"{table.location()}/data/orphan.parquet") for table in self.tables.values()}
        time.sleep(2.1)  # the times of the store are whole seconds

    def keys(self, user: str) -> dict[str, str]:
        names = ("s3.access-key-id", "s3.secret-access-key", "s3.region")
        return {name: self.store.properties_of(user)[name] for name in names}

    @contextmanager
    def collector(
        self, proxy: VendingProxy, mode: str, configured: str, spark: SparkSession | None
    ) -> Iterator[Collector]:
        """A collector whose own credentials are those of a user."""
        config = self.folder / "nessie-gc.toml"
        own = {"s3.endpoint": self.store.endpoint, "s3.path-style-access": "true"}
        lines = [
            f'[repository]\nname = "iceberg-catalog"\nuri = "{proxy.uri}"\nvended_credentials = "{mode}"',
            "[repository.properties]",
            *(f'"{name}" = "{value}"' for name, value in own.items()),
            "[iceberg]",
            *(f'"{name}" = "{value}"' for name, value in {**own, **self.keys(configured)}.items()),
        ]
        config.write_text("\n".join(lines))
        engine: dict[str, Any] = {"engine": "local"} if spark is None else {"spark": spark}
        now: dict[str, Any] = {"min_age": "PT0S", "no_age_floor": True, "inmemory": True}
        with Collector.from_toml(config, **engine, **now) as collector:
            yield collector

    def collect(self, proxy: VendingProxy, mode: str, configured: str, spark: SparkSession | None) -> GcReport:
        with self.collector(proxy, mode, configured, spark) as collector:
            return collector.collect(delete=True)


@pytest.fixture
def lake(store: S3Server, rest: IcebergRestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    go_home(tmp_path, monkeypatch)
    with load_catalog("writer", type="rest", uri=rest.uri, **store.properties) as catalog:
        catalog.create_namespace_if_not_exists("db")
        tables = {name: catalog.create_table(f"db.{name}", ROWS.schema) for name in TABLES}
        for table in tables.values():
            table.append(ROWS)
            table.append(ROWS)
        lake = Lake(catalog, store, rest.uri, tmp_path, tables)
        lake.leave_orphans()
        yield lake
        for table in tables.values():
            catalog.purge_table(table.name())


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest) -> SparkSession | None:
    """The session of all tests, or none."""
    return None if request.param == "local" else request.getfixturevalue("spark")


def outcome(report: GcReport) -> tuple[int, int, int, int]:
    """Exit code; how many files were deleted, could not be, and are lost."""
    found = report.to_dict()
    return report.exit_code, found["deleted"]["files"], found["failed"]["files"], found["lost"]["files"]


def credential(prefix: str, config: Mapping[str, str]) -> dict[str, Any]:
    return {"prefix": prefix, "config": dict(config)}


def test_each_table_is_read_listed_and_cleaned_with_its_own_credentials(
    lake: Lake, engine: SparkSession | None, caplog: pytest.LogCaptureFixture
) -> None:
    before = lake.files
    for logger in ("nessie_gc_core", "nessie_gc_iceberg_catalog", "nessie_gc_iceberg_files"):
        caplog.set_level(logging.DEBUG, logger=logger)
    with proxied(lake.uri, VendingProxy(lambda table: {"config": lake.keys(table)})) as proxy:
        report = lake.collect(proxy, "collect", "nobody", engine)

    assert lake.orphans == before - lake.files, report
    assert (0, 2, 0, 0) == outcome(report), report
    assert {"vended-credentials"} == {delegation for _, delegation in proxy.asked}
    said = f"{report} {json.dumps(report.to_dict(), default=str)} {caplog.text}"
    assert [] == [table for table in TABLES if lake.keys(table)["s3.secret-access-key"] in said]


@pytest.mark.thorough(engine="spark")
def test_files_that_read_only_credentials_cannot_delete_have_failed(lake: Lake, engine: SparkSession | None) -> None:
    before = lake.files
    with proxied(lake.uri, VendingProxy(lambda table: {"config": lake.keys(f"{table}-reader")})) as proxy:
        report = lake.collect(proxy, "collect", "nobody", engine)

    assert (1, 0, 2, 0) == outcome(report), report
    assert before == lake.files


def test_the_longest_prefix_wins_and_is_asked_for_alone_where_that_is_possible(lake: Lake) -> None:
    def vends(table: str) -> Mapping[str, Any]:
        places = {"s3": "nobody", "s3://lake/vended/": "nobody", f"s3://lake/vended/db/{table}": table}
        return {"storage-credentials": [credential(prefix, lake.keys(user)) for prefix, user in places.items()]}

    with proxied(lake.uri, VendingProxy(vends, gives_credentials_alone=True)) as proxy:
        report = lake.collect(proxy, "collect", "nobody", None)

    assert (0, 2, 0, 0) == outcome(report), report
    assert {"orders/credentials", "items/credentials"} <= {path for path, _ in proxy.asked}


def test_a_table_without_credentials_is_cleaned_with_the_configured_ones(lake: Lake) -> None:
    vended = {"orders": {"config": lake.keys("orders")}}
    own = {"s3.access-key-id": "", "s3.secret-access-key": ""}
    with proxied(lake.uri, VendingProxy(lambda table: vended.get(table, {"config": own}))) as proxy:
        report = lake.collect(proxy, "collect", "items", None)

    assert (0, 2, 0, 0) == outcome(report), report


def test_manifests_alone_are_read_with_credentials_where_no_more_is_asked(lake: Lake) -> None:
    before = lake.files
    with proxied(lake.uri, VendingProxy(lambda table: {"config": lake.keys(f"{table}-reader")})) as proxy:
        unread = lake.collect(proxy, "metadata", "blind", None)
        assert (1, 0, 0, 0) == outcome(unread), unread
        assert before == lake.files
        report = lake.collect(proxy, "read", "blind", None)

    assert (0, 2, 0, 0) == outcome(report), report
    assert lake.orphans == before - lake.files


def test_a_catalog_that_gives_no_credentials_for_its_tables_when_it_is_asked_costs_no_file(lake: Lake) -> None:
    before = lake.files
    with proxied(lake.uri, VendingProxy(lambda _: {})) as proxy:
        report = lake.collect(proxy, "collect", "nobody", None)

    assert (1, 0, 0, 0) == outcome(report), report
    assert before == lake.files
