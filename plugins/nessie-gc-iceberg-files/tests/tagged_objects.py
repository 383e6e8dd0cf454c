"""Tags of S3 objects, through a client of the tests' own."""

from __future__ import annotations

from nessie_gc_core.model import TaggedObject


def shown_object(client, uri):
    """An object and its tags."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    found = client.head_object(Bucket=bucket, Key=key)
    tags = client.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
    return TaggedObject(
        size=found["ContentLength"],
        modified=found["LastModified"],
        etag=found["ETag"],
        tags={each["Key"]: each["Value"] for each in tags},
    )


def tag_object(client, uri, tags):
    """Replaces all tags of an object."""
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    tagging = {"TagSet": [{"Key": name, "Value": value} for name, value in tags.items()]}
    client.put_object_tagging(Bucket=bucket, Key=key, Tagging=tagging)
