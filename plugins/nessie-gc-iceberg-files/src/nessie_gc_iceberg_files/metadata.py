"""Metadata files of tables and views: what of them decides which files are live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.table_properties import XTABLE, gc_enabled, write_paths
from nessie_gc_core.model.unpacking import Limit, read_json
from nessie_gc_iceberg_files.announced import manifests_announced
from nessie_gc_iceberg_files.options import METADATA_LIMIT

_ENCRYPTED_MAGIC = b"AGS1"
_TABLE_ONLY = ("current-snapshot-id", "snapshots", "last-column-id")
_VIEW_ONLY = ("view-uuid", "current-version-id")
_DECISIVE = ("current-snapshot-id", "partition-statistics", "properties", "refs", "snapshots", "statistics")
"""Fields without which fewer files are live."""
WAP_ID = "wap.id"
"""In the summary of a snapshot that write-audit-publish staged."""
ENCRYPTED = "it is encrypted, and the keys of encrypted tables are not available"


@dataclass(frozen=True)
class Metadata:
    """A parsed metadata file; every access that finds nonsense raises UnreadableFileError."""

    path: str
    fields: Mapping[str, object]
    stored_bytes: int = 0
    """The size of the file as it is stored."""
    may_stage: bool = True
    """Whether the text has :data:`WAP_ID` anywhere, or may have it in another spelling of JSON."""

    @property
    def location(self) -> str:
        """The raw base location."""
        return self._text(self.fields, "location")

    def current_snapshot_id(self) -> int | None:
        """The current snapshot, where there is one."""
        current = self.fields.get("current-snapshot-id")
        if current is None or current == -1:
            return None
        return self._snapshot_id({"snapshot-id": current})

    @property
    def may_be_collected(self) -> bool:
        """What the table property ``gc.enabled`` says."""
        return gc_enabled(self.properties)

    @property
    def is_translated(self) -> bool:
        """Whether Apache XTable writes it from a table of another format, by its own word."""
        current = self.current_snapshot_id()
        summary = {} if current is None else self.summary(self.snapshots.get(current, {}))
        return XTABLE in self.properties or XTABLE in summary

    @property
    def properties(self) -> Mapping[str, object]:
        """The table's properties."""
        return self._object(self.fields.get("properties") or {})

    def entries(self, name: str) -> list[Mapping[str, object]]:
        """The objects of a list; those of a list of snapshots, or of what is theirs, have a snapshot id."""
        found = [self._object(each) for each in self._list(self.fields, name)]
        if name != "metadata-log":
            for each in found:
                self._snapshot_id(each)
        return found

    def write_paths(self) -> Sequence[str]:
        """Raw places that the table's properties name for new files."""
        return write_paths(self.properties)

    def held_snapshot_ids(self) -> Iterator[int]:
        """The snapshots that Iceberg's branches and tags hold (S14)."""
        refs = self.fields.get("refs") or {}
        if not isinstance(refs, dict):
            raise self._nonsense("its refs are not an object")
        for ref in refs.values():
            yield self._snapshot_id(ref)

    def logged_snapshot_ids(self) -> Iterator[object]:
        """The snapshots that were current at some time, as the snapshot log remembers them."""
        for entry in self._list(self.fields, "snapshot-log"):
            yield self._object(entry).get("snapshot-id")

    @cached_property
    def snapshots(self) -> Mapping[int, Mapping[str, object]]:
        """All snapshots that are listed, by their ids."""
        return {self._snapshot_id(found): self._object(found) for found in self._list(self.fields, "snapshots")}

    def summary(self, snapshot: Mapping[str, object]) -> Mapping[str, object]:
        """The summary of a snapshot; empty where it has none."""
        return self._object(snapshot.get("summary") or {})

    def snapshot_files(self, snapshot_ids: set[int]) -> Iterator[ReachableFile]:
        """Manifest lists, embedded manifests and statistics of the snapshots.

        A snapshot that the metadata does not have makes it unreadable: what it needs cannot be known.
        """
        if not snapshot_ids:
            return
        for snapshot_id in snapshot_ids:
            yield from self._manifests(self.snapshot(snapshot_id))
        for snapshot_id in snapshot_ids:
            yield from self._statistics.get(snapshot_id, ())

    def snapshot(self, snapshot_id: int) -> Mapping[str, object]:
        """A snapshot that is listed."""
        if snapshot_id not in self.snapshots:
            raise self._nonsense(f"it has no snapshot {snapshot_id}")
        return self.snapshots[snapshot_id]

    def manifests_of(self, snapshot_id: int) -> Sequence[ReachableFile]:
        """The manifest list of a snapshot, or the manifests that the metadata itself names."""
        return list(self._manifests(self.snapshot(snapshot_id)))

    @cached_property
    def _statistics(self) -> Mapping[int, Sequence[ReachableFile]]:
        """Files of statistics by their snapshots."""
        found: dict[int, list[ReachableFile]] = {}
        for name, kind in (
            ("statistics", FileKind.STATISTICS),
            ("partition-statistics", FileKind.PARTITION_STATISTICS),
        ):
            for statistics in self._list(self.fields, name):
                file = self.file(self._text(statistics, "statistics-path"), kind)
                found.setdefault(self._snapshot_id(statistics), []).append(file)
        return found

    def file(self, path: str, kind: FileKind) -> ReachableFile:
        """A file of this content."""
        return ReachableFile(path=path, kind=kind, location=self.location)

    def _manifests(self, fields: Mapping[str, object]) -> Iterator[ReachableFile]:
        if fields.get("manifest-list") is not None:
            file = self.file(self._text(fields, "manifest-list"), FileKind.MANIFEST_LIST)
            yield replace(file, announced=manifests_announced(self.summary(fields)))
            return
        if "manifests" not in fields:
            raise self._nonsense("a snapshot has neither a manifest list nor manifests")
        for manifest in self._list(fields, "manifests"):
            yield self.file(self._text({"manifests": manifest}, "manifests"), FileKind.MANIFEST)

    def _snapshot_id(self, holder: object) -> int:
        value = self._object(holder).get("snapshot-id")
        if not isinstance(value, int) or isinstance(value, bool):
            raise self._nonsense(f"a snapshot id is {value!r}")
        return value

    def _object(self, value: object) -> Mapping[str, object]:
        if not isinstance(value, dict):
            raise self._nonsense(f"expected an object, found {type(value).__name__}")
        return value

    def _list(self, holder: object, name: str) -> list[object]:
        value = self._object(holder).get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._nonsense(f"{name!r} is not a list")
        return value

    def _text(self, holder: object, name: str) -> str:
        value = self._object(holder).get(name)
        if not isinstance(value, str) or not value:
            raise self._nonsense(f"{name!r} is {value!r} instead of a string")
        return value

    def _nonsense(self, reason: str) -> UnreadableFileError:
        return UnreadableFileError(self.path, reason)


