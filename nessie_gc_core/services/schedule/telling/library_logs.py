"""What OpenLineage's client and the libraries under it log: their texts may show addresses, which may be secrets."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

log = logging.getLogger(__name__)

CLIENT = "openlineage"
"""The logger of the client, and of all its parts."""
EVENTS = "openlineage.client.transport.console"
"""The logger of the transport that logs events, which have no secrets."""
_SHARED = ("urllib3.connectionpool", "urllib3.connection", "urllib3.poolmanager", "urllib3.util.retry")
"""Loggers with addresses that others use, too."""
_OF_REQUESTS = ("httpx2", "httpcore2")
"""Loggers that say each address below a warning."""
_sends: ContextVar[bool] = ContextVar("sends", default=False)


def keep_addresses_out() -> None:
    """Lets the client say that something is wrong, and where, but not in its own words."""
    client = logging.getLogger(CLIENT)
    if not any(isinstance(handler, _WithoutText) for handler in client.handlers):
        client.addHandler(_WithoutText())
    client.propagate = False
    for name in _SHARED:
        logging.getLogger(name).addFilter(_is_of_others)
    for name in _OF_REQUESTS:
        logging.getLogger(name).setLevel(logging.WARNING)


@contextmanager
def without_addresses() -> Iterator[None]:
    """While the block runs, libraries log no addresses from this thread; an error that follows says what failed."""
    before = _sends.set(True)
    try:
        yield
    finally:
        _sends.reset(before)


def _is_of_others(_: logging.LogRecord) -> bool:
    return not _sends.get()


class _WithoutText(logging.Handler):
    """Passes events on, and of warnings and errors only which part of the client they come from."""

    def emit(self, record: logging.LogRecord) -> None:
        """Logs it, or what may be said of it."""
        if record.name == EVENTS:
            if record.levelno >= logging.INFO:
                logging.getLogger().handle(record)
        elif record.levelno >= logging.WARNING:
            kind = record.levelname.lower()
            log.log(record.levelno, "OpenLineage: %s in %s (its text may show an address)", kind, record.name)
