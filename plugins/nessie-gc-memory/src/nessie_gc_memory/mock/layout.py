"""The names of a computed lake's files, in both directions: from a snapshot to paths, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from nessie_gc_memory.mock.history import MockHistory, Snapshot
from nessie_gc_memory.mock.numbers import mixed
from nessie_gc_memory.mock.spec import MockLakeSpec

NAMESPACE = "mock"
"""The namespace of all tables."""
_METADATA = "metadata/"
_TABLE = re.compile(r"t(\d{6})(_old)?/")
_PARTITION = re.compile(r"^data/p=(\d{3})/")
_STEM = re.compile(r"(?:^|[/-])(\d{5})-(\d{7})-[0-9a-f]{8}-")
_INDEX = re.compile(r"-d?(\d+)(?:-deletes|-m0)?\.(?:parquet|puffin|avro)$")
_GARBAGE_DIGITS = 8
_ORPHANED_MANIFESTS_EVERY = 20
"""One of so many files that no metadata names is in the folder of metadata, by its name a manifest."""


class Role(StrEnum):
    """What the files of a block are."""

    DATA = "data"
    DELETES = "deletes"
    GARBAGE = "garbage"
    MANIFEST = "manifest"
    DELETE_MANIFEST = "delete manifest"
    METADATA = "metadata"
    STATISTICS = "statistics"
    MANIFEST_LIST = "manifest list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Files whose names differ only in a number, and follow one another in a listing."""

    role: Role
    table: int
    snapshot: Snapshot | None
    """``None`` for garbage."""
    prefix: str
    """What their names begin with, below the table's location."""
    suffix: str
    partition: int = 0
    """Of data, deletes and garbage; 0 without partitions."""
    count: int = 1
    digits: int = 0
    """Of the number in a name; 0 for the name of a single file."""

    def name(self, index: int) -> str:
        """The raw path of a file below the table's location."""
        return f"{self.prefix}{index:0{self.digits}}{self.suffix}" if self.digits else self.prefix + self.suffix


