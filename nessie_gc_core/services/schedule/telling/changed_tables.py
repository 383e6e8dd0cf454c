"""Which tables a run has changed, by its report: what was deleted of each, and what was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.urls import split_credentials
from nessie_gc_core.services.schedule.report_parts import inside, listed, number, text

MOST_TABLES = 200
"""So many tables of a run are told; how many more there are is told, too."""
MOST_NAMES = 50
"""So many names of tables at one location are told; how many more there are is told, too."""
_GONE = ("deleted", "quarantined")
"""Outcomes after which a file is no longer at its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTable:
    """What a run did to a table, in the words of OpenLineage."""

    namespace: str
    """Where its name counts: a bucket; if its location is not known, a catalog."""
    name: str
    """A path in the bucket, or its dotted name in the catalog."""
    catalog: str | None = None
    """What the report says of the catalog of its tables; ``None``: it does not say of which one each table is."""
    tables: tuple[str, ...] = ()
    """Dotted names of the first tables at that path."""
    tables_left_out: int = 0
    """How many more there are."""
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

    def with_more(self, other: ChangedTable) -> ChangedTable:
        """What was done to it in all, if a report has several rows of it: one for each branch, for instance."""
        names = tuple(dict.fromkeys(self.tables + other.tables))
        return replace(
            self,
            tables=names[:MOST_NAMES],
            tables_left_out=self.tables_left_out + other.tables_left_out + len(names[MOST_NAMES:]),
            deleted_files=self.deleted_files + other.deleted_files,
            deleted_bytes=self.deleted_bytes + other.deleted_bytes,
            written_files=_sum(self.written_files, other.written_files),
            written_bytes=_sum(self.written_bytes, other.written_bytes),
            snapshots=self.snapshots + other.snapshots,
        )


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
        changed = dict[tuple[str, str], ChangedTable]()
        for table in _changed(report):
            key = table.namespace, table.name
            changed[key] = changed[key].with_more(table) if key in changed else table
        tables = tuple(changed.values())
        return cls(tables=tables[:MOST_TABLES], left_out=len(tables[MOST_TABLES:]))

    def text(self) -> str:
        """The same as text."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str | None) -> Changes:
        """Reads such a text."""
        plain: Any = parsed_json(text or "{}")
        tables = (ChangedTable(**{**each, "tables": tuple(each["tables"])}) for each in plain.pop("tables", ()))
        return cls(**plain, tables=tuple(tables))


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _changed(report: Mapping[str, Any]) -> Iterator[ChangedTable]:
    for row in _rows(report):
        if row.get("snapshot_ids"):
            yield _compacted(row, report)
        elif row.get("snapshot_id") is not None:
            yield _reorganized(row, report)
        elif row.get("outcome") == "expired":
            yield _expired(row, report)
        elif "location" in row:
            yield from _swept(row, report)


def _rows(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tables = report.get("tables")
    return listed(inside(report, "collection", "tables") if tables is None else tables)


def _swept(row: Mapping[str, Any], report: Mapping[str, Any]) -> Iterator[ChangedTable]:
    files, size = (sum(number(inside(row, outcome, part)) for outcome in _GONE) for part in ("files", "bytes"))
    if files:
        namespace, name = place_of(text(row["location"]))
        names = row.get("tables")
        tables = tuple(map(text, names)) if isinstance(names, list) else ()
        yield ChangedTable(
            namespace=namespace,
            name=name,
            catalog=_repository(report),
            tables=tables[:MOST_NAMES],
            tables_left_out=len(tables[MOST_NAMES:]),
            deleted_files=files,
            deleted_bytes=size,
        )


def _compacted(row: Mapping[str, Any], report: Mapping[str, Any]) -> ChangedTable:
    return replace(
        _table(row, _catalog(report)),
        deleted_files=_numbers(row, "removed_data_files", "removed_delete_files"),
        deleted_bytes=_numbers(row, "removed_bytes"),
        written_files=_numbers(row, "added_data_files", "added_delete_files"),
        written_bytes=_numbers(row, "added_bytes"),
    )


def _reorganized(row: Mapping[str, Any], report: Mapping[str, Any]) -> ChangedTable:
    before, after, rewritten = row.get("manifests"), row.get("manifests_after"), number(row.get("rewritten"))
    is_known = before is not None and after is not None
    return replace(
        _table(row, _catalog(report)),
        deleted_files=rewritten,
        deleted_bytes=_numbers(row, "rewritten_bytes"),
        written_files=max(number(after) - number(before) + rewritten, 0) if is_known else None,
    )


def _expired(row: Mapping[str, Any], report: Mapping[str, Any]) -> ChangedTable:
    return replace(
        _table(row, _repository(report)),
        deleted_files=number(inside(row, "files", "files")),
        deleted_bytes=number(inside(row, "files", "bytes")),
        snapshots=_numbers(row, "expired"),
    )


def _table(row: Mapping[str, Any], catalog: str | None) -> ChangedTable:
    """A table that a report names: at its location, or if that is not known, in its catalog."""
    location, name = text(row.get("location")), text(row.get("table"))
    namespace, path = place_of(location) if location else (catalog or "", name)
    return ChangedTable(namespace=namespace, name=path, catalog=catalog, tables=(name,) if location else ())


def _numbers(row: Mapping[str, Any], *names: str) -> int:
    return sum(number(row.get(name)) for name in names)


def _catalog(report: Mapping[str, Any]) -> str:
    return f"iceberg://{text(report.get('catalog'))}"


def _repository(report: Mapping[str, Any]) -> str | None:
    """The address of the repository that was swept; empty if the report does not say it, ``None`` of several."""
    collection = report if inside(report, "collection") is None else inside(report, "collection")
    several = len(listed(inside(collection, "repositories"))) > 1
    return None if several else text(inside(collection, "address"))


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
