"""Files that are hidden behind delete markers in S3 buckets with versioning."""

from __future__ import annotations

import functools
import uuid
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import boto3
import pytest
from nessie_gc_iceberg_files import IcebergFileDeleter
from nessie_gc_iceberg_files.s3_store import S3Store
from nessie_gc_iceberg_files.s3_versions import S3Versions

from nessie_gc_core.model import FileVersion, KeyVersion, VersionStatus
from nessie_gc_core.testing.file_deleter_with_versions import VersionDeletionTests
from nessie_gc_core.testing.paths import OBJECT_STORE_PATHS, ODD_PATHS

pytestmark = pytest.mark.server


def versioned_bucket(properties, bucket, odd_paths, **more):
    """A bucket with versioning, and its back doors."""
    client = boto3.client(
        "s3",
        endpoint_url=properties["s3.endpoint"],
        aws_access_key_id=properties["s3.access-key-id"],
        aws_secret_access_key=properties["s3.secret-access-key"],
        region_name="us-east-1",
    )
    client.create_bucket(Bucket=bucket, **more)
    client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})

    def versions(key):
        found = []
        for page in client.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=key):
            for name, marker in (("Versions", False), ("DeleteMarkers", True)):
                found += [(row, marker) for row in page.get(name, ()) if row["Key"] == key]
        return [
            KeyVersion(
                version=row["VersionId"],
                marker=marker,
                current=row["IsLatest"],
                size=row.get("Size"),
                modified=row["LastModified"],
                etag=row.get("ETag", ""),
            )
            for row, marker in found
        ]

    return SimpleNamespace(
        client=client,
        bucket=bucket,
        properties=dict(properties),
        root=f"s3://{bucket}/",
        versions=versions,
        odd_paths=odd_paths,
    )


@pytest.fixture(scope="module")
def moto_bucket(moto_server):
    odd = [*ODD_PATHS, *(path for path in OBJECT_STORE_PATHS if not path.endswith("/"))]
    store = versioned_bucket(moto_server.properties, "versions", odd)
    yield store
    store.client.close()


@pytest.fixture(scope="module")
def seaweed_bucket(s3_server):
    odd = [path for path in ODD_PATHS if "\\" not in path]  # SeaweedFS takes a backslash for a slash
    store = versioned_bucket(s3_server.properties, "versions", odd)
    yield store
    store.client.close()


class InABucket(VersionDeletionTests):
    opener = "open_deleter"

    @pytest.fixture
    def location(self, bucket):
        return f"{bucket.root}t{uuid.uuid4().hex[:8]}/"

    @pytest.fixture
    def open_deleter(self, bucket):
        return functools.partial(IcebergFileDeleter.from_options, {"properties": bucket.properties})

    @pytest.fixture
    def deleter(self, open_deleter):
        with open_deleter() as opened:
            yield opened

    @pytest.fixture
    def put_file(self, bucket):
        def put(location, path, data):
            bucket.client.put_object(Bucket=bucket.bucket, Key=(location + path).removeprefix(bucket.root), Body=data)

        return put

    @pytest.fixture
    def stored_paths(self, bucket):
        def paths(location):
            prefix = location.removeprefix(bucket.root)
            pages = bucket.client.get_paginator("list_objects_v2").paginate(Bucket=bucket.bucket, Prefix=prefix)
            return [row["Key"].removeprefix(prefix) for page in pages for row in page.get("Contents", ())]

        return paths

    @pytest.fixture
    def read_file(self, bucket):
        return lambda location, path: bucket.client.get_object(
            Bucket=bucket.bucket, Key=(location + path).removeprefix(bucket.root)
        )["Body"].read()

    @pytest.fixture
    def key_versions(self, bucket):
        return lambda location, path: bucket.versions((location + path).removeprefix(bucket.root))

    @pytest.fixture
    def delete_version(self, bucket):
        def delete(location, path, version):
            key = (location + path).removeprefix(bucket.root)
            bucket.client.delete_object(Bucket=bucket.bucket, Key=key, VersionId=version)

        return delete

    @pytest.fixture
    def odd_paths(self, bucket):
        return bucket.odd_paths


@pytest.mark.thorough
class TestOnMoto(InABucket):
    """Slower; SeaweedFS is tested always."""

    @pytest.fixture
    def bucket(self, moto_bucket):
        return moto_bucket


class TestOnSeaweed(InABucket):
    @pytest.fixture
    def bucket(self, seaweed_bucket):
        return seaweed_bucket


