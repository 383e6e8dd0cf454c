"""The conformance kit on every store: disk, S3 (SeaweedFS and moto), GCS and Azure."""

from __future__ import annotations

import functools
import json
import os
import uuid
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import quote

import boto3
import pytest
import requests
from azure.storage.blob import BlobServiceClient
from iceberg_lake import DELETED, Entry, Snapshot, Table, manifest_bytes, manifest_list_bytes, view_bytes
from moto.server import ThreadedMotoServer
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister
from scripted_gcs import scripted_gcs
from tagged_objects import shown_object, tag_object

from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.repository import ICEBERG_SNAPSHOT, ICEBERG_VIEW
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.content_to_files import ContentToFilesContract, WrittenContent
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.paths import OBJECT_STORE_PATHS, ODD_PATHS

WITHOUT_BACKSLASH = [path for path in ODD_PATHS if "\\" not in path]
"""SeaweedFS and Azure take a backslash for a slash."""


class OneRequest(IcebergFileDeleter):
    batch_size = 1000  # the test of several batches stores as many files one by one


class OnAStore:
    """Fixtures over a ``store``: its properties, its root, and its back doors by raw key."""

    @pytest.fixture
    def location(self, store):
        return f"{store.root}t{uuid.uuid4().hex[:8]}/"  # other modules use the same servers

    @pytest.fixture
    def open_lister(self, store):
        return functools.partial(IcebergFileLister.from_options, {"properties": store.properties})

    @pytest.fixture
    def open_deleter(self, store):
        return functools.partial(OneRequest.from_options, {"properties": store.properties})

    @pytest.fixture
    def put_file(self, store):
        return lambda location, path, data: store.put((location + path)[len(store.root) :], data)

    @pytest.fixture
    def read_file(self, store):
        get = getattr(store, "get", None)  # of a store whose files can be moved
        return None if get is None else lambda location, path: get((location + path)[len(store.root) :])

    @pytest.fixture
    def show_object(self, store):
        client = getattr(store, "client", None)  # of a store that keeps tags
        return None if client is None else lambda location, path: shown_object(client, location + path)

    @pytest.fixture
    def put_tags(self, store):
        client = getattr(store, "client", None)
        return None if client is None else lambda location, path, tags: tag_object(client, location + path, tags)

    @pytest.fixture
    def stored_paths(self, store):
        def paths(location):
            prefix = location[len(store.root) :]
            return [key[len(prefix) :] for key in store.keys(prefix)]

        return paths

    @pytest.fixture
    def put_directory(self, store):
        return lambda location, path: store.put_directory((location + path)[len(store.root) :])

    @pytest.fixture
    def has_directory(self, store):
        return lambda location, path: store.has_directory((location + path)[len(store.root) :])

    @pytest.fixture
    def name_of_directory(self, store):
        return store.name_of_directory

    @pytest.fixture
    def put_link(self):
        return NotPossible("an object store has no links")

    @pytest.fixture
    def unlistable(self, store):
        """A bucket that does not exist."""
        return lambda location: location.replace("://", "://no-such-", 1)

    @pytest.fixture
    def odd_paths(self, store):
        return store.odd_paths

    @pytest.fixture
    def undeletable(self):
        """A key that is no Unicode text, which no request can carry."""
        return lambda location: "half a \ud800 character"


def in_folder(root, properties, location, **more):
    """A store whose files lie in a folder of this machine."""

    def put(key, data):
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def keys(prefix):
        return [str(path.relative_to(root)) for path in (root / prefix).rglob("*") if path.is_file()]

    return SimpleNamespace(
        folder=root,
        properties=properties,
        root=location,
        put=put,
        get=lambda key: (root / key).read_bytes(),
        keys=keys,
        put_directory=lambda key: (root / key).mkdir(parents=True),
        has_directory=lambda key: (root / key).is_dir(),
        name_of_directory=str,
        odd_paths=ODD_PATHS,
        **more,
    )


