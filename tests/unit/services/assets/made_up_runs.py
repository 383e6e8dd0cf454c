"""Runs of a table of unreferenced assets that nobody made, with rows to the letter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from unit.services.assets.conftest import NAME, AssetLake

from nessie_gc_core.engines.local.tables import LocalTables
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.assets import ASSETS
from nessie_gc_core.services.assets.table import AssetTable

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
"""The time of the first run; the next are a day apart."""


def make_table(assets: AssetLake) -> AssetTable:
    """The table; it is made where it is missing."""
    engine = assets.services.engine
    table = AssetTable(LocalTables(engine, assets.catalog), NAME, engine)
    table.make()
    return table


def add_run(assets: AssetLake, rows: Iterable[Mapping[str, Any]], **given: Any) -> AssetRun:
    """Adds a complete run with these rows; each has a ``name`` and whatever is not as it usually is."""
    engine, table = assets.services.engine, make_table(assets)
    at = FIRST + timedelta(days=len(table.runs()))
    made = [_row(row, at) for row in rows]
    run = AssetRun(
        **{
            "runid": 0,
            "run": f"run at {at:%d}",
            "timestamp": at,
            "repository": "memory:lake",
            "live_set": "a live set",
            "engine": "local",
            "settings": {"default_cutoff": "P7D", "cutoff": ["main=P30D", "dev=NONE"], "cutoff_ref_time": None},
            "assets": len(made),
            "size_bytes": sum(row["sizeBytes"] or 0 for row in made),
            **given,
        }
    )
    run = table.start(run)
    numbered = [{**row, "runid": run.runid} for row in made]
    table.append(engine.dataset(pa.Table.from_pylist(numbered, ASSETS).to_batches(), ASSETS))
    table.complete(run)
    return run


def _row(given: Mapping[str, Any], at: datetime) -> dict[str, Any]:
    usual: dict[str, Any] = {
        **dict.fromkeys(ASSETS.names),
        "tableName": "db.t",
        "timestamp": at,
        "asset": given["name"].encode(),
        "snapshotId": "",
        "assetType": "DATA_FILE",
        "path": f"memory://warehouse/{given['name']}",
        "sizeBytes": 100,
        "modified": FIRST - timedelta(days=2),  # a file that was modified since is another one
        "reason": "expired commit",
    }
    return {**usual, **given}
