"""The options of the store ``jdbc``."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from nessie_gc_core import ConnectorOptions, option, options, secret
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import secret_mapping


class SchemaStrategy(StrEnum):
    """What to do about the tables."""

    CREATE = "CREATE"
    """Create them; an error where one exists."""
    DROP_AND_CREATE = "DROP_AND_CREATE"
    """Drop those that exist, with all they hold, and create them."""
    CREATE_IF_NOT_EXISTS = "CREATE_IF_NOT_EXISTS"
    """Create those that are missing."""
    NONE = "NONE"
    """Leave the database as it is."""

    @classmethod
    def parse(cls, text: str) -> SchemaStrategy:
        """Reads a strategy; case does not matter.

        Raises:
            ConfigurationError: the word is not known.
        """
        try:
            return cls(text.strip().upper())
        except ValueError as error:
            known = ", ".join(cls)
            raise ConfigurationError(f"unknown schema strategy {text!r}; give one of {known}") from error


@options
class JdbcOptions(ConnectorOptions):
    """Which database, and how it is used."""

    url: str | None = secret(help="jdbc:postgresql:…, jdbc:sqlite:FILE, or an SQLAlchemy URL", address=True)
    user: str | None = option(None, help="user of the database; overrides the user in the URL")
    password: str | None = secret(help="password of the user; overrides the password in the URL")
    properties: Mapping[str, str] = secret_mapping(help="connection parameters, by the driver's names")
    pool_max_size: int = option(5, help="maximum number of open connections")
    fetch_size: int = option(1000, help="maximum number of rows to read at once")
    reconnect_seconds: float = option(
        60.0, help="how long to wait for a database that goes away, such as one that is restarted"
    )
    schema: str | None = option(
        None,
        help="CREATE, DROP_AND_CREATE, CREATE_IF_NOT_EXISTS or NONE, on first use (default for SQLite: "
        "CREATE_IF_NOT_EXISTS)",
    )

    def strategy(self, *, default: SchemaStrategy) -> SchemaStrategy:
        """What to do about the tables on first use.

        Raises:
            ConfigurationError: the word is not known.
        """
        return default if self.schema is None else SchemaStrategy.parse(self.schema)

    def check(self) -> None:
        """Rejects invalid numbers.

        Raises:
            ConfigurationError: one is below one, or a time below zero.
        """
        for name in ("pool_max_size", "fetch_size"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ConfigurationError(f"option {name!r} must be at least 1, not {value!r}")
        if not 0 <= self.reconnect_seconds < float("inf"):
            raise ConfigurationError(
                f"option 'reconnect_seconds' must be a number of seconds, not {self.reconnect_seconds!r}; 0: never wait"
            )
