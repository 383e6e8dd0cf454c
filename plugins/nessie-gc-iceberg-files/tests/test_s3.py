"""Listing, reading and deleting on S3 servers: SeaweedFS, which checks rights, and moto, which keeps odd keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber
from iceberg_lake import Entry, Snapshot, Table, manifest_bytes, manifest_list_bytes
from moto.server import ThreadedMotoServer
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister, key_ranges, s3_client
from nessie_gc_iceberg_files.quick_reads import QuickReads
from nessie_gc_iceberg_files.s3_store import S3Store

from nessie_gc_core.connectors import ListingPart
from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    ListingError,
    MissingFileError,
    ServiceUnavailableError,
    UnreadableFileError,
)
from nessie_gc_core.model.files import FileReference, ReachableFile
from nessie_gc_core.testing.servers import free_ports

pytestmark = pytest.mark.server
ODD = [
    "a b",
    "a%20b",
    "a+b",
    "a#b?c=d&e",
    "year=2024/a:b",
    ".hidden/.x",
    "ü/日本/\U0001f9ca",
    "<&>\"'",
    "x" * 250,
    "[*]{}~^`|",
]
ONLY_ON_S3 = ["back\\slash", "a//b", "//c", "d/./e", "f/../g", "tail /", "bell\x07", " lead", "trail "]


def client(endpoint, access_key="k", secret_key="s"):
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        region_name="us-east-1",
        config=Config(retries={"total_max_attempts": 1}),
    )


@pytest.fixture(scope="module")
def server(s3_server):
    return s3_server


@pytest.fixture(scope="module")
def s3(server):
    opened = client(server.endpoint, server.access_key, server.secret_key)
    yield opened
    opened.close()


@pytest.fixture
def options(server):
    return {"properties": dict(server.properties)}


@pytest.fixture
def lister(options):
    with IcebergFileLister.from_options(options) as opened:
        yield opened


@pytest.fixture
def deleter(options):
    with IcebergFileDeleter.from_options(options) as opened:
        yield opened


@pytest.fixture
def read_only_deleter(server):
    with IcebergFileDeleter.from_options({"properties": dict(server.read_only_properties)}) as opened:
        yield opened


@pytest.fixture
def prefix(request):
    return f"{abs(hash(request.node.nodeid))}/"


@pytest.fixture(scope="module")
def moto():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    opened = client(endpoint)
    opened.create_bucket(Bucket="lake")
    yield opened, {"s3.endpoint": endpoint, "s3.access-key-id": "k", "s3.secret-access-key": "s"}
    opened.close()
    server.stop()


def paths(files):
    return sorted(file.path for file in files)


def references(location, found):
    return [FileReference(location=location, path=path) for path in found]


def statuses(outcomes):
    return {outcome.path: str(outcome.status) for outcome in outcomes}


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_files_come_with_size_and_utc_time(lister, s3, prefix, scheme):
    s3.put_object(Bucket="lake", Key=f"{prefix}data/a.parquet", Body=b"abc")
    location = f"{scheme}://lake/{prefix}"
    (file,) = lister.list_files(location)
    assert (location, "data/a.parquet", 3) == (file.location, file.path, file.size)
    assert timedelta(0) == file.modified.utcoffset()
    assert abs(datetime.now(UTC) - file.modified) < timedelta(minutes=1)


def test_s4_raw_keys_survive_listing_reading_and_deleting(lister, deleter, options, s3, prefix):
    location = f"s3://lake/{prefix}%41 #?/"
    for path in ODD:
        s3.put_object(Bucket="lake", Key=f"{prefix}%41 #?/{path}", Body=manifest_bytes([Entry(path)]))
    assert sorted(ODD) == paths(lister.list_files(location))
    with IcebergContentToFiles.from_options(options) as reader:
        for path in ODD:
            assert [path] == paths(reader.expand(ReachableFile(path=location + path, kind="MANIFEST")))
    assert dict.fromkeys(ODD, "DELETED") == statuses(deleter.delete_files(location, references(location, ODD)))
    assert [] == list(lister.list_files(location))


def test_listing_and_deleting_go_beyond_one_page(lister, deleter, s3, prefix):
    expected = sorted(f"p{number % 3}/f{number}" for number in range(1203))
    for path in expected:
        s3.put_object(Bucket="lake", Key=prefix + path, Body=b"")
    location = f"s3://lake/{prefix}"
    files = list(lister.list_files(location))
    assert expected == paths(files)
    parts = lister.split_listing(location, 4)
    assert 3 == len(parts)
    assert expected == paths(file for part in parts for file in lister.list_part(location, part))
    assert dict.fromkeys(expected, "DELETED") == statuses(deleter.delete_files(location, files))
    assert [] == list(lister.list_files(location))


def test_s15_what_may_not_be_deleted_is_failed_each_by_name(lister, read_only_deleter, s3, prefix):
    wanted = [f"f{number}" for number in range(12)]
    for path in wanted:
        s3.put_object(Bucket="lake", Key=prefix + path, Body=b"")
    location = f"s3://lake/{prefix}"
    outcomes = list(read_only_deleter.delete_files(location, references(location, [*wanted, "bell\x07"])))
    assert dict.fromkeys([*wanted, "bell\x07"], "FAILED") == statuses(outcomes)
    assert all("AccessDenied" in outcome.reason for outcome in outcomes)
    assert all("testreadersecret" not in outcome.reason for outcome in outcomes)
    assert sorted(wanted) == paths(lister.list_files(location))


def test_s2_a_neighbour_with_a_longer_name_is_not_listed(lister, s3, prefix):
    s3.put_object(Bucket="lake", Key=f"{prefix}t/a", Body=b"")
    s3.put_object(Bucket="lake", Key=f"{prefix}t2/b", Body=b"")
    assert ["a"] == paths(lister.list_files(f"s3://lake/{prefix}t/"))


def test_a_location_that_does_not_exist_is_empty(lister, prefix):
    assert [] == list(lister.list_files(f"s3://lake/{prefix}none/"))


@pytest.mark.parametrize(("code", "expected"), [("NoSuchKey", "ALREADY_GONE"), ("AccessDenied", "FAILED")])
def test_s15_keys_that_go_one_by_one_have_the_outcome_that_the_server_says(code, expected):
    store = S3Store("lake", {"s3.endpoint": "http://127.0.0.1:1", "s3.access-key-id": "k", "s3.secret-access-key": "s"})
    with Stubber(store._client) as stubber:
        stubber.add_client_error("delete_object", code)
        assert {"bell\x07": expected} == statuses(store.delete("t/", ["bell\x07"]))
    store.close()


def test_a_bucket_that_does_not_exist_is_an_error(lister):
    with pytest.raises(ListingError, match="NoSuchBucket"):
        list(lister.list_files("s3://no-such-bucket/t/"))


def test_a_wrong_secret_is_access_denied(server, prefix):
    properties = {**server.properties, "s3.secret-access-key": "wrong-secret"}
    with IcebergFileLister.from_options({"properties": properties}) as lister:
        with pytest.raises(AccessDeniedError) as caught:
            list(lister.list_files(f"s3://lake/{prefix}"))
        assert "wrong-secret" not in str(caught.value)
        assert timedelta(0) == lister.store_time(f"s3://lake/{prefix}").utcoffset()


def test_a_server_that_is_not_there_is_unavailable():
    properties = {
        "s3.endpoint": f"http://127.0.0.1:{free_ports(1)[0]}",
        "s3.access-key-id": "k",
        "s3.secret-access-key": "s",
        "s3.retry.num-retries": "0",
    }
    with IcebergFileLister.from_options({"properties": properties}) as lister:
        with pytest.raises(ServiceUnavailableError):
            list(lister.list_files("s3://lake/t/"))
        with pytest.raises(ServiceUnavailableError):
            lister.store_time("s3://lake/t/")
    with IcebergFileDeleter.from_options({"properties": properties}) as deleter:
        outcomes = deleter.delete_files("s3://lake/t/", references("s3://lake/t/", ["a", "b"]))
        assert {"a": "FAILED", "b": "FAILED"} == statuses(outcomes)
    with (
        IcebergContentToFiles.from_options({"properties": properties}) as reader,
        pytest.raises(UnreadableFileError) as caught,
    ):
        list(reader.expand(ReachableFile(path="s3://lake/m.avro", kind="MANIFEST")))
    assert not isinstance(caught.value, MissingFileError)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"s3.endpoint": "not a url"}, "cannot create an S3 client"),
        ({"s3.connect-timeout": "soon"}, "s3.connect-timeout"),
        ({"s3.retry.num-retries": "few"}, "s3.retry.num-retries"),
        ({"s3.signer": "S3V4RestSigner"}, "s3.signer"),
    ],
)
def test_wrong_properties_are_configuration_errors(properties, reason):
    with (
        IcebergFileLister.from_options({"properties": properties}) as lister,
        pytest.raises(ConfigurationError, match=reason),
    ):
        list(lister.list_files("s3://lake/t/"))


def test_the_store_tells_its_time(lister, prefix):
    assert abs(datetime.now(UTC) - lister.store_time(f"s3://lake/{prefix}")) < timedelta(minutes=1)


def test_missing_files_are_missing_and_forbidden_ones_are_not(options, server, prefix):
    missing = ReachableFile(path=f"s3://lake/{prefix}none.avro", kind="MANIFEST")
    with IcebergContentToFiles.from_options(options) as reader:
        with pytest.raises(MissingFileError):
            list(reader.expand(missing))
        with pytest.raises(UnreadableFileError) as caught:
            list(reader.expand(ReachableFile(path="s3://no-such-bucket/m.avro", kind="MANIFEST")))
        assert not isinstance(caught.value, MissingFileError)
    properties = {**server.properties, "s3.secret-access-key": "wrong"}
    with IcebergContentToFiles.from_options({"properties": properties}) as reader:
        with pytest.raises(UnreadableFileError) as caught:
            list(reader.expand(missing))
        assert not isinstance(caught.value, MissingFileError)


def test_a_table_is_read_to_its_leaves(options, s3, prefix, version_of):
    base = f"s3://lake/{prefix}t#1?"
    stored = {
        "m.metadata.json": Table(base, snapshots=[Snapshot(1, f"{base}/snap.avro")], current=1).bytes(),
        "snap.avro": manifest_list_bytes([f"{base}/m.avro"]),
        "m.avro": manifest_bytes([Entry(f"{base}/data/x.parquet")]),
    }
    for name, data in stored.items():
        s3.put_object(Bucket="lake", Key=f"{prefix}t#1?/{name}", Body=data)
    with IcebergContentToFiles.from_options(options) as reader:
        _, manifest_list = reader.files(version_of(f"{base}/m.metadata.json"))
        (manifest,) = reader.expand(manifest_list)
        assert [f"{base}/data/x.parquet"] == [file.path for file in reader.expand(manifest)]


def test_directory_markers_are_left_out(moto):
    opened, properties = moto
    for key in ("marked/", "marked/a", "marked/sub/", "marked/sub/b"):
        opened.put_object(Bucket="lake", Key=key, Body=b"")
    with IcebergFileLister.from_options({"properties": properties}) as lister:
        assert ["a", "sub/b"] == paths(lister.list_files("s3://lake/marked/"))
        parts = lister.split_listing("s3://lake/marked/", 9)
        assert ["a", "sub/b"] == paths(f for part in parts for f in lister.list_part("s3://lake/marked/", part))


def test_a_large_location_of_a_server_in_key_order_is_cut_and_listed_once(moto, monkeypatch):
    monkeypatch.setattr(key_ranges, "PAGES", 1)
    opened, properties = moto
    wanted = [*ONLY_ON_S3, *(f"data/p={number % 5}/{number}" for number in range(2500))]
    for path in wanted:
        opened.put_object(Bucket="lake", Key=f"large/{path}", Body=b"x")
    with IcebergFileLister.from_options({"properties": {**properties, "s3.list-in-key-order": "true"}}) as lister:
        files, ranges = [], 0
        waiting: list[str | None] = [None]
        while waiting:
            for found in lister.list_or_cut("s3://lake/large/", waiting.pop()):
                if isinstance(found, ListingPart):
                    waiting.append(found.name)
                    ranges += 1
                else:
                    files.append(found)
    assert sorted(wanted) == paths(files)
    assert ranges >= 2


def quick(properties, key):
    """What the quick client gets, where it is asked."""
    session = s3_client.s3_session(properties)
    store = s3_client.s3_reads("lake", session, lambda: s3_client.s3_client(session, properties), properties)
    return QuickReads(lambda: store).read(key)


def test_s28_the_endpoint_is_that_of_the_properties_whatever_the_environment_says(moto, monkeypatch):
    opened, properties = moto
    opened.put_object(Bucket="lake", Key="a/b", Body=b"here")
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_ports(1)[0]}")
    for name in ("AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "of-somebody-else")
    monkeypatch.setenv("AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "true")
    assert b"here" == quick(properties, "a/b")


def test_s28_a_session_token_is_not_sent_where_redirects_would_take_it(moto):
    opened, properties = moto
    opened.put_object(Bucket="lake", Key="a/b", Body=b"here")
    temporary = {**properties, "s3.session-token": "token"}
    assert quick(temporary, "a/b") is None
    with IcebergContentToFiles.from_options({"properties": temporary}) as reader:
        assert b"here" == reader._reader.read("s3://lake/a/b")


@pytest.mark.parametrize("bucket", ["xn--a", "a.b", "Upper", "a_b"])
def test_a_bucket_that_is_no_host_name_is_read_by_the_exact_client_in_virtual_style(moto, bucket):
    _, properties = moto
    virtual = {**properties, "s3.path-style-access": "false"}
    session = s3_client.s3_session(virtual)
    assert s3_client.s3_reads(bucket, session, lambda: None, virtual) is None


def test_key_order_is_assumed_of_aws_alone_however_the_address_is_given(monkeypatch):
    def is_ordered(bucket="lake", **properties):
        return S3Store(bucket, {"s3.region": "eu-central-1", **properties}).is_ordered

    assert is_ordered()
    assert not is_ordered("lake--euc1-az1--x-s3")
    assert not is_ordered(**{"s3.endpoint": "http://127.0.0.1:9000"})
    assert is_ordered(**{"s3.endpoint": "http://127.0.0.1:9000", "s3.list-in-key-order": "true"})
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9000")
    assert not is_ordered()


def test_s4_keys_that_only_s3_has_survive(moto):
    opened, properties = moto
    location = "s3://lake/odd/"
    files = [path for path in ONLY_ON_S3 if not path.endswith("/")]
    for path in ONLY_ON_S3:
        opened.put_object(Bucket="lake", Key=f"odd/{path}", Body=b"x")
    opened.put_object(Bucket="lake", Key="odd/a/b", Body=b"live")
    opened.put_object(Bucket="lake", Key="odd/g", Body=b"live")
    with (
        IcebergFileLister.from_options({"properties": properties}) as lister,
        IcebergFileDeleter.from_options({"properties": properties}) as deleter,
    ):
        assert sorted([*ONLY_ON_S3, "a/b", "g"]) == paths(lister.list_files(location))
        parts = lister.split_listing(location, 20)
        assert sorted([*ONLY_ON_S3, "a/b", "g"]) == paths(f for part in parts for f in lister.list_part(location, part))
        assert dict.fromkeys(files, "DELETED") == statuses(deleter.delete_files(location, references(location, files)))
        assert ["a/b", "g", "tail /"] == paths(lister.list_files(location))
