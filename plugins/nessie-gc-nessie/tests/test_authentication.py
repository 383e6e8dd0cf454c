from __future__ import annotations

import base64
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from loopback import Asked, LoopbackServer, Reply, TokenServer, demanding, json_reply, scripted
from nessie_gc_nessie import NessieConnector, NessieOptions

from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    NessieGcError,
    RepositoryError,
    ServiceUnavailableError,
)
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.testing.servers import NessieServer

SECRETS = ("client-s3cret", "s3cret-token", "s3cret-password")
MAIN = {"type": "BRANCH", "name": "main", "hash": "aa" * 32}
ONE_PAGE = json_reply({"references": [MAIN], "hasMore": False})


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def oauth2(endpoint: str) -> dict[str, OptionValue]:
    return {
        "authentication": "oauth2",
        "oauth2_token_endpoint": endpoint,
        "oauth2_client_id": "collector",
        "oauth2_client_secret": "client-s3cret",
        "retries": 0,
    }


def connect(uri: str, options: Mapping[str, OptionValue], clock: Clock | None = None) -> NessieConnector:
    return NessieConnector(NessieOptions.from_mapping({"uri": uri, **options}), clock=clock or Clock())


def assert_no_secrets(*things: object) -> None:
    text = " ".join(f"{thing!r} {thing}" for thing in things)
    assert [] == [secret for secret in SECRETS if secret in text]


def header_sent(options: Mapping[str, OptionValue]) -> str | None:
    with LoopbackServer(scripted(ONE_PAGE)) as server, connect(server.uri, options) as connector:
        list(connector.references())
    return server.asked[0].headers.get("Authorization")


def test_a_bearer_token_is_sent() -> None:
    assert "Bearer s3cret-token" == header_sent({"authentication": "bearer", "token": "s3cret-token\n"})


def test_user_name_and_password_are_sent_in_utf_8() -> None:
    sent = header_sent({"authentication": "basic", "username": "zoë", "password": "s3cret-password"})

    assert "zoë:s3cret-password" == base64.b64decode((sent or "").removeprefix("Basic ")).decode()


def test_without_authentication_no_credentials_are_sent_not_even_from_netrc(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login someone password s3cret-password\n")
    monkeypatch.setenv("NETRC", str(netrc))

    assert header_sent({}) is None


@pytest.mark.parametrize(
    "options",
    [
        {"authentication": "bearer"},
        {"authentication": "basic", "username": "u"},
        {"authentication": "basic", "username": "u:v", "password": "s3cret-password"},
        {"authentication": "oauth2", "oauth2_client_id": "c", "oauth2_client_secret": "client-s3cret"},
        {"authentication": "bearer", "token": "s3cret-token\r\nX: y"},
        {"authentication": "bearer", "token": "s3cret-tokené"},
        {"token": "s3cret-token"},
    ],
)
def test_credentials_that_are_missing_or_cannot_be_sent_are_said_at_once(options: dict[str, OptionValue]) -> None:
    with pytest.raises(ConfigurationError, match="option") as raised:
        NessieConnector.from_options(options)

    assert_no_secrets(raised.value)


def test_refused_credentials_appear_in_no_error() -> None:
    for options in (
        {"authentication": "bearer", "token": "s3cret-token"},
        {"authentication": "basic", "username": "u", "password": "s3cret-password"},
    ):
        with LoopbackServer(scripted(Reply(status=401))) as server, connect(server.uri, options) as connector:
            with pytest.raises(AccessDeniedError) as raised:
                list(connector.references())
            assert_no_secrets(raised.value, connector, connector.options, vars(connector))


@pytest.mark.server
def test_a_nessie_behind_oauth2_is_read_with_tokens_that_run_out(server: NessieServer) -> None:
    clock = Clock()
    tokens = TokenServer(lifetime_seconds=10, clock=clock)
    origin = server.uri.removesuffix("/api/v2")
    with (
        LoopbackServer(tokens) as issuer,
        LoopbackServer(demanding(origin, tokens.accepts)) as proxy,
        connect(proxy.uri, oauth2(f"{issuer.origin}/token"), clock) as connector,
    ):
        for _ in range(6):
            assert "main" in [reference.name for reference in connector.references()]
            clock.now += 5

    assert {"grant_type": "client_credentials"} == issuer.asked[0].form
    assert 3 == len(tokens.issued)
    assert 6 == len([asked for asked in proxy.asked if asked.path.endswith("trees")])


def test_a_token_is_renewed_before_it_runs_out() -> None:
    clock = Clock()
    tokens = TokenServer(lifetime_seconds=10, clock=clock)
    with (
        LoopbackServer(tokens) as issuer,
        LoopbackServer(scripted(ONE_PAGE)) as api,
        connect(api.uri, oauth2(f"{issuer.origin}/token"), clock) as connector,
    ):
        for moment in (1000.0, 1007.9, 1008.1):
            clock.now = moment
            list(connector.references())

    assert ["Bearer token-1", "Bearer token-1", "Bearer token-2"] == [a.headers["Authorization"] for a in api.asked]


def test_a_token_that_was_taken_back_is_replaced_once() -> None:
    tokens = TokenServer(lifetime_seconds=1000, clock=Clock())

    def api_answer(asked: Asked) -> Reply:
        return ONE_PAGE if tokens.accepts(asked.headers["Authorization"]) else Reply(status=401)

    with (
        LoopbackServer(tokens) as issuer,
        LoopbackServer(api_answer) as api,
        connect(api.uri, oauth2(f"{issuer.origin}/token")) as connector,
    ):
        list(connector.references())
        tokens.take_back()
        list(connector.references())

    assert ["Bearer token-1", "Bearer token-1", "Bearer token-2"] == [a.headers["Authorization"] for a in api.asked]


def test_a_token_that_is_never_accepted_is_access_denied_after_one_more_try() -> None:
    tokens = TokenServer(lifetime_seconds=1000)
    with (
        LoopbackServer(tokens) as issuer,
        LoopbackServer(scripted(Reply(status=401))) as api,
        connect(api.uri, oauth2(f"{issuer.origin}/token")) as connector,
        pytest.raises(AccessDeniedError) as raised,
    ):
        list(connector.references())

    assert 2 == len(api.asked)
    assert "token-" not in str(raised.value)


def test_many_threads_fetch_one_token() -> None:
    tokens = TokenServer(lifetime_seconds=1000)
    with (
        LoopbackServer(tokens) as issuer,
        LoopbackServer(scripted(ONE_PAGE)) as api,
        connect(api.uri, oauth2(f"{issuer.origin}/token")) as connector,
        ThreadPoolExecutor(8) as threads,
    ):
        list(threads.map(lambda number: list(connector.references()), range(24)))

    assert 1 == len(issuer.asked)
    assert {"Bearer token-1"} == {asked.headers["Authorization"] for asked in api.asked}


def test_scopes_are_asked_for() -> None:
    tokens = TokenServer(lifetime_seconds=10)
    with LoopbackServer(tokens) as issuer, LoopbackServer(scripted(ONE_PAGE)) as api:
        options = {**oauth2(f"{issuer.origin}/token"), "oauth2_scope": "catalog profile"}
        with connect(api.uri, options) as connector:
            list(connector.references())

    assert "catalog profile" == issuer.asked[0].form["scope"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (
            json_reply({"error": "invalid_client", "error_description": "not client-s3cret"}, status=401),
            AccessDeniedError,
        ),
        (Reply(status=403), AccessDeniedError),
        (Reply(status=503), ServiceUnavailableError),
        (Reply(status=500), ServiceUnavailableError),
        (Reply(status=404), RepositoryError),
        (Reply(body=b"<html>"), RepositoryError),
        (json_reply([]), RepositoryError),
        (json_reply({"access_token": 7}), RepositoryError),
        (json_reply({"access_token": "client-s3cret\nX"}), RepositoryError),
    ],
)
def test_a_token_endpoint_that_gives_no_token_is_named_in_the_error(
    reply: Reply, expected: type[NessieGcError]
) -> None:
    with LoopbackServer(scripted(reply)) as issuer, LoopbackServer(scripted(ONE_PAGE)) as api:
        endpoint = f"{issuer.origin}/token"
        with connect(api.uri, oauth2(endpoint)) as connector, pytest.raises(expected) as raised:
            list(connector.references())

    assert endpoint in str(raised.value)
    assert "\n" not in str(raised.value)
    assert [] == api.asked
    assert_no_secrets(raised.value)


