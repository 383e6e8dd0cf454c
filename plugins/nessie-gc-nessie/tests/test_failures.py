from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from loopback import Asked, LoopbackServer, Reply, json_reply, scripted
from nessie_gc_nessie import NessieConnector, NessieOptions
from nessie_gc_nessie.contents import NO_COMMIT

from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    NessieGcError,
    ReferenceNotFoundError,
    RepositoryError,
    ServiceUnavailableError,
)
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_core.testing.servers import free_ports

MAIN = {"type": "BRANCH", "name": "main", "hash": "aa" * 32}
ONE_PAGE = json_reply({"references": [MAIN], "hasMore": False, "token": None})
HEAD = Reference(name="main", kind=ReferenceKind.BRANCH, commit_id="aa" * 32)


class Pauses:
    """Stands in for the clock: it waits between attempts, and every attempt lasts as long as it is told."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.attempt_seconds = 0.0

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)

    def clock(self) -> float:
        return sum(self.seconds) + len(self.seconds) * self.attempt_seconds


@contextmanager
def open_connector(uri: str, pauses: Pauses | None = None, **options: OptionValue) -> Iterator[NessieConnector]:
    typed = NessieOptions.from_mapping({"uri": uri, "retries": 2, **options})
    pauses = pauses or Pauses()
    with NessieConnector(typed, sleep=pauses, clock=pauses.clock) as connector:
        yield connector


def error_of(answer: Callable[[Asked], Reply], **options: OptionValue) -> tuple[NessieGcError, LoopbackServer]:
    """The error of listing the references of a server; it must be one line that names the server."""
    with LoopbackServer(answer) as server, open_connector(server.uri, None, **options) as connector:
        with pytest.raises(NessieGcError) as raised:
            list(connector.references())
        assert "\n" not in str(raised.value)
        assert server.uri in str(raised.value)
        return raised.value, server


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_access_denied_and_not_tried_again(status: int) -> None:
    error, server = error_of(scripted(json_reply({"message": "who\nare you"}, status=status)))

    assert AccessDeniedError is type(error)
    assert "who are you" in str(error)
    assert 1 == len(server.asked)


def test_a_branch_that_an_account_may_not_make_says_which_right_is_missing() -> None:
    def answer(asked: Asked) -> Reply:
        if asked.method == "POST":
            return json_reply({"message": "'CREATE_REFERENCE' is not allowed"}, status=403)
        return json_reply({"noAncestorHash": "0" * 64})

    with (
        LoopbackServer(answer) as server,
        open_connector(server.uri) as connector,
        pytest.raises(AccessDeniedError) as caught,
    ):
        connector.make_branch("unreferenced_assets")
    said = "the branch 'unreferenced_assets' (HTTP 403: 'CREATE_REFERENCE' is not allowed); grant it creating"
    assert said in str(caught.value)


def test_404_without_nessies_code_says_to_check_the_uri() -> None:
    error, _ = error_of(scripted(Reply(status=404, body=b"<html>not here</html>")))

    assert ConfigurationError is type(error)
    assert "check the URI" in str(error)


def test_404_of_a_commit_with_nessies_code_is_reference_not_found() -> None:
    answer = {"status": 404, "errorCode": "REFERENCE_NOT_FOUND", "message": "Commit 'aa' not found"}
    with (
        LoopbackServer(scripted(json_reply(answer, status=404))) as server,
        open_connector(server.uri) as connector,
        pytest.raises(ReferenceNotFoundError) as raised,
    ):
        list(connector.commit_log(HEAD))

    assert "Commit 'aa' not found" in str(raised.value)
    assert server.uri in str(raised.value)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_server_that_soon_serves_again_is_asked_again(status: int) -> None:
    pauses = Pauses()
    with (
        LoopbackServer(scripted(Reply(status=status), Reply(status=status), ONE_PAGE)) as server,
        open_connector(server.uri, pauses) as connector,
    ):
        assert ["main"] == [reference.name for reference in connector.references()]

    assert 3 == len(server.asked)
    assert 2 == len(pauses.seconds)
    assert pauses.seconds[1] >= 1.0


@pytest.mark.parametrize(("asked_for", "expected"), [("7", 7.0), ("86400", 60.0), ("soon", 0.0)])
def test_retry_after_is_honoured_within_bounds(asked_for: str, expected: float) -> None:
    pauses = Pauses()
    with (
        LoopbackServer(scripted(Reply(status=503, headers={"Retry-After": asked_for}), ONE_PAGE)) as server,
        open_connector(server.uri, pauses) as connector,
    ):
        list(connector.references())

    assert [expected] == pauses.seconds


def test_a_server_that_never_serves_again_is_unavailable() -> None:
    error, server = error_of(scripted(Reply(status=503)))

    assert ServiceUnavailableError is type(error)
    assert "HTTP 503" in str(error)
    assert "3 attempts" in str(error)
    assert 3 == len(server.asked)


def test_an_internal_error_is_unavailable_at_once() -> None:
    error, server = error_of(scripted(json_reply({"message": "NullPointerException"}, status=500)))

    assert ServiceUnavailableError is type(error)
    assert 1 == len(server.asked)


def test_a_slow_answer_is_unavailable_and_says_how_long_was_waited() -> None:
    error, server = error_of(scripted(Reply(delay_seconds=0.5)), read_timeout_seconds=0.05, retries=1)

    assert ServiceUnavailableError is type(error)
    assert "no answer within 0.05 s" in str(error)
    assert 2 == len(server.asked)


def test_an_answer_that_breaks_off_is_asked_for_again() -> None:
    half = Reply(body=ONE_PAGE.body[:20], announced_length=len(ONE_PAGE.body))
    with LoopbackServer(scripted(half, ONE_PAGE)) as server, open_connector(server.uri) as connector:
        assert ["main"] == [reference.name for reference in connector.references()]


def test_a_server_that_answered_before_is_waited_for_beyond_the_retries() -> None:
    away = [Reply(status=503)] * 5
    pauses = Pauses()
    with (
        LoopbackServer(scripted(ONE_PAGE, *away, ONE_PAGE)) as server,
        open_connector(server.uri, pauses, reconnect_seconds=10) as connector,
    ):
        for _ in range(2):
            assert ["main"] == [reference.name for reference in connector.references()]

    assert 7 == len(server.asked)
    assert sum(pauses.seconds[:-1]) < 10 <= sum(pauses.seconds)


def test_it_is_not_waited_for_longer_than_that() -> None:
    pauses = Pauses()
    with (
        LoopbackServer(scripted(ONE_PAGE, Reply(status=503))) as server,
        open_connector(server.uri, pauses, reconnect_seconds=10) as connector,
    ):
        list(connector.references())
        with pytest.raises(ServiceUnavailableError, match="HTTP 503"):
            list(connector.references())

    assert sum(pauses.seconds[:-1]) < 10 <= sum(pauses.seconds)


@pytest.mark.parametrize("backoff", [0.0, 0.5])
def test_a_server_that_asks_for_no_pause_gets_one_beyond_the_retries_and_is_given_up(backoff: float) -> None:
    pauses = Pauses()
    answers = scripted(ONE_PAGE, Reply(status=503, headers={"Retry-After": "0"}))
    with (
        LoopbackServer(answers) as server,
        open_connector(server.uri, pauses, reconnect_seconds=2, retry_backoff_seconds=backoff) as connector,
    ):
        list(connector.references())
        with pytest.raises(ServiceUnavailableError, match="HTTP 503"):
            list(connector.references())

    within, beyond = pauses.seconds[:2], pauses.seconds[2:]
    assert [0.0, 0.0] == within
    assert min(beyond) >= max(0.1, backoff)
    assert sum(beyond[:-1]) < 2 <= sum(beyond)


def test_the_time_of_the_attempts_counts_as_well_as_that_of_the_pauses() -> None:
    pauses = Pauses()
    pauses.attempt_seconds = 3
    with (
        LoopbackServer(scripted(ONE_PAGE, Reply(status=503))) as server,
        open_connector(server.uri, pauses, reconnect_seconds=10, retry_backoff_seconds=0) as connector,
    ):
        list(connector.references())
        with pytest.raises(ServiceUnavailableError, match="5 attempts"):
            list(connector.references())

    assert [0.0, 0.0, 0.1, 0.1] == pauses.seconds


def test_a_server_that_never_answered_is_not_waited_for_because_the_token_endpoint_did() -> None:
    pauses = Pauses()
    token = json_reply({"access_token": "t", "token_type": "bearer", "expires_in": 3600})
    with LoopbackServer(scripted(token)) as issuer, LoopbackServer(scripted(Reply(status=503))) as server:
        options: dict[str, OptionValue] = {
            "authentication": "oauth2",
            "oauth2_token_endpoint": f"{issuer.origin}/token",
            "oauth2_client_id": "collector",
            "oauth2_client_secret": "secret",
        }
        with (
            open_connector(server.uri, pauses, **options) as connector,
            pytest.raises(ServiceUnavailableError, match="3 attempts"),
        ):
            list(connector.references())
        assert (1, 3) == (len(issuer.asked), len(server.asked))


def test_nobody_listening_is_unavailable() -> None:
    uri = f"http://127.0.0.1:{free_ports(1)[0]}/api/v2"
    pauses = Pauses()
    with open_connector(uri, pauses) as connector, pytest.raises(ServiceUnavailableError) as raised:
        list(connector.references())

    expected = (
        f"Nessie at {uri} is unavailable: Connection refused (3 attempts); "
        "check that it is running and that the URI is right, then try again"
    )
    assert expected == str(raised.value)
    assert 2 == len(pauses.seconds)


def test_a_server_that_speaks_no_tls_is_not_asked_again() -> None:
    pauses = Pauses()
    with LoopbackServer(scripted(ONE_PAGE)) as server:
        uri = server.uri.replace("http:", "https:")
        with open_connector(uri, pauses) as connector, pytest.raises(ConfigurationError) as raised:
            list(connector.references())

    assert str(raised.value).startswith(f"no TLS connection to Nessie at {uri}: ")
    assert [] == pauses.seconds


@pytest.mark.parametrize(
    "body",
    [
        b"not json",
        b"",
        b"[]",
        b"{",
        b"\xff\xfe",
        b"<!doctype html><html></html>",
        b"{}",
        b'{"hasMore": false}',
        b'{"references": []}',
        b'{"references": [], "hasMore": "no"}',
        b'{"references": [], "hasMore": true}',
        b'{"references": [], "hasMore": true, "token": 7}',
        b'{"references": {}, "hasMore": false}',
    ],
)
def test_an_answer_that_makes_no_sense_is_a_repository_error(body: bytes) -> None:
    error, _ = error_of(scripted(Reply(body=body)))

    assert RepositoryError is type(error)


@pytest.mark.parametrize(
    "reference",
    [
        7,
        {},
        {"type": "BRANCH"},
        {"type": "TWIG", "name": "x", "hash": "aa"},
        {"type": "TAG", "name": ["x"], "hash": "aa"},
    ],
)
def test_a_reference_that_makes_no_sense_is_a_repository_error(reference: object) -> None:
    answer = scripted(json_reply({"references": [MAIN, reference], "hasMore": False}))
    with (
        LoopbackServer(answer) as server,
        open_connector(server.uri) as connector,
        pytest.raises(RepositoryError) as raised,
    ):
        list(connector.references())

    assert "\n" not in str(raised.value)


def test_a_token_that_repeats_is_an_error_not_a_loop() -> None:
    error, server = error_of(scripted(json_reply({"references": [], "hasMore": True, "token": "t"})))

    assert RepositoryError is type(error)
    assert 2 == len(server.asked)


def test_has_more_is_followed_with_the_token_as_it_is() -> None:
    def answer(asked: Asked) -> Reply:
        token = asked.query.get("page-token")
        following = {None: "a b/%2F", "a b/%2F": "é", "é": None}[token]
        found = [{**MAIN, "name": f"after-{token}"}]
        return json_reply({"references": found, "hasMore": following is not None, "token": following})

    with LoopbackServer(answer) as server, open_connector(server.uri) as connector:
        found = [reference.name for reference in connector.references()]

    assert ["after-None", "after-a b/%2F", "after-é"] == found


def test_a_redirect_is_not_followed() -> None:
    error, _ = error_of(scripted(Reply(status=302, headers={"Location": "http://127.0.0.1:1/"})))

    assert ConfigurationError is type(error)
    assert "redirects" in str(error)


def commit(commit_id: str, parent: str = NO_COMMIT, **more: object) -> dict[str, object]:
    meta = {"hash": commit_id, "commitTime": "2026-01-02T03:04:05.123456789Z"}
    return {"commitMeta": meta, "parentCommitHash": parent, "operations": [], **more}


def test_a_history_with_a_gap_is_an_error() -> None:
    entries = [commit("aa" * 32, "bb" * 32), commit("cc" * 32, "dd" * 32)]
    with (
        LoopbackServer(scripted(json_reply({"logEntries": entries, "hasMore": False}))) as server,
        open_connector(server.uri) as connector,
        pytest.raises(RepositoryError, match="bb" * 32) as raised,
    ):
        list(connector.commit_log(HEAD))

    assert "\n" not in str(raised.value)


def test_a_history_of_another_commit_is_an_error() -> None:
    entries = [commit("bb" * 32)]
    with (
        LoopbackServer(scripted(json_reply({"logEntries": entries, "hasMore": False}))) as server,
        open_connector(server.uri) as connector,
        pytest.raises(RepositoryError, match="expected"),
    ):
        list(connector.commit_log(HEAD))


@pytest.mark.parametrize("entries", [[], [commit("aa" * 32, "bb" * 32)]])
def test_a_history_that_ends_early_is_an_error(entries: list[object]) -> None:
    answer = scripted(json_reply({"logEntries": entries, "hasMore": False}))
    with LoopbackServer(answer) as server, open_connector(server.uri) as connector:
        log = connector.commit_log(HEAD)
        assert len(entries) == len([next(log) for _ in entries])
        with pytest.raises(RepositoryError, match=r"expected [ab]{64}, found the end"):
            next(log)


def test_a_commit_without_operations_still_counts() -> None:
    entries = [commit("aa" * 32, operations=None)]
    with (
        LoopbackServer(scripted(json_reply({"logEntries": entries, "hasMore": False}))) as server,
        open_connector(server.uri) as connector,
    ):
        log = list(connector.commit_log(HEAD))

    assert [("aa" * 32, None)] == [(entry.commit_id, entry.operations) for entry in log]
    assert "2026-01-02T03:04:05.123456+00:00" == log[0].commit_time.isoformat()


def test_entries_without_their_contents_are_an_error() -> None:
    entry = {"type": "ICEBERG_TABLE", "name": {"elements": ["t"]}, "contentId": "1"}
    with (
        LoopbackServer(scripted(json_reply({"entries": [entry], "hasMore": False}))) as server,
        open_connector(server.uri) as connector,
        pytest.raises(RepositoryError, match="without its content"),
    ):
        list(connector.contents(HEAD))


@pytest.mark.parametrize(
    "config", [{"maxSupportedApiVersion": 1}, {"maxSupportedApiVersion": 2, "actualApiVersion": 1}]
)
def test_a_server_without_version_2_is_refused_by_check(config: dict[str, object]) -> None:
    with (
        LoopbackServer(scripted(json_reply(config))) as server,
        open_connector(server.uri) as connector,
        pytest.raises(ConfigurationError, match="version 2"),
    ):
        connector.describe()


@pytest.mark.parametrize("created", [None, "", "yesterday", 17, "1970-01-01T00:00:00Z"])
def test_s15_a_server_that_does_not_say_when_it_was_made_is_told_apart_by_its_address(created: object) -> None:
    with LoopbackServer(lambda asked: json_reply({"repositoryCreationTimestamp": created})) as server:
        port = server.origin.rpartition(":")[2]
        found = set()
        for host in ("127.0.0.1", "LOCALHOST"):
            with NessieConnector.from_options({"uri": f"http://{host}:{port}/api/v2/"}) as connector:
                found.add(connector.identity())
    assert {f"http://localhost:{port}/api/v2"} == found


def test_a_server_is_asked_for_its_identity_once() -> None:
    answer = {"repositoryCreationTimestamp": "2026-01-01T00:00:00.000000001Z"}
    with LoopbackServer(lambda asked: json_reply(answer)) as server:
        with NessieConnector.from_options({"uri": server.uri}) as connector:
            assert ["nessie:created:2026-01-01T00:00:00.000000001Z"] * 2 == [connector.identity() for _ in range(2)]
        assert 1 == len(server.asked)
