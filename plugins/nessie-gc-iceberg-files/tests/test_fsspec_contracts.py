"""The conformance kit through fsspec: SFTP, a server without threads, a bucket with async calls, s3fs, gcsfs, adlfs."""

from __future__ import annotations

import json
from types import SimpleNamespace

import fsspec
import pytest
from sftp_server import PASSWORD, sftp_server
from stores_of_fsspec import AsyncBucket, DiskServer
from test_contracts import OnAStore, OnAzure, OnGcs, OnMoto, ReaderOnAStore, azure, gcs, in_folder, moto

from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.paths import ODD_PATHS

__all__ = ["azure", "gcs", "moto"]  # fixtures
WITHOUT_CLOCK = NotPossible("fsspec has no clock")


def through_fsspec(store, name):
    return SimpleNamespace(**{**vars(store), "properties": {**store.properties, name: "fsspec"}})


class OnAServer(OnAStore):
    @pytest.fixture
    def has_clock(self):
        return WITHOUT_CLOCK

    @pytest.fixture
    def put_link(self, store):
        def put(location, path, target):
            link = store.folder / (location + path)[len(store.root) :]
            link.symlink_to(store.folder / target[len(store.root) :].rstrip("/"), target_is_directory=True)

        return put

    @pytest.fixture
    def unlistable(self, store):
        def make(location):
            folder = "/" + location[len(store.root) :] + "a/b"
            (store.folder / folder[1:]).mkdir(parents=True)
            store.broken.add(folder)
            return location

        return make

    @pytest.fixture
    def undeletable(self, store):
        def make(location):
            (store.folder / location[len(store.root) :] / "m-directory").mkdir(parents=True)
            return "m-directory"

        return make


class OnSftp(OnAServer):
    @pytest.fixture
    def store(self, tmp_path):
        root = tmp_path / "root"
        root.mkdir()
        with sftp_server(root) as server:
            arguments = {
                "host": "127.0.0.1",
                "port": server.port,
                "username": "gc",
                "password": PASSWORD,
                "known_hosts": str(server.known_hosts(tmp_path)),
            }
            properties = {"fsspec.sftp": json.dumps(arguments)}
            yield in_folder(root, properties, f"sftp://127.0.0.1:{server.port}/", broken=server.broken)


class TestListerOnSftp(OnSftp, FileListerContract):
    pass


class TestDeleterOnSftp(OnSftp, FileDeleterContract):
    pass


class TestReaderOnSftp(OnSftp, ReaderOnAStore):
    pass


class OnDiskServer(OnAServer):
    """A file system that may not be used by two threads at once, and whose links are only left alone."""

    @pytest.fixture
    def store(self, tmp_path):
        fsspec.register_implementation("hdfs", DiskServer, clobber=True)
        properties = {"fsspec.hdfs": json.dumps({"host": "files", "folder": str(tmp_path)})}
        yield in_folder(tmp_path, properties, "hdfs://files/", broken=DiskServer.broken)
        DiskServer.broken.clear()


class TestListerOnDiskServer(OnDiskServer, FileListerContract):
    pass


class TestDeleterOnDiskServer(OnDiskServer, FileDeleterContract):
    pass


class TestReaderOnDiskServer(OnDiskServer, ReaderOnAStore):
    pass


class OnAsyncBucket(OnAStore):
    @pytest.fixture
    def store(self):
        fsspec.register_implementation("oss", AsyncBucket, clobber=True)
        held = AsyncBucket.buckets["lake"] = {}
        return SimpleNamespace(
            properties={"fsspec.oss": "{}"},
            root="oss://lake/",
            put=held.__setitem__,
            keys=lambda prefix: [key for key in held if key.startswith(prefix)],
            put_directory=lambda key: held.__setitem__(f"{key}/", b""),
            has_directory=lambda key: f"{key}/" in held,
            name_of_directory="{}/".format,
            odd_paths=[path for path in ODD_PATHS if not set(path) & set("*?[")],  # they may be patterns, and stay
        )

    @pytest.fixture
    def has_clock(self):
        return WITHOUT_CLOCK

    @pytest.fixture
    def has_times(self):
        return NotPossible("it says when files were created only")


class TestListerOnAsyncBucket(OnAsyncBucket, FileListerContract):
    pass


class TestDeleterOnAsyncBucket(OnAsyncBucket, FileDeleterContract):
    pass


class TestReaderOnAsyncBucket(OnAsyncBucket, ReaderOnAStore):
    pass


class OnS3fs(OnMoto):
    pytestmark = pytest.mark.thorough

    @pytest.fixture
    def store(self, moto):
        return through_fsspec(moto, "s3.client")


class TestListerOnS3fs(OnS3fs, FileListerContract):
    pass


class TestDeleterOnS3fs(OnS3fs, FileDeleterContract):
    pass


class TestReaderOnS3fs(OnS3fs, ReaderOnAStore):
    pass


class OnGcsfs(OnGcs):
    pytestmark = pytest.mark.thorough

    @pytest.fixture
    def store(self, gcs):
        return through_fsspec(gcs, "gcs.client")


class TestListerOnGcsfs(OnGcsfs, FileListerContract):
    pass


class TestDeleterOnGcsfs(OnGcsfs, FileDeleterContract):
    pass


class TestReaderOnGcsfs(OnGcsfs, ReaderOnAStore):
    pass


class OnAdlfs(OnAzure):
    pytestmark = pytest.mark.thorough

    @pytest.fixture
    def store(self, azure):
        return through_fsspec(azure, "adls.client")


class TestListerOnAdlfs(OnAdlfs, FileListerContract):
    pass


class TestDeleterOnAdlfs(OnAdlfs, FileDeleterContract):
    pass


class TestReaderOnAdlfs(OnAdlfs, ReaderOnAStore):
    pass
