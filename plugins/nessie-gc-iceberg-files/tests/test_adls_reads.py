"""Blobs of Azure through obstore: who is asked for which, and what obstore is told."""

from __future__ import annotations

import gzip
import logging
from datetime import UTC, datetime, timedelta

import pytest
from azure.core.credentials import AccessToken
from azure.core.exceptions import AzureError
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, ContentSettings, generate_container_sas
from nessie_gc_iceberg_files import IcebergContentToFiles, adls_reads
from nessie_gc_iceberg_files.adls_store import AdlsStore
from nessie_gc_iceberg_files.quick_reads import MOST_IN_VAIN
from obstore.store import AzureStore

from nessie_gc_core.errors import ConfigurationError, MissingFileError, UnreadableFileError
from nessie_gc_core.testing.paths import ODD_PATHS
from nessie_gc_core.testing.servers import AzureServer

SAS = "sv=2026-01-01&sp=rl&sig=s3cr%2Ft%3D"
KEY = "czNjcmV0"
OURS = "lake@ours.dfs.core.windows.net"
CLIENT = {"adls.client-id": "id", "adls.tenant-id": "tenant", "adls.client-secret": "s3cret"}


@pytest.fixture(scope="module")
def connection_string(azure_server):
    with BlobServiceClient.from_connection_string(azure_server.connection_string) as service:
        service.create_container("quick")
    return azure_server.connection_string


@pytest.fixture
def container(connection_string):
    with BlobServiceClient.from_connection_string(connection_string) as service:
        yield service.get_container_client("quick")


@pytest.fixture
def endpoint(connection_string):
    return connection_string.partition("BlobEndpoint=")[2].rstrip(";")


class Counted(AdlsStore):
    """Says which blobs the SDK was asked for."""

    def __init__(self, authority, properties):
        super().__init__(authority, properties)
        self.exact = []

    def _read(self, key, limit=None):
        self.exact.append(key)
        return super()._read(key, limit)


@pytest.fixture
def opened(connection_string):
    return lambda **more: Counted("quick", {"adls.connection-string": connection_string, **more})


@pytest.fixture
def told(monkeypatch):
    """What obstore is told when a store is opened."""
    said = []

    def make(container, **more):
        said.append({"container": container, **more})

    monkeypatch.setattr(adls_reads, "AzureStore", make)

    def tell(authority, properties):
        AdlsStore(authority, properties)._reads.read("a")
        return said.pop() if said else None

    return tell


@pytest.mark.server
def test_a_blob_is_read_through_obstore_alone(container, opened):
    blobs = {f"t/{number}": b"%d" % number for number in range(20)}
    for name, data in blobs.items():
        container.upload_blob(name, data, overwrite=True)
    store = opened()
    assert list(blobs.values()) == [store.read(name) for name in blobs]
    assert [] == store.exact


@pytest.mark.server
@pytest.mark.parametrize("key", [path for path in ODD_PATHS if "\\" not in path])
def test_s4_odd_keys_are_read_as_they_are_stored(container, opened, key):
    container.upload_blob(f"odd/{key}", b"here", overwrite=True)
    assert b"here" == opened().read(f"odd/{key}")


@pytest.mark.server
@pytest.mark.parametrize("key", ["a//b", "a/"])
def test_s4_a_key_that_obstore_takes_apart_is_read_by_the_sdk_and_held_against_nobody(container, opened, key):
    container.upload_blob(key, b"here", overwrite=True)
    container.upload_blob("plain", b"there", overwrite=True)
    store = opened()
    assert [b"here"] * MOST_IN_VAIN == [store.read(key) for _ in range(MOST_IN_VAIN)]
    assert b"there" == store.read("plain")
    assert [key] * MOST_IN_VAIN == store.exact


@pytest.mark.server
def test_a_missing_blob_a_missing_container_and_a_refusal_are_told_apart(connection_string, opened, version_of):
    options = {"properties": {"adls.connection-string": connection_string}}
    with IcebergContentToFiles.from_options(options) as reader:
        with pytest.raises(MissingFileError):
            list(reader.files(version_of("abfs://quick/missing.metadata.json")))
        with pytest.raises(UnreadableFileError, match="ContainerNotFound"):
            list(reader.files(version_of("abfs://none/1.metadata.json")))
    wrong = {"properties": {"adls.connection-string": connection_string.replace(AzureServer.key, "d3Jvbmc=")}}
    with (
        IcebergContentToFiles.from_options(wrong) as reader,
        pytest.raises(UnreadableFileError, match="AUTHORIZATION_FAILURE") as caught,
    ):
        list(reader.files(version_of("abfs://quick/missing.metadata.json")))
    assert not isinstance(caught.value, MissingFileError)
    store = opened()
    with pytest.raises(FileNotFoundError):
        store.read("missing")
    assert ["missing"] == store.exact


