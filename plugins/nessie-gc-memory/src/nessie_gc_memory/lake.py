"""Simulated lakes: a history, objects, a clock and faults, under a name that connectors find in the same process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from nessie_gc_core.model.repository import ContentVersion, Operation, Reference
from nessie_gc_memory.faults import Faults, FetchCounts
from nessie_gc_memory.history import MemoryHistory
from nessie_gc_memory.objects import MemoryObjects
from nessie_gc_memory.tables import TableState, new_table


class MemoryLake:
    """One lake.

    Example::

        lake = MemoryLake.named("two-branches")
        table = lake.table("db.t", location="memory://warehouse/db/t").append("a.parquet")
        lake.commit("main", put(table.version))
        lake.branch("dev", "main")

    Time stands where :attr:`now` was set, and is the real one while it is ``None``.
    """

    _lakes: ClassVar[dict[str, MemoryLake]] = {}
    _lakes_lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.history = MemoryHistory()
        self.objects = MemoryObjects()
        self.faults = Faults()
        self.counts = FetchCounts()
        self.now: datetime | None = None
        self.needed: dict[str, frozenset[str]] = {}
        """Metadata location of every table state that was made to all the paths that the state needs."""
        self.sequence = 0

    @classmethod
    def named(cls, name: str) -> MemoryLake:
        """The lake with this name in this process, made on first use."""
        with cls._lakes_lock:
            return cls._lakes.setdefault(name, cls(name))

    @classmethod
    def existing(cls, name: str) -> MemoryLake | None:
        """The lake with this name, if this process has one."""
        return cls._lakes.get(name)

    @classmethod
    def forget(cls, name: str) -> None:
        """Forgets a named lake."""
        with cls._lakes_lock:
            cls._lakes.pop(name, None)

    # ---- time -----------------------------------------------------------------------------------------
    @property
    def time(self) -> datetime:
        """What the lake's clock shows, UTC."""
        return self.now if self.now is not None else datetime.now(UTC)

    def advance(self, by: timedelta) -> datetime:
        """Sets the clock forward; returns the new time."""
        self.now = self.time + by
        return self.now

    # ---- objects --------------------------------------------------------------------------------------
    def put(self, path: str, content: bytes | int = 100, *, modified: datetime | None = None) -> str:
        """Stores an object, bytes or only a size; returns its path."""
        self.objects.put(path, content, modified=modified if modified is not None else self.time)
        return path

    def has(self, path: str) -> bool:
        """Whether an object is stored at a path."""
        return self.objects.get(path) is not None

    def paths(self) -> set[str]:
        """All paths that are stored."""
        return self.objects.paths()

    def table(self, key: str, *, location: str, content_id: str | None = None) -> TableState:
        """A new table without data; its first metadata file is stored, and nothing is committed."""
        return new_table(self, key, location=location, content_id=content_id if content_id is not None else key)

    def next_number(self) -> int:
        """Numbers that make names unique, the same in every run."""
        self.sequence += 1
        return self.sequence

    # ---- history --------------------------------------------------------------------------------------
    def commit(
        self, branch: str, *operations: Operation, time: datetime | None = None, hides_operations: bool = False
    ) -> str:
        """Commits to a branch, which is made if there is none; returns the commit's id."""
        when = time if time is not None else self.time
        return self.history.commit(branch, *operations, time=when, hides_operations=hides_operations)

    def merge(self, source: str, *, into: str, time: datetime | None = None) -> str:
        """Merges a reference into a branch, as one commit; returns the commit's id."""
        return self.history.merge(source, into=into, time=time if time is not None else self.time)

    def branch(self, name: str, at: str | None = None) -> Reference:
        """Creates a branch at a reference or commit."""
        return self.history.branch(name, at)

    def tag(self, name: str, at: str) -> Reference:
        """Creates a tag at a reference or commit."""
        return self.history.tag(name, at)

    def drop(self, name: str) -> Reference:
        """Drops a reference; gives it as it was."""
        return self.history.drop(name)

    def assign(self, name: str, at: str | None) -> Reference:
        """Moves a reference."""
        return self.history.assign(name, at)

    # ---- what should be -------------------------------------------------------------------------------
    def needed_files(self, versions: Iterable[ContentVersion]) -> set[str]:
        """All paths that table states of this lake need, as they were made, without reading any file."""
        return {path for version in versions for path in self.needed[version.metadata_location or ""]}

    def visible(self, commit_ids: Iterable[str | None]) -> Iterator[ContentVersion]:
        """Everything visible at the given commits."""
        for commit_id in commit_ids:
            yield from self.history.state_at(commit_id).values()

    def write_to(self, directory: Path) -> Path:
        """Writes the lake as real files below a directory, with their times; returns the history file.

        ``memory://bucket/key`` becomes ``file://DIRECTORY/bucket/key`` everywhere: as the file's place, in metadata,
        and in the history. Give the history file to the repository connector as ``history_file``.

        Raises:
            ConfigurationError: a key is none that a disk can hold.
        """
        from nessie_gc_memory.saved import write_lake

        return write_lake(self.objects, self.history, directory)
