"""A scheme that nobody reads is named, with what to do; hosts and locations that are allowed are not the cause."""

from __future__ import annotations

import sys

import pytest
from nessie_gc_iceberg_files import IcebergContentToFiles

from nessie_gc_core.errors import UnreadableFileError


def refusal(version_of, location: str, properties: dict[str, str]) -> str:
    with IcebergContentToFiles.from_options({"properties": properties}) as reader:
        with pytest.raises(UnreadableFileError) as caught:
            list(reader.files(version_of(f"{location}/t/metadata/1.metadata.json")))
        return str(caught.value)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "location",
    ["foo://bucket", "cosn://bucket", "obs://bucket", "ofs://om/volume", "o3fs://b.v.om", "dbfs:/lake", "x:///lake"],
)
@pytest.mark.parametrize("more", [{}, {"nessie-gc.trusted-hosts": "bucket,om,b.v.om"}])
def test_a_scheme_that_no_file_io_reads_is_named(version_of, location, more):
    scheme = location.partition(":")[0]
    said = refusal(version_of, location, more)
    assert f"no FileIO reads the scheme {scheme!r}: set the property py-io-impl to one that does" in said
    assert f"install a plugin that lists {scheme!r} locations" in said
    assert "trusted-hosts" not in said


def test_a_file_io_of_the_users_own_is_asked_for_any_scheme_where_it_trusts_the_host(version_of):
    said = refusal(version_of, "foo://bucket", {"py-io-impl": "forgetful_file_io.ForgetfulFileIO"})
    assert "'bucket' is neither a host of the cloud nor in the configuration" in said


def test_hosts_of_a_scheme_that_pyiceberg_reads_are_still_named(version_of):
    said = refusal(version_of, "viewfs://cluster", {})
    assert "'cluster' is neither a host of the cloud nor in the configuration" in said


def test_oss_is_not_looked_for_on_the_servers_of_another_cloud(version_of, monkeypatch):
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    said = refusal(version_of, "oss://bucket", {})
    assert "oss locations are read by the protocol of S3: set the property s3.endpoint" in said


def test_a_library_that_is_missing_is_named(version_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    said = refusal(version_of, "hf://datasets/lake", {})
    assert said.endswith("the library huggingface_hub is missing: install it")
