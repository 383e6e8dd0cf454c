"""Nessie servers as repositories of Nessie GC."""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_nessie.connector import NessieConnector
from nessie_gc_nessie.options import NessieOptions

__all__ = ["NessieConnector", "NessieOptions", "nessie_gc_register_repository_connector"]


@hookimpl
def nessie_gc_register_repository_connector() -> type[NessieConnector]:
    """Registers the repository connector ``nessie``."""
    return NessieConnector
