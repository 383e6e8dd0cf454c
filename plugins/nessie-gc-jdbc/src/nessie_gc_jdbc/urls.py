"""URLs of databases: JDBC's forms become SQLAlchemy's, and none is shown with a password."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from nessie_gc_core.errors import ConfigurationError

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


def database_url(text: str, *, user: str | None, password: str | None, properties: Mapping[str, str]) -> URL:
    """The URL for SQLAlchemy.

    Raises:
        ConfigurationError: it is none, or of a database that is not supported; the message shows no password.
    """
    text = text.strip()
    if not text:
        raise ConfigurationError(f"option 'url' of the store jdbc is missing; give {_EXAMPLES}")
    url = _from_jdbc(text[5:]) if text[:5].lower() == "jdbc:" else _from_sqlalchemy(text)
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


def _from_sqlalchemy(text: str) -> URL:
    scheme = text.partition("://")[0]
    driver = _DRIVERS.get(scheme.lower())
    try:
        url = make_url((driver if driver is not None else scheme) + text[len(scheme) :])
        backend = url.get_backend_name()
    except (ArgumentError, ValueError) as error:
        raise ConfigurationError(f"option 'url' of the store jdbc is no URL of a database; give {_EXAMPLES}") from error
    if backend not in _DRIVERS:
        raise ConfigurationError(f"the store jdbc knows no database {backend!r}; give {_EXAMPLES}")
    return url


def _from_jdbc(rest: str) -> URL:
    database, colon, place = rest.partition(":")
    database = database.lower()
    if database == "h2":
        raise ConfigurationError("H2 is a database of Java; for one that needs no server give jdbc:sqlite:FILE")
    if not colon or database not in _DRIVERS:
        raise ConfigurationError(f"the store jdbc knows no database {database!r}; give {_EXAMPLES}")
    if database == "sqlite":
        path = place.partition("?")[0]
        return URL.create("sqlite", database=unquote(path[5:]) if path.startswith("file:") else path)
    if not place.startswith("//"):
        place = "//localhost/" + place.lstrip("/")
    try:
        parts = urlsplit(f"x:{place}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"the URL jdbc:{database}:… names no host and port; give {_EXAMPLES}") from error
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return URL.create(
        _DRIVERS[database],
        username=query.pop("user", None) or _unquoted(parts.username),
        password=query.pop("password", None) or _unquoted(parts.password),
        host=host,
        port=port,
        database=unquote(parts.path.lstrip("/")) or None,
        query=_driver_query(database, query),
    )


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
        raise ConfigurationError("SQLite in memory keeps nothing; use the store memory (--inmemory), or name a file")
    if re.match(r"file:", database):
        raise ConfigurationError(
            f"{database!r} is a URI; give SQLite's file as a path, such as jdbc:sqlite:/path/file.db"
        )
    return URL.create(url.drivername, database=str(Path(database).expanduser().absolute()), query=url.query)


def _unquoted(text: str | None) -> str | None:
    return None if text is None else unquote(text)
