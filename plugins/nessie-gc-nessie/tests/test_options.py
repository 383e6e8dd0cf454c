from __future__ import annotations

import pytest
from nessie_gc_nessie import NessieConnector, NessieOptions, nessie_gc_register_repository_connector
from nessie_gc_nessie.client import normalized

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorSpec, OptionValue

JAVA_OPTIONS = {
    "nessie.uri": "https://nessie.example.com/api/v2",
    "nessie.authentication.type": "OAUTH2",
    "nessie.authentication.oauth2.token-endpoint": "https://login.example.com/token",
    "nessie.authentication.oauth2.grant-type": "client_credentials",
    "nessie.authentication.oauth2.client-id": "collector",
    "nessie.authentication.oauth2.client-secret": "s3cret",
    "nessie.authentication.oauth2.client-scopes": "catalog",
    "nessie.transport.connect-timeout": "2500",
    "nessie.transport.read-timeout": "30000",
    "nessie.ssl.no-certificate-verification": "true",
    "nessie.client-api-version": "2",
}


def test_the_plugin_registers_the_connector_by_its_entry_point() -> None:
    from importlib.metadata import entry_points

    loaded = [each.load() for each in entry_points(group="nessie_gc", name="nessie")]

    assert [NessieConnector] == [each.nessie_gc_register_repository_connector() for each in loaded]
    assert issubclass(nessie_gc_register_repository_connector(), RepositoryConnector)
    assert "nessie" == NessieConnector.name


def test_options_of_the_java_client_mean_ours() -> None:
    expected = NessieOptions(
        uri="https://nessie.example.com/api/v2",
        authentication="oauth2",
        oauth2_token_endpoint="https://login.example.com/token",
        oauth2_client_id="collector",
        oauth2_client_secret="s3cret",
        oauth2_scope="catalog",
        connect_timeout_seconds=2.5,
        read_timeout_seconds=30,
        tls_verify=False,
    )

    assert expected == NessieOptions(nessie_options=JAVA_OPTIONS).resolved()


def test_basic_and_bearer_of_the_java_client_mean_ours() -> None:
    basic = {"type": "BASIC", "username": "u", "password": "p"}
    bearer = {"type": "bearer", "token": "t"}

    resolved = [
        NessieOptions(nessie_options={f"nessie.authentication.{k}": v for k, v in given.items()}).resolved()
        for given in (basic, bearer)
    ]

    assert [
        NessieOptions(authentication="basic", username="u", password="p"),
        NessieOptions(authentication="bearer", token="t"),
    ] == resolved


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"nessie.authentication.tokn": "s3cret"}, "did you mean 'nessie.authentication.token'"),
        ({"completely.else": "s3cret"}, "supported are: nessie.authentication.oauth2.client-id"),
        ({"nessie.authentication.oauth2.issuer-url": "http://x"}, "token-endpoint"),
        ({"nessie.authentication.oauth2.grant-type": "password"}, "only client_credentials"),
        ({"nessie.authentication.type": "AWS"}, "supported are NONE"),
        ({"nessie.client-api-version": "1"}, "only 2"),
        ({"nessie.transport.read-timeout": "long"}, "has an invalid value"),
        ({"nessie.uri": "http://u:s3cret@host/api/v2"}, "credentials"),
    ],
)
def test_options_of_the_java_client_that_do_not_fit_are_refused_with_a_hint(given: dict[str, str], hint: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        NessieConnector.from_options({"nessie_options": given})

    assert hint in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_two_options_that_contradict_each_other_are_refused() -> None:
    options = NessieOptions(uri="http://one/api/v2", nessie_options={"nessie.uri": "http://two/api/v2"})

    with pytest.raises(ConfigurationError, match=r"'uri' and 'nessie\.uri'"):
        options.resolved()


@pytest.mark.parametrize(
    "values",
    [
        {"uri": "http://user:s3cret@host/api/v2"},
        {"uri": "http://host/api/v2?token=s3cret"},
        {"uri": "http://host/api/v2#s3cret"},
        {"uri": "host:19120"},
        {"uri": "ftp://host/x"},
        {"uri": "http://host:port/x"},
        {"uri": "http:///x"},
        {"uri": "http://[::1/x"},
        {"oauth2_token_endpoint": "login"},
        {"authentication": "kerberos"},
        {"retries": -1},
        {"retries": "many"},
        {"page_size": 0},
        {"page_size": 1.5},
        {"read_timeout_seconds": 0},
        {"tls_ca_file": "/no/such/file.pem"},
        {"nessie_options": "no pairs"},
        {"tokn": "s3cret"},
    ],
)
def test_wrong_options_are_refused_in_one_line_without_secrets(values: dict[str, OptionValue]) -> None:
    with pytest.raises(ConfigurationError) as raised:
        NessieConnector.from_options(values)

    assert next(iter(values)) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_secrets_are_absent_from_every_repr() -> None:
    options = NessieOptions(
        token="s3cret1", password="s3cret2", oauth2_client_secret="s3cret3", nessie_options={"nessie.x": "s3cret4"}
    )

    assert "s3cret" not in repr(options)
    assert "s3cret" not in repr(ConnectorSpec(kind="repository", name="nessie", options={"token": "s3cret"}))
    assert {"token", "password", "oauth2_client_secret", "nessie_options"} == NessieOptions.secret_names()


@pytest.mark.parametrize("password", ["pass/word", "12/word", "pass?word", "pass#word", "pass@word", "pass:word"])
def test_s28_a_uri_with_credentials_is_refused_and_not_shown(password: str) -> None:
    with pytest.raises(ConfigurationError, match="credentials") as raised:
        NessieOptions(uri=f"https://me:{password}@host/api/v2")
    assert [] == [part for part in ("pass", "word", "host") if part in str(raised.value).replace("host:port", "")]


@pytest.mark.parametrize("name", ["", " lake", "lake\n", "la\x1bke"])
def test_a_name_that_cannot_be_shown_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="identity"):
        NessieOptions(identity=name)


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("http://HOST:80/api/v2/", "http://host/api/v2"),
        ("https://host:443/api/v2", "https://host/api/v2"),
        ("https://host:8443/api/v2//", "https://host:8443/api/v2"),
        ("http://[::1]:19120/api/v2", "http://[::1]:19120/api/v2"),
        ("HTTP://host/Path/api/v2", "http://host/Path/api/v2"),
    ],
)
def test_a_uri_is_asked_and_shown_in_one_form(uri: str, expected: str) -> None:
    assert expected == normalized(uri)