# ---- what a bucket says of itself -----------------------------------------------------------------------
def scripted(**said):
    """The versions of a bucket that gives certain answers."""
    client = SimpleNamespace(**{verb: lambda *_, answer=answer, **__: answer for verb, answer in said.items()})
    return S3Versions(client, "lake", lambda *_: nullcontext(), lambda *_: iter(()), in_key_order=True)


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"Status": "Enabled"}, None),
        ({"Status": "Suspended"}, "versioning is suspended"),
        ({}, "versioning is off"),
        (
            {"Status": "Enabled", "MFADelete": "Enabled"},
            "MFA delete is on for s3://lake/, so its versions and delete markers cannot be deleted here",
        ),
    ],
)
def test_s15_versions_are_deleted_only_where_versioning_is_on(said, refusal):
    assert refusal == scripted(get_bucket_versioning=said).version_refusal()


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"Status": "Enabled"}, None),
        ({"Status": "Enabled", "MFADelete": "Disabled"}, None),
        ({"Status": "Suspended"}, "versioning of s3://lake/ is suspended; enable it, or name a folder as `quarantine`"),
        ({}, "versioning of s3://lake/ is off; enable it, or name a folder as `quarantine`"),
        (
            {"Status": "Enabled", "MFADelete": "Enabled"},
            "MFA delete is on for s3://lake/, so its versions and delete markers cannot be deleted here",
        ),
    ],
)
def test_s15_files_are_hidden_only_where_versioning_is_on_and_versions_can_go(said, refusal):
    assert refusal == scripted(get_bucket_versioning=said).hide_refusal()


def test_s15_with_mfa_delete_nothing_is_released():
    said = {"Status": "Suspended", "MFADelete": "Enabled"}
    assert "MFA delete is on" in scripted(get_bucket_versioning=said).release_refusal()
    assert scripted(get_bucket_versioning={"Status": "Suspended"}).release_refusal() is None


def test_s15_a_bucket_that_does_not_say_is_refused(moto_bucket):
    with IcebergFileDeleter.from_options({"properties": moto_bucket.properties}) as deleter:
        assert "whether s3://missing/ keeps versions is unknown" in str(deleter.hide_refusal("s3://missing/t/"))
        assert "cannot be hidden as versions" in str(deleter.hide_refusal("file:///t/"))


def rule(name, prefix, status="Enabled", **more):
    return {"ID": name, "Status": status, "Filter": {"Prefix": prefix}, **more}


EXPIRES = {"NoncurrentVersionExpiration": {"NoncurrentDays": 3}}
ARCHIVES = {"NoncurrentVersionTransitions": [{"NoncurrentDays": 1, "StorageClass": "GLACIER"}]}


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ([rule("all", "", **EXPIRES)], ["all"]),
        ([rule("above", "db/", **EXPIRES), rule("below", "db/t/data/", **EXPIRES)], ["above", "below"]),
        ([rule("beside", "db/t2/", **EXPIRES), rule("off", "", "Disabled", **EXPIRES)], []),
        ([rule("later", "", NoncurrentVersionExpiration={"NoncurrentDays": 30})], []),
        ([rule("archive", "db/t/", **ARCHIVES)], ["archive"]),
        ([{"ID": "legacy", "Status": "Enabled", "Prefix": "db/t/", **EXPIRES}], ["legacy"]),
        ([{"ID": "tags", "Status": "Enabled", "Filter": {"And": {"Prefix": "db/", "Tags": []}}, **EXPIRES}], ["tags"]),
    ],
)
def test_lifecycle_rules_that_come_too_early_are_named(rules, named):
    versions = scripted(get_bucket_lifecycle_configuration={"Rules": rules})
    said = versions.hide_warnings(["db/t/"], timedelta(days=30))
    assert [f"the lifecycle rule {name!r} of s3://lake/" in text for name, text in zip(named, said, strict=True)] == [
        True
    ] * len(named)


def test_a_bucket_without_lifecycle_rules_warns_of_nothing(moto_bucket):
    with IcebergFileDeleter.from_options({"properties": moto_bucket.properties}) as deleter:
        assert [] == list(deleter.hide_warnings([f"{moto_bucket.root}t/"], timedelta(days=30)))


# ---- others at the same moment, and locks ---------------------------------------------------------------
@pytest.fixture(params=["moto", "seaweed"])
def bucket(request):
    return request.getfixturevalue(f"{request.param}_bucket")


@pytest.fixture
def store(bucket):
    opened = S3Store(bucket.bucket, bucket.properties)
    yield opened
    opened.close()


def current(bucket, key):
    (now,) = [each for each in bucket.versions(key) if each.current]
    return FileVersion(path=key, size=now.size, modified=now.modified)


def at_the_next(store, event, act):
    """Acts once, when the store is about to send a request."""
    waiting = [act]

    def before(**_):
        if waiting:
            waiting.pop()()

    store._client.meta.events.register(f"before-call.s3.{event}", before)


