"""What a REST catalog gives for the storage of its tables, and where it applies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conftest import Lake, Open
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from rest_server import RestServer

from nessie_gc_core.connectors import SupportsStorageCredentials
from nessie_gc_core.errors import ConfigurationError, RepositoryError, ServiceUnavailableError
from nessie_gc_core.model import CredentialUse

KEYS = {"s3.access-key-id": "key", "s3.secret-access-key": "top-secret"}
ORDERS = "namespaces/sales/tables/orders"
ALONE = "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials"


@pytest.fixture
def server(lake: Lake) -> Iterator[RestServer]:
    with RestServer(lake.catalog).running() as server:
        yield server


@pytest.fixture
def connector(server: RestServer) -> Iterator[IcebergCatalogConnector]:
    options: dict[str, Any] = {"uri": server.uri, "retries": 0, "vended_credentials": "collect"}
    with IcebergCatalogConnector.from_options(options) as connector:
        yield connector


def given(connector: IcebergCatalogConnector, name: str = "sales.orders") -> list[tuple[str, dict[str, str]]]:
    return [(each.prefix, dict(each.properties)) for each in connector.storage_credentials(name)]


@pytest.mark.parametrize(
    ("option", "uses"),
    [("metadata", set()), ("read", {CredentialUse.READ}), ("collect", {CredentialUse.READ, CredentialUse.COLLECT})],
)
def test_the_option_says_what_they_are_used_for(option: str, uses: set[CredentialUse]) -> None:
    connector = IcebergCatalogConnector.from_options({"uri": "http://catalog", "vended_credentials": option})
    assert isinstance(connector, SupportsStorageCredentials)
    assert uses == connector.credential_uses()


def test_s27_credentials_of_another_type_of_catalog_are_an_error(connect: Open) -> None:
    assert frozenset() == connect().credential_uses()
    with pytest.raises(ConfigurationError, match="only REST catalogs give credentials, and its type is sql"):
        connect(vended_credentials="read")


def test_credentials_in_the_config_of_a_table_are_for_all_of_its_files(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders", appends=1)
    server.config = {**KEYS, "s3.endpoint": "http://evil.example", "py-io-impl": "nowhere.NoFileIO"}
    assert [("s3", KEYS)] == given(connector)


def test_storage_credentials_win_over_the_config(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    server.config = {"s3.access-key-id": "of config", "s3.secret-access-key": "of config"}
    server.more = {"storage-credentials": [{"prefix": "s3://lake/a", "config": KEYS}, {"prefix": "s3", "config": {}}]}
    assert [("s3://lake/a", KEYS)] == given(connector)


def test_the_answer_to_who_asks_for_credentials_alone_is_enough(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    server.endpoints.append(ALONE)
    server.credentials = {"storage-credentials": [{"prefix": "s3://lake/a", "config": KEYS}]}
    assert [("s3://lake/a", KEYS)] == given(connector)
    server.credentials, server.config = {"storage-credentials": []}, KEYS
    assert [("s3", KEYS)] == given(connector)


def test_a_table_that_is_gone_has_no_credentials(lake: Lake, connector: IcebergCatalogConnector) -> None:
    lake.table("sales.orders")
    assert [] == given(connector, "sales.gone")
    assert [] == given(connector)


def test_places_are_the_location_of_a_table_and_where_it_writes(lake: Lake, connector: IcebergCatalogConnector) -> None:
    orders = lake.table("sales.orders", properties={"write.data.path": "s3://data/orders"})
    items = lake.table("sales.items")
    found = [(each.location, each.owner) for each in connector.credential_places()]
    assert [(items.location(), "sales.items"), (orders.location(), "sales.orders")] == found[:2]
    assert {
        ("s3://data/orders", "sales.orders"),
        (f"{orders.location()}/metadata", "sales.orders"),
        (f"{items.location()}/metadata", "sales.items"),
    } == set(found[2:])


def test_a_table_that_cannot_be_loaded_has_no_place_and_a_catalog_that_does_not_answer_is_an_error(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    items = lake.table("sales.items")
    server.spoiled[ORDERS] = (403, "ForbiddenException")
    assert [items.location(), f"{items.location()}/metadata"] == [
        each.location for each in connector.credential_places()
    ]
    server.spoiled[ORDERS] = (503, "ServiceUnavailable")
    with pytest.raises(ServiceUnavailableError):
        list(connector.credential_places())


def test_s28_an_answer_that_cannot_be_read_is_told_without_what_it_holds(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    server.more = {"storage-credentials": [{"prefix": "s3", "config": "top-secret"}]}
    with pytest.raises(RepositoryError, match=r"storage-credentials\.0\.config") as caught:
        connector.storage_credentials("sales.orders")
    assert "top-secret" not in str(caught.value)


def test_the_catalog_is_asked_to_vend_credentials_and_for_few_snapshots(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    connector.storage_credentials("sales.orders")
    assert ("vended-credentials", ["refs"]) == server.asked[-1]
