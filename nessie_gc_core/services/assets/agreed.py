"""Which assets enough runs have seen: what a deletion takes, and what the page of figures says that it would take.

Sightings count back from the latest run, up to the first run that looked at the table and did not see the asset: it was
needed then, or was another file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.assets import ASSETS
from nessie_gc_core.model.batches import Row, to_batches, to_rows
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.assets.settings import ALL_LEFT_OUT, LEFT_OUT
from nessie_gc_core.services.assets.table import AssetTable

SEEN = pa.schema([ASSETS.field("asset"), pa.field("seen", pa.int64())])
"""In how many of the runs that count an asset was seen, in an unbroken series up to the latest run."""
MOST_RUNS = 1_000
"""So many runs are looked at, going back from the latest; what needs more is not agreed upon."""
_FILE = [ASSETS.field(name) for name in ("asset", "sizeBytes", "modified")]
_PLACE = [ASSETS.field(name) for name in ("tableName", "path")]
_SIGHTING = pa.schema([*_FILE, *_PLACE, ASSETS.field("runid")])
_BITS = 62
"""So many runs are one column of numbers, a bit for each."""


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


def times_seen(table: AssetTable, runs: Sequence[AssetRun], apart: timedelta, rules: LocationRules) -> Dataset:
    """How many of the runs that count have seen each asset of the latest run (:data:`SEEN`).

    Args:
        table: the table.
        runs: its complete runs.
        apart: how far apart runs are that count.
        rules: how locations are compared.
    """
    recent = list(reversed(runs[-MOST_RUNS:]))
    sightings = table.sightings(recent, _SIGHTING).distinct([*(field.name for field in _FILE), "runid"])
    bits = _Bits(recent)
    measures = {field.name: ("min", field.name) for field in _PLACE} | {name: ("sum", name) for name in bits.columns}
    seen = sightings.flat_map(bits).aggregate([field.name for field in _FILE], measures, bits.schema)
    counted = {run.runid for run in spaced(runs[-MOST_RUNS:], apart)}
    return seen.flat_map(_CountSightings(recent, [run.runid in counted for run in recent], bits.columns, rules))


class _Bits:
    """Sightings, each with a bit for its run."""

    def __init__(self, runs: Sequence[AssetRun]) -> None:
        """Takes the runs, the latest first."""
        self._place = {run.runid: divmod(number, _BITS) for number, run in enumerate(runs)}
        self.columns = [f"runs_{number}" for number in range(-(-len(runs) // _BITS))]
        """The columns of numbers."""
        self.schema = pa.schema([*_FILE, *_PLACE, *(pa.field(name, pa.int64()) for name in self.columns)])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from to_batches(
            map(self._row, (row for batch in batches for row in to_rows(batch, *_SIGHTING.names))), self.schema
        )

    def _row(self, row: Row) -> Row:
        *file, runid = row
        column, bit = self._place[int(str(runid))]
        return (*file, *(1 << bit if number == column else 0 for number in range(len(self.columns))))


class _Run(NamedTuple):
    """What counts of a run."""

    counts: bool
    """Whether its sightings count."""
    patterns: TablePatterns
    """The tables that it looked at."""
    left_out: tuple[str, ...]
    """Canonical prefixes that it could say nothing about."""

    def saw(self, table: str, place: str | None) -> bool:
        """Whether it looked where an asset is; in doubt it did."""
        names = [name for name in table.split(", ") if name]
        if not self.patterns.takes_all and not self.patterns.matches_any(names):
            return False
        return ALL_LEFT_OUT not in self.left_out and (place is None or not place.startswith(self.left_out))


class _CountSightings:
    """Assets with the runs that have seen them, to how many of them count (:data:`SEEN`)."""

    schema = SEEN

    def __init__(
        self, runs: Sequence[AssetRun], counts: Sequence[bool], columns: Sequence[str], rules: LocationRules
    ) -> None:
        """Takes the runs, the latest first, and whether each of them counts."""
        self._runs = [_run(run, counts=counted) for run, counted in zip(runs, counts, strict=True)]
        self._columns = columns
        self._rules = rules

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = ("asset", "tableName", "path", *self._columns)
        rows = (row for batch in batches for row in to_rows(batch, *names))
        counted = ((asset, self._count(str(table), str(path), bits)) for asset, table, path, *bits in rows)
        yield from to_batches((row for row in counted if row[1]), self.schema)

    def _count(self, table: str, path: str, bits: Sequence[object]) -> int:
        """How many; 0 if the latest run has not seen it."""
        columns = [int(str(each)) for each in bits]
        seen = 0
        for number, run in enumerate(self._runs):
            column, bit = divmod(number, _BITS)
            if columns[column] >> bit & 1:
                seen += run.counts
            elif number == 0 or run.saw(table, self._place(path)):
                break
        return seen

    def _place(self, path: str) -> str | None:
        try:
            return self._rules.place(path)
        except UnknownLocationError:
            return None


def _run(run: AssetRun, *, counts: bool) -> _Run:
    said = {name: run.settings.get(name) or () for name in ("include", "exclude", LEFT_OUT)}
    lists = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in said.items()}
    return _Run(counts, TablePatterns.parse(lists["include"], lists["exclude"]), lists[LEFT_OUT])


def enough(seen: Dataset, count: int) -> Dataset:
    """Those that were seen in so many runs (any rows with a column ``seen``)."""
    return seen.matching(f"seen >= {count}")
