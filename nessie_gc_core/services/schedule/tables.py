"""What the report of a run says of each table, in two numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nessie_gc_core.model.schedule import MOST_BYTES, TableBytes
from nessie_gc_core.model.text import shown
from nessie_gc_core.services.schedule.outcome import body_of
from nessie_gc_core.services.schedule.report_parts import inside, listed, number, text

MOST_TABLES = 50
"""So many tables of a report are kept by name: the largest ones. The others are one sum."""

_NAMES = 2
"""So many tables of one place are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What a report says of one table."""

    name: str
    """Empty: it stands for others."""
    location: str = ""
    """Empty: not known."""
    garbage: int
    reclaimed: int = 0


def tables_of(report: str | None) -> list[TableBytes]:
    """The largest tables of a report, and the sum of the others; none if it says nothing of tables.

    Garbage is what the run found to be unreferenced, or what expired snapshots alone need. What it deleted itself is
    part of it.
    """
    sums: dict[str, tuple[int, int]] = {}
    for name, row in _told_apart([*_said(body_of(report))]):
        known = sums.get(name, (0, 0))
        sums[name] = known[0] + row.garbage, known[1] + row.reclaimed
    ranked = sorted(sums.items(), key=lambda item: (-sum(item[1]), item[0]))
    found = [
        TableBytes(table=name or None, garbage=min(garbage, MOST_BYTES), reclaimed=min(reclaimed, MOST_BYTES))
        for name, (garbage, reclaimed) in ranked[:MOST_TABLES]
        if name
    ]
    rest = [sizes for name, sizes in ranked[:MOST_TABLES] if not name] + [sizes for _, sizes in ranked[MOST_TABLES:]]
    if rest:
        garbage, reclaimed = (min(sum(sizes), MOST_BYTES) for sizes in zip(*rest, strict=True))
        found.append(TableBytes(table=None, garbage=garbage, reclaimed=reclaimed))
    return found


def reclaimable_bytes(tables: object) -> int:
    """What expired snapshots alone need in all tables of a report of ``health``."""
    return sum(row.garbage for row in _of_health(listed(tables)))


def _told_apart(rows: Sequence[_Row]) -> Iterator[tuple[str, _Row]]:
    """Rows with the names of their tables, or the locations of tables with equal names."""
    locations: dict[str, set[str]] = {}
    for row in rows:
        if row.location:
            locations.setdefault(row.name, set()).add(row.location)
    for row in rows:
        yield (row.location if row.location and len(locations[row.name]) > 1 else row.name), row


def _said(body: object) -> Iterator[_Row]:
    yield from _grouped(inside(body, "latest", "by_table"))
    tables = listed(inside(body, "tables"))
    if isinstance(inside(body, "files_by_kind"), Mapping):
        deletes = _bytes(inside(body, "collection", "deleted")) > 0
        yield from (_row(table, size := _bytes(inside(table, "files")), size if deletes else 0) for table in tables)
        return
    yield from _of_health(tables)
    is_purge = isinstance(inside(body, "waiting"), Mapping)
    for table in (*tables, *listed(inside(body, "collection", "tables"))):
        if is_purge and not number(inside(table, "unreferenced", "files")):
            continue  # its files only wait: what else is garbage there was not looked at
        if isinstance(table.get("unreferenced"), Mapping):
            yield _row(table, _bytes(table["unreferenced"]), _bytes(inside(table, "deleted")))


def _of_health(tables: Iterable[Mapping[str, Any]]) -> Iterator[_Row]:
    """What expired snapshots alone need; of a table at several references, the row with the most."""
    found: dict[tuple[str, str], _Row] = {}
    for table in tables:
        if "unreferenced" in table or (size := table.get("reclaimable_bytes")) is None:
            continue
        row = _row(table, number(size))
        known = found.setdefault((row.name, row.location), row)
        if row.garbage > known.garbage:
            found[row.name, row.location] = row
    yield from found.values()


def _grouped(by_table: object) -> Iterator[_Row]:
    """What the report on unreferenced assets says of its latest run."""
    for group in listed(inside(by_table, "groups")):
        yield _Row(name=shown(text(group.get("name"))), garbage=_bytes(group))
    if isinstance(other := inside(by_table, "other"), Mapping):
        yield _Row(name="", garbage=_bytes(other))


def _row(table: Mapping[str, Any], garbage: int, reclaimed: int = 0) -> _Row:
    return _Row(name=_name(table), location=shown(_location(table)), garbage=garbage, reclaimed=reclaimed)


def _location(table: Mapping[str, Any]) -> str:
    """The location of a table; of one of which only the metadata file is known, the folder around its folder."""
    folder, slash, _ = text(table.get("metadata_location")).rpartition("/")
    return text(table.get("location")) or folder.removesuffix("/metadata") + slash


def _name(table: Mapping[str, Any]) -> str:
    """The name of a table, or the location of several or of none, as text that any database holds."""
    name, several = text(table.get("table")), table.get("tables")
    names = [*map(str, several)] if isinstance(several, list) else [name] if name else []
    location = text(table.get("location"))
    if len(names) == 1 or not location:
        more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
        location = ", ".join(names[:_NAMES]) + more
    return shown(location)


def _bytes(tally: object) -> int:
    return number(inside(tally, "bytes"))
