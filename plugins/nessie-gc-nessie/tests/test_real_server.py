from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from loopback import LoopbackServer, demanding
from nessie_gc_nessie import NessieConnector
from nessie_writer import NessieWriter, delete, namespace, put, table

from nessie_gc_core.errors import ConfigurationError, ReferenceNotFoundError
from nessie_gc_core.model.repository import LogEntry, Operation, OperationKind, Reference, ReferenceKind
from nessie_gc_core.testing.servers import NessieServer

pytestmark = pytest.mark.server


def at(commit_id: str | None) -> Reference:
    return Reference(name="some/name", kind=ReferenceKind.BRANCH, commit_id=commit_id)


def content_ids(connector: NessieConnector, commit_id: str) -> dict[str, str]:
    return {version.content_key: version.content_id for version in connector.contents(at(commit_id))}


def test_branches_and_tags_are_listed_with_their_heads(connector: NessieConnector, writer: NessieWriter) -> None:
    head = writer.commit(writer.branch(), namespace("n"))
    names = ("feature/a.b-c_d", "x/y/z", "l" + "o" * 300 + "ng")
    expected = {(writer.create(name, at=head), name, ReferenceKind.BRANCH) for name in names}
    expected.add((writer.create("release/1.0", kind="TAG", at=head), "release/1.0", ReferenceKind.TAG))

    found = {(each.commit_id, each.name, each.kind) for each in connector.references()}

    assert expected <= found


def test_every_page_of_references_is_read(server: NessieServer, writer: NessieWriter) -> None:
    head = writer.commit(writer.branch(), namespace("n"))
    expected = {f"many/{number}" for number in range(60)}
    for name in expected:
        writer.create(name, kind="TAG", at=head)

    with NessieConnector.from_options({"uri": server.uri, "page_size": 7}) as connector:
        found = [each.name for each in connector.references()]

    assert expected == {name for name in found if name.startswith("many/")}
    assert len(set(found)) == len(found)


def test_a_commit_has_its_operations_parent_and_time(connector: NessieConnector, writer: NessieWriter) -> None:
    branch = writer.branch()
    before = datetime.now(UTC) - timedelta(seconds=1)
    first = writer.commit(branch, namespace("n"))
    view = {"type": "ICEBERG_VIEW", "metadataLocation": "s3://b/v/metadata/1.json", "versionId": 3, "schemaId": 0}
    second = writer.commit(
        branch, put(table("s3://b/t/metadata/1.json", snapshot_id=-1), "n", "t.1"), put(view, "n", "v")
    )
    third = writer.commit(branch, delete("n", "v"), {"type": "UNCHANGED", "key": {"elements": ["n", "t.1"]}})

    log = list(connector.commit_log(at(third)))

    assert [third, second, first] == [entry.commit_id for entry in log]
    assert [second, first, None] == [entry.parent_id for entry in log]
    assert all(before <= entry.commit_time <= datetime.now(UTC) and entry.commit_time.tzinfo is UTC for entry in log)
    assert Operation(kind=OperationKind.DELETE, content_key="n.v") in (log[0].operations or ())
    assert (Operation(kind=OperationKind.PUT, content_key="n"),) == log[2].operations
    versions = [operation.content for operation in log[1].operations or ()]
    expected = [
        ("ICEBERG_TABLE", "s3://b/t/metadata/1.json", -1, "n.t.1", second, log[1].commit_time),
        ("ICEBERG_VIEW", "s3://b/v/metadata/1.json", 3, "n.v", second, log[1].commit_time),
    ]
    assert expected == [
        (v.content_type, v.metadata_location, v.snapshot_id, v.content_key, v.commit_id, v.commit_time)
        for v in versions
        if v is not None
    ]
    assert {v.content_key: v.content_id for v in versions if v is not None} == content_ids(connector, second)


def test_history_is_that_of_the_commit_not_of_the_moving_branch(
    connector: NessieConnector, writer: NessieWriter
) -> None:
    branch = writer.branch()
    first = writer.commit(branch, namespace("n"))
    writer.commit(branch, namespace("later"))

    assert [first] == [entry.commit_id for entry in connector.commit_log(at(first))]


def test_the_history_of_a_deleted_branch_can_still_be_read(
    connector: NessieConnector, writer: NessieWriter, server: NessieServer
) -> None:
    branch = writer.branch()
    head = writer.commit(branch, namespace("n"))
    writer.drop(branch)

    assert [head] == [entry.commit_id for entry in connector.commit_log(at(head))]


