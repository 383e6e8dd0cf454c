"""Deletions, listings and reads on an S3 server that has too much to do, or a bad day."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator

import pytest
from botocore.stub import Stubber
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.s3_backoff import most_in_flight
from nessie_gc_iceberg_files.s3_store import S3Store

from nessie_gc_core.errors import ConfigurationError, ServiceUnavailableError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.testing.servers import FaultProxy, Faults

needs_server = pytest.mark.server
FILES = 4200
"""More than one call of the deleter has."""
NOWHERE = {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "k", "s3.secret-access-key": "s"}


@pytest.fixture
def server(s3_server):
    return s3_server


@pytest.fixture
def location(request):
    return f"s3://lake/wh/db/t{abs(hash(request.node.nodeid))}/"


def put(server, location, count):
    """So many paths; every hundredth is stored, because S3 says of what is not there that it deleted it."""
    paths = [f"dead/{number:05}" for number in range(count)]
    store = S3Store("lake", server.properties)
    for path in ["live/0", "live/1", *paths[::100]]:
        store._client.put_object(Bucket="lake", Key=location.removeprefix("s3://lake/") + path, Body=b"x")
    store.close()
    return paths


def deleted(properties, location, paths):
    with IcebergFileDeleter.from_options({"properties": dict(properties)}) as deleter:
        files = [FileReference(location=location, path=path, size=1) for path in paths]
        return [*deleter.delete_files(location, files)]


def left(server, location):
    with IcebergFileLister.from_options({"properties": dict(server.properties)}) as lister:
        return {file.path for file in lister.list_files(location)}


FAULTS = {
    "503": Faults(unavailable=0.4, seed=1),
    "keys": Faults(key_errors=0.2, seed=2),
    "internal errors of keys": Faults(key_errors=0.1, key_error="InternalError", seed=3),
    "resets": Faults(resets=0.3, seed=4),
}


@needs_server
@pytest.mark.parametrize("fault", FAULTS)
def test_s15_every_file_goes_and_is_named_once(server, location, fault):
    paths = put(server, location, FILES if fault == "503" else 1500)
    with FaultProxy(server.properties, FAULTS[fault]) as proxy:
        outcomes = deleted(proxy.properties, location, paths)
        counts = proxy.counts()
    assert Counter(paths) == Counter(outcome.path for outcome in outcomes)
    assert {"DELETED"} == {str(outcome.status) for outcome in outcomes}
    assert {"live/0", "live/1"} == left(server, location)
    assert any(counts[name] for name in ("unavailable", "key_errors", "resets"))


@needs_server
def test_s15_a_part_that_is_refused_fails_its_own_files_only(server, location):
    paths = put(server, location, FILES)
    with FaultProxy(server.properties, Faults(expired=0.4, seed=3)) as proxy:
        outcomes = deleted(proxy.properties, location, paths)
        refused = proxy.counts()["expired"]
    failed = {outcome.path for outcome in outcomes if str(outcome.status) == "FAILED"}
    assert 0 < refused < 5
    assert {*failed & set(paths[::100]), "live/0", "live/1"} == left(server, location)
    assert len(paths) == len(outcomes)
    assert all("ExpiredToken" in outcome.reason for outcome in outcomes if outcome.path in failed)


@needs_server
def test_what_is_throttled_without_end_fails_and_says_so(server, location):
    paths = put(server, location, 3)
    with FaultProxy({**server.properties, "s3.retry.num-retries": "0"}, Faults(unavailable=1.0)) as proxy:
        outcomes = deleted(proxy.properties, location, paths)
        with (
            IcebergFileLister.from_options({"properties": dict(proxy.properties)}) as lister,
            pytest.raises(ServiceUnavailableError, match="SlowDown"),
        ):
            list(lister.list_files(location))
    assert [("FAILED", True)] * 3 == [(str(outcome.status), "SlowDown" in outcome.reason) for outcome in outcomes]
    with FaultProxy({**server.properties, "s3.retry.num-retries": "0"}, Faults(key_errors=1.0)) as proxy:
        outcomes = deleted(proxy.properties, location, paths)
    assert [("FAILED", "SlowDown: later")] * 3 == [(str(outcome.status), outcome.reason) for outcome in outcomes]
    assert {paths[0], "live/0", "live/1"} == left(server, location)


@needs_server
def test_listings_and_reads_wait_too(server, location):
    put(server, location, 1)
    with FaultProxy(server.properties, Faults(unavailable=0.4, seed=5)) as proxy:
        properties = {"properties": dict(proxy.properties)}
        with IcebergFileLister.from_options(properties) as lister:
            for _ in range(4):
                assert 3 == len([*lister.list_files(location)])
        with IcebergContentToFiles.from_options(properties) as reader:
            assert b"x" == reader._reader.read(f"{location}live/0")


@needs_server
def test_s15_closing_a_deletion_ends_its_waits(server, location):
    paths = put(server, location, 2500)
    with (
        FaultProxy(server.properties, Faults(unavailable=0.7, seed=6)) as proxy,
        IcebergFileDeleter.from_options({"properties": dict(proxy.properties)}) as deleter,
    ):
        files = [FileReference(location=location, path=path, size=1) for path in paths]
        outcomes = deleter.delete_files(location, files)
        assert isinstance(outcomes, Generator)
        next(outcomes)
        started = time.monotonic()
        outcomes.close()
        assert time.monotonic() - started < 5
        count = proxy.counts()["requests"]
        time.sleep(0.3)
        assert count == proxy.counts()["requests"]


def test_throttling_lowers_the_limit_of_the_folder():
    store = S3Store("lake", NOWHERE)
    with Stubber(store._client) as stubber:
        error = {"Key": "wh/db/t/a", "Code": "SlowDown", "Message": "later"}
        stubber.add_response("delete_objects", {"Errors": [error]})
        stubber.add_response("delete_objects", {"Deleted": [{"Key": "wh/db/t/a"}]})
        (outcome,) = store.delete("wh/db/t/", ["a"])
    assert "DELETED" == str(outcome.status)
    assert 2 == store._limits.allowed("wh/db/t/a")  # one after the refusal, and one more after the success
    assert 64 == store._limits.allowed("wh/db/other/a")
    store.close()


@pytest.mark.parametrize("given", ["0", "-3", "1.5", "many"])
def test_the_most_requests_in_flight_are_a_whole_number(given):
    assert 64 == most_in_flight({})
    assert 8 == most_in_flight({"s3.max-requests-in-flight": "8"})
    with pytest.raises(ConfigurationError, match=r"s3\.max-requests-in-flight"):
        most_in_flight({"s3.max-requests-in-flight": given})


@pytest.mark.parametrize("code", ["NoSuchBucket", "InvalidAccessKeyId", "SignatureDoesNotMatch", "AccessDenied"])
def test_s15_a_refused_request_fails_each_of_its_files_at_once(code):
    store = S3Store("lake", NOWHERE)
    with Stubber(store._client) as stubber:
        stubber.add_client_error("delete_objects", code, "no")
        outcomes = [*store.delete("wh/db/t/", ["a", "b"])]
    assert [("a", "FAILED", f"{code}: no"), ("b", "FAILED", f"{code}: no")] == [
        (outcome.path, str(outcome.status), outcome.reason) for outcome in outcomes
    ]
    store.close()
