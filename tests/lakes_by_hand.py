"""Changes to simulated lakes that no writer would make."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from nessie_gc_memory import MemoryLake, TableState, put


@contextmanager
def lake_at(now: datetime, name: str | None = None) -> Iterator[MemoryLake]:
    """An empty lake, with a name of its own unless one is given, whose clock stands."""
    name = name or f"lake-{uuid.uuid4()}"
    MemoryLake.forget(name)
    lake = MemoryLake.named(name)
    lake.now = now
    yield lake
    MemoryLake.forget(lake.name)


class LakeBeside(MemoryLake):
    """A lake with a history and faults of its own, and the objects and the clock of another."""

    def __init__(self, first: MemoryLake) -> None:
        self._first = first
        super().__init__(f"beside-{uuid.uuid4()}")
        self.objects, self.needed = first.objects, first.needed
        MemoryLake._lakes[self.name] = self

    @property
    def now(self) -> datetime | None:
        return self._first.now

    @now.setter
    def now(self, now: datetime | None) -> None:
        if now is not None:
            self._first.now = now

    def next_number(self) -> int:
        return self._first.next_number()


def commit_and_let_age(lake: MemoryLake, *states: TableState) -> None:
    """Commits the states an hour after each other; days later their files are old enough."""
    for state in states:
        lake.advance(timedelta(hours=1))
        lake.commit("main", put(state.version))
    lake.advance(timedelta(days=3))


def respell(lake: MemoryLake, path: str, change: Callable[[str], str]) -> None:
    """Writes every path in a metadata file differently; the file itself stays where it is."""
    stored = lake.objects.get(path)
    assert stored is not None
    assert stored.data is not None
    value = json.loads(stored.data)
    for name in ("location", "files"):
        if isinstance(value.get(name), str):
            value[name] = change(value[name])
        elif name in value:
            value[name] = [change(each) for each in value[name]]
    lake.objects.put(path, json.dumps(value).encode(), modified=stored.modified)
