"""Counts the assets of a table on the engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.assets import ASSETS
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.services.assets.agreed import enough, latest_rows, spaced, times_seen
from nessie_gc_core.services.assets.page.figures import MOST_GROUPS, Group, Grouping, LatestRun
from nessie_gc_core.services.assets.table import AssetTable
from nessie_gc_core.services.assets.tallies import COUNTS, MEASURES

AGES = (
    (timedelta(0), "less than a day"),
    (timedelta(days=1), "1 to 7 days"),
    (timedelta(days=7), "7 to 30 days"),
    (timedelta(days=30), "30 to 90 days"),
    (timedelta(days=90), "90 days to a year"),
    (timedelta(days=365), "a year or more"),
)
"""The least age of each group of ages, and what it is called."""
NO_AGE = "not known"

_KEYS = pa.schema([pa.field(name, pa.string()) for name in ("tableName", "assetType", "reason", "age")])
_AGED = pa.schema([*_KEYS, ASSETS.field("asset"), ASSETS.field("sizeBytes")])
_CUBE = pa.schema([*_KEYS, *COUNTS])
_NARROW = pa.schema([ASSETS.field(name) for name in ("tableName", "asset", "sizeBytes", "runid")])
_COUNTED = pa.schema([*_NARROW, *(ASSETS.field(name) for name in ("assetType", "reason", "modified"))])
_SEEN_BY_TABLE = pa.schema([ASSETS.field("tableName"), pa.field("seen", pa.int64()), *COUNTS])
_SUMS = {"files": ("sum", "files"), "bytes": ("sum", "bytes")}


def latest_figures(
    table: AssetTable,
    runs: Sequence[AssetRun],
    *,
    seen_count: int,
    seen_apart: timedelta,
    where: str | None,
    rules: LocationRules,
) -> LatestRun:
    """The figures of the latest of some complete runs, of which there is one at least.

    Raises:
        ConfigurationError: ``where`` is not a predicate.
    """
    latest = runs[-1]
    seen = _seen_by_table(table, runs, where, times_seen(table, runs, seen_apart, rules))
    aged = latest_rows(table, runs, schema=_COUNTED).flat_map(_Aged(latest.timestamp))
    cube = aged.aggregate(_KEYS.names, MEASURES, _CUBE).checkpoint()
    return LatestRun(
        run=latest,
        by_table=Grouping.largest(_groups(cube, "tableName")),
        by_type=Grouping.largest(_groups(cube, "assetType")),
        by_reason=Grouping.largest(_groups(cube, "reason")),
        by_age=_by_age(_groups(cube, "age")),
        counted=len(spaced(runs, seen_apart)),
        sightings=by_sightings(_groups(seen, "seen"), seen_count),
        next_delete=Grouping.largest(_groups(enough(seen, seen_count), "tableName")),
    )


def _seen_by_table(table: AssetTable, runs: Sequence[AssetRun], where: str | None, seen: Dataset) -> Dataset:
    """How often the assets of each table were seen, of those that the predicate lets through."""
    rows = latest_rows(table, runs, where=where, schema=_NARROW).select(_NARROW)
    counted = rows.left_join(seen, ["asset"])
    return counted.aggregate(["tableName", "seen"], MEASURES, _SEEN_BY_TABLE).checkpoint()


def _groups(sums: Dataset, column: str) -> list[Group]:
    """Sums by one of their columns; what is null is the same as what is empty."""
    schema = pa.schema([sums.schema.field(column), *COUNTS])
    found: dict[str, list[int]] = {}
    for row in sums.aggregate([column], _SUMS, schema).summary().to_pylist():
        group = found.setdefault("" if row[column] is None else str(row[column]), [0, 0])
        group[0] += row["files"] or 0
        group[1] += row["bytes"] or 0
    return [Group(name=name, files=files, bytes=bytes_) for name, (files, bytes_) in found.items()]


def _by_age(groups: Sequence[Group]) -> Grouping:
    """The youngest first; groups without files are named too, but for files whose age is not known."""
    found = {group.name: group for group in groups}
    names = [name for _, name in AGES] + ([NO_AGE] if NO_AGE in found else [])
    return Grouping(rows=tuple(found.get(name, Group(name=name)) for name in names))


def by_sightings(groups: Sequence[Group], seen_count: int) -> Grouping:
    """Assets by the number of runs that have seen them, from one to the threshold or more.

    Args:
        groups: what was seen how often; a name is a number.
        seen_count: the threshold. With a large one, the lowest numbers make one group.
    """
    low = max(1, seen_count - MOST_GROUPS + 1)
    sums = dict.fromkeys(range(low, seen_count + 1), (0, 0))
    for group in groups:
        number = min(max(int(group.name), low), seen_count)
        files, bytes_ = sums[number]
        sums[number] = (files + group.files, bytes_ + group.bytes)
    rows = (
        Group(name=_times(number, low, seen_count), files=files, bytes=bytes_)
        for number, (files, bytes_) in sums.items()
    )
    return Grouping(rows=tuple(rows))


def _times(number: int, low: int, most: int) -> str:
    if number == most:
        return f"{number} or more"
    return f"1 to {number}" if number == low > 1 else str(number)


class _Aged:
    """Rows of the latest run to what they are counted by."""

    schema = _AGED

    def __init__(self, at: datetime) -> None:
        self._since = [at - age for age, _ in AGES]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Column by column."""
        names = [field.name for field in _AGED]
        for batch in batches:
            columns = [self._ages(batch) if name == "age" else batch.column(name) for name in names]
            casted = [column.cast(field.type) for column, field in zip(columns, _AGED, strict=True)]
            yield pa.RecordBatch.from_arrays(casted, schema=_AGED)

    def _ages(self, batch: pa.RecordBatch) -> pa.Array:
        """What was modified later than the run is in the youngest group."""
        modified = batch.column("modified")
        number = pa.array([0] * batch.num_rows, pa.int64())
        for since in self._since[1:]:
            old = pc.less_equal(modified, pa.scalar(since, modified.type))
            number = pc.add(number, old.cast(pa.int64()))
        return pc.fill_null(pa.array([name for _, name in AGES]).take(number), NO_AGE)
