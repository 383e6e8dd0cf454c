"""Which right each request to an object store needs, by the documentation of the store."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping

from noted_requests import Asked

_OF_BUCKETS: Mapping[str, str] = {
    "versioning": "s3:GetBucketVersioning",
    "lifecycle": "s3:GetLifecycleConfiguration",
    "versions": "s3:ListBucketVersions",
    "list-type": "s3:ListBucket",
}
"""Parameter of a GET of a bucket to what it needs."""


def s3_rights(requests: Iterable[Asked]) -> set[tuple[str, str]]:
    """Actions of IAM, each with the bucket or object that it is about."""
    return {(action, f"arn:aws:s3:::{resource}") for asked in requests for action, resource in _of_s3(asked)}


def _of_s3(asked: Asked) -> Iterator[tuple[str, str]]:
    bucket, _, key = asked.path.removeprefix("/").partition("/")
    if asked.status == 404 and key:
        yield "s3:ListBucket", bucket  # without it, S3 says "denied" of what is not there
    where = f"{bucket}/{key}" if key else bucket
    if asked.method == "POST" and "delete" in asked.query:
        yield from _of_deletions(bucket, asked.body)
    elif not key:
        assert asked.method in ("GET", "HEAD"), asked
        yield next((right for name, right in _OF_BUCKETS.items() if name in asked.query), "s3:ListBucket"), where
        assert asked.method == "HEAD" or asked.query.keys() & _OF_BUCKETS.keys(), asked
    elif "tagging" in asked.query:
        verb = {"GET": "Get", "PUT": "Put", "DELETE": "Delete"}[asked.method]
        yield f"s3:{verb}ObjectTagging", where
    elif asked.method == "DELETE" and "uploadId" in asked.query:
        yield "s3:AbortMultipartUpload", where
    else:
        verb = {"GET": "Get", "HEAD": "Get", "PUT": "Put", "POST": "Put", "DELETE": "Delete"}[asked.method]
        yield f"s3:{verb}Object{'Version' if 'versionId' in asked.query else ''}", where
        if source := asked.headers.get("x-amz-copy-source"):
            yield "s3:GetObject", source.removeprefix("/")


def _of_deletions(bucket: str, body: bytes) -> Iterator[tuple[str, str]]:
    """A deletion that names the entity tag reads it."""
    for each in ElementTree.fromstring(body):
        named = {part.tag.rpartition("}")[2]: part.text or "" for part in each}
        if "Key" in named:
            yield f"s3:DeleteObject{'Version' if 'VersionId' in named else ''}", f"{bucket}/{named['Key']}"
            if "ETag" in named:
                yield "s3:GetObject", f"{bucket}/{named['Key']}"


def gcs_rights(requests: Iterable[Asked]) -> set[str]:
    """Permissions of Google Cloud Storage, by its JSON and XML APIs."""
    return {f"storage.{right}" for asked in requests for right in _of_gcs(asked)}


def _of_gcs(asked: Asked) -> Iterator[str]:
    if asked.status == 404 and asked.method in ("GET", "HEAD"):
        yield "objects.list"  # without it, GCS says "denied" of what is not there
    path = asked.path.removeprefix("/upload").removeprefix("/storage/v1/b/").strip("/")
    rest = path.partition("/")[2]
    if asked.path.startswith("/upload/") or "/rewriteTo/" in asked.path:
        yield "objects.create"
        if "/rewriteTo/" in asked.path:
            assert asked.query["ifGenerationMatch"] == "0", "one that writes over an object deletes it"
            yield "objects.get"
    elif asked.method == "DELETE":
        yield "objects.delete"
    else:
        assert asked.method in ("GET", "HEAD"), asked
        is_json = asked.path.startswith("/storage/v1/")
        yield "buckets.get" if not rest else "objects.list" if is_json and rest == "o" else "objects.get"


AZURE = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"


def azure_rights(requests: Iterable[Asked]) -> set[str]:
    """Data actions of Azure, by the REST API of its blob service."""
    return {f"{AZURE}{right}" for asked in requests for right in _of_azure(asked)}


def _of_azure(asked: Asked) -> Iterator[str]:
    assert asked.query.get("comp") in (None, "list", "block", "blocklist"), asked
    assert asked.query.get("restype") is None or asked.query["comp"] == "list", asked
    yield {"GET": "read", "HEAD": "read", "PUT": "write", "DELETE": "delete"}[asked.method]
    if "x-ms-copy-source" in asked.headers:
        yield "read"
