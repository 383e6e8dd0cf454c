"""The options of the connector, and the original tool's ``-o`` options as a second way to say them."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from nessie_gc_core import ConnectorOptions, option, options, secret
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import responses
from nessie_gc_core.model.options import check_identity, secret_mapping

AUTHENTICATION_TYPES = ("none", "bearer", "basic", "oauth2")


@options
class NessieOptions(ConnectorOptions):
    """How to reach a Nessie server."""

    uri: str = option(
        "http://localhost:19120/api/v2", help="Base URL of Nessie's REST API, version 2, without credentials."
    )
    identity: str | None = option(
        None, help="Name of this repository in the store of live sets (default: as the server reports it)."
    )
    authentication: str = option("none", help="How to authenticate: none, bearer, basic or oauth2.")
    token: str | None = secret(help="Token for bearer authentication.")
    username: str | None = option(None, help="User name for basic authentication.")
    password: str | None = secret(help="Password for basic authentication.")
    oauth2_token_endpoint: str | None = option(None, help="URL of the OAuth2 token endpoint.")
    oauth2_client_id: str | None = option(None, help="Client id for OAuth2 client credentials.")
    oauth2_client_secret: str | None = secret(help="Client secret for OAuth2 client credentials.")
    oauth2_scope: str | None = option(None, help="Scopes to request, separated by spaces.")
    connect_timeout_seconds: float = option(10.0, help="How long to wait for a connection.", per_machine=True)
    read_timeout_seconds: float = option(
        60.0, help="How long to wait for the next part of a response.", per_machine=True
    )
    retries: int = option(5, help="How often to repeat a request while the server is unavailable.")
    retry_backoff_seconds: float = option(
        0.5, help="Pause before the first repetition of a request; doubles each time."
    )
    reconnect_seconds: float = option(
        60.0, help="How long to try again, beyond the retries, a server that answered before."
    )
    tls_ca_file: str | None = option(None, help="PEM file with trusted certificate authorities.", per_machine=True)
    tls_verify: bool = option(True, help="Whether to check the server's certificate.")
    page_size: int = option(1000, help="Maximum number of entries in one response (Nessie limits commits to 250).")
    max_response_bytes: int = option(responses.MAX_BYTES, help="Maximum size of one response, decompressed.")
    response_timeout_seconds: float = option(
        responses.TIMEOUT_SECONDS, help="How long one whole response may take, however slowly it arrives."
    )
    max_pages: int = option(responses.MAX_PAGES, help="Maximum number of pages of one listing or history.")
    max_empty_pages: int = option(
        responses.MAX_EMPTY_PAGES, help="How many pages without an entry may follow each other."
    )
    nessie_options: Mapping[str, str] = secret_mapping(
        help="Options of Nessie's Java client (nessie.authentication.type=BEARER, ...); unknown ones are rejected."
    )

    def __post_init__(self) -> None:
        _check_uri("uri", self.uri)
        if self.identity is not None:
            check_identity(self.identity)
        if self.oauth2_token_endpoint is not None:
            _check_uri("oauth2_token_endpoint", self.oauth2_token_endpoint)
        if self.authentication not in AUTHENTICATION_TYPES:
            known = ", ".join(AUTHENTICATION_TYPES)
            raise ConfigurationError(
                f"option 'authentication' cannot be {self.authentication!r}; choose one of {known}"
            )
        for name in ("connect_timeout_seconds", "read_timeout_seconds", "page_size"):
            _check_number(name, getattr(self, name), least_exclusive=0)
        for name in ("retries", "retry_backoff_seconds", "reconnect_seconds"):
            _check_number(name, getattr(self, name), least_exclusive=-1)
        self.limits()
        if not isinstance(self.nessie_options, Mapping):
            raise ConfigurationError("option 'nessie_options' is not a mapping; write it as key=value pairs")

    def limits(self) -> responses.ResponseLimits:
        """What is accepted from the server.

        Raises:
            ConfigurationError: a limit is not a positive number.
        """
        return responses.ResponseLimits(
            max_response_bytes=self.max_response_bytes,
            response_timeout_seconds=self.response_timeout_seconds,
            max_pages=self.max_pages,
            max_empty_pages=self.max_empty_pages,
        )

    def resolved(self) -> NessieOptions:
        """These options with ``nessie_options`` turned into the options that they mean.

        Raises:
            ConfigurationError: a key or value is not supported, or contradicts our own option.
        """
        found: dict[str, object] = {}
        for key, value in self.nessie_options.items():
            if key in _FIXED:
                _check_fixed(key, value)
                continue
            if key not in _TRANSLATIONS:
                raise ConfigurationError(_unknown_key(key))
            name, convert = _TRANSLATIONS[key]
            converted = _converted(key, value, convert)
            if getattr(self, name) not in (_DEFAULTS[name], converted):
                raise ConfigurationError(f"option {name!r} and {key!r} contradict each other; give only one of them")
            found[name] = converted
        return dataclasses.replace(self, nessie_options={}, **found)  # type: ignore[arg-type]  # names and types match


def _check_uri(name: str, uri: str) -> None:
    # The URI itself is not shown before it is known to hold no credentials.
    try:
        parts = urlsplit(uri)
        has_credentials, host, _ = parts.username is not None or parts.password is not None, parts.hostname, parts.port
    except ValueError:
        has_credentials, parts, host = "@" in uri, urlsplit(""), None
    if has_credentials or "@" in uri:  # a slash in a password ends the host, and the rest looks like a path
        raise ConfigurationError(f"option {name!r} contains credentials; give them as separate options")
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigurationError(f"option {name!r} is not the URI of a server; expected http(s)://host:port/path")
    if parts.query or parts.fragment:
        raise ConfigurationError(f"option {name!r} contains a query or fragment; give the plain base URI")


def _check_number(name: str, value: object, *, least_exclusive: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= least_exclusive:
        wanted = "a positive number" if least_exclusive == 0 else "zero or a positive number"
        raise ConfigurationError(f"option {name!r} cannot be {value!r}; expected {wanted}")
    if name in ("retries", "page_size") and not isinstance(value, int):
        raise ConfigurationError(f"option {name!r} cannot be {value!r}; expected a whole number")


def _text(value: str) -> str:
    return value


def _authentication(value: str) -> str:
    if value.lower() not in AUTHENTICATION_TYPES:
        raise ValueError("supported are NONE, BEARER, BASIC and OAUTH2")
    return value.lower()


def _seconds(milliseconds: str) -> float:
    return int(milliseconds) / 1000


def _verify(no_verification: str) -> bool:
    return no_verification.strip().lower() != "true"


_TRANSLATIONS: Mapping[str, tuple[str, Callable[[str], object]]] = {
    "nessie.uri": ("uri", _text),
    "nessie.authentication.type": ("authentication", _authentication),
    "nessie.authentication.token": ("token", _text),
    "nessie.authentication.username": ("username", _text),
    "nessie.authentication.password": ("password", _text),
    "nessie.authentication.oauth2.token-endpoint": ("oauth2_token_endpoint", _text),
    "nessie.authentication.oauth2.client-id": ("oauth2_client_id", _text),
    "nessie.authentication.oauth2.client-secret": ("oauth2_client_secret", _text),
    "nessie.authentication.oauth2.client-scopes": ("oauth2_scope", _text),
    "nessie.transport.connect-timeout": ("connect_timeout_seconds", _seconds),
    "nessie.transport.read-timeout": ("read_timeout_seconds", _seconds),
    "nessie.ssl.no-certificate-verification": ("tls_verify", _verify),
}
"""Keys of Nessie's Java client to our option and the conversion of the value."""

