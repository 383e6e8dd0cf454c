"""Which stores say that they keep noncurrent versions."""

from __future__ import annotations

import boto3
import pytest
from gcs_in_pages import gcs_in_pages
from moto.server import ThreadedMotoServer
from nessie_gc_iceberg_files import IcebergFileLister

from nessie_gc_core.connectors import SupportsVersioning

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def moto():
    """Properties of an S3 with the buckets ``plain``, ``enabled`` and ``suspended``."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    keys = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=f"http://{host}:{port}", **keys)
    for bucket in ("plain", "enabled", "suspended"):
        client.create_bucket(Bucket=bucket)
        if bucket != "plain":
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": bucket.capitalize()})
    client.close()
    yield {
        "s3.endpoint": f"http://{host}:{port}",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "client.region": "us-east-1",
    }
    server.stop()


@pytest.mark.parametrize(
    ("bucket", "expected"), [("plain", False), ("enabled", True), ("suspended", True), ("missing", None)]
)
def test_s3_says_whether_a_deletion_leaves_a_version(moto, bucket, expected):
    with IcebergFileLister.from_options({"properties": moto}) as lister:
        assert isinstance(lister, SupportsVersioning)
        assert expected is lister.keeps_versions(f"s3://{bucket}/t/")


def test_gcs_says_it_too(gcs_server):
    anonymous = {"gcs.oauth2.token": "anon"}
    with gcs_in_pages([], page=3) as endpoint:
        options = {"properties": {"gcs.service.host": endpoint, **anonymous}}
        with IcebergFileLister.from_options(options) as lister:
            assert lister.keeps_versions("gs://lake/t/") is True
            assert lister.keeps_versions("gs://forbidden/t/") is None
    with IcebergFileLister.from_options({"properties": gcs_server.properties}) as lister:
        assert lister.keeps_versions("gs://lake/t/") is False


@pytest.mark.parametrize("location", ["file:///t/", "/t/", "abfss://c@account.nowhere.example/t/", "no-slash"])
def test_what_cannot_be_asked_says_nothing(location):
    with IcebergFileLister.from_options({"properties": {"adls.account-key": "a2V5"}}) as lister:
        assert lister.keeps_versions(location) is None
