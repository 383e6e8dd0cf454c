"""Files that are in quarantine with a tag in S3 buckets."""

from __future__ import annotations

import uuid
from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace

import boto3
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from nessie_gc_iceberg_files import IcebergFileDeleter
from nessie_gc_iceberg_files.s3_store import S3Store
from nessie_gc_iceberg_files.s3_tags import S3Tags
from tagged_objects import shown_object, tag_object

from nessie_gc_core.model import QUARANTINE_TAG, DeleteOutcome, DeleteStatus, FileVersion, VersionStatus

pytestmark = pytest.mark.server
OURS = "2c4a3c6e-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def client(moto_server):
    properties = moto_server.properties
    opened = boto3.client(
        "s3",
        endpoint_url=properties["s3.endpoint"],
        aws_access_key_id=properties["s3.access-key-id"],
        aws_secret_access_key=properties["s3.secret-access-key"],
        region_name="us-east-1",
    )
    opened.create_bucket(Bucket="tagged")
    yield opened
    opened.close()


@pytest.fixture
def store(client, moto_server):
    opened = S3Store("tagged", moto_server.properties)
    yield opened
    opened.close()


@pytest.fixture
def listed(client):
    """A file as it was listed."""
    key = f"{uuid.uuid4()}/a"
    client.put_object(Bucket="tagged", Key=key, Body=b"listed")
    found = shown_object(client, f"s3://tagged/{key}")
    return FileVersion(path=key, size=found.size, modified=found.modified, marker=OURS)


def at_the_next(store, event, act):
    """Acts once, when the store is about to send a request."""
    waiting = [act]

    def before(**_):
        if waiting:
            waiting.pop()()

    store._client.meta.events.register(f"before-call.s3.{event}", before)


# ---- others at the same moment --------------------------------------------------------------------------
def test_s15_what_is_written_in_the_same_moment_has_no_tag(client, store, listed):
    new = {"Bucket": "tagged", "Key": listed.path, "Body": b"new and longer", "Tagging": "team=a"}
    at_the_next(store, "PutObjectTagging", lambda: client.put_object(**new))
    (outcome,) = store.tags().tag("", [listed])
    assert (VersionStatus.FAILED, "it was written again at the same moment") == (outcome.status, outcome.reason)
    assert shown_object(client, f"s3://tagged/{listed.path}").mark is None


def test_s15_what_is_deleted_in_the_same_moment_is_gone(client, store, listed):
    at_the_next(store, "PutObjectTagging", lambda: client.delete_object(Bucket="tagged", Key=listed.path))
    (outcome,) = store.tags().tag("", [listed])
    assert VersionStatus.FAILED is outcome.status
    assert "Contents" not in client.list_objects_v2(Bucket="tagged", Prefix=listed.path)


def test_s15_a_killed_call_that_put_the_tag_is_repeated(client, store, listed):
    tag_object(client, f"s3://tagged/{listed.path}", {QUARANTINE_TAG: OURS, "team": "a"})
    (outcome,) = store.tags().tag("", [listed])
    assert (VersionStatus.DONE, OURS) == (outcome.status, outcome.marker)
    (outcome,) = store.tags().untag("", [listed])
    assert VersionStatus.DONE is outcome.status
    assert {"team": "a"} == shown_object(client, f"s3://tagged/{listed.path}").tags


def test_s15_one_file_that_cannot_be_tagged_fails_alone(client, store, listed):
    def refused(params, **_):
        if params["Key"] == listed.path:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "PutObjectTagging")

    other = f"{uuid.uuid4()}/b"
    client.put_object(Bucket="tagged", Key=other, Body=b"x")
    found = shown_object(client, f"s3://tagged/{other}")
    store._client.meta.events.register("before-parameter-build.s3.PutObjectTagging", refused)
    asked = [listed, FileVersion(path=other, size=found.size, modified=found.modified, marker=OURS)]
    said = {each.path: each for each in store.tags().tag("", asked)}
    assert {listed.path: VersionStatus.FAILED, other: VersionStatus.DONE} == {
        path: each.status for path, each in said.items()
    }
    assert "AccessDenied" in said[listed.path].reason