def test_an_empty_branch_has_no_history_and_no_contents(connector: NessieConnector, writer: NessieWriter) -> None:
    root = writer.root()
    name = writer.branch()

    found = [list(connector.commit_log(at(commit))) + list(connector.contents(at(commit))) for commit in (root, None)]

    assert [[], []] == found
    assert [None] == [reference.commit_id for reference in connector.references() if reference.name == name]


@pytest.fixture(scope="module")
def long_history(writer: NessieWriter) -> list[str]:
    branch = writer.branch()
    head, commits = writer.root(), []
    for number in range(600):
        head = writer.commit_at(branch, head, put(table(f"s3://b/{number}/metadata/1.json"), f"t{number}"))
        commits.append(head)
    return commits[::-1]


def test_a_long_history_comes_whole(connector: NessieConnector, long_history: list[str]) -> None:
    log = list(connector.commit_log(at(long_history[0])))

    assert long_history == [entry.commit_id for entry in log]
    assert [*long_history[1:], None] == [entry.parent_id for entry in log]


@pytest.mark.parametrize("length", [1, 31, 32, 33, 96, 97, 474])
def test_a_history_ends_right_at_the_edges_of_pages(
    connector: NessieConnector, long_history: list[str], length: int
) -> None:
    log: list[LogEntry] = list(connector.commit_log(at(long_history[-length])))

    assert length == len(log)
    assert log[-1].parent_id is None


def test_a_history_is_fetched_only_as_far_as_it_is_consumed(server: NessieServer, long_history: list[str]) -> None:
    with (
        LoopbackServer(demanding(server.uri.removesuffix("/api/v2"), lambda header: True)) as proxy,
        NessieConnector.from_options({"uri": proxy.uri}) as connector,
    ):
        with closing(connector.commit_log(at(long_history[0]))) as log:  # type: ignore[type-var]  # a generator
            assert 30 == len(list(islice(log, 30)))
        soon_left = [asked.query["max-records"] for asked in proxy.asked if "history" in asked.path]
        proxy.asked.clear()
        assert 600 == len(list(connector.commit_log(at(long_history[0]))))
        whole = [asked.query["max-records"] for asked in proxy.asked if "history" in asked.path]

    assert ["32"] == soon_left
    assert ["32", "64", "128", "250", "250"] == whole


def test_every_page_of_contents_is_read_in_bulk(server: NessieServer, long_history: list[str]) -> None:
    with (
        LoopbackServer(demanding(server.uri.removesuffix("/api/v2"), lambda header: True)) as proxy,
        NessieConnector.from_options({"uri": proxy.uri, "page_size": 150}) as connector,
    ):
        found = list(connector.contents(at(long_history[0])))

    assert {f"t{number}" for number in range(600)} == {version.content_key for version in found}
    assert 600 == len({version.content_id for version in found})
    assert len(proxy.asked) <= 5


def test_contents_are_those_at_the_commit(connector: NessieConnector, writer: NessieWriter) -> None:
    branch = writer.branch()
    first = writer.commit(
        branch, namespace("n"), put(table("s3://b/t/1.json"), "n", "t"), put(table("s3://b/u/1.json"), "u")
    )
    content_id = content_ids(connector, first)["n.t"]
    second = writer.commit(branch, put(table("s3://b/t/2.json", snapshot_id=2, content_id=content_id), "n", "t"))
    third = writer.commit(branch, delete("n", "t"))

    found = [
        {(v.content_key, v.metadata_location, v.snapshot_id, v.commit_id) for v in connector.contents(at(commit))}
        for commit in (first, second, third)
    ]

    assert [
        {("n.t", "s3://b/t/1.json", 1, first), ("u", "s3://b/u/1.json", 1, first)},
        {("n.t", "s3://b/t/2.json", 2, second), ("u", "s3://b/u/1.json", 1, second)},
        {("u", "s3://b/u/1.json", 1, third)},
    ] == found


def test_a_rename_keeps_the_content_id(connector: NessieConnector, writer: NessieWriter) -> None:
    branch = writer.branch()
    first = writer.commit(branch, put(table("s3://b/t/1.json"), "old"))
    content_id = content_ids(connector, first)["old"]

    second = writer.commit(branch, delete("old"), put(table("s3://b/t/1.json", content_id=content_id), "new"))

    assert {"new": content_id} == content_ids(connector, second)


