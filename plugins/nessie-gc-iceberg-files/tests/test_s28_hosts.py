"""S28: credentials go to hosts that the configuration or the cloud names, never to one that data names."""

from __future__ import annotations

import socket

import pytest
from evil_host import evil_host
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister

from nessie_gc_core.errors import ConfigurationError, MissingFileError, UnreadableFileError
from nessie_gc_core.model.files import FileReference

SECRETS = {
    "adls.sas-token": "sv=2026-01-01&sig=our-secret",
    "adls.account-name": "ouraccount",
    "gcs.oauth2.token": "our-secret",
    "s3.access-key-id": "our-key",
    "s3.secret-access-key": "our-secret",
    "s3.session-token": "our-secret",
    "client.region": "eu-central-1",
}
OURS_IN_NAME_ONLY = [
    "abfss://c@ouraccount.dfs.evil.example/t/",
    "abfs://c@ouraccount.evil.example/t/",
    "wasbs://c@ouraccount.blob.core.windows.net.evil.example/t/",
    "abfss://c@ouraccount.evil.example/.dfs.core.windows.net/t/",
    "abfss://c@ouraccount.dfs.core.windows.net@ouraccount.evil.example/t/",
    "abfss://c@ouraccount.evil.example#.dfs.core.windows.net/t/",
    "abfss://c@ouraccount.evil.example:443/t/",
    "abfss://c@ouraccount.dfs.core.windows.net:443@evil.example/t/",
    "s3://x@ouraccount.evil.example/t/",
    "s3a://evil.example:443/t/",
    "s3://evil.example#/t/",
    "s3://arn:aws:s3:eu-central-1:123456789012:accesspoint:evil/t/",
    "gs://../t/",
    "gs://x@evil.example:443/t/",
]


@pytest.fixture
def evil(monkeypatch):
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with evil_host(monkeypatch) as host:
        yield host


@pytest.mark.parametrize("location", OURS_IN_NAME_ONLY)
@pytest.mark.parametrize("more", [{}, {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}])
def test_s28_nothing_is_read_from_a_host_that_a_location_names(evil, version_of, location, more):
    with (
        IcebergContentToFiles.from_options({"properties": {**SECRETS, **more}}) as reader,
        pytest.raises(UnreadableFileError) as caught,
    ):
        list(reader.files(version_of(f"{location}metadata/1.metadata.json")))
    assert not isinstance(caught.value, MissingFileError)
    assert "our-secret" not in str(caught.value)
    assert evil.is_untouched


@pytest.mark.parametrize("location", OURS_IN_NAME_ONLY)
def test_s28_nothing_is_listed_there_and_nothing_deleted(evil, location):
    with IcebergFileLister.from_options({"properties": SECRETS}) as lister:
        for ask in (
            lambda: list(lister.list_files(location)),
            lambda: list(lister.split_listing(location, 4)),
            lambda: lister.store_time(location),
        ):
            with pytest.raises(ConfigurationError):
                ask()
        assert lister.keeps_versions(location) is None
    with IcebergFileDeleter.from_options({"properties": SECRETS}) as deleter:
        (outcome,) = deleter.delete_files(location, [FileReference(location=location, path="a")])
    assert "FAILED" == outcome.status
    assert "our-secret" not in outcome.reason
    assert evil.is_untouched


@pytest.mark.parametrize(
    "path",
    [
        "hdfs://namenode.evil.example:8020/t/1.metadata.json",
        "hdfs:/\t/namenode.evil.example/t/1.metadata.json",
        "http://evil.example/1.metadata.json",
        "https://evil.example/1.metadata.json",
        "ftp://evil.example/1.metadata.json",
    ],
)
@pytest.mark.parametrize("file_io", [None, "pyiceberg.io.fsspec.FsspecFileIO", "pyiceberg.io.pyarrow.PyArrowFileIO"])
def test_s28_a_file_io_is_not_asked_for_such_a_host(evil, version_of, path, file_io):
    properties = {**SECRETS, **({"py-io-impl": file_io} if file_io else {})}
    with (
        IcebergContentToFiles.from_options({"properties": properties}) as reader,
        pytest.raises(UnreadableFileError, match=r"neither a host of the cloud nor in the configuration|tab|no FileIO"),
    ):
        list(reader.files(version_of(path)))
    assert evil.is_untouched


def test_what_reaches_the_evil_host_is_seen(evil):
    socket.create_connection(("ouraccount.evil.example", 443), timeout=5).close()
    assert ["ouraccount.evil.example"] == evil.looked_up
    assert not evil.is_untouched
