from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from conftest import Lake, Open
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.content_types import WHOLE_VIEW
from pyiceberg.catalog.rest import RestCatalog
from reading import names, put, reference
from rest_server import RestServer

from nessie_gc_core.model import ICEBERG_TABLE, UNKNOWN_CONTENT
from nessie_gc_core.model.options import OptionValue

Answer = dict[str, Any]


@pytest.fixture
def server(lake: Lake) -> Iterator[RestServer]:
    with RestServer(lake.catalog).running() as server:
        yield server


@pytest.fixture
def connector(server: RestServer) -> Iterator[IcebergCatalogConnector]:
    with IcebergCatalogConnector.from_options({"uri": server.uri, "retries": 0}) as connector:
        yield connector


def change(server: RestServer, name: str, changed: Callable[[Answer], object]) -> None:
    """Changes what the server says of one table."""
    whole = server.table

    def table(identifier: tuple[str, ...]) -> tuple[int, dict[str, object]]:
        status, body = whole(identifier)
        if identifier[-1] == name:
            changed(body)
        return status, body

    server.table = table  # type: ignore[method-assign]  # the server's answers are the test's to change


def format_4(answer: Answer) -> None:
    answer["metadata"]["format-version"] = 4


def unknown_type(answer: Answer) -> None:
    answer["metadata"]["schemas"][0]["fields"][0]["type"] = "quaternion"


def without_schemas(answer: Answer) -> None:
    del answer["metadata"]["schemas"]


@pytest.mark.parametrize("odd", [format_4, unknown_type, without_schemas])
def test_s18_a_table_that_pyiceberg_cannot_load_stops_no_other(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector, odd: Callable[[Answer], None]
) -> None:
    lake.table("sales.orders", appends=1)
    table = lake.table("sales.odd", appends=2)
    change(server, "odd", odd)
    with pytest.raises(Exception, match=r".*"):  # whatever PyIceberg says of it
        RestCatalog("prod", uri=server.uri).load_table("sales.odd")

    assert ["sales.odd", "sales.orders"] == names(connector)

    found = put(connector, "sales.odd", ICEBERG_TABLE)
    assert {(table.location(), table.metadata_location)} == {(each.location, each.metadata_location) for each in found}
    assert {each.snapshot_id for each in table.metadata.snapshots} == {each.snapshot_id for each in found}


def test_s18_its_log_is_the_same_once_the_table_moved_on(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.odd", appends=2)
    change(server, "odd", format_4)
    head = reference(connector, "sales.odd")
    before = list(connector.commit_log(head))

    with IcebergCatalogConnector.from_options({"uri": server.uri}) as another:
        assert before == list(another.commit_log(head))


def test_s21_no_expiry_is_promised_for_a_table_that_cannot_be_loaded_to_commit(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders", appends=2)
    lake.table("sales.odd", appends=2)
    change(server, "odd", without_schemas)

    [odd], [orders] = (list(connector.tables(reference(connector, f"sales.{name}"))) for name in ("odd", "orders"))

    assert "PyIceberg cannot load it" in str(odd.unwritable)
    assert orders.unwritable is None


@pytest.mark.parametrize(
    "changed",
    [
        lambda answer: answer.update({"metadata-location": None}),
        lambda answer: answer.pop("metadata-location"),
        lambda answer: answer["metadata"].update({"snapshots": None}),
        lambda answer: answer["metadata"].update({"snapshots": answer["metadata"]["snapshots"][:1]}),
        lambda answer: answer["metadata"].update({"snapshots": answer["metadata"]["snapshots"] * 2}),
        lambda answer: answer["metadata"]["snapshots"][0].update({"snapshot-id": None}),
        lambda answer: answer["metadata"]["snapshots"][0].update({"timestamp-ms": None}),
    ],
)
def test_s34_a_table_of_which_the_answer_lacks_something_is_frozen_and_stops_no_other(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector, changed: Callable[[Answer], object]
) -> None:
    lake.table("sales.orders")
    table = lake.table("sales.odd", appends=3)
    change(server, "odd", changed)

    assert ["sales.odd", "sales.orders"] == names(connector)
    assert [table.location()] == [each.location for each in put(connector, "sales.odd", UNKNOWN_CONTENT)]


def test_s34_a_table_whose_answer_has_no_metadata_is_frozen_around_its_metadata_file(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    table = lake.table("sales.odd", appends=1)
    change(server, "odd", lambda answer: answer.update({"metadata": None}))

    [frozen] = put(connector, "sales.odd", UNKNOWN_CONTENT)
    [named] = put(connector, "sales.odd", ICEBERG_TABLE)

    assert (table.location(), table.metadata_location) == (frozen.location, named.metadata_location)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [({"location": "s3://lake/v", "format-version": 9}, "s3://lake/v"), (None, "s3://lake/w")],
)
def test_s18_a_view_that_pyiceberg_cannot_load_is_frozen_where_it_is(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector, metadata: Mapping[str, object], expected: str
) -> None:
    lake.table("sales.orders")
    server.views["totals"] = {}
    whole = server.answer

    def answer(raw: str) -> tuple[int, dict[str, object]]:
        if raw.endswith("/views/totals"):
            return 200, {"metadata-location": "s3://lake/w/metadata/1.json", "metadata": metadata}
        return whole(raw)

    server.answer = answer  # type: ignore[method-assign]

    assert [(WHOLE_VIEW, expected)] == [(v.content_type, v.location) for v in put(connector, "sales.totals")]


def test_s18_its_credentials_are_given_all_the_same(lake: Lake, server: RestServer) -> None:
    table = lake.table("sales.odd")
    server.more = {
        "storage-credentials": [{"prefix": "s3://", "config": {"s3.access-key-id": "k", "s3.secret-access-key": "s"}}]
    }
    change(server, "odd", format_4)
    options: dict[str, OptionValue] = {"uri": server.uri, "vended_credentials": "collect"}
    with IcebergCatalogConnector.from_options(options) as connector:
        assert table.location() in {place.location for place in connector.credential_places()}
        assert ["s3://"] == [each.prefix for each in connector.storage_credentials("sales.odd")]


@pytest.mark.parametrize(
    ("change", "place"),
    [("metadata_location = NULL", True), ("metadata_location = '', previous_metadata_location = NULL", False)],
)
def test_s34_a_row_without_a_metadata_location_is_unknown_and_stops_no_other(
    lake: Lake, connect: Open, change: str, place: bool
) -> None:
    lake.table("sales.orders", appends=1)
    table = lake.table("sales.odd", appends=1)
    lake.execute(f"UPDATE iceberg_tables SET {change} WHERE table_name = 'odd'")
    connector = connect()

    assert ["sales.odd", "sales.orders"] == names(connector)
    unknown = put(connector, "sales.odd", UNKNOWN_CONTENT)
    assert [table.location() if place else None] == [each.location for each in unknown]


def test_s34_a_namespace_that_is_listed_and_then_not_known_is_an_error(
    lake: Lake, server: RestServer, connector: IcebergCatalogConnector
) -> None:
    lake.table("sales.orders")
    server.spoiled["namespaces/sales/tables"] = (404, "NoSuchNamespaceException")

    with pytest.raises(Exception, match="lists namespace sales, and then does not know it"):
        names(connector)
