"""Nessie GC: finds and removes the files of an Iceberg lake that no live state needs."""

from nessie_gc_core.hookspecs import hookimpl
from nessie_gc_core.model.options import ConnectorOptions, option, options, secret

__version__ = "0.1.0"

__all__ = ["ConnectorOptions", "__version__", "hookimpl", "option", "options", "secret"]
