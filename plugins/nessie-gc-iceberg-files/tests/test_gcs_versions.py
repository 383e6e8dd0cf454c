"""Files that are hidden as noncurrent generations in GCS buckets with object versioning."""

from __future__ import annotations

import functools
import os
import uuid
from datetime import datetime, timedelta
from urllib.parse import quote

import pytest
import requests
from nessie_gc_iceberg_files import IcebergFileDeleter
from nessie_gc_iceberg_files.gcs_lifecycle import warnings_of
from versioned_gcs import BUCKET, versioned_gcs

from nessie_gc_core.model import KeyVersion
from nessie_gc_core.testing.file_deleter_with_versions import VersionDeletionTests
from nessie_gc_core.testing.paths import OBJECT_STORE_PATHS, ODD_PATHS
from nessie_gc_core.testing.servers import ServerProcess, free_ports

pytestmark = pytest.mark.server
ROOT = f"gs://{BUCKET}/"


class BackDoor:
    """The JSON API of a bucket, without the plugin."""

    def __init__(self, endpoint, odd_paths):
        self.properties = {"gcs.service.host": endpoint, "gcs.oauth2.token": "anon"}
        self.odd_paths = odd_paths
        self._session = requests.Session()
        self._endpoint = endpoint
        self._objects = f"{endpoint}/storage/v1/b/{BUCKET}/o"

    def close(self):
        self._session.close()

    def put(self, key, data):
        url = f"{self._endpoint}/upload/storage/v1/b/{BUCKET}/o"
        self._ask("POST", url, params={"uploadType": "media", "name": key}, data=data)

    def get(self, key):
        return self._ask("GET", self._of(key), params={"alt": "media"}).content

    def keys(self, prefix):
        return [item["name"] for item in self._items(prefix=prefix)]

    def versions(self, key):
        items = [item for item in self._items(prefix=key, versions="true") if item["name"] == key]
        found = [
            KeyVersion(
                version=item["generation"],
                current="timeDeleted" not in item,
                size=int(item["size"]),
                modified=datetime.fromisoformat(item["updated"]),
                etag=item["crc32c"],
            )
            for item in sorted(items, key=lambda item: -int(item["generation"]))
        ]
        if not found or any(each.current for each in found):
            return found
        return [*found, KeyVersion(version="over-" + found[0].version, marker=True, current=True)]

    def delete_version(self, key, version):
        """A deletion is undone as people do it: by a copy, and without what it was made of."""
        if not version.isdigit():
            (newest, *_) = self.versions(key)
            version = newest.version
            self._ask(
                "POST",
                f"{self._of(key)}/rewriteTo/b/{BUCKET}/o/{quote(key, safe='')}",
                params={"sourceGeneration": version},
            )
        self._ask("DELETE", self._of(key), params={"generation": version})

    def _items(self, **query):
        return self._ask("GET", self._objects, params=query).json().get("items", ())

    def _of(self, key):
        return f"{self._objects}/{quote(key, safe='')}"

    def _ask(self, method, url, **more):
        answer = self._session.request(method, url, timeout=30, **more)
        answer.raise_for_status()
        return answer


@pytest.fixture
def gcs():
    with versioned_gcs() as server:
        yield server


@pytest.fixture(scope="module")
def bucket_as_documented():
    with versioned_gcs() as server:
        door = BackDoor(server.endpoint, [*ODD_PATHS, *(path for path in OBJECT_STORE_PATHS if not path.endswith("/"))])
        yield door
        door.close()


@pytest.fixture(scope="module")
def bucket_of_fake_gcs_server(tmp_path_factory):
    """Of the program that the environment names, 1.56 or later: no package registry for Python has that."""
    program = os.environ.get("FAKE_GCS_SERVER")
    if not program:
        pytest.skip("FAKE_GCS_SERVER is not set: name the program of fake-gcs-server 1.56 or later")
    (port,) = free_ports(1)
    endpoint = f"http://127.0.0.1:{port}"
    where = ["-scheme", "http", "-host", "127.0.0.1", "-port", str(port), "-external-url", endpoint]
    command = [program, *where, "-public-host", f"127.0.0.1:{port}", "-backend", "memory", "-log-level", "warn"]

    def is_ready():
        try:
            return requests.get(f"{endpoint}/storage/v1/b", timeout=5).ok
        except requests.ConnectionError:
            return False

    log = tmp_path_factory.mktemp("gcs") / "log"
    with ServerProcess("fake-gcs-server", command, is_ready=is_ready, log=log):
        made = {"name": BUCKET, "versioning": {"enabled": True}}
        requests.post(f"{endpoint}/storage/v1/b", params={"project": "p"}, json=made, timeout=30).raise_for_status()
        door = BackDoor(endpoint, ODD_PATHS)
        yield door
        door.close()


