"""What the report of a run says of each table, in two numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nessie_gc_core.model.schedule import MOST_BYTES, TableBytes
from nessie_gc_core.model.text import shown
from nessie_gc_core.services.schedule.outcome import body_of
from nessie_gc_core.services.schedule.report_parts import inside, listed, number, text

MOST_TABLES = 50
"""So many tables of a report are kept by name: the largest ones. The others are one sum."""

_NAMES = 2
"""So many tables of one place are named."""


def tables_of(report: str | None) -> list[TableBytes]:
    """The largest tables of a report, and the sum of the others; none if it says nothing of tables.

    Garbage is what the run found to be unreferenced, or what expired snapshots alone need. What it deleted itself is
    part of it.
    """
    sums: dict[str, tuple[int, int]] = {}
    for name, garbage, reclaimed in _said(body_of(report)):
        known = sums.get(name, (0, 0))
        sums[name] = known[0] + garbage, known[1] + reclaimed
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


def _said(body: object) -> Iterator[tuple[str, int, int]]:
    """Names of tables with garbage and reclaimed bytes; without a name: of others."""
    yield from _grouped(inside(body, "latest", "by_table"))
    is_expiry = isinstance(inside(body, "files_by_kind"), Mapping)
    deletes = _bytes(inside(body, "collection", "deleted")) > 0
    of_expiry = listed(inside(body, "tables")) if is_expiry else ()
    for table in of_expiry:
        size = _bytes(inside(table, "files"))
        yield _name(table), size, size if deletes else 0
    of_sweep = () if is_expiry else (*listed(inside(body, "tables")), *listed(inside(body, "collection", "tables")))
    for table in of_sweep:
        if isinstance(table.get("unreferenced"), Mapping):
            yield _name(table), _bytes(table["unreferenced"]), _bytes(inside(table, "deleted"))
        elif (reclaimable := table.get("reclaimable_bytes")) is not None:
            yield _name(table), number(reclaimable), 0


def _grouped(by_table: object) -> Iterator[tuple[str, int, int]]:
    """What the report on unreferenced assets says of its latest run."""
    for group in listed(inside(by_table, "groups")):
        yield shown(text(group.get("name"))), _bytes(group), 0
    if isinstance(other := inside(by_table, "other"), Mapping):
        yield "", _bytes(other), 0


def _name(table: Mapping[str, Any]) -> str:
    """The name of a table, or the location of several or of none, as text that any database holds."""
    names = [*map(str, names)] if isinstance(names := table.get("tables"), list) else []
    location = text(table.get("location"))
    if len(names) == 1 or not location:
        more = f" and {len(names) - _NAMES:,} more" if len(names) > _NAMES else ""
        location = (", ".join(names[:_NAMES]) + more) or text(table.get("table"))
    return shown(location)


def _bytes(tally: object) -> int:
    return number(inside(tally, "bytes"))