_FIXED: Mapping[str, str] = {
    "nessie.client-api-version": "2",
    "nessie.authentication.oauth2.grant-type": "client_credentials",
}
"""Keys that may be given with the one value that we have anyway."""

_HINTS: Mapping[str, str] = {
    "nessie.authentication.oauth2.issuer-url": "give the token endpoint, nessie.authentication.oauth2.token-endpoint",
    "nessie.ref": "all references are read; use cut-off policies to choose",
}

_DEFAULTS: Mapping[str, object] = {
    field.name: field.default for field in dataclasses.fields(NessieOptions) if field.name != "nessie_options"
}


def _converted(key: str, value: str, convert: Callable[[str], object]) -> object:
    try:
        return convert(str(value))
    except ValueError as error:
        raise ConfigurationError(f"Nessie option {key!r} has an invalid value: {error}") from None


def _check_fixed(key: str, value: str) -> None:
    if str(value).lower() != _FIXED[key]:
        raise ConfigurationError(f"Nessie option {key!r} cannot be {value!r}; only {_FIXED[key]} is supported")


def _unknown_key(key: str) -> str:
    known = [*_TRANSLATIONS, *_FIXED]
    near = difflib.get_close_matches(key, known, n=1)
    default = f"did you mean {near[0]!r}?" if near else f"supported are: {', '.join(sorted(known))}"
    return f"Nessie option {key!r} is not supported; {_HINTS.get(key, default)}"
