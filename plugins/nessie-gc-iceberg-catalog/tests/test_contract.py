from __future__ import annotations

import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from conftest import ROWS, Lake
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from rest_server import RestServer

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model import ReferenceKind
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.repository import RepositoryConnectorContract

SECRET = "s3cret-token"
Open = Callable[[], RepositoryConnector]
Answer = Callable[[str], "tuple[int, dict[str, object]] | None"]
APPENDS = {"sales.orders": 4, "sales.eu.orders": 2, "sales.items": 1, "sales.lines": 0, "stock.items": 0}


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

    @pytest.fixture
    def detached(self) -> NotPossible:
        return NotPossible("a plain catalog forgets states that no table leads to")


class TestSqlCatalog(PlainCatalogContract):
    @pytest.fixture
    def expirable(self) -> str:
        return "sales.orders"

    @pytest.fixture
    def open_repository(self, lake: Lake) -> Callable[[], RepositoryConnector]:
        properties = {"s3.secret-access-key": SECRET}
        options: dict[str, OptionValue] = {"catalog_name": "prod", "uri": lake.uri, "properties": properties}
        return lambda: IcebergCatalogConnector.from_options(options)

    @pytest.fixture
    def other_addresses(self, lake: Lake) -> Sequence[Callable[[], RepositoryConnector]]:
        link = lake.database.parent / "link"
        link.symlink_to(lake.database.parent)
        uri = f"sqlite+pysqlite:///{link}/./{lake.database.name}"
        return [lambda: IcebergCatalogConnector.from_options({"catalog_name": "prod", "uri": uri})]

    @pytest.fixture
    def unavailable(self) -> NotPossible:
        return NotPossible("an SQLite file is there or not")

    @pytest.fixture
    def refusing(self) -> NotPossible:
        return NotPossible("SQLite asks for no credentials")

    @pytest.fixture
    def breaking_off(self) -> NotPossible:
        return NotPossible("one query gives all tables")

    @pytest.fixture
    def nonsense(self, lake: Lake, tmp_path: Path) -> Sequence[Open]:
        changes = (
            "UPDATE iceberg_tables SET table_name = '' WHERE table_name = 'lines'",
            "UPDATE iceberg_tables SET table_name = '' WHERE table_namespace = 'sales.eu'",
        )
        return [partial(changed_copy, lake, tmp_path / f"{number}.db", sql) for number, sql in enumerate(changes)]

    @pytest.fixture
    def incoherent(self, lake: Lake, tmp_path: Path) -> Sequence[Open]:
        changes = (
            "UPDATE iceberg_tables SET metadata_location = NULL WHERE table_name = 'lines'",
            "UPDATE iceberg_tables SET metadata_location = ''",
            "UPDATE iceberg_tables SET metadata_location = NULL, previous_metadata_location = NULL",
        )
        return [partial(changed_copy, lake, tmp_path / f"i{number}.db", sql) for number, sql in enumerate(changes)]

    @pytest.fixture
    def missing_repository(self, lake: Lake, tmp_path: Path) -> Sequence[Open]:
        (tmp_path / "empty.db").touch()
        gone, empty = f"sqlite:///{tmp_path}/gone.db", f"sqlite:///{tmp_path}/empty.db"
        return [partial(sql_connector, gone), partial(sql_connector, empty), partial(sql_connector, lake.uri, "prd")]

    @pytest.fixture
    def break_table(self, lake: Lake) -> Sequence[Callable[[], str]]:
        def damaged(name: str, text: str | None) -> str:
            path = Path(lake.catalog.load_table(name).metadata_location.removeprefix("file://"))
            path.unlink() if text is None else path.write_text(text)
            return name

        return [partial(damaged, "sales.items", None), partial(damaged, "sales.orders", "{")]


def sql_connector(uri: str, name: str = "prod") -> RepositoryConnector:
    return IcebergCatalogConnector.from_options({"catalog_name": name, "uri": uri})


def changed_copy(lake: Lake, path: Path, statement: str) -> RepositoryConnector:
    shutil.copy(lake.database, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)
    return sql_connector(f"sqlite:///{path}")


