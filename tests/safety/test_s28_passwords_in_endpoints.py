"""S28: a password in the address of a store, of a proxy or of whatever else is a URL is never shown."""

from __future__ import annotations

import socket

import pytest
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister

from nessie_gc_core.connectors import Connector
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.text import one_line, without_passwords

SECRET = "qzxsecret"
SPELLINGS = [
    f"https://me:{SECRET}@s3.invalid",
    f"HTTPS://me:{SECRET}@s3.invalid:9000/",
    f"https://:{SECRET}@s3.invalid",
    f"https://{SECRET}@s3.invalid",
    f"me:{SECRET}@s3.invalid",
    f"https://me:{SECRET}/x@s3.invalid",
    f"https://me:1/{SECRET}@s3.invalid",
    f"https://me:{SECRET}@x@s3.invalid",
    f"https://me:{SECRET}%40s3.invalid",
    f"//me:{SECRET}@s3.invalid",
]
NAMES = ["s3.endpoint", "gcs.service.host", "oss.endpoint", "adls.dfs-storage-authority"]


@pytest.fixture
def closed_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port: int = unused.getsockname()[1]
        return port


@pytest.mark.parametrize("endpoint", SPELLINGS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("connector", [IcebergFileLister, IcebergFileDeleter, IcebergContentToFiles])
def test_s28_an_endpoint_with_a_password_is_refused_without_it(
    connector: type[Connector], name: str, endpoint: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"the property '{name}' contains credentials") as caught:
        connector.from_options({"properties": {name: endpoint}})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("endpoint", SPELLINGS)
@pytest.mark.parametrize("name", [*NAMES, "glue.endpoint", "dynamodb.endpoint"])
def test_s28_so_is_that_of_a_catalog(name: str, endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the property '{name}' contains credentials") as caught:
        IcebergCatalogConnector.from_options({"uri": "http://localhost", "properties": {name: endpoint}})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("endpoint", ["https://s3.eu-west-1.amazonaws.com", "http://localhost:9000", "minio:9000"])
def test_s28_an_endpoint_without_one_is_taken(endpoint: str) -> None:
    with IcebergFileLister.from_options({"properties": {"s3.endpoint": endpoint}}):
        pass


def test_s28_the_password_of_a_proxy_is_not_in_the_problem_of_a_listing(closed_port: int) -> None:
    properties = {
        "s3.endpoint": "http://s3.invalid",
        "s3.proxy-uri": f"http://me:{SECRET}@127.0.0.1:{closed_port}",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "s3.retry.num-retries": "0",
    }
    with IcebergFileLister.from_options({"properties": properties}) as lister, pytest.raises(NessieGcError) as caught:
        list(lister.list_files("s3://lake/t/"))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("name", ["oauth2-server-uri", "s3.proxy-uri", "sts.uri"])
@pytest.mark.parametrize("url", ["http://me:{}@127.0.0.1:{}/x", "me:{}@127.0.0.1:{}"])
def test_s28_the_password_of_any_url_of_a_catalog_is_not_in_its_errors(name: str, url: str, closed_port: int) -> None:
    properties = {name: url.format(SECRET, closed_port), "credential": "a:b"}
    options: dict[str, OptionValue] = {
        "uri": f"http://127.0.0.1:{closed_port}",
        "type": "rest",
        "retries": 0,
        "properties": properties,
    }
    with IcebergCatalogConnector.from_options(options) as connector, pytest.raises(NessieGcError) as caught:
        list(connector.references())
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Could not connect to "https://me:p@s3.invalid/b"', 'Could not connect to "https://***@s3.invalid/b"'),
        ("https://me:a/b?c#d@e@h/b: no", "https://***@h/b: no"),
        ("https://:p@h", "https://***@h"),
        ("http://h:9000/a@b failed", "http://h:9000/a@b failed"),
        ("http://h:9000 and http://me:p@g", "http://h:9000 and http://***@g"),
        ("abfss://container@account.dfs.core.windows.net/x", "abfss://container@account.dfs.core.windows.net/x"),
        ("sftp://me@host/x", "sftp://me@host/x"),
        ("s3://lake/a:b@c", "s3://lake/a:b@c"),
    ],
)
def test_s28_a_message_is_shown_without_the_passwords_in_it(text: str, expected: str) -> None:
    assert expected == without_passwords(text)
    assert expected == one_line(ValueError(text))