def parse_table(path: str, data: bytes, limit: Limit = METADATA_LIMIT) -> Metadata:
    """The metadata of a table.

    Raises:
        UnreadableFileError: it is none, of a format version that is not known, or more than the limit allows.
    """
    metadata = _parse(path, data, limit, versions=(1, 2, 3))
    _refuse(metadata, _VIEW_ONLY, "it is the metadata of a view, not of a table")
    return metadata


def parse_view(path: str, data: bytes, limit: Limit = METADATA_LIMIT) -> Metadata:
    """The metadata of a view.

    Raises:
        UnreadableFileError: it is none, of a format version that is not known, or more than the limit allows.
    """
    metadata = _parse(path, data, limit, versions=(1,))
    _refuse(metadata, _TABLE_ONLY, "it is the metadata of a table, not of a view")
    return metadata


def _parse(path: str, data: bytes, limit: Limit, versions: tuple[int, ...]) -> Metadata:
    try:
        text, fields = read_json(data, limit)
    except ValueError as error:
        encrypted = data.startswith(_ENCRYPTED_MAGIC)
        raise UnreadableFileError(path, ENCRYPTED if encrypted else str(error)) from error
    if not isinstance(fields, dict):
        raise UnreadableFileError(path, "it is not a JSON object")
    _refuse_misspelt(path, fields)
    may_stage = WAP_ID.encode() in text or b"\\u" in text or b"\0" in text  # escaped, or not UTF-8
    metadata = Metadata(path, fields, len(data), may_stage)
    version = fields.get("format-version")
    if isinstance(version, bool) or version not in versions:
        known = ", ".join(map(str, versions))
        raise UnreadableFileError(path, f"its format version is {version!r}; known are: {known}")
    _ = metadata.location
    return metadata


def _refuse(metadata: Metadata, names: tuple[str, ...], reason: str) -> None:
    if any(name in metadata.fields for name in names):
        raise UnreadableFileError(metadata.path, reason)


def _refuse_misspelt(path: str, fields: Mapping[str, object]) -> None:
    """Refuses metadata without a decisive field, but with one whose name differs in one character: a bit is wrong."""
    for name in _DECISIVE:
        alike = (other for other in fields if len(other) == len(name) and _differences(other, name) == 1)
        if name not in fields and (other := next(alike, None)) is not None:
            raise UnreadableFileError(path, f"it has a field {other!r} and no field {name!r}: it is damaged")


def _differences(text: str, other: str) -> int:
    return sum(a != b for a, b in zip(text, other, strict=True))