@pytest.mark.parametrize(
    "expires_in", [None, "soon", "30", 10**400, float("nan"), float("inf"), [30]], ids=lambda value: repr(value)[:9]
)
def test_a_lifetime_that_is_missing_or_odd_does_no_harm(expires_in: object) -> None:
    token = {"access_token": "t", "expires_in": expires_in}
    answer = json_reply({key: value for key, value in token.items() if value is not None})
    with (
        LoopbackServer(scripted(answer)) as issuer,
        LoopbackServer(scripted(ONE_PAGE)) as api,
        connect(api.uri, oauth2(f"{issuer.origin}/token")) as connector,
    ):
        list(connector.references())
        list(connector.references())

    assert 1 == len(issuer.asked)


@pytest.mark.parametrize("expires_in", [10**400, float("nan"), float("inf"), "soon"], ids=lambda value: repr(value)[:9])
def test_a_lifetime_that_is_no_length_of_time_is_taken_for_a_minute(expires_in: object) -> None:
    clock = Clock()
    with (
        LoopbackServer(scripted(json_reply({"access_token": "t", "expires_in": expires_in}))) as issuer,
        LoopbackServer(scripted(ONE_PAGE)) as api,
        connect(api.uri, oauth2(f"{issuer.origin}/token"), clock) as connector,
    ):
        for moment in (1000.0, 1045.0, 1061.0):
            clock.now = moment
            list(connector.references())

    assert 2 == len(issuer.asked)


def test_client_id_and_secret_are_form_encoded_before_they_become_a_header() -> None:
    tokens = json_reply({"access_token": "t"})
    with LoopbackServer(scripted(tokens)) as issuer, LoopbackServer(scripted(ONE_PAGE)) as api:
        secret = {"oauth2_client_id": "zoë:1", "oauth2_client_secret": "client-s3cret+ €"}
        with connect(api.uri, {**oauth2(f"{issuer.origin}/token"), **secret}) as connector:
            list(connector.references())

    sent = base64.b64decode(issuer.asked[0].headers["Authorization"].removeprefix("Basic ")).decode()
    assert "zo%C3%AB%3A1:client-s3cret%2B+%E2%82%AC" == sent


def test_client_credentials_do_not_follow_a_redirect() -> None:
    tokens = TokenServer(lifetime_seconds=1000)
    with LoopbackServer(tokens) as elsewhere, LoopbackServer(scripted(ONE_PAGE)) as api:
        moved = Reply(status=307, headers={"Location": f"{elsewhere.origin}/token"})
        with (
            LoopbackServer(scripted(moved)) as issuer,
            connect(api.uri, oauth2(f"{issuer.origin}/token")) as connector,
            pytest.raises(RepositoryError, match="HTTP 307"),
        ):
            list(connector.references())

    assert [] == elsewhere.asked
