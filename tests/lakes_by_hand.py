"""Changes to simulated lakes that no writer would make."""

from __future__ import annotations

import json
from collections.abc import Callable

from nessie_gc_memory import MemoryLake


def respell(lake: MemoryLake, path: str, change: Callable[[str], str]) -> None:
    """Writes every path in a metadata file differently; the file itself stays where it is."""
    stored = lake.objects.get(path)
    assert stored is not None and stored.data is not None
    value = json.loads(stored.data)
    for name in ("location", "files"):
        if isinstance(value.get(name), str):
            value[name] = change(value[name])
        elif name in value:
            value[name] = [change(each) for each in value[name]]
    lake.objects.put(path, json.dumps(value).encode(), modified=stored.modified)
