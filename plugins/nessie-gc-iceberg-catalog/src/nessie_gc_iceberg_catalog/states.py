"""The states of one table: what its metadata lists, as log entries and content versions."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from nessie_gc_core.errors import RepositoryError, UnreadableFileError
from nessie_gc_core.model import (
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    UNKNOWN_CONTENT,
    ContentVersion,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    TableMetadata,
)
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.table_properties import WRITE_PATHS
from nessie_gc_core.model.times import from_millis
from nessie_gc_iceberg_catalog.content_types import (
    LEFT_OUT,
    METADATA_LOG_FILE,
    OTHER_TABLE,
    UNREADABLE_TABLE,
    WHOLE_VIEW,
)
from nessie_gc_iceberg_catalog.names import commit_id
from nessie_gc_iceberg_catalog.selection import Selection

log = logging.getLogger(__name__)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotState:
    """One state that the table can be read at."""

    snapshot_id: int | None
    time: datetime


_ONE_STATE = (SnapshotState(snapshot_id=None, time=_EPOCH),)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentStates:
    """A table or view as its catalog shows it at one moment."""

    name: str
    source: str
    """What commit ids are made of: the metadata location, or a text that names a frozen location."""
    snapshots: tuple[SnapshotState, ...]
    """The current one first, then the others, newest first."""
    content_id: str
    content_type: str = ICEBERG_TABLE
    metadata_location: str | None = None
    location: str | None = None
    beside: tuple[ContentVersion, ...] = ()
    """What is live beside the snapshots: files of the metadata log, frozen locations."""

    @property
    def head(self) -> str:
        """The commit id of the head."""
        return commit_id(self.source, self.snapshots[0].snapshot_id)

    def position(self, snapshot_id: int | None) -> int | None:
        """Where in the log a snapshot stands; ``None`` if it is not listed."""
        return next((n for n, state in enumerate(self.snapshots) if state.snapshot_id == snapshot_id), None)

    def version(self, state: SnapshotState) -> ContentVersion:
        """The content at one state."""
        return ContentVersion(
            content_id=self.content_id,
            content_type=self.content_type,
            metadata_location=self.metadata_location,
            snapshot_id=state.snapshot_id,
            content_key=self.name,
            commit_id=commit_id(self.source, state.snapshot_id),
            commit_time=state.time,
            location=self.location,
        )

    def log(self, *, start: int, keep_all: bool) -> Iterator[LogEntry]:
        """One entry per state from a position on, newest first.

        A head is live whatever the policy, so the head's entry also puts what no policy gives up: what is
        beside and, to keep all, every listed snapshot.
        """
        for number in range(start, len(self.snapshots)):
            state = self.snapshots[number]
            older = self.snapshots[number + 1] if number + 1 < len(self.snapshots) else None
            live = [self.version(state)]
            if number == 0:
                others = self.snapshots[1:] if keep_all else ()
                live.extend(replace(self.version(other), commit_id=self.head, commit_time=None) for other in others)
                live.extend(self.beside)
            yield LogEntry(
                commit_id=commit_id(self.source, state.snapshot_id),
                parent_id=None if older is None else commit_id(self.source, older.snapshot_id),
                commit_time=state.time,
                operations=tuple(
                    Operation(kind=OperationKind.PUT, content_key=self.name, content=version) for version in live
                ),
            )


def parse_states(
    name: str, metadata_location: str, metadata: bytes | str | Mapping[str, Any], selection: Selection
) -> ContentStates:
    """The states that a table's metadata lists; its locations are frozen where it is not to be collected.

    Args:
        name: the name of the table.
        metadata_location: where its metadata is.
        metadata: as JSON, or what is in it.
        selection: which tables are collected.

    Raises:
        RepositoryError: it is not the metadata of an Iceberg table.
    """
    try:
        fields: Any = metadata if isinstance(metadata, Mapping) else parsed_json(metadata)
        return _states(name, metadata_location, fields, selection)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise RepositoryError(
            f"{metadata_location} of table {name} is not Iceberg table metadata ({type(error).__name__}: {error})"
        ) from error


def _states(name: str, metadata_location: str, metadata: Mapping[str, Any], selection: Selection) -> ContentStates:
    location = str(metadata["location"])
    content_id = str(metadata.get("table-uuid") or f"no-uuid:{location}")
    listed = sorted(metadata.get("snapshots") or (), key=lambda snapshot: int(snapshot["timestamp-ms"]), reverse=True)
    snapshots = [
        SnapshotState(snapshot_id=int(snapshot["snapshot-id"]), time=from_millis(int(snapshot["timestamp-ms"])))
        for snapshot in listed
    ]
    current = metadata.get("current-snapshot-id")
    ids = [snapshot.snapshot_id for snapshot in snapshots]
    if len(set(ids)) < len(ids) or (current not in (None, -1) and int(current) not in ids):  # S34: some may be missing
        raise ValueError("its list of snapshots repeats one, or lacks the current one")
    newest = [from_millis(int(metadata.get("last-updated-ms") or 0)), *(snapshot.time for snapshot in snapshots)]
    head = SnapshotState(snapshot_id=None if current in (None, -1) else int(current), time=max(newest))
    others = [snapshot for snapshot in snapshots if snapshot.snapshot_id != head.snapshot_id]
    states = ContentStates(
        name=name,
        source=metadata_location,
        snapshots=(head, *others),
        content_id=content_id,
        metadata_location=metadata_location,
        location=location,
    )
    beside = [*_logged(states, metadata), *_frozen(states, metadata.get("properties") or {}, selection)]
    return replace(states, beside=tuple(beside))


def _logged(states: ContentStates, metadata: Mapping[str, Any]) -> Iterator[ContentVersion]:
    """The older metadata files."""
    for entry in metadata.get("metadata-log") or ():
        yield _beside(states, METADATA_LOG_FILE, metadata_location=str(entry["metadata-file"]))


def _frozen(states: ContentStates, properties: Mapping[str, Any], selection: Selection) -> Iterator[ContentVersion]:
    """The locations of a table that is not to be collected."""
    location = str(states.location)
    type_ = selection.frozen_as(states.name, location, properties)
    if type_ is None:
        return
    log.debug("table %s is skipped: %s", states.name, type_)
    named = [("", location), *((f":{key}", properties[key]) for key in WRITE_PATHS if properties.get(key))]
    for suffix, frozen in named:
        yield _beside(states, type_, content_id=states.content_id + suffix, location=str(frozen))


def _beside(states: ContentStates, content_type: str, **changes: str) -> ContentVersion:
    """What the head puts beside its snapshots."""
    version = states.version(states.snapshots[0])
    return replace(version, content_type=content_type, snapshot_id=None, commit_time=None, **changes)


def table_metadata(
    metadata: bytes | str | Mapping[str, Any], metadata_location: str, reference: Reference, selection: Selection
) -> TableMetadata:
    """What a table's metadata lists, as JSON or what is in it, for snapshot expiry, and who else manages it.

    Raises:
        UnreadableFileError: it is not the metadata of an Iceberg table.
    """
    try:
        fields = metadata if isinstance(metadata, Mapping) else parsed_json(metadata)
    except ValueError as error:
        raise UnreadableFileError(metadata_location, f"it is not JSON: {error}") from error
    if not isinstance(fields, Mapping):
        raise UnreadableFileError(metadata_location, "it is not the metadata of a table")
    table = TableMetadata.parse(
        fields,
        metadata_location=metadata_location,
        reference=reference.name,
        commit_id=str(reference.commit_id),
        content_key=reference.name,
        content_id=str(fields.get("table-uuid")),
    )
    return replace(table, manager=selection.manager(reference.name, table.location, table.properties))


def is_view(text: bytes | str) -> bool:
    """Whether a metadata file is that of a view, which is told by its own fields."""
    try:
        fields = parsed_json(text)
    except ValueError:
        return False
    return isinstance(fields, dict) and "view-uuid" in fields and "table-uuid" not in fields


def view_states(name: str, metadata_location: str, left_out: Sequence[str] = ()) -> ContentStates:
    """A view whose metadata location is known; its reader finds the rest.

    Args:
        name: its name.
        metadata_location: where its metadata is.
        left_out: locations at which nothing is deleted, because the view is left out.
    """
    states = ContentStates(
        name=name,
        source=f"{ICEBERG_VIEW}:{metadata_location}",
        snapshots=_ONE_STATE,
        content_id=f"view:{name}",
        content_type=ICEBERG_VIEW,
        metadata_location=metadata_location,
    )
    frozen = (
        _beside(states, LEFT_OUT, content_id=f"{states.content_id}:{n}", location=each)
        for n, each in enumerate(left_out)
    )
    return replace(states, beside=tuple(frozen))


def whole_view_states(name: str, location: str) -> ContentStates:
    """A view of which only the location is known."""
    return ContentStates(
        name=name,
        source=f"{WHOLE_VIEW}:{location}",
        snapshots=_ONE_STATE,
        content_id=f"view:{name}",
        content_type=WHOLE_VIEW,
        location=location,
    )


def unreadable_states(name: str, location: str) -> ContentStates:
    """A table that cannot be read, as the configuration says; its location is frozen."""
    return _unread(UNREADABLE_TABLE, name, location)


def other_states(name: str, location: str, metadata_location: str | None = None) -> ContentStates:
    """A table that is not Iceberg's, in the folder of one that is; the locations of both are frozen.

    Its metadata location is that of the other one: whoever reads that knows all that is needed elsewhere.
    """
    return replace(_unread(OTHER_TABLE, name, location), metadata_location=metadata_location)


def unknown_states(name: str, location: str | None, metadata_location: str | None = None) -> ContentStates:
    """A table that could not be read just now.

    It is unknown, even if a reader understands its metadata later: the snapshots that could not be listed would be
    missing.
    """
    frozen = _unread(UNKNOWN_CONTENT, name, location)
    if metadata_location is None:
        return frozen
    return replace(
        frozen,
        content_type=ICEBERG_TABLE,
        metadata_location=metadata_location,
        beside=(replace(frozen.version(_ONE_STATE[0]), commit_time=None),),
    )


def _unread(content_type: str, name: str, location: str | None) -> ContentStates:
    """A table of which only a location is known, if that."""
    return ContentStates(
        name=name,
        source=f"{content_type}:{location or ''}",
        snapshots=_ONE_STATE,
        content_id=f"unreadable:{name}",
        content_type=content_type,
        location=location,
    )
