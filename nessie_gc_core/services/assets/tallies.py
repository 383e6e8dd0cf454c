"""How many assets there are, and how large they are."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.services.tally import Tally

MEASURES = {"files": ("count", "asset"), "bytes": ("sum", "sizeBytes")}
"""The measures that count assets."""
COUNTS = pa.schema([pa.field("files", pa.int64()), pa.field("bytes", pa.int64())])
"""What they give."""


def tally(assets: Dataset) -> Tally:
    """All rows that have the columns ``asset`` and ``sizeBytes``."""
    found = assets.aggregate([], MEASURES, COUNTS).summary().to_pylist()
    return _tally(found[0]) if found else Tally()


def tallies_by(assets: Dataset, column: str) -> list[tuple[str, Tally]]:
    """The same for each text of a column (null is empty), the most bytes first."""
    found = (
        assets.aggregate([column], MEASURES, pa.schema([assets.schema.field(column), *COUNTS])).summary().to_pylist()
    )
    tallies = [(row[column] or "", _tally(row)) for row in found]
    return sorted(tallies, key=lambda named: (-named[1].bytes, named[0]))


def _tally(row: dict[str, Any]) -> Tally:
    return Tally(row["files"] or 0, row["bytes"] or 0)
