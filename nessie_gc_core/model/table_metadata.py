"""What the metadata of an Iceberg table lists: snapshots, branches and tags, and what decides how long they stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.file_counts import removed_bytes
from nessie_gc_core.model.stream_positions import positions

MAIN = "main"
"""The branch that every table has; it never expires."""
SERVICE = "nessie-gc.service"
"""By this word the summary of a snapshot names the service that made it."""


class RefType(StrEnum):
    """What a name inside a table's metadata is."""

    BRANCH = "branch"
    """It moves with each commit, and holds ancestors of its snapshot for a time."""
    TAG = "tag"
    """It stays, and holds its one snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One snapshot that a table's metadata lists."""

    snapshot_id: int
    """Unique in its table."""
    parent_id: int | None
    """The snapshot that it was made from; it may be expired."""
    timestamp_ms: int
    """When it was made, in milliseconds since the epoch, by the clock of its writer."""
    schema_id: int | None = None
    """The schema of the table at that time."""
    service: str | None = None
    """The service of Nessie GC that made it, by its summary; ``None``: someone else did."""
    removed_bytes: int | None = None
    """Size of the files that it took out in bytes, by its summary; ``None``: not known."""
    positions: frozenset[str] = frozenset()
    """The streaming writers whose position its summary has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotRef:
    """A branch or tag inside a table's metadata, with what it says itself about retention."""

    snapshot_id: int
    """Its snapshot; the metadata may not list it any more."""
    type: RefType
    """Whether it is a branch or a tag."""
    min_snapshots_to_keep: int | None = None
    """Of a branch: how many of its snapshots stay whatever their age."""
    max_snapshot_age_ms: int | None = None
    """Of a branch: how old its snapshots become."""
    max_ref_age_ms: int | None = None
    """How old it becomes itself, by the time of its snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """One field of a partition spec."""

    name: str
    """Its name."""
    transform: str
    """How its values follow from the column, such as ``identity``, ``day`` or ``bucket[16]``."""
    source_id: int | None = None
    """Id of the column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMetadata:
    """The part of an Iceberg table's metadata that snapshot expiry and health need."""

    reference: str
    """The reference of the repository on which it was seen."""
    commit_id: str
    """The head of that reference."""
    content_key: str
    """The dotted name of the table."""
    content_id: str
    """The table's id in the repository."""
    metadata_location: str
    """Raw location of the metadata file."""
    location: str
    """Raw base location of the table."""
    manager: str | None = None
    """Who else collects the table, which is then left unchanged; ``None``: no one that is known."""
    unwritable: str | None = None
    """Why its repository would not take a commit to it, where that is known without trying."""
    format_version: int = 2
    """Version of Iceberg's table format."""
    snapshots: Sequence[Snapshot] = field(default=(), repr=False)
    """All that are listed."""
    snapshot_log: Sequence[tuple[int, int]] = field(default=(), repr=False)
    """When which snapshot became the current one of ``main``, oldest first: milliseconds since the epoch, and id."""
    refs: Mapping[str, SnapshotRef] = field(default_factory=dict)
    """Branches and tags by their names; ``main`` among them where the table has a current snapshot."""
    summary: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What its writer says of the current snapshot, such as ``total-data-files``; empty if there is none."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The table's properties."""
    metadata_log: Sequence[str] = field(default=(), repr=False)
    """Raw locations of earlier metadata files, oldest first."""
    statistics: frozenset[int] = frozenset()
    """Snapshots that have a file of statistics."""
    partition_statistics: frozenset[int] = frozenset()
    """Snapshots that have a file of statistics by partition."""
    schemas: frozenset[int] = frozenset()
    """Ids of all schemas."""
    current_schema: int | None = None
    """Id of the current schema."""
    columns: frozenset[int] = frozenset()
    """Ids of the columns of the current schema, nested ones among them; empty: not known."""
    column_ids: Mapping[str, int] = field(default_factory=dict, repr=False)
    """Names of the columns of the current schema, without nested ones, with their ids."""
    partition_specs: frozenset[int] = frozenset()
    """Ids of all partition specs."""
    default_spec: int | None = None
    """Id of the partition spec for new files."""
    partition_fields: frozenset[str] = frozenset()
    """Names of the fields of all partition specs."""
    spec_fields: Mapping[int, Sequence[PartitionField]] = field(default_factory=dict, repr=False)
    """Ids of all partition specs with their fields."""
    metadata_bytes: int | None = None
    """Size of the metadata file in bytes, as it is stored; ``None``: not known."""
    held: frozenset[int] = frozenset()
    """Snapshots that its reader says must stay listed, whatever their age: the metadata's own current one, those of its
    branches and tags, and those that write-audit-publish staged."""

    @classmethod
    def parse(
        cls,
        fields: Mapping[str, Any],
        *,
        metadata_location: str,
        reference: str,
        commit_id: str,
        content_key: str,
        content_id: str,
        snapshot_id: int | None = None,
        metadata_bytes: int | None = None,
    ) -> Self:
        """Takes a parsed metadata file, and where it was seen.

        Args:
            fields: the metadata.
            metadata_location: raw location of the file.
            reference: the reference on which it was seen.
            commit_id: the head of that reference.
            content_key: the dotted name of the table.
            content_id: the table's id in the repository.
            snapshot_id: the current snapshot, where the repository names one; else the metadata does.
            metadata_bytes: size of the file, where it is known.

        Raises:
            UnreadableFileError: it is invalid.
        """
        try:
            refs = _refs(fields, snapshot_id)
            return cls(
                reference=reference,
                commit_id=commit_id,
                content_key=content_key,
                content_id=content_id,
                metadata_location=metadata_location,
                location=str(fields["location"]),
                format_version=int(fields["format-version"]),
                snapshots=tuple(map(_snapshot, fields.get("snapshots") or ())),
                snapshot_log=tuple(map(_log_entry, fields.get("snapshot-log") or ())),
                refs=refs,
                summary=_summary(fields, refs.get(MAIN)),
                properties={str(name): str(value) for name, value in (fields.get("properties") or {}).items()},
                metadata_log=tuple(str(entry["metadata-file"]) for entry in fields.get("metadata-log") or ()),
                statistics=_of_snapshots(fields.get("statistics")),
                partition_statistics=_of_snapshots(fields.get("partition-statistics")),
                schemas=frozenset(int(schema["schema-id"]) for schema in fields.get("schemas") or ()),
                current_schema=fields.get("current-schema-id"),
                columns=frozenset(_columns(_schema(fields))),
                column_ids=_column_ids(_schema(fields)),
                partition_specs=frozenset(int(spec["spec-id"]) for spec in fields.get("partition-specs") or ()),
                default_spec=fields.get("default-spec-id"),
                partition_fields=frozenset(_partition_fields(fields)),
                spec_fields=dict(_specs(fields)),
                metadata_bytes=metadata_bytes,
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"it is not the metadata of an Iceberg table ({type(error).__name__}: {error})"
            raise UnreadableFileError(metadata_location, reason) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What one commit takes out of a table's metadata."""

    snapshot_ids: frozenset[int] = frozenset()
    """Snapshots."""
    refs: frozenset[str] = frozenset()
    """Branches and tags."""
    schemas: frozenset[int] = frozenset()
    """Ids of schemas that nothing names any more."""
    partition_specs: frozenset[int] = frozenset()
    """Ids of partition specs that nothing names any more."""
    metadata_files: tuple[str, ...] = ()
    """Raw locations of metadata files that fall out of the metadata log with it."""

    def __bool__(self) -> bool:
        return bool(self.snapshot_ids or self.refs or self.schemas or self.partition_specs)

    def with_unused(self, *, schemas: Iterable[int], partition_specs: Iterable[int]) -> Removal:
        """The same, and some schemas and partition specs."""
        return replace(self, schemas=frozenset(schemas), partition_specs=frozenset(partition_specs))

    def within(self, other: Removal) -> Removal:
        """What both take out; which metadata files fall out of the log is not for a commit to say."""
        return Removal(
            snapshot_ids=self.snapshot_ids & other.snapshot_ids,
            refs=self.refs & other.refs,
            schemas=self.schemas & other.schemas,
            partition_specs=self.partition_specs & other.partition_specs,
        )

    def with_(self, other: Removal) -> Removal:
        """What either takes out."""
        return Removal(
            snapshot_ids=self.snapshot_ids | other.snapshot_ids,
            refs=self.refs | other.refs,
            schemas=self.schemas | other.schemas,
            partition_specs=self.partition_specs | other.partition_specs,
        )

    def halves(self) -> tuple[Removal, Removal]:
        """Two removals that together do the same, one after the other.

        Branches and tags are removed first, because they may hold any snapshot; schemas and specs last, because any
        snapshot may name them.
        """
        ids = sorted(self.snapshot_ids)
        middle = len(ids) // 2
        first = Removal(snapshot_ids=frozenset(ids[:middle]), refs=self.refs)
        last = replace(self, snapshot_ids=frozenset(ids[middle:]), refs=frozenset(), metadata_files=())
        return first, last


def _snapshot(fields: Mapping[str, Any]) -> Snapshot:
    parent, schema = fields.get("parent-snapshot-id"), fields.get("schema-id")
    summary = fields.get("summary") or {}
    return Snapshot(
        snapshot_id=int(fields["snapshot-id"]),
        parent_id=None if parent is None else int(parent),
        timestamp_ms=int(fields["timestamp-ms"]),
        schema_id=None if schema is None else int(schema),
        service=summary.get(SERVICE),
        removed_bytes=removed_bytes(summary),
        positions=positions(summary),
    )


def _log_entry(fields: Mapping[str, Any]) -> tuple[int, int]:
    return int(fields["timestamp-ms"]), int(fields["snapshot-id"])


def _refs(fields: Mapping[str, Any], snapshot_id: int | None) -> dict[str, SnapshotRef]:
    """The refs; metadata of early writers has none, and then the current snapshot is that of ``main``."""
    refs = {str(name): _ref(ref) for name, ref in (fields.get("refs") or {}).items()}
    current = fields.get("current-snapshot-id")
    if current is not None and int(current) != -1:
        main = refs.setdefault(MAIN, SnapshotRef(snapshot_id=int(current), type=RefType.BRANCH))
        if main.snapshot_id != int(current):
            raise ValueError(f"its current snapshot is {current}, but main is at {main.snapshot_id}")
    if snapshot_id is not None:
        main = refs.get(MAIN, SnapshotRef(snapshot_id=snapshot_id, type=RefType.BRANCH))
        refs[MAIN] = replace(main, snapshot_id=snapshot_id)
    return refs


def _summary(fields: Mapping[str, Any], main: SnapshotRef | None) -> dict[str, str]:
    current = None if main is None else main.snapshot_id
    for snapshot in fields.get("snapshots") or ():
        if int(snapshot["snapshot-id"]) == current:
            return {str(name): str(value) for name, value in (snapshot.get("summary") or {}).items()}
    return {}


def _ref(fields: Mapping[str, Any]) -> SnapshotRef:
    return SnapshotRef(
        snapshot_id=int(fields["snapshot-id"]),
        type=RefType(str(fields["type"]).lower()),
        min_snapshots_to_keep=_positive(fields.get("min-snapshots-to-keep")),
        max_snapshot_age_ms=_positive(fields.get("max-snapshot-age-ms")),
        max_ref_age_ms=_positive(fields.get("max-ref-age-ms")),
    )


def _positive(value: Any) -> int | None:
    """A number that the specification has above 0; anything else is nonsense, and no shorter retention."""
    if value is not None and int(value) <= 0:
        raise ValueError(f"expected a positive number, found {value!r}")
    return None if value is None else int(value)


def _schema(fields: Mapping[str, Any]) -> object:
    """The current schema; metadata of early writers has no other."""
    current = fields.get("current-schema-id")
    found = (schema for schema in fields.get("schemas") or () if schema["schema-id"] == current)
    return next(found, fields.get("schema"))


def _columns(type_: object) -> Iterator[int]:
    """The ids of the fields of a type, at any depth."""
    if isinstance(type_, list):
        for each in type_:
            yield from _columns(each)
    elif isinstance(type_, dict):
        if isinstance(type_.get("id"), int):
            yield type_["id"]
        for name in ("fields", "type", "element", "key", "value"):
            yield from _columns(type_.get(name))


def _column_ids(schema: object) -> dict[str, int]:
    columns = schema.get("fields") if isinstance(schema, dict) else None
    return {str(column["name"]): int(column["id"]) for column in columns or ()}


def _partition_fields(fields: Mapping[str, Any]) -> Iterator[str]:
    for spec in fields.get("partition-specs") or ():
        yield from (str(field["name"]) for field in spec["fields"])


def _specs(fields: Mapping[str, Any]) -> Iterator[tuple[int, Sequence[PartitionField]]]:
    """The specs; metadata of early writers has one, without an id."""
    if fields.get("partition-specs") is None and fields.get("partition-spec"):
        yield 0, tuple(map(_partition_field, fields["partition-spec"]))
    for spec in fields.get("partition-specs") or ():
        yield int(spec["spec-id"]), tuple(map(_partition_field, spec["fields"]))


def _partition_field(fields: Mapping[str, Any]) -> PartitionField:
    source = fields.get("source-id")
    return PartitionField(
        name=str(fields["name"]),
        transform=str(fields.get("transform", "")),
        source_id=None if source is None else int(source),
    )


def _of_snapshots(entries: Any) -> frozenset[int]:
    return frozenset(int(entry["snapshot-id"]) for entry in entries or ())
