"""Missing servers are skipped aloud, or fail: never silently left out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.startable import Startable

S = TypeVar("S", bound=Startable)


def servers_are_required() -> bool:
    """Whether an unavailable server fails the tests: in CI, or with ``NESSIE_GC_REQUIRE_SERVERS=1``."""
    return any(os.environ.get(name, "").lower() not in ("", "0", "false") for name in _SETTINGS)


@contextmanager
def skip_or_fail() -> Iterator[None]:
    """Around the making of a server in a fixture: what is missing becomes a skip that names it, or a failure.

    Only what is not installed skips. A server that is there and does not start always fails.
    """
    try:
        yield
    except ConfigurationError as error:
        if servers_are_required():
            raise
        import pytest

        pytest.skip(str(error))


@contextmanager
def running(make: Callable[[], S]) -> Iterator[S]:
    """A server for a fixture to yield: skipped aloud or failed where it is missing, stopped in the end.

    Args:
        make: the server's class, or anything else that makes one.
    """
    with skip_or_fail():
        server = make()
        server.start()
    try:
        yield server
    finally:
        server.stop()


_SETTINGS = ("CI", "NESSIE_GC_REQUIRE_SERVERS")
