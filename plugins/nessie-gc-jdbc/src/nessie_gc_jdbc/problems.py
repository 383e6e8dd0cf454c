"""What databases complain about, in one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.text import one_line
from nessie_gc_jdbc.urls import redacted, shown

_HINTS = (
    (
        ("invalid connection option", "invalid dsn", 'value: "'),
        "check the parameters of the URL and the properties",
    ),
    (
        ("database is locked", "lock wait timeout", "lock timeout"),
        "another process holds it; wait for it, then try again",
    ),
    (
        ("statement timeout", "max_statement_time", "maximum statement execution time"),
        "the database is too slow, or another process holds what is needed; try again",
    ),
    (
        ("permission denied for", "command denied", "' to database '", "must be owner"),
        "grant the user the rights to use this database and the tables nessie_gc_*, or name another user",
    ),
    (("password", "authentication", "access denied"), "check user and password"),
    (("unable to open database file", "readonly database", "permission denied"), "check path and rights"),
    (
        ("not a database", "malformed", "disk image"),
        "the file is damaged, or not a database of Nessie GC; name another",
    ),
    (("does not exist", "unknown database"), "check the name of the database, or create it"),
    (("disk", "no space", "is full"), "free some space, then run it again; what was stored before is still there"),
    (
        ("connect", "could not translate", "refused", "timeout", "closed", "resolve", "name or service"),
        "check that the database is running and that the URL is right",
    ),
    (("nul (0x00)", "surrogates"), "the database cannot hold this text"),
)
"""Parts of messages, and what to do about them; the first that fits is taken."""

_AWAY = (
    "connection refused",
    "connection reset",
    "connection timed out",
    "timeout expired",
    "closed the connection",
    "connection is closed",
    "terminating connection",
    "lost connection",
    "gone away",
    "starting up",
    "shutting down",
    "shutdown in progress",
    "recovery mode",
    "not yet accepting connections",
)
"""What drivers and servers say while a server is stopped, or is not ready yet."""

UNREADABLE = (ValueError, TypeError, OverflowError)
"""What reading a row raises that makes no sense."""
_DENIED = ("permission denied", "command denied", "' to database '", "must be owner", "readonly database", "read-only")
"""What databases say to a user who may not do this."""


def is_denied(error: BaseException | None) -> bool:
    """Whether the user may not do this."""
    if not isinstance(error, DBAPIError) or error.orig is None:
        return False
    return any(words in _text(error.orig).lower() for words in _DENIED)


def is_away(error: BaseException) -> bool:
    """Whether a database cannot be reached just now, so that it is worth a second try."""
    if not isinstance(error, DBAPIError) or error.orig is None:
        return False
    return error.connection_invalidated or any(words in _text(error.orig).lower() for words in _AWAY)


def store_error(error: BaseException, url: URL) -> StoreError:
    """The error as a StoreError: one line without secrets, the URL without a password, and what to do."""
    shown_url = shown(url)
    if isinstance(error, PoolTimeoutError):
        return StoreError(
            f"the live-set store {shown_url} has no free connection; raise pool_max_size, or use fewer threads"
        )
    cause = getattr(error, "orig", None) or error
    lines = [line.strip() for line in redacted(_text(cause), url).splitlines() if line.strip()]
    reason = lines[0] if lines else type(cause).__name__
    lowered = " ".join(lines).lower()
    hint = next((hint for words, hint in _HINTS if any(word in lowered for word in words)), None)
    return StoreError(f"the live-set store {shown_url} failed: {reason}" + (f"; {hint}" if hint else ""))


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Says of what a row is that makes no sense.

    Raises:
        StoreError: what the block reads from a row is not what this version writes.
    """
    try:
        yield
    except UNREADABLE as error:
        raise not_understood(what, error) from error


def not_understood(what: str, error: Exception) -> StoreError:
    """What is said of such a row."""
    return StoreError(
        f"the row of {what} in the database cannot be understood ({one_line(error)}): a later version may have "
        "written it, or somebody changed it; use that version, or restore the database from a backup"
    )


def _text(cause: BaseException) -> str:
    """What the driver says; that of MariaDB gives a number and a text."""
    match cause.args:
        case (int(), str(said)):
            return said
        case _:
            return str(cause)
