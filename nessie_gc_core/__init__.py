"""Nessie GC: finds and removes the files of an Iceberg lake that no live state needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nessie_gc_core.hookspecs import hookimpl
from nessie_gc_core.model.options import ConnectorOptions, option, options, secret

if TYPE_CHECKING:
    from nessie_gc_core.api import Collector, Schedule

__version__ = "0.1.0"

__all__ = [
    "Collector",
    "ConnectorOptions",
    "Schedule",
    "__version__",
    "hookimpl",
    "option",
    "options",
    "secret",
]


def __getattr__(name: str) -> object:
    """The public API is loaded when it is asked for: a plugin that is loaded on a worker needs none."""
    if name in ("Collector", "Schedule"):
        from nessie_gc_core import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
