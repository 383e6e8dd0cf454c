"""URLs of Nessie's database, and text without what is secret in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, quote_plus, unquote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.urls import TWO_READINGS, split_credentials

_EXAMPLE = "jdbc:postgresql://HOST:PORT/DATABASE"
_POSTGRESQL = ("postgresql", "postgres", "postgresql+psycopg", "postgresql+psycopg2")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9+]{0,30}")
_JDBC_NAMES = {
    "ApplicationName": "application_name",
    "channelBinding": "channel_binding",
    "connectTimeout": "connect_timeout",
    "gssEncMode": "gssencmode",
    "sslNegotiation": "sslnegotiation",
}
"""Parameters of the JDBC driver by the names that they have here."""
_JDBC_ONLY_NAMES = """
    adaptiveFetch adaptiveFetchMaximum adaptiveFetchMinimum assumeMinServerVersion autosave binaryTransfer
    binaryTransferDisable binaryTransferEnable cancelSignalTimeout cleanupSavepoints databaseMetadataCacheFields
    databaseMetadataCacheFieldsMiB defaultRowFetchSize disableColumnSanitiser escapeSyntaxCallMode
    hideUnprivilegedObjects hostRecheckSeconds loadBalanceHosts logServerErrorDetail logUnclosedConnections loggerFile
    loggerLevel loginTimeout maxResultBuffer maxSendBufferSize preferQueryMode prepareThreshold
    preparedStatementCacheQueries preparedStatementCacheSizeMiB quoteReturningIdentifiers reWriteBatchedInserts
    receiveBufferSize sendBufferSize socketTimeout stringtype targetServerType tcpKeepAlive tcpNoDelay unknownLength
    xmlFactoryFactory
"""
_JDBC_ONLY = frozenset(_JDBC_ONLY_NAMES.split())
"""Parameters of the JDBC driver that say nothing about which database it is, or who may see what is sent."""
CONNECT_TIMEOUT_SECONDS = 15
_DEFAULTS = {"connect_timeout": str(CONNECT_TIMEOUT_SECONDS), "application_name": "nessie-gc internal-gc"}
_FORCED = {"client_encoding": "utf8"}
"""What holds whatever someone gives; a database of the encoding SQL_ASCII would answer with bytes."""
_SHOWN = frozenset(("host", "hostaddr", "port", "dbname", "user", *_FORCED))
"""Parameters whose values messages may show."""
_SEPARATORS = re.compile(r"[\s=;,&]+-*c?|^-+c?")
_NOT_IN_PLACES = re.compile(r"[\s;=]")

Parameters = dict[str, str]
"""Parameters of a connection by the names of libpq."""


def connection_parameters(
    text: str | None, *, user: str | None, password: str | None, properties: Mapping[str, str]
) -> Parameters:
    """The parameters of the connection to a database.

    Raises:
        ConfigurationError: it is none of PostgreSQL, or cannot be read; the message shows no password.
    """
    text = (text or "").strip()
    if not text:
        raise ConfigurationError(f"`nessie_jdbc_url` is missing; give Nessie's database, {_EXAMPLE}")
    is_jdbc = text[:5].lower() == "jdbc:"
    plain = text[5:] if is_jdbc else text
    name, colon, place = plain.partition(":")
    if not colon or name.lower() not in _POSTGRESQL:
        given = f"a database {name!r}" if colon and _NAME.fullmatch(name) else "that URL"
        raise ConfigurationError(f"`nessie_jdbc_url`: {given} is not supported; give a PostgreSQL database, {_EXAMPLE}")
    if is_jdbc and not place.startswith("//"):
        place = "//localhost/" + place.lstrip("/")
    found = {**_from_url(f"postgresql:{place}"), **dict(properties)}
    if user is not None:
        found["user"] = user
    if password is not None:
        found["password"] = password
    return _checked({**_DEFAULTS, **found, **_FORCED})


def shown(parameters: Parameters) -> str:
    """The URL without password and parameters."""
    user = f"{quote(parameters['user'])}@" if parameters.get("user") else ""
    port = f":{parameters['port']}" if parameters.get("port") else ""
    return f"postgresql://{user}{parameters.get('host', '')}{port}/{parameters.get('dbname', '')}"


def redacted(message: str, parameters: Parameters) -> str:
    """A message without passwords, plain or URL-encoded, and without values of other parameters."""
    passwords = [value for name, value in parameters.items() if "password" in name and value]
    forms = {form for each in passwords for form in (each, quote(each), quote(each, safe=""), quote_plus(each))}
    for form in sorted(forms, key=len, reverse=True):
        message = message.replace(form, "***")
    values = [value for name, value in parameters.items() if name not in _SHOWN and _DEFAULTS.get(name) != value]
    pieces = {piece for value in values for piece in (value, *_SEPARATORS.split(value))} - {""}
    for piece in sorted(pieces, key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(piece)}(?!\w)", "***", message)
    return message


def _from_url(url: str) -> Parameters:
    try:
        prefix, user_info, rest = split_credentials(url)
    except ValueError as error:
        hint = str(error) if str(error) == TWO_READINGS else "it cannot be read"
        raise ConfigurationError(
            f"`nessie_jdbc_url`: {hint}, or give them as `nessie_jdbc_user` and `nessie_jdbc_password`"
        ) from None
    place, _, query = rest.partition("?")
    try:
        found = {name: str(value) for name, value in conninfo_to_dict(f"{prefix}{place}").items()}
    except ProgrammingError:
        found = {"port": "none"}
    odd = any(_NOT_IN_PLACES.search(found.get(name, "")) for name in ("host", "dbname"))
    if odd or not re.fullmatch(r"[\d,]*", found.get("port", "")):
        raise ConfigurationError(f"`nessie_jdbc_url` names no host, port and database; give {_EXAMPLE}") from None
    name, colon, password = (user_info or "").partition(":")
    credentials = {"user": unquote(name), "password": unquote(password) if colon else ""}
    found.update({name: value for name, value in credentials.items() if value})
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name == "currentSchema":
            found["options"] = f"-csearch_path={value}"
        elif name == "ssl":
            found.setdefault("sslmode", "verify-full" if value.lower() in ("", "true") else "prefer")
        elif name not in _JDBC_ONLY:
            found[_JDBC_NAMES.get(name, name)] = value
        elif name == "targetServerType" and value in ("primary", "master"):
            found["target_session_attrs"] = "primary"
    return found


def _checked(parameters: Parameters) -> Parameters:
    """Refuses parameters that the client library does not know."""
    for name in parameters:
        try:
            make_conninfo(**{name: "1"})
        except ProgrammingError:
            raise ConfigurationError(
                f"PostgreSQL's client has no parameter {name[:40]!r}; remove it from `nessie_jdbc_url` or "
                "`nessie_jdbc_properties`"
            ) from None
    return parameters
