"""Commits by which tables get other metadata files: one each, sent once, refused where a table changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests
from loopback import Asked, LoopbackServer, Reply, json_reply
from nessie_gc_nessie import NessieConnector
from nessie_writer import NessieWriter, delete, namespace, put, table
from test_failures import open_connector

from nessie_gc_core.errors import (
    AccessDeniedError,
    CommitConflictError,
    CommitUnknownError,
    ConfigurationError,
    NessieGcError,
    RepositoryError,
)
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.repository import ContentVersion, Reference, ReferenceKind
from nessie_gc_core.testing.servers import NessieServer

OLD, NEW = "s3://b/t/metadata/00001-a.metadata.json", "s3://b/t/metadata/00002-b.metadata.json"
CONTENT = {**table(OLD, snapshot_id=7, content_id="the-table"), "schemaId": 3, "specId": 2, "sortOrderId": 1}
ENTRY = {"name": {"elements": ["n", "a.b"]}, "type": "ICEBERG_TABLE", "content": {**CONTENT, "newer-field": [1]}}
HEAD = Reference(name="a/b", kind=ReferenceKind.BRANCH, commit_id="aa" * 32)
VERSION = ContentVersion(
    content_id="the-table",
    content_type="ICEBERG_TABLE",
    metadata_location=OLD,
    snapshot_id=7,
    content_key="n.a.b",
    commit_id="aa" * 32,
)


def branch_at(name: str, commit_id: str) -> Reference:
    return Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=commit_id)


def full_content(server: NessieServer, commit_id: str, key: str) -> dict[str, Any]:
    answer = requests.get(f"{server.uri}/trees/@{commit_id}/entries", params={"content": "true"}, timeout=30)
    return next(each["content"] for each in answer.json()["entries"] if ".".join(each["name"]["elements"]) == key)


def versions(connector: NessieConnector, branch: Reference) -> dict[str, ContentVersion]:
    return {version.content_key: version for version in connector.contents(branch)}


# ---- a real server ------------------------------------------------------------------------------------
@pytest.mark.server
def test_everything_but_the_metadata_file_stays_even_of_keys_with_dots(
    server: NessieServer, connector: NessieConnector, writer: NessieWriter
) -> None:
    name = writer.branch()
    given = {**table(OLD, snapshot_id=7), "schemaId": 3, "specId": 2, "sortOrderId": 1}
    branch = branch_at(name, writer.commit(name, namespace("n"), put(given, "n", "a.b c%2F?")))
    before = full_content(server, str(branch.commit_id), "n.a.b c%2F?")

    connector.commit_metadata(branch, [(versions(connector, branch)["n.a.b c%2F?"], NEW)], message="two\nlines")

    head = writer.head(name)
    assert {**before, "metadataLocation": NEW} == full_content(server, head, "n.a.b c%2F?")
    assert [branch.commit_id] == [next(connector.commit_log(branch_at(name, head))).parent_id]


@pytest.mark.server
def test_what_was_committed_to_other_tables_meanwhile_stays(connector: NessieConnector, writer: NessieWriter) -> None:
    name = writer.branch()
    tables = (put(table(f"s3://b/{key}/1.json"), key) for key in ("t", "u"))
    branch = branch_at(name, writer.commit(name, *tables))
    found = versions(connector, branch)
    moved = writer.commit(name, put(table("s3://b/u/2.json", content_id=found["u"].content_id), "u"))

    connector.commit_metadata(branch, [(found["t"], NEW)], message="m")

    now = versions(connector, branch_at(name, writer.head(name)))
    assert {"t": NEW, "u": "s3://b/u/2.json"} == {key: each.metadata_location for key, each in now.items()}
    assert moved == next(connector.commit_log(branch_at(name, writer.head(name)))).parent_id


@pytest.mark.server
@pytest.mark.parametrize("change", ["changed", "dropped", "renamed", "branch"])
def test_whatever_happened_to_one_of_the_tables_nothing_is_committed_to_any(
    connector: NessieConnector, writer: NessieWriter, change: str
) -> None:
    name = writer.branch()
    branch = branch_at(name, writer.commit(name, *(put(table(f"s3://b/{key}/1.json"), key) for key in ("t", "u"))))
    found = versions(connector, branch)
    again = table("s3://b/u/2.json", content_id=found["u"].content_id)
    changes: dict[str, Callable[[], object]] = {
        "changed": lambda: writer.commit(name, put(again, "u")),
        "dropped": lambda: writer.commit(name, delete("u")),
        "renamed": lambda: writer.commit(name, delete("u"), put(again, "v")),
        "branch": lambda: writer.drop(name),
    }
    changes[change]()
    before = set(connector.references())

    with pytest.raises(CommitConflictError):
        connector.commit_metadata(branch, [(found["t"], NEW), (found["u"], NEW)], message="m")

    assert before == set(connector.references())


@pytest.mark.server
def test_a_table_that_was_not_read_from_this_commit_is_a_conflict(
    connector: NessieConnector, writer: NessieWriter
) -> None:
    name = writer.branch()
    first = branch_at(name, writer.commit(name, put(table("s3://b/t/1.json"), "t")))
    old = versions(connector, first)["t"]
    second = branch_at(name, writer.commit(name, put(table("s3://b/t/2.json", content_id=old.content_id), "t")))
    with pytest.raises(CommitConflictError):
        connector.commit_metadata(second, [(old, NEW)], message="m")
    assert second.commit_id == writer.head(name)


@pytest.mark.server
def test_nothing_is_committed_to_a_real_tag(connector: NessieConnector, writer: NessieWriter) -> None:
    name = writer.branch()
    head = writer.commit(name, put(table("s3://b/t/1.json"), "t"))
    tag = f"tag-of-{name}"
    writer.create(tag, kind="TAG", at=head)
    version = versions(connector, branch_at(name, head))["t"]
    with pytest.raises(ConfigurationError, match="is a tag"):
        connector.commit_metadata(
            Reference(name=tag, kind=ReferenceKind.TAG, commit_id=head), [(version, NEW)], message="m"
        )
    with pytest.raises(NessieGcError) as refused:  # whoever takes it for a branch is refused by the server
        connector.commit_metadata(branch_at(tag, head), [(version, NEW)], message="m")
    assert not isinstance(refused.value, CommitUnknownError)
    assert head == writer.head(tag)


# ---- answers that a healthy server never gives --------------------------------------------------------
def error_of(reply: Reply, *more: Reply, **options: OptionValue) -> tuple[NessieGcError, list[Asked]]:
    """The error of a commit, and the commits that were sent."""
    replies = [reply, *more]

    def answer(asked: Asked) -> Reply:
        if asked.method == "GET":
            return json_reply({"entries": [ENTRY], "hasMore": False})
        return replies.pop(0) if len(replies) > 1 else replies[0]

    with LoopbackServer(answer) as server, open_connector(server.uri, None, **options) as connector:
        with pytest.raises(NessieGcError) as raised:
            connector.commit_metadata(HEAD, [(VERSION, NEW)], message="m")
        assert "\n" not in str(raised.value)
        return raised.value, [asked for asked in server.asked if asked.method == "POST"]


@pytest.mark.parametrize(
    "lost",
    [
        Reply(status=500),
        Reply(status=502),
        Reply(status=503),
        Reply(status=504),
        Reply(status=429),
        Reply(body=b""),
        Reply(body=b"[]"),
        Reply(body=b'{"targetBranch": ', announced_length=999),
        Reply(delay_seconds=0.5, body=b"{}"),
    ],
)
def test_s19_a_commit_whose_answer_is_lost_is_sent_once_and_unknown(lost: Reply) -> None:
    error, sent = error_of(lost, read_timeout_seconds=0.2, retries=5)
    assert (CommitUnknownError, 1) == (type(error), len(sent))


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (json_reply({"errorCode": "REFERENCE_CONFLICT", "message": "key changed"}, status=409), CommitConflictError),
        (json_reply({"errorCode": "REFERENCE_NOT_FOUND", "message": "no such"}, status=404), CommitConflictError),
        (json_reply({"message": "no commits"}, status=403), AccessDeniedError),
        (json_reply({"message": "who are you"}, status=401), AccessDeniedError),
        (json_reply({"message": "bad"}, status=400), RepositoryError),
        (Reply(status=302, headers={"Location": "http://elsewhere"}), ConfigurationError),
    ],
)
def test_a_commit_that_is_refused_is_known_not_to_be_made(refusal: Reply, expected: type[NessieGcError]) -> None:
    error, sent = error_of(refusal)
    assert (expected, 1) == (type(error), len(sent))


def test_what_the_account_lacks_is_said() -> None:
    error, _ = error_of(json_reply({"message": "COMMIT_CHANGE_AGAINST_REFERENCE"}, status=403))
    assert "grant it commits to the branch" in str(error)


def test_the_branch_and_its_commit_are_named_in_the_request() -> None:
    _, (sent,) = error_of(json_reply({}, status=409))
    assert f"/api/v2/trees/a%2Fb@{'aa' * 32}/history/commit" == sent.path
