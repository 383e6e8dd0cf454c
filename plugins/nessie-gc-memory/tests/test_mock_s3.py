"""A computed lake behind an S3 endpoint: pages in the order of keys, ranges, deletions, refusals."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4
from xml.etree import ElementTree

import pytest
from nessie_gc_memory.mock import MockChanges, MockLake, MockLakeSpec
from nessie_gc_memory.mock.bucket import MockBucket
from nessie_gc_memory.mock.s3_server import ComputedS3Server

from nessie_gc_core.errors import ConfigurationError

ROOT = "s3://lake/warehouse"


@pytest.fixture
def spec():
    spec = MockLakeSpec(
        lake=f"lake-{uuid4()}",
        root=ROOT,
        references=4,
        commits=30,
        table_count=3,
        branch_commits=4,
        files_per_commit=7,
        deletes_every=2,
        deletes_per_commit=3,
        format_versions=("2", "3"),
        missing_share=0.1,
    )
    yield spec
    MockChanges.forget(spec)


@pytest.fixture
def keys(spec):
    """All keys, in their order."""
    listed = MockLake(spec).listing(f"{ROOT}/")
    return [f"warehouse/{path}" for each in listed for path in each.paths]


@pytest.fixture
def server(spec):
    with ComputedS3Server(spec) as server:
        yield server


def ask(server, method, path, *, body=b"", **headers) -> tuple[int, dict[str, str], bytes]:
    address = urlsplit(server.endpoint)
    connection = http.client.HTTPConnection(str(address.hostname), address.port)
    connection.request(method, path, body=body, headers=headers)
    response = connection.getresponse()
    answer = response.status, dict(response.headers), response.read()
    connection.close()
    return answer


def texts(body, name) -> list[Any]:
    return [each.text for each in ElementTree.fromstring(body).iter() if each.tag.rpartition("}")[2] == name]


def pages(server, **query) -> Iterator[bytes]:
    token: dict[str, str] = {}
    while True:
        status, _, body = ask(server, "GET", "/lake?" + urlencode({"list-type": "2", **query, **token}))
        assert 200 == status
        yield body
        if texts(body, "IsTruncated") == ["false"]:
            return
        token = {"continuation-token": texts(body, "NextContinuationToken")[0]}


@pytest.mark.parametrize("size", [7, 1000])
def test_the_pages_of_a_listing_have_every_key_once_and_in_order(server, keys, size):
    assert len(keys) > 250
    assert sorted(keys) == [key for body in pages(server, **{"max-keys": size}) for key in texts(body, "Key")]


@pytest.mark.parametrize("prefix", ["warehouse/t000000", "warehouse/t000001/data/00000-0000003", "warehouse/x", "w"])
def test_a_prefix_has_the_keys_that_begin_with_it(server, keys, prefix):
    expected = [key for key in keys if key.startswith(prefix)]
    assert expected == [key for body in pages(server, prefix=prefix, **{"max-keys": 9}) for key in texts(body, "Key")]


def test_a_listing_may_start_after_any_key(spec, keys):
    bucket = MockBucket(MockLake(spec))
    for number, key in enumerate(keys):
        assert keys[number + 1 : number + 3] == [found.path for found in bucket.page("", after=key, limit=2).objects]
    for after in ("warehouse/t000000/data/00000-0000001", "warehouse/t000000/z", "warehouse/t000000_", "a", "z"):
        expected = [key for key in keys if key > after][:2]
        assert expected == [found.path for found in bucket.page("", after=after, limit=2).objects]


@pytest.mark.parametrize("size", [1, 1000])
def test_a_delimiter_folds_keys_into_folders(server, size):
    query = {"delimiter": "/", "max-keys": size}
    folders = [each for body in pages(server, prefix="warehouse/", **query) for each in texts(body, "Prefix")]
    tables = [f"warehouse/{name}/" for name in ("t000000", "t000000_old", "t000001")]
    assert tables == [each for each in folders if each != "warehouse/"]
    below = [each for body in pages(server, prefix="warehouse/t000000/", **query) for each in texts(body, "Prefix")]
    assert {"warehouse/t000000/", "warehouse/t000000/data/", "warehouse/t000000/metadata/"} == set(below)


def test_a_page_says_size_and_time_of_each_object(server, spec, keys):
    lake = MockLake(spec)
    found = [lake.object(f"s3://lake/{key}") for key in keys]
    bodies = list(pages(server))
    assert [str(each.size) for each in found if each] == [text for body in bodies for text in texts(body, "Size")]
    times = [each.modified.strftime("%Y-%m-%dT%H:%M:%S.000Z") for each in found if each]
    assert times == [text for body in bodies for text in texts(body, "LastModified")]


def test_files_that_are_put_are_listed_in_their_place(server, spec, keys):
    MockChanges.of(spec).put(f"{ROOT}/t000001/data/!first", b"12345")
    listed = [key for body in pages(server, **{"max-keys": 10}) for key in texts(body, "Key")]
    assert sorted([*keys, "warehouse/t000001/data/!first"]) == listed
    assert b"12345" == ask(server, "GET", "/lake/warehouse/t000001/data/%21first")[2]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [("bytes=0-9", slice(10)), ("bytes=10-", slice(10, None)), ("bytes=-5", slice(-5, None)), ("", slice(None))],
)
def test_objects_and_ranges_of_them_are_read(server, spec, keys, asked, expected):
    key = next(key for key in keys if key.endswith(".metadata.json"))
    content = MockLake(spec).content(f"s3://lake/{key}") or b""
    status, headers, body = ask(server, "GET", f"/lake/{key}", **({"Range": asked} if asked else {}))
    assert (206 if asked else 200, content[expected]) == (status, body)
    assert str(len(body)) == headers["Content-Length"]


def test_a_range_beyond_the_end_is_refused(server, keys):
    assert 416 == ask(server, "GET", f"/lake/{keys[0]}", Range="bytes=99999999-")[0]


def test_the_head_of_an_object_has_its_size(server, spec, keys):
    status, headers, body = ask(server, "HEAD", f"/lake/{keys[0]}")
    found = MockLake(spec).object(f"s3://lake/{keys[0]}")
    assert (200, str(found.size if found else None), b"") == (status, headers["Content-Length"], body)


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/lake/none"), ("HEAD", "/lake/none"), ("GET", "/other?list-type=2")]
)
def test_what_does_not_exist_is_not_found(server, method, path):
    assert 404 == ask(server, method, path)[0]


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_nothing_can_be_written(server, keys, method):
    assert 501 == ask(server, method, "/lake/warehouse/new", body=b"new")[0]
    assert keys == [key for body in pages(server) for key in texts(body, "Key")]


def test_deleted_objects_are_gone(server, keys):
    objects = "".join(f"<Object><Key>{key}</Key></Object>" for key in keys[1:4])
    status, _, body = ask(server, "POST", "/lake?delete", body=f"<Delete>{objects}</Delete>".encode())
    assert (200, keys[1:4]) == (status, texts(body, "Key"))
    assert 204 == ask(server, "DELETE", f"/lake/{keys[0]}")[0]
    assert keys[4:] == [key for body in pages(server) for key in texts(body, "Key")]
    assert 404 == ask(server, "GET", f"/lake/{keys[2]}")[0]


def test_a_share_of_the_requests_is_refused_and_works_when_repeated(spec, keys):
    with ComputedS3Server(replace(spec, throttled_share=0.5, latency=timedelta(milliseconds=1))) as server:
        statuses = [ask(server, "HEAD", f"/lake/{keys[0]}")[0] for _ in range(40)]
    assert {200, 503} == set(statuses)


def test_a_lake_at_another_place_is_not_served(spec):
    with pytest.raises(ConfigurationError, match="'mock://lake/warehouse'"):
        ComputedS3Server(replace(spec, root="mock://lake/warehouse"))


def test_a_port_that_is_taken_is_an_error_that_names_it(server, spec):
    port = urlsplit(server.endpoint).port
    with pytest.raises(ConfigurationError, match=f"port {port} cannot be used"):
        ComputedS3Server(spec, port=port)
