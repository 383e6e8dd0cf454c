"""REST catalogs, over a small server of our own that can answer badly; a real one is in test_nessie_rest."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from conftest import ROWS, Lake
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.content_types import METADATA_LOG_FILE, UNREADABLE_TABLE, WHOLE_VIEW
from reading import names, put, reference
from rest_server import RestServer

from nessie_gc_core.errors import AccessDeniedError, NessieGcError, RepositoryError
from nessie_gc_core.model import ICEBERG_TABLE, UNKNOWN_CONTENT
from nessie_gc_core.model.options import OptionValue


@pytest.fixture
def server(lake: Lake) -> Iterator[RestServer]:
    with RestServer(lake.catalog).running() as server:
        yield server


@pytest.fixture
def connector(server: RestServer) -> Iterator[IcebergCatalogConnector]:
    with IcebergCatalogConnector.from_options({"uri": server.uri, "retries": 0}) as connector:
        yield connector


def test_every_page_and_every_nested_namespace_is_listed(lake: Lake, connector: IcebergCatalogConnector) -> None:
    expected = [f"sales.n{inner}.t{number}" for inner in range(5) for number in range(3)]
    for name in expected:
        lake.table(name)

    assert expected == names(connector)


def test_every_snapshot_and_the_metadata_log_are_live(lake: Lake, connector: IcebergCatalogConnector) -> None:
    table = lake.table("sales.orders", appends=3)

    live = put(connector, "sales.orders", ICEBERG_TABLE)
    log = put(connector, "sales.orders", METADATA_LOG_FILE)

    assert [s.snapshot_id for s in table.metadata.snapshots][::-1] == [version.snapshot_id for version in live]
    assert [e.metadata_file for e in table.metadata.metadata_log] == [version.metadata_location for version in log]


def test_the_log_of_a_commit_stays_as_it_was_when_the_table_moves_on(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    table = lake.table("sales.orders", appends=2)
    head = reference(connector, "sales.orders")
    before = list(connector.commit_log(head))
    table.append(ROWS)

    with IcebergCatalogConnector.from_options({"uri": server.uri}) as another:
        assert before == list(another.commit_log(head))
        lake.catalog.drop_table("sales.orders")
        another.close()
        assert before == list(another.commit_log(head))


def test_a_view_is_frozen_where_it_is(lake: Lake, server: RestServer, connector: IcebergCatalogConnector) -> None:
    lake.table("sales.orders")
    server.views["totals"] = {
        "view-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "format-version": 1,
        "location": "s3://lake/sales/totals",
        "current-version-id": 1,
        "versions": [
            {
                "version-id": 1,
                "timestamp-ms": 1,
                "schema-id": 0,
                "summary": {},
                "default-namespace": ["sales"],
                "representations": [{"type": "sql", "sql": "select 1", "dialect": "spark"}],
            }
        ],
        "version-log": [{"timestamp-ms": 1, "version-id": 1}],
        "schemas": [{"type": "struct", "schema-id": 0, "fields": []}],
        "properties": {},
    }

    [version] = put(connector, "sales.totals")

    assert (WHOLE_VIEW, "s3://lake/sales/totals") == (version.content_type, version.location)


@pytest.mark.parametrize(
    "spoiled",
    [
        (500, "InternalServerError"),
        (502, "BadGateway"),
        (403, "ForbiddenException"),
        (404, "NoSuchTableException"),
        (422, "UnprocessableEntityException"),
        (200, "NoAnswerForATable"),
    ],
)
def test_s18_a_table_that_the_server_lists_and_does_not_load_is_unknown_and_stops_no_other(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector, spoiled: tuple[int, str]
) -> None:
    lake.table("sales.orders")
    lake.table("sales.broken")
    server.spoiled["namespaces/sales/tables/broken"] = spoiled

    assert ["sales.broken", "sales.orders"] == names(connector)
    [version] = put(connector, "sales.broken")
    assert (UNKNOWN_CONTENT, None, None) == (version.content_type, version.location, version.metadata_location)


@pytest.mark.parametrize("status", [401, 429, 503])
def test_s18_an_answer_that_is_not_about_the_table_ends_the_run(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector, status: int
) -> None:
    lake.table("sales.orders")
    server.spoiled["namespaces/sales/tables/orders"] = (status, "Refused")

    with pytest.raises(NessieGcError, match=r"loading table sales\.orders"):
        list(connector.references())


def test_a_table_that_the_server_cannot_load_is_frozen_where_its_place_is_told(lake: Lake, server: RestServer) -> None:
    lake.table("sales.orders")
    lake.table("sales.broken")
    server.spoiled["namespaces/sales/tables/broken"] = (500, "InternalServerError")
    told_where = {"sales.broken": "s3://lake/broken"}
    options: dict[str, OptionValue] = {"uri": server.uri, "retries": 0, "unreadable_tables": told_where}

    with IcebergCatalogConnector.from_options(options) as told:
        [version] = put(told, "sales.broken")
        expected = ["sales.broken", "sales.orders"]
        assert expected == names(told)

    assert (UNREADABLE_TABLE, "s3://lake/broken") == (version.content_type, version.location)


def test_s18_a_table_whose_metadata_makes_no_sense_is_frozen_and_stops_no_other(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    table = lake.table("sales.broken", appends=1)
    whole = server.table

    def spoil(identifier: tuple[str, ...]) -> tuple[int, dict[str, object]]:
        status, body = whole(identifier)
        if identifier[-1] == "broken":
            body["metadata"]["snapshots"][0]["timestamp-ms"] = "soon"  # type: ignore[index]  # plain JSON
        return status, body

    server.table = spoil  # type: ignore[method-assign]  # the server's answers are the test's to spoil

    assert ["sales.broken", "sales.orders"] == names(connector)
    [frozen] = put(connector, "sales.broken", UNKNOWN_CONTENT)
    assert table.location() == frozen.location


def test_a_table_of_format_version_3_is_read_like_any_other(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    table = lake.table("sales.orders", appends=2)
    whole = server.table

    def upgraded(identifier: tuple[str, ...]) -> tuple[int, dict[str, object]]:
        status, body = whole(identifier)
        body["metadata"].update({"format-version": 3, "next-row-id": 0})  # type: ignore[attr-defined]  # plain JSON
        return status, body

    server.table = upgraded  # type: ignore[method-assign]  # the server's answers are the test's to change
    listed = {each.snapshot_id for each in table.metadata.snapshots}

    assert listed == {version.snapshot_id for version in put(connector, "sales.orders", ICEBERG_TABLE)}
    assert [] == put(connector, "sales.orders", UNKNOWN_CONTENT)
    [found] = connector.tables(reference(connector, "sales.orders"))
    assert listed == {each.snapshot_id for each in found.snapshots}
    again = connector.reload(found)
    assert again is not None
    assert (3, found.snapshots) == (again.format_version, again.snapshots)


def test_a_table_that_goes_while_the_catalog_is_listed_is_looked_for_again(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    server.vanishing = ["renamed"]

    assert ["sales.orders"] == names(connector)


def test_a_catalog_whose_tables_keep_vanishing_ends_the_run(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    numbers = itertools.count()
    listing = server.catalog.list_tables

    class Restless:
        def __getattr__(self, name: str) -> object:
            return getattr(lake.catalog, name)

        def list_tables(self, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
            return [*listing(namespace), (*namespace, f"renamed_{next(numbers)}")]

    server.catalog = Restless()  # type: ignore[assignment]  # as much of a catalog as is asked for

    with pytest.raises(RepositoryError, match="changes faster"):
        list(connector.references())


def test_children_that_are_in_no_parent_end_the_run(lake: Lake, server: RestServer) -> None:
    lake.table("sales.orders")
    lake.table("stock.items")
    listing = server.catalog.list_namespaces

    class Forgetful:
        def __getattr__(self, name: str) -> object:
            return getattr(lake.catalog, name)

        def list_namespaces(self, parent: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
            return listing(()) if not parent else [("elsewhere",)]

    server.catalog = Forgetful()  # type: ignore[assignment]

    with (
        IcebergCatalogConnector.from_options({"uri": server.uri}) as connector,
        pytest.raises(RepositoryError, match="nested_namespaces"),
    ):
        list(connector.references())
    with IcebergCatalogConnector.from_options({"uri": server.uri, "nested_namespaces": False}) as flat:
        assert ["sales.orders", "stock.items"] == names(flat)


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_the_credentials_is_named_and_they_are_not(server: RestServer, status: int) -> None:
    server.spoiled["namespaces"] = (status, "NotAuthorizedException")
    options: dict[str, OptionValue] = {"type": "rest", "uri": server.uri, "properties": {"token": "hunter2"}}

    with IcebergCatalogConnector.from_options(options) as refused, pytest.raises(AccessDeniedError) as error:
        list(refused.references())

    assert "hunter2" not in str(error.value)
    assert "\n" not in str(error.value)


def test_a_server_that_is_no_catalog_is_said_in_one_line(server: RestServer) -> None:
    server.spoiled["config"] = (404, "NotFound")

    with (
        IcebergCatalogConnector.from_options({"uri": server.uri}) as wrong,
        pytest.raises(NessieGcError, match="opening catalog 'default'") as error,
    ):
        list(wrong.references())

    assert "\n" not in str(error.value)
