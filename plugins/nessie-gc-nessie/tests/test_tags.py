"""Tags: each made or deleted by one request, which the server refuses where something is not as expected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from loopback import Asked, LoopbackServer, Reply, json_reply
from nessie_gc_nessie import NessieConnector
from nessie_writer import NessieWriter, put, table
from test_failures import open_connector

from nessie_gc_core.errors import (
    AccessDeniedError,
    CommitUnknownError,
    ConfigurationError,
    NessieGcError,
    RepositoryError,
)
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.repository import Reference, ReferenceKind

BRANCH = Reference(name="a/b", kind=ReferenceKind.BRANCH, commit_id="aa" * 32)
TAG = Reference(name="date/2026_05_04_12_00", kind=ReferenceKind.TAG, commit_id="aa" * 32)
Act = Callable[[NessieConnector], bool]


def make(connector: NessieConnector) -> bool:
    return connector.make_tag(TAG.name, BRANCH)


def delete(connector: NessieConnector) -> bool:
    return connector.delete_tag(TAG)


BOTH = pytest.mark.parametrize("act", [make, delete])


@pytest.mark.server
def test_a_tag_can_be_of_a_commit_that_came_by_a_branch_with_a_slash(
    connector: NessieConnector, writer: NessieWriter
) -> None:
    name = f"feature/{writer.branch()}"
    writer.create(name)
    first = writer.commit(name, put(table("s3://b/t/1.json"), "t"))
    writer.commit(name, put(table("s3://b/u/1.json"), "u"))
    tag = replace(TAG, name=f"date/{name}/2026", commit_id=first)
    assert connector.make_tag(tag.name, Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=first))
    assert first == writer.head(tag.name)
    assert connector.delete_tag(tag)


@pytest.mark.server
def test_a_name_that_nessie_does_not_take_is_refused(connector: NessieConnector, writer: NessieWriter) -> None:
    name = writer.branch()
    head = writer.commit(name, put(table("s3://b/t/1.json"), "t"))
    with pytest.raises(RepositoryError) as refused:
        connector.make_tag("no..name", Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=head))
    assert not isinstance(refused.value, CommitUnknownError)


@pytest.mark.server
def test_a_tag_that_became_a_branch_is_not_deleted(connector: NessieConnector, writer: NessieWriter) -> None:
    name = writer.branch()
    head = writer.commit(name, put(table("s3://b/t/1.json"), "t"))
    assert not connector.delete_tag(Reference(name=name, kind=ReferenceKind.TAG, commit_id=head))
    assert head == writer.head(name)


# ---- answers that a healthy server never gives --------------------------------------------------------
def error_of(act: Act, answer: Callable[[Asked], Reply], **options: OptionValue) -> tuple[NessieGcError, list[Asked]]:
    """The error of a request, and the requests that were to change something."""
    with LoopbackServer(answer) as server, open_connector(server.uri, None, **options) as connector:
        with pytest.raises(NessieGcError) as raised:
            act(connector)
        assert "\n" not in str(raised.value)
        return raised.value, [asked for asked in server.asked if asked.method != "GET"]


def always(reply: Reply) -> Callable[[Asked], Reply]:
    """The reply to whatever changes something; the tag itself is there."""
    there = json_reply({"reference": {"type": "TAG", "name": TAG.name, "hash": TAG.commit_id}})
    return lambda asked: there if asked.method == "GET" else reply


@BOTH
@pytest.mark.parametrize(
    "lost",
    [
        Reply(status=500),
        Reply(status=503),
        Reply(status=429),
        Reply(body=b""),
        Reply(body=b"[]"),
        Reply(body=b'{"reference": ', announced_length=999),
        Reply(delay_seconds=0.5, body=b"{}"),
    ],
)
def test_s19_a_request_whose_answer_is_lost_is_sent_once_and_unknown(act: Act, lost: Reply) -> None:
    error, sent = error_of(act, always(lost), read_timeout_seconds=0.2, retries=5)
    assert (CommitUnknownError, 1) == (type(error), len(sent))


@BOTH
@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (json_reply({"message": "no tags"}, status=403), AccessDeniedError),
        (json_reply({"message": "who are you"}, status=401), AccessDeniedError),
        (json_reply({"message": "bad"}, status=400), RepositoryError),
        (Reply(status=302, headers={"Location": "http://elsewhere"}), ConfigurationError),
    ],
)
def test_a_request_that_is_refused_is_known_not_to_be_done(
    act: Act, refusal: Reply, expected: type[NessieGcError]
) -> None:
    error, sent = error_of(act, always(refusal))
    assert (expected, 1) == (type(error), len(sent))


@BOTH
def test_what_the_account_lacks_is_said(act: Act) -> None:
    error, _ = error_of(act, always(json_reply({"message": "CREATE_REFERENCE"}, status=403)))
    assert "grant it creating and deleting of tags" in str(error)


@BOTH
def test_a_conflict_of_which_nothing_is_known_is_an_error(act: Act) -> None:
    error, _ = error_of(act, always(json_reply({"errorCode": "SOMETHING_NEW", "message": "why"}, status=409)))
    assert (RepositoryError, True) == (type(error), "why" in str(error))


def test_the_branch_and_its_commit_are_named_in_the_request() -> None:
    requests: list[dict[str, Any]] = []

    def answer(asked: Asked) -> Reply:
        requests.append({"method": asked.method, "target": asked.target})
        return json_reply({"reference": {}})

    with LoopbackServer(answer) as server, open_connector(server.uri) as connector:
        assert make(connector)
        assert delete(connector)
    name = "date%2F2026_05_04_12_00"
    assert [
        {"method": "POST", "target": f"/api/v2/trees?name={name}&type=TAG"},
        {"method": "DELETE", "target": f"/api/v2/trees/{name}@{'aa' * 32}?type=TAG"},
    ] == requests
