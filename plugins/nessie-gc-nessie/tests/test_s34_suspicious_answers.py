from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
from loopback import Asked, LoopbackServer, Reply, json_reply
from nessie_gc_nessie import NessieConnector
from nessie_gc_nessie.contents import NO_COMMIT

from nessie_gc_core.errors import NessieGcError, RepositoryError
from nessie_gc_core.model.repository import Reference, ReferenceKind

A, B, C = ("aa" * 32, "bb" * 32, "cc" * 32)
MAIN = {"type": "BRANCH", "name": "main", "hash": A}
TABLE = {"type": "ICEBERG_TABLE", "id": "1", "metadataLocation": "s3://b/1.json", "snapshotId": 1}
ENTRY = {"type": "ICEBERG_TABLE", "name": {"elements": ["t"]}, "contentId": "1", "content": TABLE}
META = {"hash": A, "commitTime": "2026-01-02T03:04:05Z"}
COMMIT = {"commitMeta": META, "parentCommitHash": NO_COMMIT, "operations": []}


def answering(
    references: object = (MAIN,),
    history: object = (COMMIT,),
    entries: object = (ENTRY,),
    config: Mapping[str, object] | None = None,
) -> Callable[[Asked], Reply]:
    """A server with one page of each kind."""

    def answer(asked: Asked) -> Reply:
        pages = {"history": ("logEntries", history), "entries": ("entries", entries)}
        if asked.path.endswith("config"):
            return json_reply({"noAncestorHash": NO_COMMIT} if config is None else config)
        name, items = pages.get(asked.path.rpartition("/")[2], ("references", references))
        return json_reply({name: items, "hasMore": False})

    return answer


@contextmanager
def connected(answer: Callable[[Asked], Reply]) -> Iterator[NessieConnector]:
    with (
        LoopbackServer(answer) as server,
        NessieConnector.from_options({"uri": server.uri, "retries": 0}) as connector,
    ):
        yield connector


def error_of(answer: Callable[[Asked], Reply]) -> str:
    """Why everything there is cannot be read; one line."""
    with connected(answer) as connector, pytest.raises(RepositoryError) as caught:
        for reference in connector.references():
            list(connector.commit_log(reference))
            list(connector.contents(reference))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_s34_what_is_whole_is_read() -> None:
    with connected(answering()) as connector:
        (main,) = connector.references()
        assert [A] == [entry.commit_id for entry in connector.commit_log(main)]
        assert ["t"] == [version.content_key for version in connector.contents(main)]


@pytest.mark.parametrize("said", [{}, {"hash": None}, {"hash": ""}, {"hash": "0"}, {"hash": 0}, {"hash": False}])
def test_s34_a_reference_without_a_commit_is_an_error_that_names_it(said: dict[str, object]) -> None:
    nameless = {name: value for name, value in MAIN.items() if name != "hash"}

    error = error_of(answering(references=[{**nameless, **said}]))

    assert "hash" in error
    assert "main" in error


def test_s34_only_the_hash_that_the_server_names_stands_for_no_commit() -> None:
    empty = [{**MAIN, "hash": C}, {**MAIN, "name": "dev", "hash": NO_COMMIT}]
    with connected(answering(references=empty, config={"noAncestorHash": C})) as connector:
        connector.identity()
        assert [None, NO_COMMIT] == [reference.commit_id for reference in connector.references()]


@pytest.mark.parametrize("said", [None, "", "nothing", 7])
def test_s34_a_server_that_does_not_say_what_stands_for_no_commit_is_an_error(said: object) -> None:
    references = [{**MAIN, "hash": NO_COMMIT}]

    assert "which hash stands for no commit" in error_of(answering(references, config={"noAncestorHash": said}))


def test_s34_a_server_that_lists_no_reference_is_an_error() -> None:
    assert "lists no reference, though its default branch is always there" in error_of(answering(references=[]))


