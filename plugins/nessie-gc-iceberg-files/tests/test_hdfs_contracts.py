"""The conformance kit on a real HDFS cluster, through WebHDFS."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hdfs_store import USER, HdfsFiles
from test_contracts import OnAStore, ReaderOnAStore

from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.paths import ODD_PATHS

pytestmark = [pytest.mark.server, pytest.mark.thorough]


@pytest.fixture(scope="module")
def hdfs(hdfs_server):
    host, _, port = hdfs_server.http_address.partition(":")
    arguments = {"host": host, "port": int(port), "user": USER}
    files = HdfsFiles(hdfs_server)
    yield SimpleNamespace(
        files=files,
        properties={"fsspec.webhdfs": json.dumps(arguments)},
        root=f"webhdfs://{host}:{port}/",
        put=files.put,
        get=files.read,
        keys=files.keys,
        put_directory=files.put_directory,
        has_directory=files.is_directory,
        name_of_directory=str,
        odd_paths=[path for path in ODD_PATHS if ":" not in path],  # HDFS has no colons in names
    )
    files.close()


class OnHdfs(OnAStore):
    @pytest.fixture
    def many(self):
        return 100  # the answer of WebHDFS has no pages, and it writes slowly

    @pytest.fixture
    def store(self, hdfs):
        return hdfs

    @pytest.fixture
    def has_clock(self):
        return NotPossible("fsspec has no clock")

    @pytest.fixture
    def put_link(self, store):
        def put(location, path, target):
            store.files.put_link((location + path)[len(store.root) :], f"/{target[len(store.root) :].rstrip('/')}")

        return put

    @pytest.fixture
    def unlistable(self, store):
        """A location with a folder that only the superuser may read."""

        def make(location):
            folder = location[len(store.root) :]
            store.put(f"{folder}a/file", b"x")
            store.put_directory(f"{folder}a/b")
            store.files.forbid(f"{folder}a/b")
            return location

        return make

    @pytest.fixture
    def undeletable(self, store):
        def make(location):
            store.put_directory(f"{location[len(store.root) :]}m-directory")
            return "m-directory"

        return make


class TestListerOnHdfs(OnHdfs, FileListerContract):
    pass


class TestDeleterOnHdfs(OnHdfs, FileDeleterContract):
    pass


class TestReaderOnHdfs(OnHdfs, ReaderOnAStore):
    pass
