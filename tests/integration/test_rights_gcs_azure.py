"""The roles for Google Cloud Storage and Azure have exactly the rights that the requests need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import pytest
import requests
from azure.storage.blob import BlobServiceClient
from cloud_roles import FSSPEC, RIGHTS, role, shared_access
from gcs_versions import gcs_with_versions
from noted_requests import Asked, recording
from pyiceberg.catalog import load_catalog
from rights_lake import (
    Bucket,
    RightsLake,
    autotag,
    delete_unreferenced,
    expire_on_nessie,
    expire_snapshots,
    find,
    identify,
    mark,
    nessie_of,
    quarantined,
    sweep,
)
from rights_of_requests import azure_rights, gcs_rights

from nessie_gc_core.testing.servers import AzureServer, GcsServer, running

pytestmark = pytest.mark.server
ON_SPARK = "write"
"""The use that only `test_rights_on_spark.py` tests."""


def uses(url: str) -> dict[str, Callable[[RightsLake], None]]:
    """What is done with a bucket."""
    return {
        "mark": mark,
        "find": find,
        "sweep": sweep,
        "quarantine-folder": partial(quarantined, use="quarantine-folder", place=f"{url}/held/"),
        "identify": identify,
        "delete-unreferenced": delete_unreferenced,
        "expire-snapshots": expire_snapshots,
        "expire-on-nessie": expire_on_nessie,
        "autotag": autotag,
    }


def noncurrent_versions(lake: RightsLake) -> None:
    assert 2 == lake.collect("noncurrent-versions", "--noncurrent-versions", "delete")["deleted"]["files"]


GCS, AZURE = uses("gs://lake"), uses("abfs://lake")
GCS_VERSIONS: dict[str, Callable[[RightsLake], None]] = {
    "quarantine-versions": partial(quarantined, use="quarantine-versions", place="versions:gs://versions/"),
    "noncurrent-versions": noncurrent_versions,
}


@pytest.fixture(scope="module")
def without_grpc() -> Iterator[None]:
    """Else gcsfs waits for a service of Google's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
        yield


@pytest.fixture(scope="module")
def gcs(
    request: pytest.FixtureRequest, without_grpc: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RightsLake]:
    folder = tmp_path_factory.mktemp("gcs")
    with running(GcsServer) as server, recording(server.endpoint) as record, requests.Session() as session:
        objects = f"{server.endpoint}/upload/storage/v1/b/lake/o"

        def put(key: str, data: bytes) -> None:
            session.post(objects, params={"uploadType": "media", "name": key}, data=data, timeout=30).raise_for_status()

        def delete(key: str) -> None:
            url = f"{server.endpoint}/storage/v1/b/lake/o/{key.replace('/', '%2F')}"
            session.delete(url, timeout=30).raise_for_status()

        properties = {**server.properties, **FSSPEC, "gcs.project-id": "none"}
        uri = f"sqlite:///{folder}/catalog.db"
        with load_catalog("prod", type="sql", uri=uri, warehouse="gs://lake/warehouse", **properties) as catalog:
            bucket = Bucket(url="gs://lake", put=put, delete=delete)
            lake = RightsLake(folder=folder, bucket=bucket, catalog=catalog, record=record, nessie=nessie_of(request))
            lake.write(*GCS)
            lake.log_in({**properties, "gcs.service.host": record.endpoint})
            yield lake


@pytest.fixture(scope="module")
def versions(
    request: pytest.FixtureRequest, without_grpc: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RightsLake]:
    folder = tmp_path_factory.mktemp("versions")
    with gcs_with_versions().versioned_gcs() as server, recording(server.endpoint) as record:
        properties = {**server.properties, **FSSPEC, "gcs.project-id": "none"}
        uri = f"sqlite:///{folder}/catalog.db"
        with load_catalog("prod", type="sql", uri=uri, warehouse="gs://versions/warehouse", **properties) as catalog:
            bucket = Bucket(url="gs://versions", put=server.put, delete=server.kept.pop)
            lake = RightsLake(folder=folder, bucket=bucket, catalog=catalog, record=record, nessie=nessie_of(request))
            lake.write(*GCS_VERSIONS)
            lake.log_in({**properties, "gcs.service.host": record.endpoint})
            yield lake