def test_s15_what_is_written_in_the_same_moment_stays_visible(bucket, store):
    key = f"{uuid.uuid4()}/a"
    bucket.client.put_object(Bucket=bucket.bucket, Key=key, Body=b"old")
    listed = current(bucket, key)
    at_the_next(
        store, "DeleteObjects", lambda: bucket.client.put_object(Bucket=bucket.bucket, Key=key, Body=b"new and longer")
    )
    (outcome,) = store.versions().hide("", [listed])
    assert VersionStatus.FAILED is outcome.status
    assert b"new and longer" == bucket.client.get_object(Bucket=bucket.bucket, Key=key)["Body"].read()
    assert [] == [each for each in bucket.versions(key) if each.marker]


def test_s15_what_others_delete_in_the_same_moment_is_not_ours(bucket, store):
    key = f"{uuid.uuid4()}/a"
    bucket.client.put_object(Bucket=bucket.bucket, Key=key, Body=b"x")
    listed = current(bucket, key)
    at_the_next(store, "DeleteObjects", lambda: bucket.client.delete_object(Bucket=bucket.bucket, Key=key))
    (outcome,) = store.versions().hide("", [listed])
    assert VersionStatus.FAILED is outcome.status
    assert [(True, True), (False, False)] == sorted(
        ((each.marker, each.current) for each in bucket.versions(key)), reverse=True
    ), "only their marker is left"


def test_s15_a_locked_version_fails_with_the_reason_of_the_store(s3_server):
    bucket = versioned_bucket(s3_server.properties, "locked", [], ObjectLockEnabledForBucket=True)
    bucket.client.put_object(Bucket="locked", Key="t/a", Body=b"x", ObjectLockLegalHoldStatus="ON")
    bucket.client.put_object(Bucket="locked", Key="t/b", Body=b"x")
    with IcebergFileDeleter.from_options({"properties": bucket.properties}) as deleter:
        asked = [replace(current(bucket, f"t/{path}"), path=path) for path in ("a", "b")]
        hidden = {each.path: each for each in deleter.hide_files("s3://locked/t/", asked)}
        held = [replace(each, version=hidden[each.path].version, marker=hidden[each.path].marker) for each in asked]
        purged = {each.path: each for each in deleter.purge_versions("s3://locked/t/", held)}
        assert {"a": VersionStatus.FAILED, "b": VersionStatus.DONE} == {path: purged[path].status for path in purged}
        assert purged["a"].reason
        (shown,) = deleter.show_files("s3://locked/t/", held[:1])
        assert VersionStatus.DONE is shown.status
    bucket.client.close()


def test_s15_a_null_version_that_was_replaced_is_not_purged(moto_bucket):
    """In a bucket whose versioning was suspended, the id of a version may name another one later."""
    client, key = moto_bucket.client, f"{uuid.uuid4()}/a"
    replaced = FileVersion(path=key, size=99, modified=None, version="null", marker="m")
    client.put_object(Bucket=moto_bucket.bucket, Key=key, Body=b"x")
    opened = S3Store(moto_bucket.bucket, moto_bucket.properties)
    (now,) = moto_bucket.versions(key)
    (outcome,) = opened.versions().purge("", [replace(replaced, modified=now.modified, version=now.version)])
    assert (VersionStatus.MISSING, [now]) == (outcome.status, moto_bucket.versions(key))
    opened.close()


def test_s15_a_file_with_a_locked_older_version_stays(s3_server):
    bucket = versioned_bucket(s3_server.properties, "locked-too", [], ObjectLockEnabledForBucket=True)
    bucket.client.put_object(Bucket="locked-too", Key="t/a", Body=b"x", ObjectLockLegalHoldStatus="ON")
    bucket.client.put_object(Bucket="locked-too", Key="t/a", Body=b"xx")
    before = bucket.versions("t/a")
    with IcebergFileDeleter.from_options({"properties": bucket.properties}) as deleter:
        (outcome,) = deleter.delete_with_versions("s3://locked-too/", [current(bucket, "t/a")])
    assert (VersionStatus.FAILED, before) == (outcome.status, bucket.versions("t/a"))
    assert outcome.reason
    bucket.client.close()


def test_s15_what_is_written_while_versions_are_deleted_stays(bucket, store):
    key = f"{uuid.uuid4()}/a"
    for body in (b"1", b"22"):
        bucket.client.put_object(Bucket=bucket.bucket, Key=key, Body=body)
    listed = current(bucket, key)
    at_the_next(store, "DeleteObjects", lambda: bucket.client.put_object(Bucket=bucket.bucket, Key=key, Body=b"new"))
    (outcome,) = store.versions().delete_all("", [listed])
    assert (VersionStatus.DONE, 1, 1) == (outcome.status, outcome.older, outcome.older_bytes)
    assert b"new" == bucket.client.get_object(Bucket=bucket.bucket, Key=key)["Body"].read()
    assert 1 == len(bucket.versions(key))