class OnDisk(OnAStore):
    @pytest.fixture
    def store(self, tmp_path):
        return in_folder(tmp_path, {}, f"file://{tmp_path}/")

    @pytest.fixture
    def put_link(self):
        def put(location, path, target):
            link = Path((location + path).removeprefix("file://"))
            link.symlink_to(target.removeprefix("file://").rstrip("/"), target_is_directory=True)

        return put

    @pytest.fixture
    def unlistable(self):
        """A folder so deep that its path is too long to be opened, which root cannot open either."""

        def make(location):
            base = Path(location.removeprefix("file://"))
            base.mkdir(parents=True)
            with ExitStack() as stack:
                handle = os.open(base, os.O_RDONLY)
                stack.callback(os.close, handle)
                for _ in range(20):
                    os.mkdir("d" * 250, dir_fd=handle)
                    handle = os.open("d" * 250, os.O_RDONLY, dir_fd=handle)
                    stack.callback(os.close, handle)
            return location

        return make

    @pytest.fixture
    def undeletable(self, store):
        def make(location):
            path = Path((location + "m-directory").removeprefix("file://"))
            path.mkdir(parents=True)
            return "m-directory"

        return make


def s3_store(endpoint, properties, odd_paths):
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=properties["s3.access-key-id"],
        aws_secret_access_key=properties["s3.secret-access-key"],
        region_name="us-east-1",
    )

    def keys(prefix):
        pages = client.get_paginator("list_objects_v2").paginate(Bucket="lake", Prefix=prefix)
        return [found["Key"] for page in pages for found in page.get("Contents", ())]

    return SimpleNamespace(
        client=client,
        properties=dict(properties),
        root="s3://lake/",
        get=lambda key: client.get_object(Bucket="lake", Key=key)["Body"].read(),
        put=lambda key, data: client.put_object(Bucket="lake", Key=key, Body=data),
        keys=keys,
        put_directory=lambda key: client.put_object(Bucket="lake", Key=key + "/", Body=b""),
        has_directory=lambda key: key + "/" in keys(key),
        name_of_directory="{}/".format,
        odd_paths=odd_paths,
    )


@pytest.fixture(scope="module")
def seaweed(s3_server):
    store = s3_store(s3_server.endpoint, s3_server.properties, WITHOUT_BACKSLASH)
    yield store
    store.client.close()


@pytest.fixture(scope="module")
def moto():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    properties = {
        "s3.endpoint": f"http://{host}:{port}",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "client.region": "us-east-1",
    }
    odd = [*ODD_PATHS, *(path for path in OBJECT_STORE_PATHS if not path.endswith("/"))]
    store = s3_store(properties["s3.endpoint"], properties, odd)
    store.client.create_bucket(Bucket="lake")
    yield store
    store.client.close()
    server.stop()


class OnSeaweed(OnAStore):
    pytestmark = pytest.mark.server

    @pytest.fixture
    def store(self, seaweed):
        return seaweed


class OnMoto(OnAStore):
    @pytest.fixture
    def many(self):
        return 100  # pages are tested on SeaweedFS, which is faster

    @pytest.fixture
    def store(self, moto):
        return moto


