"""The local engine: threads, and DuckDB for exact joins in bounded memory."""

from nessie_gc_core.engines.local.engine import LocalEngine

__all__ = ["LocalEngine"]
