"""Rows of the tables in which Nessie's Java tool keeps live sets, as they are: anything may be missing or cut."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaLiveSet:
    """A row of ``gc_live_sets``. Times without a zone are those of the machine on which the tool ran."""

    live_set_id: str
    """Its id."""
    status: str | None
    """The name of its status."""
    identify_started: datetime | None
    """When its mark began; ``None`` also if the database may have changed it since."""
    identify_finished: datetime | None
    """When its mark ended."""
    expire_started: datetime | None
    """When its sweep began."""
    expire_finished: datetime | None
    """When its sweep ended."""
    error_message: str | None
    """Why its mark or its sweep failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaContentVersion:
    """A row of ``gc_live_set_contents``."""

    content_id: str | None
    """Id of the content; 200 characters at most."""
    commit_id: str | None
    """The commit at which it was seen."""
    content_key: str | None
    """Name under which it was seen, as a path string."""
    content_type: str | None
    """Content type; 40 characters at most."""
    metadata_location: str | None
    """Path of its metadata; 1,000 characters at most."""
    snapshot_id: int | None
    """Snapshot of a table, version of a view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaBaseLocation:
    """A row of ``gc_live_set_content_locations``."""

    content_id: str | None
    """Id of the content."""
    base_location: str | None
    """A location that the sweep listed; 500 characters at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaFileDeletion:
    """A row of ``gc_file_deletions``; rows stay when their files are deleted."""

    base_uri: str | None
    """Location of the file; 250 characters at most."""
    path_uri: str | None
    """Path below it, or a whole URI; 250 characters at most."""
    modification_timestamp: int | None
    """Milliseconds since the epoch; -1 if unknown."""