class MockLayout:
    """The files of each table in the order of their names."""

    def __init__(self, spec: MockLakeSpec, history: MockHistory) -> None:
        self._spec = spec
        self._history = history
        self._partitions = range(max(spec.partitions, 1))
        garbage = spec.garbage_files
        self._orphaned_manifests = -(-garbage // _ORPHANED_MANIFESTS_EVERY) if garbage > 1 else 0
        self._garbage_of_data = garbage - self._orphaned_manifests

    def name(self, table: int) -> str:
        """The name of a table; every second one begins with that of the table before."""
        return f"t{table // 2:06}{'_old' if table % 2 else ''}"

    def location(self, table: int) -> str:
        """The base location of a table."""
        return f"{self._spec.root}/{self.name(table)}"

    def key(self, table: int) -> tuple[str, str]:
        """The content key of a table."""
        return NAMESPACE, self.name(table)

    def path(self, block: Block, index: int = 0) -> str:
        """The whole path of a file."""
        return f"{self.location(block.table)}/{block.name(index)}"

    def stem(self, snapshot: Snapshot) -> str:
        """What the names of a snapshot's files have in common, as long as in names that Iceberg gives."""
        unique = self._unique(6, snapshot.line, snapshot.position)
        return f"{snapshot.line:05}-{self._history.number_of(snapshot):07}-{unique}"

    def _unique(self, *numbers: int) -> str:
        """A UUID."""
        first = f"{mixed(self._spec.seed, *numbers):016x}"
        second = f"{mixed(self._spec.seed, *numbers, 1):016x}"
        return f"{first[:8]}-{first[8:12]}-4{first[13:]}-8{second[1:4]}-{second[4:]}"

    def blocks(self, table: int) -> Iterator[Block]:
        """All blocks of a table, in the order of a listing."""
        for partition in self._partitions:
            for snapshot in self._history.snapshots(table):
                if self._share(self._spec.files_per_commit, partition):
                    yield self.block(snapshot, Role.DATA, partition)
                if partition == 0 and self._history.has_deletes(snapshot):
                    yield self.block(snapshot, Role.DELETES)
            if self._share(self._garbage_of_data, partition):
                yield self.garbage(table, partition)
        yield from self._blocks_of_metadata(table)

    def _blocks_of_metadata(self, table: int) -> Iterator[Block]:
        for snapshot in self._history.snapshots(table):
            yield self.block(snapshot, Role.MANIFEST)
            if self._history.has_deletes(snapshot):
                yield self.block(snapshot, Role.DELETE_MANIFEST)
            yield self.block(snapshot, Role.METADATA)
            if self._history.has_statistics(snapshot):
                yield self.block(snapshot, Role.STATISTICS)
        if self._orphaned_manifests:
            yield self.orphaned_manifests(table)
        for snapshot in self._history.snapshots(table):
            yield self.block(snapshot, Role.MANIFEST_LIST)

    def _share(self, files: int, partition: int) -> int:
        """How many of some files are in a partition; they take turns."""
        return len(range(partition, files, len(self._partitions)))

    def number(self, block: Block, index: int) -> int:
        """The number of a file among those of all partitions; garbage in the folder of metadata comes last."""
        if block.role is Role.GARBAGE and block.prefix.startswith(_METADATA):
            return self._garbage_of_data + index
        return index * len(self._partitions) + block.partition

    def _folder(self, partition: int) -> str:
        return f"data/p={partition:03}/" if self._spec.partitions else "data/"

    def garbage(self, table: int, partition: int = 0) -> Block:
        """The files in the data folder of a table, or of a partition, that no metadata names."""
        return Block(
            role=Role.GARBAGE, table=table, snapshot=None,
            prefix=f"{self._folder(partition)}orphan-{self._unique(10, table, partition)}-", suffix=".parquet",
            partition=partition, count=self._share(self._garbage_of_data, partition), digits=_GARBAGE_DIGITS,
        )  # fmt: skip

    def orphaned_manifests(self, table: int) -> Block:
        """The files in the metadata folder of a table that no metadata names."""
        return Block(
            role=Role.GARBAGE, table=table, snapshot=None, prefix=f"{_METADATA}orphan-{self._unique(12, table)}-",
            suffix="-m0.avro", count=self._orphaned_manifests, digits=_GARBAGE_DIGITS,
        )  # fmt: skip

    def data(self, snapshot: Snapshot) -> Iterator[Block]:
        """The data files of a snapshot, one partition after the other."""
        for partition in self._partitions[: self._spec.files_per_commit]:
            yield self.block(snapshot, Role.DATA, partition)

    def block(self, snapshot: Snapshot, role: Role, partition: int = 0) -> Block:
        """The files of a snapshot that have one role; deletes are in the first partition."""
        table, stem, folder = self._history.table_of(snapshot), self.stem(snapshot), self._folder(partition)
        if role is Role.DATA:
            prefix, suffix, digits = f"{folder}{stem}-", ".parquet", 6
            count = self._share(self._spec.files_per_commit, partition)
        elif role is Role.DELETES:
            vectors = self._history.format_version(table) > 2
            suffix = "-deletes.puffin" if vectors else "-deletes.parquet"
            prefix, count, digits = f"{folder}{stem}-d", 1 if vectors else self._spec.deletes_per_commit, 6
        else:
            prefix, suffix = _SINGLE[role]
            prefix, count, digits = f"{_METADATA}{prefix}{stem}", 1, 0
        return Block(
            role=role, table=table, snapshot=snapshot, prefix=prefix, suffix=suffix, partition=partition, count=count,
            digits=digits,
        )  # fmt: skip

    def find(self, path: str) -> tuple[Block, int] | None:
        """The block and the number of a file that belongs to the lake, whether it is stored or not."""
        below = path.removeprefix(f"{self._spec.root}/")
        found = _TABLE.match(below)
        if below == path or found is None:
            return None
        name, table = below[found.end() :], 2 * int(found[1]) + bool(found[2])
        if table >= self._spec.table_count:
            return None
        stem, number, folder = _STEM.search(name), _INDEX.search(name), _PARTITION.match(name)
        for block in self._candidates(table, stem, int(folder[1]) if folder else 0):
            index = int(number[1]) if number and block.digits else 0
            if index < block.count and block.name(index) == name:
                return block, index
        return None

    def _candidates(self, table: int, stem: re.Match[str] | None, partition: int) -> Iterator[Block]:
        if partition not in self._partitions:
            return
        if stem is None:
            yield self.garbage(table, partition)
            yield self.orphaned_manifests(table)
            return
        snapshot = Snapshot(int(stem[1]), int(stem[2]) * self._spec.table_count + table)
        if self._history.exists(snapshot):
            roles = set(Role) - {Role.GARBAGE}
            if not self._history.has_deletes(snapshot):
                roles -= {Role.DELETES, Role.DELETE_MANIFEST}
            if not self._history.has_statistics(snapshot):
                roles.discard(Role.STATISTICS)
            if partition:
                roles.discard(Role.DELETES)
            yield from (self.block(snapshot, role, partition) for role in roles)


_SINGLE = {
    Role.MANIFEST: ("", "-m0.avro"),
    Role.DELETE_MANIFEST: ("", "-m1.avro"),
    Role.METADATA: ("", ".metadata.json"),
    Role.STATISTICS: ("", ".stats"),
    Role.MANIFEST_LIST: ("snap-", ".avro"),
}
