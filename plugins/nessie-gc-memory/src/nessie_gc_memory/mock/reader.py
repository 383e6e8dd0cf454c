"""The reader ``mock``: computes what a file of a computed lake names, without reading it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model.batches import reachable_files
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.relations import NAMED_FILES
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_memory.mock.history import Snapshot
from nessie_gc_memory.mock.lake import READ_ROLES, MockLake
from nessie_gc_memory.mock.layout import Block, Role
from nessie_gc_memory.mock.pace import Pace
from nessie_gc_memory.mock.spec import MOCK_TABLE, MockLakeSpec


class MockContentToFiles(ContentToFiles):
    """Computes what the tables of a computed lake need."""

    name = "mock"
    content_types = frozenset({MOCK_TABLE})
    expandable_kinds = (FileKind.MANIFEST_LIST, FileKind.MANIFEST)
    shareable = True
    Options = MockLakeSpec

    def __init__(self, options: MockLakeSpec) -> None:
        super().__init__(options)
        self._lake = MockLake(options)
        self._pace = Pace(options)

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        """The metadata file, and what it names."""
        path = version.metadata_location
        if not path:
            raise UnreadableFileError(version.content_key, "it has no metadata location")
        lake, block = self._read(path, Role.METADATA)
        assert block.snapshot is not None
        location = lake.layout.location(block.table)
        yield ReachableFile(path=path, kind=FileKind.METADATA, location=location)
        for snapshot in self._kept(lake, block.snapshot, version, path):
            listed = lake.layout.block(snapshot, Role.MANIFEST_LIST)
            yield ReachableFile(path=lake.layout.path(listed), kind=FileKind.MANIFEST_LIST, location=location)
            if lake.history.has_statistics(snapshot):
                statistics = lake.layout.path(lake.layout.block(snapshot, Role.STATISTICS))
                yield ReachableFile(path=statistics, kind=FileKind.STATISTICS, location=location)

    def _kept(self, lake: MockLake, current: Snapshot, version: ContentVersion, path: str) -> Iterable[Snapshot]:
        """The snapshots that a version keeps, with the one that Iceberg's branch ``main`` in the metadata holds."""
        listed = {lake.history.snapshot_id(snapshot): snapshot for snapshot in lake.history.listed(current)}
        if version.snapshot_id is None:
            return listed.values()
        if version.snapshot_id >= 0 and version.snapshot_id not in listed:
            raise UnreadableFileError(path, f"it has no snapshot {version.snapshot_id}")
        return dict.fromkeys((current, listed.get(version.snapshot_id, current)))

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        """The manifests of a manifest list, or the files of a manifest."""
        for batch in self.expand_batches(file):
            yield from reachable_files(batch)

    def expand_batches(self, file: ReachableFile) -> Iterator[pa.RecordBatch]:
        """The same as one batch."""
        if file.kind == FileKind.MANIFEST_LIST:
            lake, block = self._read(file.path, Role.MANIFEST_LIST)
            assert block.snapshot is not None
            manifests = lake.metadata.manifests(block.snapshot)
            yield _named([lake.layout.path(manifest) for manifest in manifests], FileKind.MANIFEST)
        elif file.kind == FileKind.MANIFEST:
            lake, block = self._read(file.path, Role.MANIFEST, Role.DELETE_MANIFEST)
            for files in lake.metadata.named(block):
                kind = FileKind.DATA
                if block.role is Role.DELETE_MANIFEST:
                    kind = FileKind.DELETION_VECTOR if files.suffix.endswith(".puffin") else FileKind.POSITION_DELETES
                yield _named([lake.layout.path(files, index) for index in range(files.count)], kind)

    def named_places(self, version: ContentVersion) -> Iterable[str] | None:
        """The base location, the metadata file itself, and the manifest lists."""
        try:
            files = list(self.files(version))
        except UnreadableFileError:
            return None
        return [place for file in files for place in (file.location or "", file.path)]

    def may_be_root(self, path: str) -> bool:
        """Metadata files have one ending."""
        return path.endswith(".metadata.json")

    def _read(self, path: str, *roles: Role) -> tuple[MockLake, Block]:
        """The lake as it is now, and the block of a file that exists and is whole."""
        self._pace.request()
        lake = self._lake.now()
        if path in lake.changes.put_files():
            raise UnreadableFileError(path, "it is not a file of the computed lake")
        found = lake.layout.find(path)
        if found is None or path in lake.changes.deleted() or not lake.is_stored(*found):
            raise MissingFileError(path, "it does not exist")
        block, _ = found
        if block.role not in roles or block.role not in READ_ROLES:
            raise UnreadableFileError(path, f"it is {block.role} and not {' or '.join(roles)}")
        if lake.is_truncated(block):
            raise UnreadableFileError(path, "it is truncated")
        return lake, block


def _named(paths: list[str], kind: FileKind) -> pa.RecordBatch:
    nothing = [None] * len(paths)
    columns = (paths, [str(kind)] * len(paths), nothing, nothing)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, NAMED_FILES, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=NAMED_FILES)
