"""URLs of databases: JDBC's forms become SQLAlchemy's, and none is shown with a password."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, quote, quote_plus, unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.urls import TWO_READINGS, split_credentials

_DRIVERS = {
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mariadb+pymysql",
    "sqlite": "sqlite",
}
"""The driver of each database."""
_JDBC_NAMES = {
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "sslrootcert": "sslrootcert",
}
"""Parameters of JDBC drivers and what they are called here."""
_EXAMPLES = "jdbc:postgresql://HOST:PORT/DATABASE, jdbc:sqlite:FILE, or postgresql://USER@HOST/DATABASE"
_IN_MEMORY = ("", ":memory:")
_SECRET_NAME = re.compile(r"passw|secret|token|key", re.IGNORECASE)
_PLAIN_PLACE = re.compile(r"//(\[[^\]]*\]|[^:/@?\[]*)(:\d*)?(/[^@]*)?")
"""Host, port and database of a JDBC URL without credentials before the host, as those of PostgreSQL always are."""
_PARAMETERS = re.compile(r"([\w.-]+(=[^&]*)?(&|$))*")


def database_url(text: str, *, user: str | None, password: str | None, properties: Mapping[str, str]) -> URL:
    """The URL for SQLAlchemy.

    Raises:
        ConfigurationError: it is none, or of a database that is not supported; the message shows no password.
    """
    text = text.strip()
    if not text:
        raise ConfigurationError(f"option 'url' of the store jdbc is missing; give {_EXAMPLES}")
    url = _from_jdbc(text[5:]) if text[:5].lower() == "jdbc:" else _from_sqlalchemy(text)
    _refuse_descriptions(url)
    names = dict(properties)
    user, password = user or names.pop("user", None), password or names.pop("password", None)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url.update_query_dict(names))
    if user is not None:
        url = url.set(username=user)
    if password is not None:
        url = url.set(password=password)
    return url.update_query_dict({_JDBC_NAMES.get(name, name): value for name, value in names.items()})


def shown(url: URL) -> str:
    """The URL without password and parameters."""
    without = URL.create(url.drivername, username=url.username, host=url.host, port=url.port, database=url.database)
    return without.render_as_string()


def redacted(message: str, url: URL) -> str:
    """A message without the password and the parameters' values: even a mistaken value is often a password.

    Passwords are removed everywhere, plain or URL-encoded; other values only as whole words, because they are short and
    occur inside other words.
    """
    pairs = [
        (name, text) for name, value in url.query.items() for text in ([value] if isinstance(value, str) else value)
    ]
    secrets = {url.password or "", *(text for name, text in pairs if _SECRET_NAME.search(name))}
    hidden = [(form, re.escape(form)) for text in secrets for form in _forms(text)]
    hidden += [(form, rf"(?<!\w){re.escape(form)}(?!\w)") for _, text in pairs for form in _forms(text)]
    for _, pattern in sorted(hidden, key=lambda found: len(found[0]), reverse=True):
        message = re.sub(pattern, "***", message)
    return message


def _forms(text: str) -> set[str]:
    """A text, plain and URL-encoded; nothing for an empty one."""
    return {text, quote(text), quote(text, safe=""), quote_plus(text)} - {""}


def _refuse_descriptions(url: URL) -> None:
    """Refuses hosts with keys and values, as MySQL's JDBC driver takes them: a password may be one of the values.

    Raises:
        ConfigurationError: the message shows nothing of them.
    """
    described = re.search(r"[()=]", url.host or "") is not None
    if described or any("(" in part and "=" in part for part in (url.username or "", url.database or "")):
        raise ConfigurationError(
            f"option 'url' of the store jdbc: a host cannot contain '(', ')' or '='; give {_EXAMPLES}, and user and "
            "password as separate options"
        )


def _from_sqlalchemy(text: str) -> URL:
    scheme = text.partition("://")[0]
    driver = _DRIVERS.get(scheme.lower())
    try:
        url = _server_url((driver if driver is not None else scheme) + text[len(scheme) :])
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise _no_url(error) from None
    if backend not in _DRIVERS:
        raise ConfigurationError(f"the store jdbc does not support the database {backend!r}; give {_EXAMPLES}")
    return url


def _server_url(text: str) -> URL:
    """The URL as SQLAlchemy reads it, once its credentials are removed, in which it knows no ``@``."""
    prefix, user_info, rest = split_credentials(text)
    place, question, query = rest.partition("?")
    url = make_url(prefix + place)
    if question:
        url = url.update_query_pairs(parse_qsl(query))
    return _with_credentials(url, user_info)


def _with_credentials(url: URL, user_info: str | None) -> URL:
    if user_info is None:
        return url
    user, colon, password = user_info.partition(":")
    return url.set(username=unquote(user), password=unquote(password) if colon else None)


def _no_url(error: Exception) -> ConfigurationError:
    """The error for a text that cannot be read; it shows nothing of it, for any part may be a password."""
    if str(error) == TWO_READINGS:
        return ConfigurationError(f"option 'url' of the store jdbc: {error}, or give them as options user and password")
    return ConfigurationError(f"option 'url' of the store jdbc is not a database URL; give {_EXAMPLES}")


def _from_jdbc(rest: str) -> URL:
    database, colon, place = rest.partition(":")
    database = database.lower()
    if database == "h2":
        raise ConfigurationError("H2 is a Java database; for a database without a server give jdbc:sqlite:FILE")
    if not colon or database not in _DRIVERS:
        known = repr(database) if colon else "in that URL"
        raise ConfigurationError(f"the store jdbc does not support the database {known}; give {_EXAMPLES}")
    if database == "sqlite":
        path = place.partition("?")[0]
        return URL.create("sqlite", database=unquote(path[5:]) if path.startswith("file:") else path)
    if not place.startswith("//"):
        place = "//localhost/" + place.lstrip("/")
        if re.search(r"[:/@()]", place.partition("?")[0].removeprefix("//localhost/")):
            raise ConfigurationError(f"the URL jdbc:{database}:… names no database; give {_EXAMPLES}")
    return _server_from_jdbc(database, place)


def _server_from_jdbc(database: str, place: str) -> URL:
    head, _, query = place.partition("?")
    user_info = None
    try:
        if not (_PLAIN_PLACE.fullmatch(head) and _PARAMETERS.fullmatch(query)):
            _, user_info, rest = split_credentials(f"x:{place}")
            head, _, query = f"//{rest}".partition("?")
        url = make_url(f"{_DRIVERS[database]}:{head}")
    except (ArgumentError, ValueError) as error:
        if str(error) == TWO_READINGS:
            raise _no_url(error) from None
        raise ConfigurationError(f"the URL jdbc:{database}:… names no host and port; give {_EXAMPLES}") from None
    values = dict(parse_qsl(query, keep_blank_values=True))
    url = _with_credentials(url, user_info)
    user, password = values.pop("user", None) or url.username, values.pop("password", None) or url.password
    return url.set(username=user, password=password).update_query_dict(_driver_query(database, values))


def _driver_query(database: str, query: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a JDBC URL by the names that the driver here has."""
    found: dict[str, str] = {}
    for name, value in query.items():
        if name == "currentSchema":
            found["options"] = f"-csearch_path={value}"
        elif name == "ssl" and database.startswith("postgres"):
            found.setdefault("sslmode", "verify-full" if value.lower() in ("", "true") else "prefer")
        else:
            found[_JDBC_NAMES.get(name, name)] = value
    return found


def _sqlite(url: URL) -> URL:
    """The URL with an absolute path, so that it means the same wherever the process goes."""
    database = url.database or ""
    if database in _IN_MEMORY or "mode=memory" in database:
        raise ConfigurationError("in-memory SQLite keeps nothing; use the store memory (--inmemory), or name a file")
    if re.match(r"file:", database):
        raise ConfigurationError(
            f"{database!r} is a URI; give SQLite's file as a path, such as jdbc:sqlite:/path/file.db"
        )
    return URL.create(url.drivername, database=str(Path(database).expanduser().absolute()), query=url.query)
