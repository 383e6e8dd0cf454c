"""What only GCS and ADLS do: accounts, refusals, pages, missing buckets, dates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas
from gcs_in_pages import gcs_in_pages
from iceberg_lake import Table
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.adls_account import account_properties

from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    ListingError,
    MissingFileError,
    UnreadableFileError,
)
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.testing.servers import AzureServer

pytestmark = pytest.mark.server


def paths(files):
    return sorted(file.path for file in files)


@pytest.fixture(scope="module")
def connection_string(azure_server):
    with BlobServiceClient.from_connection_string(azure_server.connection_string) as service:
        service.create_container("lake")
    return azure_server.connection_string


@pytest.fixture
def container(connection_string):
    with BlobServiceClient.from_connection_string(connection_string) as service:
        yield service.get_container_client("lake")


@pytest.fixture
def read_only(connection_string):
    token = generate_container_sas(
        AzureServer.account,
        "lake",
        account_key=AzureServer.key,
        permission=ContainerSasPermissions(read=True, list=True),
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
    endpoint = connection_string.partition("BlobEndpoint=")[2].rstrip(";")
    return {"adls.connection-string": f"BlobEndpoint={endpoint};SharedAccessSignature={token}"}


@pytest.mark.parametrize("scheme", ["abfs", "abfss", "wasb", "wasbs"])
def test_azure_locations_have_several_schemes(connection_string, container, scheme):
    container.upload_blob("schemes/a", b"x", overwrite=True)
    location = f"{scheme}://lake/schemes/"
    with IcebergFileLister.from_options({"properties": {"adls.connection-string": connection_string}}) as lister:
        assert [(location, "a")] == [(file.location, file.path) for file in lister.list_files(location)]


def test_azure_lists_page_by_page(connection_string, container, monkeypatch):
    monkeypatch.setattr("nessie_gc_iceberg_files.adls_store._PAGE", 7)
    expected = sorted(f"p{number % 3}/{number}" for number in range(25))
    for path in expected:
        container.upload_blob(f"pages/{path}", b"", overwrite=True)
    with IcebergFileLister.from_options({"properties": {"adls.connection-string": connection_string}}) as lister:
        assert expected == paths(lister.list_files("abfs://lake/pages/"))


def test_s15_azure_says_of_each_file_that_it_may_not_be_deleted(read_only, container):
    for name in ("a", "b"):
        container.upload_blob(f"denied/{name}", b"x", overwrite=True)
    location = "abfs://lake/denied/"
    with IcebergFileLister.from_options({"properties": read_only}) as lister:
        files = list(lister.list_files(location))
    with IcebergFileDeleter.from_options({"properties": read_only}) as deleter:
        outcomes = list(deleter.delete_files(location, files))
        assert [("a", "FAILED"), ("b", "FAILED")] == sorted((o.path, str(o.status)) for o in outcomes)
        assert all("AuthorizationPermissionMismatch" in outcome.reason for outcome in outcomes)
        assert all(
            outcome.reason.endswith("; grant Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete")
            for outcome in outcomes
        )
        assert all("sig=" not in outcome.reason for outcome in outcomes)
    with IcebergFileLister.from_options({"properties": read_only}) as lister:
        assert files == list(lister.list_files(location))


def test_azure_refuses_a_wrong_key(connection_string):
    wrong = connection_string.replace(AzureServer.key, "d3Jvbmc=")
    with IcebergFileLister.from_options({"properties": {"adls.connection-string": wrong}}) as lister:
        with pytest.raises(AccessDeniedError) as caught:
            list(lister.list_files("abfs://lake/t/"))
        assert "d3Jvbmc=" not in str(caught.value)


def test_a_container_that_does_not_exist_is_no_empty_location_and_no_missing_file(connection_string, version_of):
    options = {"properties": {"adls.connection-string": connection_string}}
    with IcebergFileLister.from_options(options) as lister, pytest.raises(ListingError, match="ContainerNotFound"):
        list(lister.list_files("abfs://none/t/"))
    with IcebergContentToFiles.from_options(options) as reader:
        with pytest.raises(UnreadableFileError) as caught:
            list(reader.files(version_of("abfs://none/1.metadata.json")))
        assert not isinstance(caught.value, MissingFileError)
    with IcebergFileDeleter.from_options(options) as deleter:
        (outcome,) = deleter.delete_files("abfs://none/t/", [FileReference(location="abfs://none/t/", path="a")])
        assert "FAILED" == outcome.status


def test_credentials_of_one_account_are_not_used_for_another(connection_string):
    location = "abfss://lake@other.dfs.core.windows.net/t/"
    options = {"properties": {"adls.connection-string": connection_string}}
    with (
        IcebergFileLister.from_options(options) as lister,
        pytest.raises(ConfigurationError, match="in the account 'other'"),
    ):
        list(lister.list_files(location))


@pytest.mark.parametrize(
    ("host", "properties", "expected"),
    [
        ("", {"adls.account-name": "a"}, {"adls.account-name": "a"}),
        (
            "a.dfs.core.windows.net",
            {"adls.account-key": "k"},
            {
                "adls.account-key": "k",
                "adls.account-name": "a",
                "adls.account-host": "a.blob.core.windows.net",
            },
        ),
        (
            "b.dfs.core.chinacloudapi.cn",
            {"adls.sas-token.a": "1", "adls.sas-token.b": "2", "adls.anon": "false"},
            {
                "adls.sas-token": "2",
                "adls.account-name": "b",
                "adls.account-host": "b.blob.core.chinacloudapi.cn",
            },
        ),
        (
            "a.dfs.core.windows.net",
            {"adls.connection-string.a": "A", "adls.connection-string.b": "B"},
            {"adls.connection-string": "A"},
        ),
        (
            "",
            {"adls.auth.shared-key.account.name": "a"},
            {"adls.auth.shared-key.account.name": "a", "adls.account-name": "a"},
        ),
    ],
)
def test_the_account_comes_from_the_location(host, properties, expected):
    assert expected == account_properties(host, properties)


@pytest.fixture(scope="module")
def gcs(gcs_server):
    return gcs_server.properties


def test_gcs_listings_go_on_page_by_page():
    names = [f"t/data/{number}" for number in range(10)]
    with gcs_in_pages([*names, "t2/x"], page=3) as endpoint:
        options = {"properties": {"gcs.service.host": endpoint, "gcs.oauth2.token": "anon"}}
        with IcebergFileLister.from_options(options) as lister:
            files = list(lister.list_files("gs://lake/t/"))
            assert [name.removeprefix("t/") for name in names] == [file.path for file in files]
            assert {datetime(2026, 1, 2, 3, 4, 5, 678000, UTC)} == {file.modified for file in files}
            assert {1} == {file.size for file in files}
            with pytest.raises(AccessDeniedError, match=r"; grant storage\.objects\.list$"):
                list(lister.list_files("gs://forbidden/t/"))


def test_s5_names_outside_of_the_location_stop_a_listing():
    class Prefixless(list):
        """A store that answers another question than the one that was asked."""

        def __iter__(self):
            return iter([_Loose("other/x")])

    class _Loose(str):
        def startswith(self, *_):
            return True

    with gcs_in_pages(Prefixless(), page=3) as endpoint:
        options = {"properties": {"gcs.service.host": endpoint, "gcs.oauth2.token": "anon"}}
        with IcebergFileLister.from_options(options) as lister, pytest.raises(ListingError, match="outside"):
            list(lister.list_files("gs://lake/t/"))


def test_a_gcs_bucket_that_does_not_exist_is_no_missing_file(gcs, version_of):
    with IcebergFileLister.from_options({"properties": gcs}) as lister, pytest.raises(ListingError, match="bucket"):
        list(lister.list_files("gs://none/t/"))
    with IcebergContentToFiles.from_options({"properties": gcs}) as reader:
        with pytest.raises(MissingFileError):
            list(reader.files(version_of("gs://lake/1.metadata.json")))
        with pytest.raises(UnreadableFileError) as caught:
            list(reader.files(version_of("gs://none/1.metadata.json")))
        assert not isinstance(caught.value, MissingFileError)


@pytest.mark.parametrize("key", [".", ".."])
def test_gcs_keys_that_would_reach_the_bucket_itself_are_refused(gcs, key):
    with IcebergFileDeleter.from_options({"properties": gcs}) as deleter:
        (outcome,) = deleter.delete_files("gs://lake/", [FileReference(location="gs://lake/", path=key)])
        assert "FAILED" == outcome.status
    with IcebergFileLister.from_options({"properties": gcs}) as lister:
        assert [] == list(lister.list_files("gs://lake/t/"))


def test_requester_pays_needs_a_project():
    options = {"properties": {"gcs.requester-pays": "true", "gcs.oauth2.token": "anon"}}
    with (
        IcebergFileLister.from_options(options) as lister,
        pytest.raises(ConfigurationError, match=r"gcs\.project-id"),
    ):
        list(lister.list_files("gs://lake/t/"))


def test_a_packed_table_of_another_version_is_read_by_its_bytes(connection_string, container, version_of):
    container.upload_blob("m/1.metadata.json", Table("abfs://lake/m").bytes(packed=True), overwrite=True)
    options = {"properties": {"adls.connection-string": connection_string}}
    with IcebergContentToFiles.from_options(options) as reader:
        files = list(reader.files(version_of("abfs://lake/m/1.metadata.json")))
        assert ["abfs://lake/m/1.metadata.json"] == [file.path for file in files]