@pytest.fixture(scope="module")
def azure(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RightsLake]:
    folder = tmp_path_factory.mktemp("azure")
    with (
        running(AzureServer) as server,
        recording(f"http://127.0.0.1:{server.port}") as record,
        BlobServiceClient.from_connection_string(server.connection_string) as client,
        client.create_container("lake") as container,
    ):
        properties = {**server.properties, **FSSPEC}
        uri = f"sqlite:///{folder}/catalog.db"
        with load_catalog("prod", type="sql", uri=uri, warehouse="abfs://lake/warehouse", **properties) as catalog:
            bucket = Bucket(
                url="abfs://lake",
                put=lambda key, data: container.upload_blob(key, data, overwrite=True),
                delete=container.delete_blob,
            )
            lake = RightsLake(folder=folder, bucket=bucket, catalog=catalog, record=record, nessie=nessie_of(request))
            lake.write(*AZURE)
            yield lake


def requested(lake: RightsLake, use: Callable[[RightsLake], None]) -> Sequence[Asked]:
    lake.record.take()
    use(lake)
    return lake.record.take()


@pytest.mark.thorough(use="mark")
@pytest.mark.thorough(use="find")
@pytest.mark.thorough(use="identify")
@pytest.mark.thorough(use="delete-unreferenced")
@pytest.mark.thorough(use="expire-snapshots")
@pytest.mark.thorough(use="expire-on-nessie")
@pytest.mark.thorough(use="autotag")
@pytest.mark.parametrize("use", GCS)
def test_a_role_of_gcs_has_what_is_asked_for_and_nothing_else(gcs: RightsLake, use: str) -> None:
    assert set(role("gcs", use)["includedPermissions"]) == gcs_rights(requested(gcs, GCS[use]))


@pytest.mark.thorough
@pytest.mark.parametrize("use", GCS_VERSIONS)
def test_a_role_of_gcs_for_versions_has_what_is_asked_for_and_nothing_else(versions: RightsLake, use: str) -> None:
    assert set(role("gcs", use)["includedPermissions"]) == gcs_rights(requested(versions, GCS_VERSIONS[use]))


def signed_access(lake: RightsLake, actions: Sequence[str]) -> dict[str, str]:
    """Properties of an account that may do this and no more."""
    endpoint = f"{lake.record.endpoint}/{AzureServer.account}"
    connection = f"BlobEndpoint={endpoint};SharedAccessSignature={shared_access(actions)}"
    return {**FSSPEC, "adls.connection-string": connection}


@pytest.mark.thorough(use="mark")
@pytest.mark.thorough(use="find")
@pytest.mark.thorough(use="identify")
@pytest.mark.thorough(use="delete-unreferenced")
@pytest.mark.thorough(use="expire-snapshots")
@pytest.mark.thorough(use="expire-on-nessie")
@pytest.mark.thorough(use="autotag")
@pytest.mark.parametrize("use", AZURE)
def test_a_role_of_azure_allows_the_work_and_has_nothing_else(azure: RightsLake, use: str) -> None:
    actions = role("azure", use)["DataActions"]
    azure.log_in(signed_access(azure, actions))
    assert set(actions) == azure_rights(requested(azure, AZURE[use]))


def test_every_role_is_tested() -> None:
    found = {store: {path.stem for path in (RIGHTS / store).glob("*.json")} for store in ("gcs", "azure")}
    assert {"gcs": {*GCS, *GCS_VERSIONS, ON_SPARK}, "azure": {*AZURE, ON_SPARK}} == found
