"""S28: our credentials go to hosts that the configuration names, never to one that a table or an answer names."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest
from conftest import Lake, Open
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.guarded_io import GuardedFileIO
from nessie_gc_iceberg_catalog.storage_access import storage_properties
from reading import names, put
from rest_server import RestServer

from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model import UNKNOWN_CONTENT, Reference, ReferenceKind
from nessie_gc_core.model.options import OptionValue

OURS = {"s3.access-key-id": "our-key", "s3.secret-access-key": "our-secret", "s3.endpoint": "http://127.0.0.1:1"}
THEIRS = {"s3.access-key-id": "their-key", "s3.secret-access-key": "their-secret"}


@pytest.fixture
def evil() -> Iterator[tuple[str, list[object]]]:
    """The address of a host that nobody configured, and the connections that arrive there."""
    arrived: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, address = server.accept()
                    arrived.append(address)
                    connection.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", arrived
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def earlier_state(lake: Lake, server: RestServer) -> None:
    """Reads a state of a table from its metadata file, with what the server says of its storage."""
    options: dict[str, OptionValue] = {
        "uri": server.uri,
        "retries": 0,
        "properties": {**OURS, "s3.connect-timeout": "1"},
    }
    state = Reference(name="sales.orders", kind=ReferenceKind.BRANCH, commit_id="s3://lake/1.metadata.json#17")
    with IcebergCatalogConnector.from_options(options) as connector:
        list(connector.commit_log(state))


@pytest.mark.parametrize("said", [{}, {"s3.access-key-id": "half"}])
def test_s28_an_endpoint_of_an_answer_never_gets_our_credentials(
    lake: Lake, evil: tuple[str, list[object]], said: dict[str, str]
) -> None:
    lake.table("sales.orders", appends=1)
    with RestServer(lake.catalog).running() as server:
        server.config = {"s3.endpoint": evil[0], **said}
        with pytest.raises(ConfigurationError, match=r"s3\.endpoint") as caught:
            earlier_state(lake, server)
    assert evil[1] == []
    assert "our-secret" not in str(caught.value)


def test_s28_an_endpoint_of_a_table_property_is_not_asked(lake: Lake, evil: tuple[str, list[object]]) -> None:
    lake.table("sales.orders")
    with RestServer(lake.catalog).running() as server, pytest.raises(NessieGcError) as caught:
        server.properties = {"s3.endpoint": evil[0], **THEIRS, "py-io-impl": "nowhere.NoFileIO"}
        earlier_state(lake, server)
    assert "nowhere" not in str(caught.value)
    assert evil[1] == []


def test_s28_an_endpoint_with_its_own_credentials_is_asked(lake: Lake, evil: tuple[str, list[object]]) -> None:
    lake.table("sales.orders", appends=1)
    with RestServer(lake.catalog).running() as server:
        server.config = {"s3.endpoint": evil[0], "s3.region": "eu-central-1", **THEIRS}
        with pytest.raises(NessieGcError):
            earlier_state(lake, server)
    assert evil[1] != []


@pytest.mark.parametrize(
    "location",
    ["abfss://c@ouraccount.dfs.evil.example/t/1.metadata.json", "hdfs://evil.example/t/1.metadata.json"],
)
def test_s28_a_metadata_location_at_such_a_host_is_frozen_and_not_read(
    lake: Lake, connect: Open, location: str
) -> None:
    lake.table("sales.orders")
    lake.table("sales.whole", appends=1)
    lake.execute("UPDATE iceberg_tables SET metadata_location = ? WHERE table_name = 'orders'", location)
    connector = connect(properties={"adls.sas-token": "our-secret"})
    assert ["sales.orders", "sales.whole"] == names(connector)
    assert UNKNOWN_CONTENT in {version.content_type for version in put(connector, "sales.orders")}
    with pytest.raises(ConfigurationError, match=r"evil\.example") as caught:
        GuardedFileIO({"adls.sas-token": "our-secret"}).new_input(location)
    assert "our-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        {"s3.endpoint": "http://127.0.0.1:1/", "s3.session-token": "new"},
        {"s3.endpoint": "https://s3.eu-central-1.amazonaws.com", "s3.session-token": "new"},
        {"s3.signer": "S3V4RestSigner", "s3.signer.uri": "http://catalog/sign", "s3.session-token": "new"},
    ],
)
def test_s28_what_leads_to_a_host_of_the_configuration_or_the_cloud_is_taken(said: dict[str, str]) -> None:
    configured = {**OURS, "uri": "http://catalog/api"}
    assert {**configured, **said} == storage_properties(configured, said)


def test_s28_a_foreign_endpoint_has_its_own_credentials_and_none_of_ours() -> None:
    configured = {**OURS, "client.region": "eu", "s3.session-token": "our-token", "adls.sas-token": "a", "uri": "u"}
    said = {"s3.endpoint": "http://other", **THEIRS, "py-io-impl": "x.Y", "token": "t"}
    expected = {"s3.endpoint": "http://other", **THEIRS, "adls.sas-token": "a", "uri": "u"}
    assert expected == storage_properties(configured, said)


@pytest.mark.parametrize(
    "said",
    [
        {"s3.endpoint": "http://other"},
        {"s3.endpoint": "https://s3.evil.amazonaws.com"},
        {"s3.endpoint": "https://s3-x.eu-central-1.elb.amazonaws.com"},
        {"s3.proxy-uri": "http://other"},
        {"s3.signer": "S3V4RestSigner", "s3.signer.uri": "http://other/api", **THEIRS},
        {"gcs.service.host": "http://other"},
        {"adls.account-host": "other"},
        {"adls.account-host": "other", "adls.account-name": "x"},
        {"hdfs.host": "other"},
    ],
)
def test_s28_a_foreign_host_without_credentials_is_refused(said: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match="only to configured hosts"):
        storage_properties({**OURS, "uri": "http://catalog/api"}, said)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scheme", ["foo", "cosn", "obs", "ofs", "sftp"])
def test_a_scheme_that_pyiceberg_does_not_read_is_named_whatever_hosts_are_trusted(scheme: str) -> None:
    for configured in ({}, {"nessie-gc.trusted-hosts": "bucket"}):
        with pytest.raises(ConfigurationError, match=f"no FileIO reads the scheme '{scheme}': set the property py-io-"):
            GuardedFileIO(configured).new_input(f"{scheme}://bucket/t/1.metadata.json")


def test_a_file_io_of_the_users_own_reads_any_scheme_of_trusted_hosts() -> None:
    configured = {"py-io-impl": "no.such.FileIO"}
    with pytest.raises(ConfigurationError, match="'bucket' is neither a host of the cloud nor in the configuration"):
        GuardedFileIO(configured).new_input("foo://bucket/t/1.metadata.json")
    with pytest.raises(ValueError, match="Could not initialize FileIO"):
        GuardedFileIO({**configured, "nessie-gc.trusted-hosts": "bucket"}).new_input("foo://bucket/t/1.metadata.json")
