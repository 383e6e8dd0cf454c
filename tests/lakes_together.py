"""Tables of several simulated lakes over the same objects."""

from __future__ import annotations

from datetime import timedelta

from nessie_gc_memory import MemoryLake, TableState, put

from nessie_gc_core.errors import ServiceUnavailableError

AGE = timedelta(days=3)
DOWN = ServiceUnavailableError("nobody answers")


def table(
    lake: MemoryLake, name: str, *files: str, location: str | None = None, content_id: str | None = None
) -> TableState:
    """A committed table with some files; no file of it is garbage."""
    empty = lake.table(f"db.{name}", location=location or f"memory://wh/db/{name}", content_id=content_id)
    lake.objects.delete(empty.metadata_location)
    state = empty.append(*files or ("a.parquet",))
    lake.commit("main", put(state.version))
    return state


def garbage(lake: MemoryLake, name: str) -> str:
    """A file in the place of a table that nothing needs."""
    return lake.put(f"memory://wh/db/{name}/data/nobody.parquet")