@pytest.mark.parametrize(
    "history",
    [
        None,
        [],
        [None],
        [{**COMMIT, "parentCommitHash": A}],
        [{**COMMIT, "parentCommitHash": A}, {**COMMIT, "parentCommitHash": A}, COMMIT],
        [{**COMMIT, "parentCommitHash": None}],
        [{**COMMIT, "parentCommitHash": ""}],
        [{**COMMIT, "parentCommitHash": B}],
        [{**COMMIT, "parentCommitHash": B[:8]}, {"commitMeta": {**META, "hash": B}, "parentCommitHash": NO_COMMIT}],
        [{**COMMIT, "parentCommitHash": B}, COMMIT, {**COMMIT, "commitMeta": {**META, "hash": B}}],
        [COMMIT, COMMIT],
        [{**COMMIT, "commitMeta": None}],
        [{**COMMIT, "operations": [{"type": "PUT", "key": {"elements": ["t"]}, "content": None}]}],
        [{**COMMIT, "operations": [{"type": "PUT", "key": {"elements": []}, "content": TABLE}]}],
        [{**COMMIT, "operations": [{"type": "PUT", "key": None, "content": TABLE}]}],
    ],
)
def test_s34_a_history_that_lacks_or_repeats_something_is_an_error(history: object) -> None:
    error_of(answering(history=history))


@pytest.mark.parametrize(
    "entries",
    [
        None,
        [None],
        [ENTRY, ENTRY],
        [{**ENTRY, "content": None}],
        [{**ENTRY, "name": None}],
        [{**ENTRY, "name": {"elements": None}}],
        [{**ENTRY, "type": None}],
        [{**ENTRY, "type": "NAMESPACE"}],
        [{**ENTRY, "content": {**TABLE, "type": "NAMESPACE"}}],
        [{**ENTRY, "content": {**TABLE, "id": None}}],
        [{**ENTRY, "content": {**TABLE, "id": ""}}],
        [{**ENTRY, "content": {**TABLE, "metadataLocation": None}}],
        [{**ENTRY, "content": {**TABLE, "metadataLocation": ""}}],
    ],
)
def test_s34_contents_that_lack_or_repeat_something_are_an_error(entries: object) -> None:
    error_of(answering(entries=entries))


def test_s34_keys_that_only_look_the_same_are_two() -> None:
    dotted, nested = ({**ENTRY, "name": {"elements": elements}} for elements in (["a.b"], ["a", "b"]))
    with connected(answering(entries=[dotted, nested])) as connector:
        assert 2 == len(list(connector.contents(Reference(name="m", kind=ReferenceKind.BRANCH, commit_id=A))))


@pytest.mark.parametrize("tokens", ["ab", "a", "abc"])
def test_s34_pages_whose_tokens_come_again_are_an_error(tokens: str) -> None:
    def answer(asked: Asked) -> Reply:
        following = tokens[(tokens.find(asked.query.get("page-token", tokens[-1])) + 1) % len(tokens)]
        found = [{**MAIN, "name": f"{len(server.asked)}"}]
        return json_reply({"references": found, "hasMore": True, "token": following})

    with (
        LoopbackServer(answer) as server,
        NessieConnector.from_options({"uri": server.uri}) as connector,
        pytest.raises(RepositoryError, match="goes in circles: the token of a page comes again"),
    ):
        list(connector.references())


def test_s34_a_last_page_with_a_token_for_the_next_one_is_an_error() -> None:
    answer = json_reply({"references": [MAIN], "hasMore": False, "token": "more"})

    assert "has no more pages, and yet a way to get the next one" in error_of(lambda asked: answer)


@pytest.mark.parametrize("body", [b"[" * 100_000, b"[" * 300 + b"]" * 300, b'{"a":' * 100_000])
def test_s34_answers_that_are_nested_too_deeply_are_an_error(body: bytes) -> None:
    with connected(lambda asked: Reply(body=body)) as connector, pytest.raises(NessieGcError) as caught:
        list(connector.references())

    assert "JSON that cannot be read: its values are nested too deeply" in str(caught.value)