class TestRestCatalog(PlainCatalogContract):
    @pytest.fixture
    def expirable(self) -> NotPossible:
        return NotPossible("this server takes no commits; a real one does in the core's tests")

    @pytest.fixture
    def server(self, lake: Lake) -> RestServer:
        return RestServer(lake.catalog)

    @pytest.fixture
    def open_repository(self, server: RestServer) -> Iterator[Callable[[], RepositoryConnector]]:
        with server.running():
            options: dict[str, OptionValue] = {"uri": server.uri, "properties": {"token": SECRET}}
            yield lambda: IcebergCatalogConnector.from_options(options)

    @pytest.fixture
    def other_addresses(
        self, open_repository: Callable[[], RepositoryConnector], server: RestServer
    ) -> Sequence[Callable[[], RepositoryConnector]]:
        uri = server.uri.replace("127.0.0.1", "LocalHost") + "/"
        return [lambda: IcebergCatalogConnector.from_options({"uri": uri, "properties": {"token": SECRET}})]

    @pytest.fixture
    def answering(self, lake: Lake) -> Iterator[Callable[[Answer], Open]]:
        """Makes a function that opens a connector to a catalog that answers some paths in another way."""
        with ExitStack() as stack:
            yield lambda answer: partial(rest_connector, stack.enter_context(Spoiled(lake, answer).running()).uri)

    @pytest.fixture
    def unavailable(self, answering: Callable[[Answer], Open]) -> Sequence[Open]:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            nobody = f"http://127.0.0.1:{unused.getsockname()[1]}"
        return [partial(rest_connector, nobody), *(answering(partial(error, status)) for status in (500, 503))]

    @pytest.fixture
    def refusing(self, answering: Callable[[Answer], Open]) -> Sequence[Open]:
        return [answering(partial(error, status)) for status in (401, 403)]

    @pytest.fixture
    def nonsense(self, answering: Callable[[Answer], Open]) -> Sequence[Open]:
        return [answering(lambda path, body=body: (200, body)) for body in ({}, {"namespaces": 7})]  # type: ignore[misc]

    @pytest.fixture
    def missing_repository(self, answering: Callable[[Answer], Open]) -> Sequence[Open]:
        return [answering(partial(error, 404))]

    @pytest.fixture
    def breaking_off(self, answering: Callable[[Answer], Open]) -> Sequence[Open]:
        return [answering(lambda path: error(503, path) if "pageToken" in path else None)]

    @pytest.fixture
    def incoherent(self, answering: Callable[[Answer], Open]) -> Sequence[Open]:
        tables, orders = "/v1/namespaces/sales/tables", "/v1/namespaces/sales/tables/orders"
        item = {"namespace": ["sales"], "name": "orders"}
        ways: list[tuple[str, dict[str, object]]] = [
            ("/v1/namespaces", {"namespaces": None}),
            ("/v1/namespaces", {"namespaces": [None]}),
            ("/v1/namespaces", {"namespaces": [["sales"], ["sales"]]}),
            (tables, {"identifiers": None}),
            (tables, {"identifiers": [{"namespace": ["sales"], "name": None}]}),
            (tables, {"identifiers": [{"name": "orders"}]}),
            (tables, {"identifiers": [item, item]}),
            (tables, {"identifiers": [item], "next-page-token": "again"}),
            (tables, {"identifiers": [item], "next-page-token": 7}),
            (orders, {}),
            (orders, {"metadata": {"location": "s3://b/t"}}),
            (orders, {"metadata-location": "s3://b/t/metadata/1.json", "metadata": None}),
        ]
        return [answering(partial(instead, *way)) for way in ways]

    @pytest.fixture
    def break_table(self, server: RestServer) -> Sequence[Callable[[], str]]:
        def damaged(status: int) -> str:
            server.spoiled["namespaces/sales/tables/items"] = (status, "Broken")
            return "sales.items"

        return [partial(damaged, status) for status in (500, 403)]


class Spoiled(RestServer):
    """Answers in another way where a function says so."""

    def __init__(self, lake: Lake, spoil: Answer) -> None:
        super().__init__(lake.catalog)
        self.spoil = spoil

    def answer(self, raw: str) -> tuple[int, dict[str, object]]:
        return self.spoil(raw) or super().answer(raw)


def instead(path: str, body: dict[str, object], raw: str) -> tuple[int, dict[str, object]] | None:
    return (200, body) if urlsplit(raw).path == path else None


def error(status: int, path: str) -> tuple[int, dict[str, object]]:
    return status, {"error": {"message": "broken", "type": "Broken", "code": status}}


def rest_connector(uri: str) -> RepositoryConnector:
    return IcebergCatalogConnector.from_options({"uri": uri, "properties": {"token": SECRET}, "retries": 0})
