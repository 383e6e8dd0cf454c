"""S4: what is read from the XML of a page is what boto3 reads."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from hypothesis import given
from hypothesis import strategies as st
from nessie_gc_iceberg_files.s3_pages import OBJECTS, objects_of, read_objects_of
from nessie_gc_iceberg_files.stores import StoredFile

KEYS = st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1), max_size=5)
BEGIN = "<?xml version='1.0' encoding='UTF-8'?><ListBucketResult xmlns='http://s3.amazonaws.com/doc/2006-03-01/'>"
OBJECT = (
    "<Contents><Key>{}</Key><LastModified>2026-01-31T08:15:00.123Z</LastModified><ETag>&quot;e&quot;</ETag>"
    "<Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>"
)


class Raw:
    def __init__(self, body):
        self.body = body

    def stream(self, *_, **__):
        yield self.body


def listing(body: str | bytes, *, quickly: bool, status: int = 200):
    """A page as a client gives it that gets this answer."""
    client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s")
    data = body.encode() if isinstance(body, str) else body
    client.meta.events.register_first(
        "before-send.s3.ListObjectsV2", lambda request, **_: AWSResponse(request.url, status, {}, Raw(data))
    )
    if quickly:
        read_objects_of(client)
    try:
        return client.list_objects_v2(Bucket="b")
    finally:
        client.close()


def page_of(keys, *, encoded=True, more=""):
    rows = "".join(OBJECT.format(quote_plus(key) if encoded else escape(key), n) for n, key in enumerate(keys))
    encoding = "<EncodingType>url</EncodingType>" if encoded else ""
    return f"{BEGIN}<Name>b</Name>{encoding}<IsTruncated>false</IsTruncated>{rows}{more}</ListBucketResult>"


@given(keys=KEYS, encoded=st.booleans())
def test_s04_keys_sizes_and_times_are_those_that_boto3_reads(keys, encoded):
    page = page_of(keys, encoded=encoded)
    slow, quick = listing(page, quickly=False), listing(page, quickly=True)
    assert objects_of(slow) == objects_of(quick)
    assert keys == [found.key for found in objects_of(quick)]
    assert slow["IsTruncated"] is quick["IsTruncated"] is False
    if keys and (encoded or not any("&" in key or "<" in key or ">" in key for key in keys)):
        assert "Contents" not in quick


def test_a_page_is_read_to_the_microsecond_and_in_utc():
    (found,) = objects_of(listing(page_of(["a b+c"]), quickly=True))
    assert StoredFile.at("a b+c", 0, datetime(2026, 1, 31, 8, 15, 0, 123000, UTC)) == found


@pytest.mark.parametrize(
    "odd",
    [
        "<Contents><Key>b</Key><LastModified>2026-01-31T08:15:00.123Z</LastModified></Contents>",
        "<Contents><Key>b</Key><Size>1</Size></Contents>",
        "<Contents><Key>b</Key><LastModified>2026-01-31T08:15:00</LastModified><Size>1</Size></Contents>",
        "<Contents><Key>b</Key><LastModified>Sat, 31 Jan 2026 08:15:00 GMT</LastModified><Size>1</Size></Contents>",
        f"<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>{OBJECT.format('c', 1)}",
    ],
)
def test_what_looks_unusual_is_left_to_boto3(odd):
    page = page_of(["a"], more=odd)
    quick = listing(page, quickly=True)
    assert OBJECTS not in quick
    assert objects_of(listing(page, quickly=False)) == objects_of(quick)


def test_prefixes_and_the_token_of_the_next_page_stay():
    more = "<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes><NextContinuationToken>t</NextContinuationToken>"
    page = listing(page_of(["a"], more=more), quickly=True)
    assert ([{"Prefix": "p/"}], "t", ["a"]) == (
        page["CommonPrefixes"],
        page["NextContinuationToken"],
        [found.key for found in objects_of(page)],
    )


def test_a_page_without_objects_has_none():
    assert [] == objects_of(listing(page_of([]), quickly=True))
