"""The reader ``iceberg``: which files a version of a table or view needs."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from uuid import uuid4

import pyarrow as pa

from nessie_gc_core.connectors import ContentToFiles, CredentialSource
from nessie_gc_core.errors import SafetyError, UnreadableFileError
from nessie_gc_core.model.batches import reachable_files
from nessie_gc_core.model.files import TRANSLATED, FileKind, ReachableFile
from nessie_gc_core.model.manifests import FileEntry, Manifest
from nessie_gc_core.model.repository import ICEBERG_SNAPSHOT, ICEBERG_TABLE, ICEBERG_VIEW, ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.work import Traffic
from nessie_gc_iceberg_files.entries import live_entries
from nessie_gc_iceberg_files.fewer_snapshots import encoded, next_name, without_snapshots
from nessie_gc_iceberg_files.manifest_lists import described
from nessie_gc_iceberg_files.manifests import live_files, manifests
from nessie_gc_iceberg_files.metadata import Metadata, parse_table, parse_view
from nessie_gc_iceberg_files.naming import METADATA_SUFFIXES, TABLE_NAMES, kind_of_name, named_in_json
from nessie_gc_iceberg_files.options import ReaderOptions
from nessie_gc_iceberg_files.partition_types import partition_types
from nessie_gc_iceberg_files.staged import staged_snapshot_ids
from nessie_gc_iceberg_files.traffic import taken
from nessie_gc_iceberg_files.version_hints import is_apart, metadata_of_hint
from nessie_gc_iceberg_files.writing import FileWriter

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


@dataclass(slots=True)
class _Tables:
    """What one thread remembers of tables."""

    read: dict[str, Metadata] = field(default_factory=dict)
    """Path to metadata."""
    given: set[tuple[str | None, str]] = field(default_factory=set)
    """Paths and content ids of which was given what the metadata holds."""


class IcebergContentToFiles(ContentToFiles):
    """Reads Iceberg tables (format versions 1, 2 and 3) and views.

    A version needs its metadata file, the manifests of its snapshot, of every snapshot that Iceberg's own branches and
    tags hold (S14) or that write-audit-publish staged (S25), and the statistics of those snapshots. A version without a
    snapshot id needs every snapshot that its metadata lists. One of type :data:`ICEBERG_SNAPSHOT` needs the snapshot
    that it names and no other, for whatever reason the metadata may hold it; one that names none needs the metadata
    file alone. What cannot be read completely is unreadable, never short. A file that is cut off exactly between two
    Avro blocks does not show it; for a manifest its list does (``manifest_length``), for a manifest list nothing does.
    """

    name = "iceberg"
    content_types = frozenset({ICEBERG_TABLE, ICEBERG_SNAPSHOT, ICEBERG_VIEW})
    expandable_kinds = (FileKind.MANIFEST_LIST, FileKind.MANIFEST)
    stored_names = MappingProxyType({ICEBERG_TABLE: TABLE_NAMES})  # views are not: most catalogs do not list them
    shareable = True
    Options = ReaderOptions

    def __init__(self, options: ReaderOptions) -> None:
        super().__init__(options)
        self._limits = options.limits()
        self._keep_refs = not options.ignore_snapshot_refs
        self._keep_staged = not options.ignore_staged_snapshots
        self._reader = FileWriter(options.properties)
        self._remembered = threading.local()

    def use_credentials(self, source: CredentialSource) -> None:
        """Where credentials come from that replace the configured ones."""
        self._reader.use_credentials(source)

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        """The metadata file, and what it names."""
        path = version.metadata_location
        if not path:
            raise UnreadableFileError(version.content_key, "it has no metadata location")
        if version.content_type == ICEBERG_VIEW:
            yield parse_view(path, self._metadata(path), self._limits.metadata).file(path, FileKind.METADATA)
            return
        metadata = self._table(path)
        file = metadata.file(path, FileKind.METADATA)
        yield file
        yield from (replace(file, location=place, shared=True) for place in metadata.write_paths())
        if metadata.is_translated:
            yield replace(file, kind=TRANSLATED)
        kept = self._named(metadata, version)
        if version.content_type == ICEBERG_TABLE and self._is_first(version):
            kept |= self._held(metadata)
        yield from metadata.snapshot_files(kept)

    def _named(self, metadata: Metadata, version: ContentVersion) -> set[int]:
        """The snapshots that a version keeps for itself."""
        named = version.snapshot_id
        if version.content_type == ICEBERG_SNAPSHOT:
            return set() if named is None else {named}
        if named is not None and (named >= 0 or named in metadata.snapshots):
            return {named}
        current = metadata.current_snapshot_id()
        kept = set() if current is None else {current}
        return kept.union(metadata.snapshots) if named is None else kept

    def _held(self, metadata: Metadata) -> set[int]:
        """The snapshots that the metadata holds whatever a version names."""
        held = set(staged_snapshot_ids(metadata)) if self._keep_staged else set()
        return held.union(metadata.held_snapshot_ids()) if self._keep_refs else held

    def _is_first(self, version: ContentVersion) -> bool:
        """Whether what the metadata holds was not given yet for this content, while it is remembered."""
        remembered: _Tables | None = getattr(self._remembered, "tables", None)
        if remembered is None:
            return True
        content = (version.metadata_location, version.content_id)
        is_first = content not in remembered.given
        remembered.given.add(content)
        return is_first

    def _table(self, path: str) -> Metadata:
        """The metadata of a table; remembered for a time, for plain catalogs ask for each of its snapshots."""
        remembered: _Tables | None = getattr(self._remembered, "tables", None)
        if remembered is None:
            return parse_table(path, self._metadata(path), self._limits.metadata)
        if path not in remembered.read:
            remembered.read[path] = parse_table(path, self._metadata(path), self._limits.metadata)
        return remembered.read[path]

    def _metadata(self, path: str) -> bytes:
        return self._reader.read(path, self._limits.metadata)

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Remembers the metadata that this thread reads."""
        self._remembered.tables = _Tables()
        try:
            yield
        finally:
            self._remembered.tables = None

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        """The manifests of a manifest list, or the live files of a manifest."""
        for batch in self.expand_batches(file):
            yield from reachable_files(batch)

    def expand_batches(self, file: ReachableFile) -> Iterator[pa.RecordBatch]:
        """The same as one batch."""
        path, announced, limits = file.path, file.announced, self._limits
        if file.kind == FileKind.MANIFEST_LIST:
            data = self._reader.read(path, limits.manifest_list)
            yield manifests(path, data, announced=announced, limit=limits.manifest_list)
        elif file.kind == FileKind.MANIFEST:
            data = self._reader.read(path, limits.manifest)
            yield from live_files(path, data, length=file.length, announced=announced, limit=limits.manifest)

    def kept_by_others(self, version: ContentVersion) -> str | None:
        """What ``gc.enabled`` says: a catalog that shares its files with another one turns it off."""
        path = version.metadata_location
        if not path:
            raise UnreadableFileError(version.content_key, "it has no metadata location")
        return None if self._table(path).may_be_collected else "its property gc.enabled is false"

    def table_metadata(self, version: ContentVersion, *, reference: str) -> TableMetadata | None:
        """What the metadata file lists, and its size as it is stored."""
        path = version.metadata_location
        if version.content_type == ICEBERG_VIEW:
            return None
        if not path:
            raise UnreadableFileError(version.content_key, "it has no metadata location")
        metadata = self._table(path)
        named = version.snapshot_id
        table = TableMetadata.parse(
            metadata.fields,
            metadata_location=path,
            reference=reference,
            commit_id=version.commit_id,
            content_key=version.content_key,
            content_id=version.content_id,
            snapshot_id=named if named is not None and named >= 0 else None,
            metadata_bytes=metadata.stored_bytes,
        )
        return replace(table, held=self._unremovable(metadata))

    def manifests(self, version: ContentVersion) -> Iterator[Manifest]:
        """By the manifest list; if the metadata itself names the manifests, only their paths are known."""
        path = version.metadata_location
        if version.content_type == ICEBERG_VIEW:
            return
        if not path:
            raise UnreadableFileError(version.content_key, "it has no metadata location")
        metadata, named = self._table(path), version.snapshot_id
        current = named if named is not None and named >= 0 else metadata.current_snapshot_id()
        if current is None:
            return
        types = partition_types(metadata.fields)
        for file in metadata.manifests_of(current):
            if file.kind == FileKind.MANIFEST_LIST:
                limit = self._limits.manifest_list
                data = self._reader.read(file.path, limit)
                yield from described(file.path, data, types, announced=file.announced, limit=limit)
            else:
                yield Manifest(path=file.path, length=0)

    def entries(self, manifest: Manifest) -> Iterator[FileEntry]:
        """The live entries of a manifest."""
        limit = self._limits.manifest
        yield from live_entries(manifest, self._reader.read(manifest.path, limit), limit)

    def write_without(
        self, version: ContentVersion, snapshot_ids: Collection[int], *, folder: str, now: datetime
    ) -> str:
        """Writes the metadata anew as Iceberg itself does when it removes snapshots."""
        path = version.metadata_location
        if not path:
            raise UnreadableFileError(version.content_key, "it has no metadata location")
        metadata = parse_table(path, self._metadata(path), self._limits.metadata)
        held = self._unremovable(metadata)
        for asked in snapshot_ids:
            if asked in held or asked == version.snapshot_id:
                raise SafetyError(f"{version.content_key} needs the snapshot {asked}, which is not removed from {path}")
        fields = without_snapshots(metadata, snapshot_ids, now_ms=(now - _EPOCH) // _MILLISECOND)
        written = folder + next_name(metadata, uuid4())
        self._reader.create(written, encoded(metadata, fields))
        return written

    def _unremovable(self, metadata: Metadata) -> frozenset[int]:
        """The snapshots without which the metadata is invalid, and those that are staged."""
        current = metadata.current_snapshot_id()
        staged = set(staged_snapshot_ids(metadata)) if self._keep_staged else set()
        return frozenset(staged.union(metadata.held_snapshot_ids(), set() if current is None else {current}))

    def hinted(self, path: str) -> list[str]:
        """What a ``version-hint.text`` names, in all spellings of the name of a metadata file."""
        return metadata_of_hint(path, self._reader.read(path))

    def is_apart(self, path: str, live: str) -> bool:
        """By the time of the last change, the metadata log, and the current snapshot."""
        return is_apart(self._table(path), self._table(live))

    def named_places(self, version: ContentVersion) -> list[str] | None:
        """Whatever in the metadata file looks like an absolute path or location, of any format version."""
        if not version.metadata_location:
            return None
        try:
            return named_in_json(self._metadata(version.metadata_location), self._limits.metadata)
        except UnreadableFileError:
            return None

    def may_be_root(self, path: str) -> bool:
        """Metadata files have one of a few endings."""
        return path.endswith(METADATA_SUFFIXES)

    def kind_of_name(self, path: str) -> FileKind | None:
        """By the names that Iceberg's writers give."""
        return kind_of_name(path)

    def take_traffic(self) -> Traffic:
        """Requests, bytes and waiting of this thread's calls; those of reader, lister and deleter together."""
        return taken()

    def close(self) -> None:
        """Closes the clients."""
        self._reader.close()