def test_odd_keys_and_locations_come_raw(connector: NessieConnector, writer: NessieWriter) -> None:
    key, location = "té %2F #?+&", "s3://b/a b/%2F/ü#?x//y/metadata/1.json"
    head = writer.commit(writer.branch(), put(table(location), key))

    assert [(key, location)] == [(v.content_key, v.metadata_location) for v in connector.contents(at(head))]


def test_s23_contents_of_other_types_are_kept_with_their_place_and_text_is_none(
    connector: NessieConnector, writer: NessieWriter
) -> None:
    delta = {
        "type": "DELTA_LAKE_TABLE",
        "metadataLocationHistory": ["s3://b/d/_delta_log/0.json", "s3://b/d/_delta_log/1.json"],
        "checkpointLocationHistory": [],
    }
    udf = {"type": "UDF", "metadataLocation": "s3://b/u/metadata/x.json", "versionId": "1", "signatureId": "a"}
    text = {"type": "UDF", "sqlText": "x + 1", "dialect": "SPARK"}
    head = writer.commit(writer.branch(), put(delta, "d"), put(udf, "u"), put(text, "t"))

    listed = {(v.content_type, v.metadata_location, v.location) for v in connector.contents(at(head))}
    log = next(connector.commit_log(at(head)))
    logged = {
        (o.content.content_type, o.content.metadata_location, o.content.location)
        for o in log.operations or ()
        if o.content
    }

    expected = {
        ("DELTA_LAKE_TABLE", "s3://b/d/_delta_log/1.json", "s3://b/d/"),
        ("UDF", "s3://b/u/metadata/x.json", "s3://b/u/"),
    }
    assert (expected, expected) == (listed, logged)


@pytest.mark.parametrize("commit_id", ["ab" * 32, "no-such-commit", "abc", "ab" * 32 + "~1", ""])
def test_an_unknown_commit_is_not_found(connector: NessieConnector, commit_id: str) -> None:
    for read in (connector.commit_log, connector.contents):
        with pytest.raises(ReferenceNotFoundError) as raised:
            list(read(at(commit_id)))
        assert commit_id in str(raised.value)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("path", ["/api/v9", "/nessie/api/v2", "/api/v2/trees", ""])
def test_a_wrong_path_says_to_check_the_uri(server: NessieServer, path: str) -> None:
    uri = server.uri.removesuffix("/api/v2") + path
    with NessieConnector.from_options({"uri": uri}) as connector, pytest.raises(Exception, match="URI") as raised:
        list(connector.references())
    assert "\n" not in str(raised.value)


def test_version_1_of_the_api_is_refused_at_once() -> None:
    with pytest.raises(ConfigurationError, match="version 1"):
        NessieConnector.from_options({"uri": "http://localhost:19120/api/v1/"})


def test_s15_the_identity_is_one_for_every_address_of_the_server(server: NessieServer) -> None:
    port = server.port
    found = set()
    for uri in (server.uri, server.uri + "//", f"http://localhost:{port}/api/v2"):
        with NessieConnector.from_options({"uri": uri}) as connector:
            found.add(connector.identity())
    (identity,) = found
    assert identity.startswith("nessie:created:20")


def test_s15_another_server_is_another_repository(connector: NessieConnector) -> None:
    with NessieServer() as other, NessieConnector.from_options({"uri": other.uri}) as second:
        assert connector.identity() != second.identity()


def test_s15_a_configured_name_is_the_identity_and_the_others_are_known(server: NessieServer) -> None:
    with NessieConnector.from_options({"uri": server.uri}) as plain:
        created = plain.identity()
        assert [server.uri.replace("127.0.0.1", "localhost"), server.uri] == plain.former_identities()
    with NessieConnector.from_options({"uri": server.uri, "identity": "lake-1"}) as named:
        assert "lake-1" == named.identity()
        assert created == named.former_identities()[0]


def test_check_gets_one_line_about_the_server(connector: NessieConnector, server: NessieServer) -> None:
    line = connector.describe()

    assert line.startswith(f"Nessie at {server.uri}: REST API 2, specification 2.")
    assert "\n" not in line


def test_many_threads_read_at_once(connector: NessieConnector, long_history: list[str]) -> None:
    def read(length: int) -> int:
        return len(list(connector.commit_log(at(long_history[-length]))))

    lengths = [100, 40, 7, 64, 250, 33, 1, 120]
    with ThreadPoolExecutor(4) as threads:
        assert lengths == list(threads.map(read, lengths))
