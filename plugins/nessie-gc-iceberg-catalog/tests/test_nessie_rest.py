"""A real REST catalog: Nessie's own, over a real S3 server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from conftest import ROWS
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.content_types import GC_DISABLED
from nessie_on_s3 import nessie_properties
from pyiceberg.catalog import Catalog, load_catalog
from reading import names, put, reference

from nessie_gc_core.model import ICEBERG_TABLE
from nessie_gc_core.testing.servers import NessieServer, skip_or_fail
from nessie_gc_core.testing.servers.s3 import S3Server

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def properties() -> Iterator[dict[str, str]]:
    """Catalog properties of a REST catalog."""
    with ExitStack() as stack:
        with skip_or_fail():
            s3 = stack.enter_context(S3Server())
            nessie = stack.enter_context(NessieServer(properties=nessie_properties(s3)))
        yield {**s3.properties, "type": "rest", "uri": f"{nessie.iceberg_uri}/main"}


@pytest.fixture(scope="module")
def writer(properties: dict[str, str]) -> Iterator[Catalog]:
    with load_catalog("writer", **properties) as catalog:
        yield catalog


@pytest.fixture
def connector(properties: dict[str, str]) -> Iterator[IcebergCatalogConnector]:
    with IcebergCatalogConnector.from_options({"properties": properties}) as connector:
        yield connector


@pytest.fixture
def namespace(writer: Catalog, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own, emptied afterwards."""
    name = f"ns{request.node.name}"
    writer.create_namespace((name,))
    writer.create_namespace((name, "eu"))
    yield name
    for inner in ((name, "eu"), (name,)):
        for table in writer.list_tables(inner):
            writer.drop_table(table)
        writer.drop_namespace(inner)


def test_tables_of_nested_namespaces_are_references(
    writer: Catalog, connector: IcebergCatalogConnector, namespace: str
) -> None:
    writer.create_table((namespace, "orders"), ROWS.schema)
    writer.create_table((namespace, "eu", "orders"), ROWS.schema)

    assert [f"{namespace}.eu.orders", f"{namespace}.orders"] == names(connector)


def test_the_current_state_is_live_and_what_nessie_owns_is_frozen(
    writer: Catalog, connector: IcebergCatalogConnector, namespace: str
) -> None:
    table = writer.create_table((namespace, "orders"), ROWS.schema)
    table.append(ROWS)
    table.append(ROWS)
    table = writer.load_table((namespace, "orders"))  # the answer to a commit has another metadata location

    [live] = put(connector, f"{namespace}.orders", ICEBERG_TABLE)
    [frozen] = put(connector, f"{namespace}.orders", GC_DISABLED)

    assert (table.metadata_location, table.metadata.current_snapshot_id) == (live.metadata_location, live.snapshot_id)
    assert table.location() == frozen.location


def test_the_log_of_a_commit_stays_as_it_was_when_the_table_moves_on(
    writer: Catalog, connector: IcebergCatalogConnector, namespace: str, properties: dict[str, str]
) -> None:
    table = writer.create_table((namespace, "orders"), ROWS.schema)
    table.append(ROWS)
    head = reference(connector, f"{namespace}.orders")
    before = [entry.commit_id for entry in connector.commit_log(head)]
    table.append(ROWS)

    with IcebergCatalogConnector.from_options({"properties": properties}) as another:
        assert before == [entry.commit_id for entry in another.commit_log(head)]


def test_a_warning_says_that_a_nessie_server_has_a_connector_of_its_own(
    connector: IcebergCatalogConnector, caplog: pytest.LogCaptureFixture
) -> None:
    list(connector.references())

    assert "use the connector 'nessie'" in caplog.text
