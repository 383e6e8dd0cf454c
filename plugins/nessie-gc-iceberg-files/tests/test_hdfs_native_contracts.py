"""The conformance kit on a real HDFS cluster, through pyarrow and Hadoop's native client."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest
from hdfs_store import USER, HdfsFiles
from nessie_gc_iceberg_files import IcebergFileDeleter, IcebergFileLister
from test_hdfs_contracts import OnHdfs

from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.files import DeleteStatus, FileReference
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.paths import ODD_PATHS
from nessie_gc_core.testing.servers import skip_or_fail
from nessie_gc_core.testing.servers.libhdfs import libhdfs_environment

pytestmark = [pytest.mark.server, pytest.mark.thorough]
EMOJI = "\U0001f600"


@pytest.fixture(scope="module")
def native(hdfs_server, tmp_path_factory):
    """The cluster for clients in this process, whose Java starts once and reads the environment then."""
    configuration = hdfs_server.write_configuration(tmp_path_factory.mktemp("hadoop") / "conf")
    with skip_or_fail():
        environment = libhdfs_environment(configuration)
    with pytest.MonkeyPatch.context() as patched:
        for name, value in environment.items():
            patched.setenv(name, value)
        yield hdfs_server


def store_of(server, scheme="hdfs", **arguments):
    files = HdfsFiles(server)
    host, _, port = server.rpc_address.partition(":")
    given = {"user": USER, **(arguments or {"host": host, "port": int(port)})}
    return SimpleNamespace(
        files=files,
        properties={f"fsspec.{scheme}": json.dumps(given)},
        root=f"{scheme}://{server.rpc_address}/",
        put=files.put,
        get=files.read,
        keys=files.keys,
        put_directory=files.put_directory,
        has_directory=files.is_directory,
        name_of_directory=str,
        # HDFS has no colons in names, and its native client no characters beyond the first 65,536.
        odd_paths=[path for path in ODD_PATHS if ":" not in path and max(path) < "\U00010000"],
    )


@pytest.fixture(scope="module")
def hdfs(native):
    store = store_of(native)
    yield store
    store.files.close()


class OnNativeHdfs(OnHdfs):
    @pytest.fixture
    def put_link(self):
        return NotPossible("Hadoop's client resolves no links, and clusters refuse to make any")


class TestListerOnNativeHdfs(OnNativeHdfs, FileListerContract):
    pass


class TestDeleterOnNativeHdfs(OnNativeHdfs, FileDeleterContract):
    pass


def listed(store, location):
    with IcebergFileLister.from_options({"properties": store.properties}) as lister:
        return [file.path for file in lister.list_files(location)]


def outcome(store, location, path):
    file = FileReference(location=location, path=path, size=1)
    with IcebergFileDeleter.from_options({"properties": store.properties}) as deleter:
        (found,) = deleter.delete_files(location, [file])
        return found


def test_s03_a_location_cannot_begin_with_fsspecs_other_name_of_the_client(native):
    store = store_of(native, "arrow_hdfs")
    store.put("arrow/a", b"x")
    location = f"{store.root}arrow/"
    with pytest.raises(ListingError, match="has no scheme"):
        listed(store, location)
    assert DeleteStatus.FAILED is outcome(store, location, "a").status
    assert ["arrow/a"] == store.keys("arrow/")
    store.files.close()


def test_the_client_reads_hadoops_configuration_files(native):
    assert "CLASSPATH" in os.environ
    store = store_of(native, host="default")  # `fs.defaultFS` of core-site.xml
    store.put("configured/a", b"x")
    assert ["a"] == listed(store, "hdfs:///configured/")
    assert DeleteStatus.DELETED is outcome(store, "hdfs:///configured/", "a").status
    assert [] == store.keys("configured/")
    store.files.close()


def test_s04_a_name_that_the_client_cannot_say_stops_its_location_and_is_not_called_gone(hdfs):
    hdfs.put(f"odd/{EMOJI}", b"x")
    with pytest.raises(ListingError):
        listed(hdfs, f"{hdfs.root}odd/")
    said = outcome(hdfs, f"{hdfs.root}odd/", EMOJI)
    assert (DeleteStatus.FAILED, True) == (said.status, "native client" in said.reason)
    assert [f"odd/{EMOJI}"] == hdfs.keys("odd/")