def test_s15_a_purge_looks_at_files_shortly_before_it_deletes_them():
    asked, written = [], datetime(2026, 1, 1, tzinfo=UTC)
    tags = {"TagSet": [{"Key": QUARANTINE_TAG, "Value": OURS}]}

    def head(Key, **_):  # noqa: N803 - as boto3 has it
        asked.append("look")
        return {"ContentLength": 1, "LastModified": written, "ETag": "e"}

    def delete(_, paths, *__):
        asked.append("delete")
        return (DeleteOutcome(path=path, status=DeleteStatus.DELETED) for path in paths)

    client = SimpleNamespace(head_object=head, get_object_tagging=lambda **_: tags)
    files = [FileVersion(path=f"{n}", size=1, modified=written, version="e", marker=OURS) for n in range(600)]
    said = list(S3Tags(client, "lake", lambda *_: nullcontext(), delete).purge("", files))
    assert [VersionStatus.DONE] * 600 == [each.status for each in said]
    assert [*["look"] * 250, "delete"] * 2 + [*["look"] * 100, "delete"] == asked


# ---- what a bucket says of itself -----------------------------------------------------------------------
def refusing(code, verb="get"):
    """A bucket whose objects' tags give one error to one of the verbs."""

    def answer(asked):
        def ask(**_):
            raise ClientError({"Error": {"Code": code if asked == verb else "NoSuchKey", "Message": "no"}}, asked)

        return ask

    client = SimpleNamespace(**{f"{each}_object_tagging": answer(each) for each in ("get", "put", "delete")})
    return S3Tags(client, "lake", lambda *_: nullcontext(), lambda *_: iter(()))


def test_s15_a_role_that_cannot_remove_tags_is_refused_and_an_unclear_answer_is_not():
    assert "s3:DeleteObjectTagging" in str(refusing("AccessDenied", "delete").tag_refusal("wh/"))
    assert refusing("InternalError", "delete").tag_refusal("wh/") is None


@pytest.mark.parametrize("verb", ["get", "put"])
@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("AccessDenied", "grant s3:GetObjectTagging, s3:PutObjectTagging and s3:DeleteObjectTagging"),
        ("NotImplemented", "s3://lake/wh/ does not keep tags of objects"),
    ],
)
def test_s15_a_bucket_without_tags_or_rights_is_refused_in_one_line(verb, code, said):
    refusal = refusing(code, verb).tag_refusal("wh/")
    assert said in refusal
    assert 1 == len(refusal.splitlines())


def test_s15_a_bucket_that_makes_up_tags_is_refused():
    client = SimpleNamespace(get_object_tagging=lambda **_: {"TagSet": []})
    said = S3Tags(client, "lake", lambda *_: nullcontext(), lambda *_: iter(())).tag_refusal("")
    assert "says that an object that is not there has tags" in str(said)


def test_s15_a_bucket_that_does_not_answer_is_refused():
    def away(**_):
        raise EndpointConnectionError(endpoint_url="http://lake")

    client = SimpleNamespace(get_object_tagging=away)
    said = S3Tags(client, "lake", lambda *_: nullcontext(), lambda *_: iter(())).tag_refusal("")
    assert "whether s3://lake/ keeps tags of objects is unknown" in str(said)


def test_a_bucket_with_tags_is_not_refused_and_a_disk_is(client, moto_server):
    with IcebergFileDeleter.from_options({"properties": moto_server.properties}) as deleter:
        assert deleter.tag_refusal("s3://tagged/wh/") is None
        assert "files on file:// cannot be tagged" in str(deleter.tag_refusal("file:///t/"))
    assert "Contents" not in client.list_objects_v2(Bucket="tagged", Prefix="wh/"), "asking leaves nothing behind"