@pytest.fixture(scope="module")
def gcs(gcs_server):
    endpoint = gcs_server.endpoint
    with requests.Session() as session:

        def put(key, data):
            url = f"{endpoint}/upload/storage/v1/b/lake/o?uploadType=multipart"
            head = b"--b\r\nContent-Type: application/json\r\n\r\n" + json.dumps({"name": key}).encode()
            body = head + b"\r\n--b\r\nContent-Type: text/plain\r\n\r\n" + data + b"\r\n--b--"
            kind = {"Content-Type": "multipart/related; boundary=b"}
            session.post(url, data=body, headers=kind, timeout=30).raise_for_status()

        def get(key):
            url = f"{endpoint}/storage/v1/b/lake/o/{quote(key, safe='')}"
            answer = session.get(url, params={"alt": "media"}, timeout=30)
            answer.raise_for_status()
            return answer.content

        def keys(prefix):
            answer = session.get(f"{endpoint}/storage/v1/b/lake/o", params={"prefix": prefix}, timeout=30)
            return [item["name"] for item in answer.json().get("items", ())]

        yield SimpleNamespace(
            properties=gcs_server.properties,
            root="gs://lake/",
            put=put,
            get=get,
            keys=keys,
            put_directory=lambda key: put(key + "/", b""),
            has_directory=lambda key: key + "/" in keys(key),
            name_of_directory="{}/".format,
            # The emulator cuts paths at a semicolon.
            odd_paths=[path for path in ODD_PATHS if ";" not in path],
        )


class InSmallBatches(IcebergFileDeleter):
    batch_size = 50  # the emulators of GCS and Azure take a minute for 1,000 deletions


class OnGcs(OnAStore):
    pytestmark = pytest.mark.server

    @pytest.fixture
    def many(self):
        return 100  # the emulator knows no pages: test_gcs_and_adls.py has some

    @pytest.fixture
    def open_deleter(self, store):
        def opened():
            return InSmallBatches.from_options({"properties": store.properties})

        return opened

    @pytest.fixture
    def store(self, gcs):
        return gcs


@pytest.fixture(scope="module")
def azure(azure_server):
    with BlobServiceClient.from_connection_string(azure_server.connection_string) as service:
        name = f"kit-{uuid.uuid4()}"
        container = service.create_container(name)

        def put_directory(key):
            # As accounts with a hierarchical namespace list their directories.
            container.upload_blob(key, b"", metadata={"hdi_isfolder": "true"})

        yield SimpleNamespace(
            properties=azure_server.properties,
            root=f"abfss://{name}@devstoreaccount1.dfs.core.windows.net/",
            put=lambda key, data: container.upload_blob(key, data, overwrite=True),
            get=lambda key: container.download_blob(key).readall(),
            keys=lambda prefix: [blob.name for blob in container.list_blobs(name_starts_with=prefix)],
            put_directory=put_directory,
            has_directory=lambda key: key in [blob.name for blob in container.list_blobs(name_starts_with=key)],
            name_of_directory=str,
            odd_paths=WITHOUT_BACKSLASH,
        )


class OnAzure(OnAStore):
    pytestmark = pytest.mark.server

    @pytest.fixture
    def many(self):
        return 100  # Azurite is slow; its pages are in test_gcs_and_adls.py

    @pytest.fixture
    def open_deleter(self, store):
        return functools.partial(InSmallBatches.from_options, {"properties": store.properties})

    @pytest.fixture
    def store(self, azure):
        return azure


class TestListerOnDisk(OnDisk, FileListerContract):
    pass


class TestDeleterOnDisk(OnDisk, FileDeleterContract):
    pass


class TestListerOnSeaweed(OnSeaweed, FileListerContract):
    pass


class TestDeleterOnSeaweed(OnSeaweed, FileDeleterContract):
    pass


class TestListerOnMoto(OnMoto, FileListerContract):
    pass


class TestDeleterOnMoto(OnMoto, FileDeleterContract):
    pass


class TestListerOnGcs(OnGcs, FileListerContract):
    pass


class TestDeleterOnGcs(OnGcs, FileDeleterContract):
    pass


class TestListerOnAzure(OnAzure, FileListerContract):
    pass


class TestDeleterOnAzure(OnAzure, FileDeleterContract):
    pass


