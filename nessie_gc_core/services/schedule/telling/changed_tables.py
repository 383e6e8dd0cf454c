"""Which tables a run has changed, by its report: what was deleted of each, and what was written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from nessie_gc_core.model.urls import split_credentials

MOST_TABLES = 200
"""So many tables of a run are told; how many more there are is told, too."""
_GONE = ("deleted", "quarantined")
"""Outcomes after which a file is no longer at its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTable:
    """What a run did to a table, in the words of OpenLineage."""

    namespace: str
    """Where its name counts: a bucket, or a catalog."""
    name: str
    """A path in the bucket, or its dotted name in the catalog."""
    tables: tuple[str, ...] = ()
    """Dotted names of the tables at that path."""
    deleted_files: int = 0
    """Files that were deleted, moved to quarantine, or replaced by others."""
    deleted_bytes: int = 0
    """Their size."""
    written_files: int | None = None
    """Files that were written instead; ``None``: none are written."""
    written_bytes: int | None = None
    """Their size."""
    snapshots: int = 0
    """Snapshots that expired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a run did to tables."""

    dry_run: bool = False
    """Whether it only said what it would do."""
    tables: tuple[ChangedTable, ...] = ()
    """The first tables that were changed."""
    left_out: int = 0
    """How many more there are."""

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> Changes:
        """Reads the report of a service; of one that changes no tables, nothing is said."""
        if report.get("dry_run"):
            return cls(dry_run=True)
        changed = _changed(report)
        first = tuple(islice(changed, MOST_TABLES))
        return cls(tables=first, left_out=sum(1 for _ in changed))

    def text(self) -> str:
        """The same as text."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str | None) -> Changes:
        """Reads such a text."""
        plain = json.loads(text or "{}")
        tables = (ChangedTable(**{**each, "tables": tuple(each["tables"])}) for each in plain.pop("tables", ()))
        return cls(**plain, tables=tuple(tables))


def _changed(report: Mapping[str, Any]) -> Iterator[ChangedTable]:
    for row in _rows(report):
        if "location" in row:
            yield from _swept(row)
        elif row.get("snapshot_ids"):
            yield _compacted(row, report)
        elif row.get("snapshot_id") is not None:
            yield _reorganized(row, report)
        elif row.get("outcome") == "expired":
            yield _expired(row, report)


def _rows(report: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    tables, collection = report.get("tables"), report.get("collection")
    if tables is None and isinstance(collection, Mapping):
        tables = collection.get("tables")
    return (row for row in tables if isinstance(row, Mapping)) if isinstance(tables, list) else ()


def _swept(row: Mapping[str, Any]) -> Iterator[ChangedTable]:
    gone = [row[outcome] for outcome in _GONE if outcome in row]
    files = sum(tally["files"] for tally in gone)
    if files:
        namespace, name = place_of(row["location"])
        size = sum(tally["bytes"] for tally in gone)
        tables = tuple(row["tables"])
        yield ChangedTable(namespace=namespace, name=name, tables=tables, deleted_files=files, deleted_bytes=size)


def _compacted(row: Mapping[str, Any], report: Mapping[str, Any]) -> ChangedTable:
    return ChangedTable(
        namespace=_catalog(report),
        name=row["table"],
        deleted_files=row["removed_data_files"] + row["removed_delete_files"],
        deleted_bytes=row["removed_bytes"],
        written_files=row["added_data_files"] + row["added_delete_files"],
        written_bytes=row["added_bytes"],
    )


def _reorganized(row: Mapping[str, Any], report: Mapping[str, Any]) -> ChangedTable:
    before, after, rewritten = row["manifests"], row["manifests_after"], row["rewritten"]
    kept = None if before is None else before - rewritten
    return ChangedTable(
        namespace=_catalog(report),
        name=row["table"],
        deleted_files=rewritten,
        deleted_bytes=row["rewritten_bytes"],
        written_files=None if after is None or kept is None else max(after - kept, 0),
    )


def _expired(row: Mapping[str, Any], report: Mapping[str, Any]) -> ChangedTable:
    files = row["files"]
    return ChangedTable(
        namespace=str(report["collection"]["address"]),
        name=row["table"],
        deleted_files=files["files"],
        deleted_bytes=files["bytes"],
        snapshots=row["expired"],
    )


def _catalog(report: Mapping[str, Any]) -> str:
    return f"iceberg://{report['catalog']}"


def place_of(location: str) -> tuple[str, str]:
    """Namespace and name of a location, as OpenLineage names datasets in file systems and object stores."""
    try:
        scheme, user, rest = split_credentials(location)
    except ValueError:
        return "unknown", "unknown"
    if scheme == "file://":
        return "file", rest.rstrip("/") or "/"
    authority, _, path = rest.partition("/")
    if user is not None and ":" not in user:  # a container of Azure, or a user without a password
        authority = f"{user}@{authority}"
    return scheme + authority, path.strip("/") or "/"
