"""Runs that looked for unreferenced assets, as the second table of a catalog holds them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import pyarrow as pa

from nessie_gc_core.errors import TableError
from nessie_gc_core.model.parsing import parsed_json

_UTC = pa.timestamp("us", tz="UTC")


class RunStatus(StrEnum):
    """How far a run came: each status is a row of its own."""

    STARTED = "STARTED"
    """It has a number; rows of assets may be there."""
    COMPLETE = "COMPLETE"
    """All its assets are in the table. Runs without this status do not count."""


ASSET_RUNS = pa.schema(
    [
        pa.field("runid", pa.int64(), nullable=False),
        pa.field("run", pa.string(), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("timestamp", _UTC, nullable=False),
        pa.field("repository", pa.string()),
        pa.field("liveSet", pa.string()),
        pa.field("engine", pa.string()),
        pa.field("settings", pa.string()),
        pa.field("assets", pa.int64()),
        pa.field("sizeBytes", pa.int64()),
        pa.field("unknown", pa.int64()),
    ]
)
"""One or two rows for each run.

``timestamp`` is the time at which the run listed the references; ``settings`` the policies and limits that it was made
with, as a JSON object; ``assets`` and ``sizeBytes`` how many assets it saw, and their bytes; ``unknown`` how many
locations it could say nothing about.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetRun:
    """A run that is complete."""

    runid: int
    """Its number."""
    run: str
    """Its identity, a UUID."""
    timestamp: datetime
    """When it listed the references, UTC."""
    repository: str
    """The identity of its repository."""
    live_set: str
    """The id of its live set."""
    engine: str
    """The engine that it ran on."""
    settings: Mapping[str, str | Sequence[str] | None] = field(default_factory=dict)
    """The policies and limits of the run, by the names of the parameters, as text."""
    assets: int = 0
    """How many assets it saw."""
    size_bytes: int = 0
    """Their bytes."""
    unknown: int = 0
    """How many locations it could say nothing about."""

    def row(self, status: RunStatus) -> dict[str, str | int | datetime | None]:
        """As a row of :data:`ASSET_RUNS`."""
        return {
            "runid": self.runid,
            "run": self.run,
            "status": status.value,
            "timestamp": self.timestamp,
            "repository": self.repository,
            "liveSet": self.live_set,
            "engine": self.engine,
            "settings": json.dumps(self.settings),
            "assets": self.assets,
            "sizeBytes": self.size_bytes,
            "unknown": self.unknown,
        }


def complete_runs(rows: pa.Table) -> list[AssetRun]:
    """The complete runs of a table (:data:`ASSET_RUNS`), in the order of their numbers.

    A run that was added several times, under several numbers, counts once, as the first of them.

    Raises:
        TableError: a run has settings that nobody can read.
    """
    found = (row for row in rows.to_pylist() if row["status"] == RunStatus.COMPLETE.value)
    runs = (
        AssetRun(
            runid=row["runid"],
            run=row["run"],
            timestamp=row["timestamp"],
            repository=row["repository"] or "",
            live_set=row["liveSet"] or "",
            engine=row["engine"] or "",
            settings=_settings(row),
            assets=row["assets"] or 0,
            size_bytes=row["sizeBytes"] or 0,
            unknown=row["unknown"] or 0,
        )
        for row in found
    )
    first: dict[str, AssetRun] = {}
    for run in sorted(runs, key=lambda run: run.runid):
        first.setdefault(run.run, run)
    return list(first.values())


def _settings(row: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        found = parsed_json(row["settings"] or "{}")
        if isinstance(found, dict):
            return found
        why = "they are not a JSON object"
    except ValueError as error:
        why = str(error)
    raise TableError(
        f"the settings of run {row['runid']} in the table of runs cannot be read ({why}): somebody changed the row; "
        "delete the rows of that run, whose sightings then no longer count"
    )