class ReaderOnAStore(OnAStore, ContentToFilesContract):
    """A table and a view below a location with characters that URLs treat in a special way."""

    @pytest.fixture
    def open_reader(self, store):
        return functools.partial(IcebergContentToFiles.from_options, {"properties": store.properties})

    @pytest.fixture
    def base(self, location):
        return f"{location}a b%20c#d?e"

    @pytest.fixture
    def contents(self, base, put_file, version_of):
        def put(name, data):
            put_file(f"{base}/", name, data)
            return f"{base}/{name}"

        live, dead = Entry(f"{base}/data/live#1?.parquet"), Entry(f"{base}/data/dead.parquet", DELETED)
        manifest = put("metadata/m.avro", manifest_bytes([live, dead]))
        snapshot = put("metadata/snap-1.avro", manifest_list_bytes([manifest]))
        old = put("metadata/snap-0.avro", manifest_list_bytes([]))
        old_statistics = f"{base}/metadata/0.stats"
        snapshots = [Snapshot(0, old), Snapshot(1, snapshot)]
        paths = {"write.data.path": "s3a://b/d%20 #?/", "write.metadata.path": "m", "write.object-storage.path": ""}
        properties = {**paths, "write.object-storage.enabled": "true", "gc.enabled": "true"}
        extra = {"properties": properties, "last-updated-ms": 1}
        table = Table(base, snapshots=snapshots, current=1, statistics={0: old_statistics}, extra=extra)
        metadata = put("metadata/00001-of-the-table.gz.metadata.json", table.bytes(packed=True))
        view = put("metadata/00000-of-the-view.metadata.json", view_bytes(base))
        return [
            WrittenContent(
                version=version_of(metadata, 1),
                location=base,
                needed=frozenset({metadata, snapshot, manifest, live.path}),
                dead=frozenset({dead.path, old, old_statistics}),
                listed=frozenset({old, old_statistics}),
                shared=frozenset(paths.values()),
            ),
            WrittenContent(
                version=version_of(metadata, 0, ICEBERG_SNAPSHOT),
                location=base,
                needed=frozenset({metadata, old, old_statistics}),
                dead=frozenset({dead.path, snapshot, manifest, live.path}),
                shared=frozenset(paths.values()),
            ),
            WrittenContent(version=version_of(view, 1, ICEBERG_VIEW), location=base, needed=frozenset({view})),
        ]

    @pytest.fixture
    def missing(self, base, version_of):
        return version_of(f"{base}/none.metadata.json", 1)

    @pytest.fixture
    def unreadable(self, base, put_file, version_of):
        put_file(f"{base}/", "empty.metadata.json", b"")
        put_file(f"{base}/", "cut.metadata.json", Table(base).bytes()[:-5])
        return [version_of(f"{base}/{name}.metadata.json") for name in ("empty", "cut")]

    @pytest.fixture
    def missing_file(self, base):
        return ReachableFile(path=f"{base}/none.avro", kind="MANIFEST")

    @pytest.fixture
    def unreadable_files(self, base, put_file):
        put_file(f"{base}/", "empty.avro", b"")
        put_file(f"{base}/", "cut.avro", manifest_bytes([Entry("/x")])[:-5])
        return [ReachableFile(path=f"{base}/{name}.avro", kind="MANIFEST") for name in ("empty", "cut")]


class TestReaderOnDisk(OnDisk, ReaderOnAStore):
    pass


class TestReaderOnSeaweed(OnSeaweed, ReaderOnAStore):
    pass


class TestReaderOnGcs(OnGcs, ReaderOnAStore):
    pass


class TestReaderOnGcsThroughObstore(ReaderOnAStore):
    """obstore takes nothing from the emulator, whose answers have no dates."""

    pytestmark = pytest.mark.server

    @pytest.fixture
    def store(self):
        with scripted_gcs() as gcs:
            yield SimpleNamespace(
                properties={"gcs.service.host": gcs.endpoint, "gcs.oauth2.token": "anon"},
                root="gs://lake/",
                put=gcs.objects.__setitem__,
            )
            assert not set(gcs.exact) & set(gcs.objects)


class TestReaderOnAzure(OnAzure, ReaderOnAStore):
    pass