class InABucket(VersionDeletionTests):
    opener = "open_deleter"

    @pytest.fixture
    def location(self):
        return f"{ROOT}t{uuid.uuid4().hex[:8]}/"

    @pytest.fixture
    def open_deleter(self, bucket):
        return functools.partial(IcebergFileDeleter.from_options, {"properties": bucket.properties})

    @pytest.fixture
    def deleter(self, open_deleter):
        with open_deleter() as opened:
            yield opened

    @pytest.fixture
    def put_file(self, bucket):
        return lambda location, path, data: bucket.put((location + path).removeprefix(ROOT), data)

    @pytest.fixture
    def stored_paths(self, bucket):
        def paths(location):
            prefix = location.removeprefix(ROOT)
            return [key.removeprefix(prefix) for key in bucket.keys(prefix)]

        return paths

    @pytest.fixture
    def read_file(self, bucket):
        return lambda location, path: bucket.get((location + path).removeprefix(ROOT))

    @pytest.fixture
    def key_versions(self, bucket):
        return lambda location, path: bucket.versions((location + path).removeprefix(ROOT))

    @pytest.fixture
    def delete_version(self, bucket):
        return lambda location, path, version: bucket.delete_version((location + path).removeprefix(ROOT), version)

    @pytest.fixture
    def odd_paths(self, bucket):
        return bucket.odd_paths


class TestAsDocumented(InABucket):
    @pytest.fixture
    def bucket(self, bucket_as_documented):
        return bucket_as_documented


@pytest.mark.thorough
class TestOnFakeGcsServer(InABucket):
    """Another one's idea of generations; it does not check conditions of deletions and rewrites."""

    @pytest.fixture
    def bucket(self, bucket_of_fake_gcs_server):
        return bucket_of_fake_gcs_server


# ---- what a bucket says of itself -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("settings", "refusal", "version_refusal"),
    [
        ({"versioning": {"enabled": True}}, None, None),
        (
            {"versioning": {"enabled": False}, "softDeletePolicy": {"retentionDurationSeconds": "604800"}},
            f"versioning of {ROOT} is off; enable it, or name a folder as `quarantine`",
            "versioning is off",
        ),
        ({}, f"versioning of {ROOT} is off; enable it, or name a folder as `quarantine`", "versioning is off"),
    ],
)
def test_s15_files_are_hidden_only_where_versioning_is_on(gcs, settings, refusal, version_refusal):
    gcs.settings = settings
    with IcebergFileDeleter.from_options({"properties": gcs.properties}) as deleter:
        assert refusal == deleter.hide_refusal(f"{ROOT}t/")
        assert version_refusal == deleter.version_refusal(f"{ROOT}t/")
        assert deleter.release_refusal(f"{ROOT}t/") is None


def test_s15_a_bucket_that_does_not_say_is_refused(gcs):
    with IcebergFileDeleter.from_options({"properties": gcs.properties}) as deleter:
        assert "whether gs://missing/ keeps versions is unknown" in str(deleter.hide_refusal("gs://missing/t/"))
        assert "does not say whether it keeps versions" in str(deleter.version_refusal("gs://missing/t/"))
        (said,) = deleter.hide_warnings(["gs://missing/t/"], timedelta(days=30))
        assert "the lifecycle rules of gs://missing/ are unknown" in said


def test_s15_azure_is_refused_in_one_line():
    access = {"adls.account-name": "account", "adls.account-key": "a2V5"}
    with IcebergFileDeleter.from_options({"properties": access}) as deleter:
        refusal = deleter.hide_refusal("abfss://c@account.dfs.core.windows.net/t/")
    assert "files on abfss:// cannot be hidden as versions; name a folder as `quarantine`" == refusal


def rule(kind="Delete", **condition):
    return {"action": {"type": kind}, "condition": condition}


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ([rule(daysSinceNoncurrentTime=3)], ["1 of gs://lake/ deletes hidden files after 3 d"]),
        ([rule(daysSinceNoncurrentTime=30), rule(isLive=True, age=1)], []),
        ([rule(numNewerVersions=2), rule("SetStorageClass", age=1), rule("AbortIncompleteMultipartUpload", age=1)], []),
        ([rule(age=3), rule(age=3, isLive=False)], ["1 of gs://lake/ may delete", "2 of gs://lake/ may delete"]),
        ([rule(daysSinceNoncurrentTime=3, matchesPrefix=["db/t2/", "x/"])], []),
        ([rule(daysSinceNoncurrentTime=3, matchesPrefix=["x/", "db/t/data/"])], ["1 of gs://lake/ deletes"]),
    ],
)
def test_lifecycle_rules_that_come_too_early_are_named(rules, named):
    said = warnings_of({"lifecycle": {"rule": rules}}, "lake", ["db/t/"], timedelta(days=30))
    assert [True] * len(named) == [
        f"the lifecycle rule number {part}" in text for part, text in zip(named, said, strict=True)
    ]


def test_a_retention_policy_that_outlives_the_quarantine_is_named():
    policy = {"retentionPolicy": {"retentionPeriod": str(90 * 24 * 3600)}}
    (said,) = warnings_of(policy, "lake", ["db/t/"], timedelta(days=30))
    assert "the retention policy of gs://lake/ keeps each version for 90 d" in said
    assert [] == warnings_of(policy, "lake", ["db/t/"], timedelta(days=90))
