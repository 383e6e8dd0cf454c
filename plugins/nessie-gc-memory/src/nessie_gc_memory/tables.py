"""Tables of a simulated lake: metadata, manifest lists, manifests and data files, in the shape of Iceberg's.

All of them but data files are small JSON objects::

    {"memory": "metadata", "location": "...", "historic-locations": [], "writes-to": [], "current-snapshot-id": 2,
     "snapshots": {"1": "...list", "2": "...list"}, "held-snapshot-ids": []}
    {"memory": "manifest-list", "manifests": ["...manifest"], "lengths": [100]}
    {"memory": "manifest", "files": ["...data file"]}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion

MEMORY_TABLE = "MEMORY_TABLE"
"""Content type of the tables of simulated lakes."""


class TableLake(Protocol):
    """What tables need of their lake."""

    needed: dict[str, frozenset[str]]

    def put(self, path: str, content: bytes | int = ...) -> str:
        """Stores an object and gives its path."""

    def has(self, path: str) -> bool:
        """Whether there is such an object."""

    def next_number(self) -> int:
        """A number that makes names unique."""


def content(
    key: str,
    *,
    metadata_location: str | None,
    content_id: str | None = None,
    content_type: str = ICEBERG_TABLE,
    snapshot_id: int | None = None,
    location: str | None = None,
) -> ContentVersion:
    """A content version of any type, to be put by a commit: for instance an Iceberg table on a disk."""
    return ContentVersion(
        content_id=content_id if content_id is not None else key,
        content_type=content_type,
        metadata_location=metadata_location,
        snapshot_id=snapshot_id,
        content_key=key,
        commit_id="",
        location=location,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """One state of a table; whatever changes it gives a new state and leaves this one as it is.

    Each new state has stored its metadata file. :attr:`version` is what to commit.
    """

    lake: TableLake = field(repr=False, compare=False)
    key: str
    content_id: str
    location: str
    historic_locations: tuple[str, ...] = ()
    writes_to: tuple[str, ...] = ()
    """Places beside the location that its writers use, and those of other tables may as well."""
    metadata_location: str = ""
    current: int | None = None
    """Id of the current snapshot."""
    snapshots: Mapping[int, str] = field(default_factory=dict)
    """Snapshot ids and manifest lists that the metadata lists."""
    manifests: Mapping[int, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Snapshot ids and their manifests."""
    lengths: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Manifests and their bytes."""
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    """Manifests and their data files."""
    held: frozenset[int] = frozenset()
    """Snapshots that the table's own tags hold (S14)."""

    @property
    def version(self) -> ContentVersion:
        """The content version of this state."""
        return content(
            self.key,
            content_id=self.content_id,
            content_type=MEMORY_TABLE,
            metadata_location=self.metadata_location,
            snapshot_id=-1 if self.current is None else self.current,
        )

    @property
    def needed(self) -> frozenset[str]:
        """All paths that this state needs."""
        alive = self.held | ({self.current} if self.current is not None else frozenset())
        lists = {self.snapshots[snapshot] for snapshot in alive}
        manifests = {manifest for snapshot in alive for manifest in self.manifests[snapshot]}
        data = {path for manifest in manifests for path in self.files[manifest]}
        return frozenset({self.metadata_location} | lists | manifests | data)

    def append(self, *names: str, size: int = 100) -> TableState:
        """Adds a snapshot with these data files (names below ``data/``, or whole paths) on top of what is there.

        A whole path at which there is a file is taken over as it is.
        """
        return self._snapshot(names, size, before=self.manifests[self.current] if self.current is not None else ())

    def overwrite(self, *names: str, size: int = 100) -> TableState:
        """Adds a snapshot that has these data files and no others."""
        return self._snapshot(names, size, before=())

    def hold(self, *snapshot_ids: int) -> TableState:
        """Creates the table's own tags hold these snapshots, and no others."""
        return replace(self, held=frozenset(snapshot_ids))._stored()

    def expire(self, *snapshot_ids: int) -> TableState:
        """Takes snapshots out of the metadata."""
        kept = {snapshot: path for snapshot, path in self.snapshots.items() if snapshot not in snapshot_ids}
        return replace(self, snapshots=kept, held=self.held - set(snapshot_ids))._stored()

    def move_to(self, location: str) -> TableState:
        """Changes the base location; files stay where they are, and the old location is remembered."""
        return replace(self, location=location, historic_locations=(*self.historic_locations, self.location))._stored()

    def writing_to(self, *places: str) -> TableState:
        """Names places for new files beside the location; nothing is written there yet."""
        return replace(self, writes_to=places)._stored()

    def renamed(self, key: str) -> TableState:
        """The same state under another key."""
        return replace(self, key=key)

    def _snapshot(self, names: tuple[str, ...], size: int, *, before: tuple[str, ...]) -> TableState:
        snapshot_id = max(self.snapshots, default=0) + 1
        number = self.lake.next_number()
        data = tuple(name if "://" in name else f"{self.location}/data/{name}" for name in names)
        for name, path in zip(names, data, strict=True):
            if name != path or not self.lake.has(path):
                self.lake.put(path, size)
        content = {"memory": "manifest", "files": data}
        manifest = self._put(f"{number:05}-manifest.json", content)
        manifests = (*before, manifest)
        lengths = {**self.lengths, manifest: len(json.dumps(content))}
        listed = self._put(
            f"{number:05}-snap-{snapshot_id}.json",
            {"memory": "manifest-list", "manifests": manifests, "lengths": [lengths[each] for each in manifests]},
        )
        return replace(
            self,
            current=snapshot_id,
            snapshots={**self.snapshots, snapshot_id: listed},
            manifests={**self.manifests, snapshot_id: manifests},
            files={**self.files, manifest: data},
            lengths=lengths,
        )._stored()

    def _stored(self) -> TableState:
        path = self._put(
            f"{self.lake.next_number():05}.metadata.json",
            {
                "memory": "metadata",
                "location": self.location,
                "historic-locations": self.historic_locations,
                **({"writes-to": self.writes_to} if self.writes_to else {}),
                "current-snapshot-id": self.current,
                "snapshots": {str(snapshot): path for snapshot, path in self.snapshots.items()},
                "held-snapshot-ids": sorted(self.held),
            },
        )
        state = replace(self, metadata_location=path)
        self.lake.needed[path] = state.needed
        return state

    def _put(self, name: str, value: object) -> str:
        return self.lake.put(f"{self.location}/metadata/{name}", json.dumps(value).encode())


def new_table(lake: TableLake, key: str, *, location: str, content_id: str) -> TableState:
    """A table without a snapshot."""
    return TableState(lake=lake, key=key, content_id=content_id, location=location.rstrip("/"))._stored()