@pytest.mark.server
def test_a_client_that_never_gets_what_the_sdk_gets_is_asked_no_more(container, opened, monkeypatch):
    container.upload_blob("a", b"here", overwrite=True)
    asked = []

    class Elsewhere:
        def get(self, key):
            asked.append(key)
            raise ValueError("the account is somewhere else")

    monkeypatch.setattr(adls_reads, "AzureStore", lambda *_, **__: Elsewhere())
    store = opened()
    for _ in range(MOST_IN_VAIN + 3):
        assert b"here" == store.read("a")
    assert (MOST_IN_VAIN, MOST_IN_VAIN + 3) == (len(asked), len(store.exact))


@pytest.mark.server
def test_what_is_stored_packed_is_read_by_the_sdk_which_unpacks_it(container, opened):
    packed = ContentSettings(content_encoding="gzip")
    container.upload_blob("packed", gzip.compress(b"here"), content_settings=packed, overwrite=True)
    store = opened()
    assert b"here" == store.read("packed")
    assert ["packed"] == store.exact


@pytest.mark.server
def test_a_shared_access_signature_is_good_for_obstore_too(container, endpoint, monkeypatch):
    container.upload_blob("a", b"here", overwrite=True)
    token = generate_container_sas(
        AzureServer.account,
        "quick",
        account_key=AzureServer.key,
        permission=ContainerSasPermissions(read=True),
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
    monkeypatch.setattr(adls_reads, "_is_theirs", lambda _: True)
    store = Counted("quick", {"adls.connection-string": f"BlobEndpoint={endpoint};SharedAccessSignature={token}"})
    assert b"here" == store.read("a")
    assert [] == store.exact


@pytest.mark.parametrize(
    ("authority", "properties", "account", "endpoint"),
    [
        ("lake", {"adls.account-name": "ours"}, "ours", "https://ours.blob.core.windows.net"),
        (OURS, {}, "ours", "https://ours.blob.core.windows.net"),
        ("lake", {"adls.connection-string": f"BlobEndpoint=http://127.0.0.1:1/ours;AccountName=ours;AccountKey={KEY}"},
         "ours", "http://127.0.0.1:1/ours"),
        ("lake@ours.dfs.core.chinacloudapi.cn", {}, "ours", "https://ours.blob.core.chinacloudapi.cn"),
    ],
)  # fmt: skip
def test_the_address_and_the_account_are_those_of_the_sdk(told, authority, properties, account, endpoint):
    said = told(authority, {"adls.account-key": KEY, **properties})
    assert ("lake", account, endpoint) == (
        said["container"],
        said["config"]["account_name"],
        said["config"]["endpoint"],
    )
    assert {"access_key": KEY, "expires_at": None} == said["credential_provider"]()
    assert (False, False) == (said["config"]["use_emulator"], said["config"]["skip_signature"])
    assert endpoint.startswith("http://") == said["client_options"]["allow_http"]


@pytest.mark.parametrize(
    ("authority", "endpoint"),
    [
        ("space of work@onelake.dfs.fabric.microsoft.com", "https://onelake.blob.fabric.microsoft.com"),
        ("lake@ours.z12.dfs.storage.azure.net", "https://ours.z12.blob.storage.azure.net"),
    ],
)
@pytest.mark.parametrize("properties", [{"adls.sas-token": SAS}, {"adls.token": "s3cret"}])
def test_onelake_and_accounts_with_dns_zones_are_addressed_as_the_sdk_does(told, authority, endpoint, properties):
    said = told(authority, properties)
    assert (endpoint, authority.partition("@")[0]) == (said["config"]["endpoint"], said["container"])
    assert said["credential_provider"]().keys() & {"sas_token", "token"}
    assert not said["config"]["skip_signature"]


@pytest.mark.parametrize("name", ["adls.sas-token", "adls.sas-token.ours", "adls.sas-token.ours.dfs.core.windows.net"])
@pytest.mark.parametrize("mark", ["", "?"])
def test_a_shared_access_signature_is_told_in_its_parts(told, name, mark):
    given = told(OURS, {name: mark + SAS})["credential_provider"]()
    assert {"sas_token": [("sv", "2026-01-01"), ("sp", "rl"), ("sig", "s3cr/t=")], "expires_at": None} == given


@pytest.mark.parametrize("token", ["sv=1&sig=a+b", "sv=1&sig=a%20b"])
def test_a_signature_that_obstore_would_write_otherwise_is_left_to_the_sdk(told, token):
    assert told(OURS, {"adls.sas-token": token}) is None


def test_a_token_of_the_properties_is_told_with_its_end(told):
    given = told(OURS, {"adls.token": "s3cret"})["credential_provider"]()
    assert "s3cret" == given["token"]
    assert timedelta(minutes=50) < given["expires_at"] - datetime.now(UTC) <= timedelta(hours=1)


@pytest.mark.parametrize("properties", [CLIENT, {}])
def test_tokens_of_a_client_and_of_the_environment_are_those_of_the_sdk(told, properties, monkeypatch):
    asked = []

    async def token(self, *scopes, **more):
        asked.append(scopes)
        return AccessToken(f"number {len(asked)}", 1_900_000_000)

    monkeypatch.setenv("AZURE_STORAGE_ANON", "false")  # adlfs before 2026.4 sends none otherwise
    for kind in ("ClientSecretCredential", "DefaultAzureCredential"):
        monkeypatch.setattr(f"azure.identity.aio.{kind}.get_token", token)
    give = told("lake@byclient.dfs.core.windows.net", properties)["credential_provider"]
    ends = datetime.fromtimestamp(1_900_000_000, UTC)
    assert [{"token": f"number {n}", "expires_at": ends} for n in (1, 2)] == [give(), give()]
    assert [("https://storage.azure.com/.default",)] * 2 == asked


def test_whoever_has_no_credentials_sends_none(told):
    said = told(OURS, {"adls.anon": "true"})
    assert said["config"]["skip_signature"]
    with pytest.raises(ConfigurationError):
        said["credential_provider"]()


def test_a_key_goes_before_a_signature_as_it_does_for_the_sdk(told):
    given = told(OURS, {"adls.account-key": KEY, "adls.sas-token": SAS})["credential_provider"]()
    assert KEY == given["access_key"]


def test_a_key_and_a_signature_at_once_are_left_to_the_sdk(told):
    both = f"BlobEndpoint=https://ours.blob.core.windows.net/?{SAS};AccountName=ours;AccountKey={KEY}"
    assert told("lake", {"adls.connection-string": both}) is None


def test_a_password_in_an_address_is_left_to_the_sdk(told):
    address = "BlobEndpoint=https://user:s3cret@storage.example.com"
    assert told("lake", {"adls.connection-string": f"{address};AccountName=ours;AccountKey={KEY}"}) is None


def test_times_and_retries_are_those_of_the_sdk(told):
    said = told(OURS, {"adls.account-key": KEY})
    store = AdlsStore(OURS, {"adls.account-key": KEY})
    config = store._fs.service_client._config
    transport = store._fs.service_client._pipeline._transport.connection_config
    options = said["client_options"]
    assert (transport.timeout, transport.read_timeout) == (
        options["connect_timeout"].total_seconds(),
        options["read_timeout"].total_seconds(),
    )
    assert {"max_retries": config.retry_policy.total_retries} == said["retry_config"]


def test_a_wrong_configuration_is_an_error_before_anything_is_read():
    for properties in ({"adls.connection-string": "nonsense"}, {"adls.account-name": "other"}):
        with pytest.raises(ConfigurationError):
            AdlsStore(OURS, properties)


@pytest.mark.server
def test_nothing_that_is_kept_or_logged_has_a_secret(endpoint, caplog, monkeypatch):
    monkeypatch.setattr(adls_reads, "_is_theirs", lambda _: True)
    for secret, given in (
        (KEY, f"AccountName={AzureServer.account};AccountKey={KEY}"),
        ("s3cr", f"SharedAccessSignature={SAS}"),
    ):
        store = AdlsStore("quick", {"adls.connection-string": f"BlobEndpoint={endpoint};{given}"})
        with caplog.at_level(logging.DEBUG, "nessie_gc_iceberg_files"), pytest.raises((OSError, AzureError)) as caught:
            store.read("a")
        made = store._reads._store
        assert isinstance(made, AzureStore)
        kept = [caplog.text, str(caught.value), repr(made), repr(made.config), repr(made.credential_provider)]
        assert all(secret not in text for text in kept)
        assert "UnauthenticatedError" in caplog.text or "PermissionDeniedError" in caplog.text
        caplog.clear()
