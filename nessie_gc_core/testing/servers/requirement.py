"""Missing servers are skipped aloud, or fail: never silently left out."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from nessie_gc_core.errors import ConfigurationError


def servers_are_required() -> bool:
    """Whether a server that cannot be had fails the tests: in CI, or with ``NESSIE_GC_REQUIRE_SERVERS=1``."""
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


_SETTINGS = ("CI", "NESSIE_GC_REQUIRE_SERVERS")
