from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from conftest import ROWS, Lake
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from rest_server import RestServer

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model import ReferenceKind
from nessie_gc_core.testing.repository import RepositoryConnectorContract

SECRET = "s3cret-token"
APPENDS = {"sales.orders": 4, "sales.eu.orders": 2, "sales.items": 1, "stock.items": 0}


class PlainCatalogContract(RepositoryConnectorContract):
    contents_follow_operations = False

    @pytest.fixture(autouse=True)
    def filled(self, lake: Lake) -> None:
        for name, appends in APPENDS.items():
            lake.table(name, appends=appends)

    @pytest.fixture
    def expected_references(self) -> Mapping[str, ReferenceKind]:
        return dict.fromkeys(APPENDS, ReferenceKind.BRANCH)

    @pytest.fixture
    def commit_once(self, lake: Lake) -> Callable[[], str]:
        def commit_once() -> str:
            lake.catalog.load_table("sales.items").append(ROWS)
            return "sales.items"

        return commit_once

    @pytest.fixture
    def secrets(self) -> Sequence[str]:
        return [SECRET]


class TestSqlCatalog(PlainCatalogContract):
    @pytest.fixture
    def open_repository(self, lake: Lake) -> Callable[[], RepositoryConnector]:
        options = {"catalog_name": "prod", "uri": lake.uri, "properties": {"s3.secret-access-key": SECRET}}
        return lambda: IcebergCatalogConnector.from_options(options)

    @pytest.fixture
    def other_addresses(self, lake: Lake) -> Sequence[Callable[[], RepositoryConnector]]:
        link = lake.database.parent / "link"
        link.symlink_to(lake.database.parent)
        uri = f"sqlite+pysqlite:///{link}/./{lake.database.name}"
        return [lambda: IcebergCatalogConnector.from_options({"catalog_name": "prod", "uri": uri})]


class TestRestCatalog(PlainCatalogContract):
    @pytest.fixture
    def server(self, lake: Lake) -> RestServer:
        return RestServer(lake.catalog)

    @pytest.fixture
    def open_repository(self, server: RestServer, request: pytest.FixtureRequest) -> Callable[[], RepositoryConnector]:
        running = server.running()
        running.__enter__()
        request.addfinalizer(lambda: running.__exit__(None, None, None))
        options = {"uri": server.uri, "properties": {"token": SECRET}}
        return lambda: IcebergCatalogConnector.from_options(options)

    @pytest.fixture
    def other_addresses(
        self, open_repository: Callable[[], RepositoryConnector], server: RestServer
    ) -> Sequence[Callable[[], RepositoryConnector]]:
        uri = server.uri.replace("127.0.0.1", "LocalHost") + "/"
        return [lambda: IcebergCatalogConnector.from_options({"uri": uri, "properties": {"token": SECRET}})]
