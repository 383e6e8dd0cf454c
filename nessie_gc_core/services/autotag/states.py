"""Which state was current at an instant."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from nessie_gc_core.algorithms.retention import ancestors
from nessie_gc_core.model.repository import LogEntry
from nessie_gc_core.model.table_metadata import MAIN, TableMetadata
from nessie_gc_core.model.times import from_millis


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A state of a branch."""

    target: str
    """Its commit id; of a table the snapshot id as decimal digits."""
    time: datetime
    """When it became current, UTC."""
    ended: datetime | None
    """When the next one became current, UTC; ``None``: it still is."""


def states_of(entries: Iterable[LogEntry]) -> Iterator[State]:
    """The states of a branch by its log, newest first."""
    ended: datetime | None = None
    for entry in entries:
        yield State(target=entry.commit_id, time=entry.commit_time, ended=ended)
        ended = entry.commit_time


def states_in(table: TableMetadata, branch: str) -> Iterator[State]:
    """The states of a branch that a table's metadata still lists, newest first.

    ``main`` has its own log, which records roll-backs; for other branches, the snapshots and their parents are used.
    The first snapshot that is no longer listed ends the stream, because the states before it are unknown.
    """
    ref = table.refs.get(branch)
    if ref is None:
        return
    listed = {snapshot.snapshot_id: snapshot for snapshot in table.snapshots}
    ended: datetime | None = None
    if branch == MAIN and table.snapshot_log and table.snapshot_log[-1][1] == ref.snapshot_id:
        history: Iterable[tuple[int, int]] = reversed(table.snapshot_log)
    else:
        history = ((each.timestamp_ms, each.snapshot_id) for each in ancestors(listed, ref.snapshot_id))
    for millis, snapshot_id in history:
        time = from_millis(millis)
        if snapshot_id not in listed:
            return
        yield State(target=str(snapshot_id), time=time, ended=ended)
        ended = time


def states_at(states: Iterable[State], instants: Iterable[datetime]) -> dict[datetime, State | None]:
    """The newest state at each of some instants: the first of a log whose time is not later; ``None``: there was none.

    The log is read no further than is needed, and closed.
    """
    waiting = sorted(set(instants))
    found: dict[datetime, State | None] = {}
    try:
        for state in states if waiting else ():
            while waiting and state.time <= waiting[-1]:
                found[waiting.pop()] = state
            if not waiting:
                break
    finally:
        if isinstance(states, Generator):
            states.close()
    return {**found, **dict.fromkeys(waiting)}
