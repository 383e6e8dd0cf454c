"""Which assets enough runs have seen: what a deletion takes, and what the page of figures says that it would take."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import pyarrow as pa

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.assets import ASSETS
from nessie_gc_core.services.assets.table import AssetTable

SEEN = pa.schema([ASSETS.field("asset"), pa.field("seen", pa.int64())])
"""In how many of the runs that count an asset was seen."""
_SIGHTING = pa.schema([ASSETS.field("asset"), ASSETS.field("runid")])


def spaced(runs: Sequence[AssetRun], apart: timedelta) -> list[AssetRun]:
    """The runs that count, of those that are complete: the latest, and going back from it each that is far enough away.

    A run between two others counts for neither, so that an asset is never said to be seen more often than it was.
    """
    counted: list[AssetRun] = []
    for run in reversed(runs):
        if not counted or counted[-1].timestamp - run.timestamp >= apart:
            counted.append(run)
    return counted


def latest_rows(
    table: AssetTable, runs: Sequence[AssetRun], *, where: str | None = None, schema: pa.Schema = ASSETS
) -> Dataset:
    """The rows of the latest run, one for each asset.

    Args:
        table: the table.
        runs: its complete runs.
        where: a predicate, which lets rows through.
        schema: the columns that are read, ``asset`` and ``runid`` among them; a predicate may ask for any.

    Raises:
        ConfigurationError: it is not a predicate.
    """
    latest = table.sightings(runs[-1:], ASSETS if where is not None else schema).distinct(["asset"])
    return latest if where is None else latest.matching(where)


def times_seen(table: AssetTable, runs: Sequence[AssetRun], apart: timedelta) -> Dataset:
    """How many of the runs that count have seen each asset (:data:`SEEN`)."""
    sightings = table.sightings(spaced(runs, apart), _SIGHTING).distinct(["asset", "runid"])
    return sightings.aggregate(["asset"], {"seen": ("count", "runid")}, SEEN)


def enough(seen: Dataset, count: int) -> Dataset:
    """Those that were seen in so many runs (any rows with a column ``seen``)."""
    return seen.matching(f"seen >= {count}")
