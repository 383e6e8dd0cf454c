"""A computed lake: its objects, each from its place in the lake alone, and the changes since."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from nessie_gc_memory.mock.changes import MockChanges
from nessie_gc_memory.mock.history import MockHistory
from nessie_gc_memory.mock.layout import Block, MockLayout, Role
from nessie_gc_memory.mock.metadata import MockMetadata
from nessie_gc_memory.mock.numbers import falls_in, mixed
from nessie_gc_memory.mock.spec import MockLakeSpec

READ_ROLES = frozenset({Role.METADATA, Role.MANIFEST_LIST, Role.MANIFEST, Role.DELETE_MANIFEST})
"""What has a content; nobody reads the others."""
_AT_ONCE = 8192
"""Objects of a block that are computed at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MockObject:
    """A stored object."""

    path: str
    size: int
    modified: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Objects of one block that follow one another: their paths below a location, all of one size."""

    paths: list[str]
    size: int
    modified: list[datetime]


class MockLake:
    """The objects of a lake, as a store would have them; from any thread.

    Args:
        spec: the lake.
        changes: what happened since; by default those that ``spec`` names.
    """

    def __init__(self, spec: MockLakeSpec, changes: MockChanges | None = None) -> None:
        self.spec = spec
        self.changes = changes if changes is not None else MockChanges.of(spec)
        self._commits = self.changes.commits
        self.history = MockHistory(spec, self._commits)
        self.layout = MockLayout(spec, self.history)
        self.metadata = MockMetadata(spec, self.history, self.layout)

    def now(self) -> MockLake:
        """The lake with the commits that were added since; itself, if there are none."""
        return self if self.changes.commits == self._commits else MockLake(self.spec, self.changes)

    @cached_property
    def tables(self) -> range:
        """All tables to which some commit writes, on whichever branch."""
        last = max(head.position for head in self.history.heads())
        return range(min(self.spec.table_count, last + 1))

    # ---- single objects -------------------------------------------------------------------------------
    def content(self, path: str) -> bytes | None:
        """The content of an object; ``None`` if there is none.

        Files that nobody reads are filled with zeros.
        """
        if path in self.changes.put_files():
            return self.changes.put_files()[path].data
        found = self.layout.find(path)
        if found is None or path in self.changes.deleted() or not self.is_stored(*found):
            return None
        block, _ = found
        if block.role not in READ_ROLES:
            return bytes(self.metadata.file_bytes(block))
        content = self.metadata.content(block)
        return content[: len(content) // 2] if self.is_truncated(block) else content

    def object(self, path: str) -> MockObject | None:
        """What a listing says of one object; ``None`` if there is none."""
        put = self.changes.put_files().get(path)
        if put is not None:
            return MockObject(path=path, size=len(put.data), modified=put.modified)
        found = self.layout.find(path)
        if found is None or path in self.changes.deleted() or not self.is_stored(*found):
            return None
        block, index = found
        return MockObject(path=path, size=self.size(block), modified=self.modified(block, index))

    def is_stored(self, block: Block, index: int) -> bool:
        """Whether a computed object exists in the store, apart from changes."""
        if block.role is Role.MANIFEST:
            return not self.is_missing(block)
        seed, snapshot = self.spec.seed, block.snapshot
        if block.role is not Role.DATA or snapshot is None:
            return True
        number = self.layout.number(block, index)
        return not falls_in(self.spec.missing_share, seed, 3, snapshot.line, snapshot.position, number)

    def is_broken(self, manifest: Block) -> bool:
        """Whether a manifest is missing or truncated."""
        if manifest.role is not Role.MANIFEST or manifest.snapshot is None:
            return False
        place = (manifest.snapshot.line, manifest.snapshot.position)
        return falls_in(self.spec.broken_share, self.spec.seed, 4, *place)

    def is_missing(self, manifest: Block) -> bool:
        """Whether a manifest is missing."""
        return self.is_broken(manifest) and self._coin(manifest)

    def is_truncated(self, manifest: Block) -> bool:
        """Whether half of a manifest is missing."""
        return self.is_broken(manifest) and not self._coin(manifest)

    def _coin(self, manifest: Block) -> bool:
        assert manifest.snapshot is not None
        return bool(mixed(self.spec.seed, 5, manifest.snapshot.line, manifest.snapshot.position) & 1)

    def size(self, block: Block) -> int:
        """The size of each object of a block."""
        if block.role not in READ_ROLES:
            return self.metadata.file_bytes(block)
        return self.metadata.size(block) // (2 if self.is_truncated(block) else 1)

    def modified(self, block: Block, index: int) -> datetime:
        """When an object was written: with its commit, garbage at any time of the lake's history."""
        if block.snapshot is not None:
            return self.history.time_of(block.snapshot.position)
        commit = self.layout.number(block, index) * self.spec.commits // self.spec.garbage_files
        return self.history.time_of(commit * self.spec.tables_per_commit)

    # ---- listings -------------------------------------------------------------------------------------
    def listing(self, location: str, *, part: int = 0, parts: int = 1) -> Iterator[Listed]:
        """The objects below a location, or one part of them, in the order of their paths but for those put there."""
        put, deleted = self.changes.put_files(), self.changes.deleted()
        gone = put.keys() | deleted if put else deleted
        for block in self.blocks_below(location, part=part, parts=parts):
            for first in range(0, block.count, _AT_ONCE):
                listed = self._listed(block, location, range(first, min(first + _AT_ONCE, block.count)), gone)
                if listed.paths:
                    yield listed
        if part == 0:
            for path in sorted(put):
                if path.startswith(location):
                    each = put[path]
                    yield Listed(paths=[path.removeprefix(location)], size=len(each.data), modified=[each.modified])

    def blocks_below(self, location: str, *, part: int = 0, parts: int = 1) -> Iterator[Block]:
        """The blocks with objects that may be below a location."""
        for table in self.tables:
            base = f"{self.layout.location(table)}/"
            if not (base.startswith(location) or location.startswith(base)):
                continue
            below = location[len(base) :]
            for number, block in enumerate(self.layout.blocks(table)):
                if number % parts == part and (block.prefix.startswith(below) or below.startswith(block.prefix)):
                    yield block

    def _listed(self, block: Block, location: str, numbers: range, gone: Collection[str]) -> Listed:
        """Those of some files of a block that exist and are below a location."""
        start, digits, suffix = f"{self.layout.location(block.table)}/{block.prefix}", block.digits, block.suffix
        indexes = list(numbers)
        if self.has_gaps(block):
            indexes = [index for index in indexes if self.is_stored(block, index)]
        paths = [f"{start}{index:0{digits}}{suffix}" if digits else start + suffix for index in indexes]
        if gone or not start.startswith(location):
            pairs = zip(indexes, paths, strict=True)
            kept = [(index, path) for index, path in pairs if path.startswith(location) and path not in gone]
            indexes, paths = [index for index, _ in kept], [path for _, path in kept]
        if block.snapshot is None:
            modified = [self.modified(block, index) for index in indexes]
        else:
            modified = [self.history.time_of(block.snapshot.position)] * len(indexes)
        size = self.size(block) if paths else 0
        return Listed(paths=[path[len(location) :] for path in paths], size=size, modified=modified)

    def has_gaps(self, block: Block) -> bool:
        """Whether some of its objects may be missing."""
        return block.role is Role.MANIFEST or (block.role is Role.DATA and self.spec.missing_share > 0)
