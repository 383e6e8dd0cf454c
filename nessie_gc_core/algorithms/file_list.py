"""Lists of files in place of a listing: their rows get the unit and key that a lister's would have (S2, S3, S4, S24).

A list is read in parts, each by the worker that needs its rows, so that none of them passes through one place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.file_list_columns import LISTED
from nessie_gc_core.algorithms.file_list_source import FileList, Part, cut, part_rows, rows_of_lists
from nessie_gc_core.algorithms.listing import sidecar_owner, stored_row
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan, SweepUnit
from nessie_gc_core.config.meter import METER
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import ListingError, UnknownLocationError
from nessie_gc_core.model.batches import Row, from_micros, to_batches, to_rows
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import HADOOP_FILE_SYSTEMS, LocationRules
from nessie_gc_core.model.relations import STORED_FILES

_SAME = ("unit", "key", "location", "path", "sidecar_path", "sidecar", "owner")
"""The columns that identify a stored file."""
_ONCE = {
    "size": ("max", "size"),
    "modified": ("max", "modified"),
    "sidecar_size": ("max", "sidecar_size"),
    "problem": ("max", "problem"),
    "left_alone": ("sum", "left_alone"),
    "mark": ("max", "mark"),
}
"""A file that is in a list twice is as young as the younger row."""
_NOWHERE = ""
"""The unit of rows that only count the files outside all units, or say that a part could not be read."""
_PARTS = pa.schema(
    [
        pa.field("list", pa.int64()),
        pa.field("path", pa.string()),
        *(pa.field(name, pa.int64()) for name in ("size", "first", "groups")),
    ]
)
"""A :class:`Part` of a list, which is named by its number."""
_TASKS_PER_CORE = 4
"""Large files are cut until there are about this many parts for every core."""


class _Listed(NamedTuple):
    """A location of a unit, as a lister would be asked for it."""

    exact: str
    store: str
    """What canonical forms leave out."""
    raw: str


def stored_from_lists(
    engine: Engine, lists: Sequence[FileList], units: Sequence[SweepUnit], rules: LocationRules
) -> tuple[Dataset, int]:
    """What lists say is stored in some units (:data:`STORED_FILES`), each file once; and how many rows are elsewhere.

    Raises:
        ListingError: a list cannot be read completely.
    """
    key_rows = KeyRows(UnitIndex.of(SweepPlan(units=list(units), rules=rules), uris=False), units)
    here = [each for each in lists if engine.distributed and each.is_local]  # workers may have other disks
    there = [each for each in lists if each not in here]
    keyed = _keyed_there(engine, there, key_rows)
    if here:
        rows = engine.dataset(rows_of_lists(here), LISTED)
        keyed = keyed.union(rows.spread(["path"]).flat_map(key_rows))
    schema = pa.schema([*(STORED_FILES.field(name) for name in (*_SAME, *_ONCE))])
    stored = keyed.aggregate(_SAME, _ONCE, schema).select(STORED_FILES).checkpoint()
    elsewhere = stored.where("unit", [_NOWHERE]).head(1)
    for problem in elsewhere.column("problem").to_pylist():
        if problem is not None:
            raise ListingError(problem)
    return stored.where("unit", [_NOWHERE], negate=True), sum(elsewhere.column("left_alone").to_pylist())


def _keyed_there(engine: Engine, lists: Sequence[FileList], key_rows: KeyRows) -> Dataset:
    """Lists that the workers read themselves (:data:`STORED_FILES`)."""
    if not lists:
        return engine.empty(STORED_FILES)
    numbered = ((number, each.parts) for number, each in enumerate(cut(lists, engine.parallelism * _TASKS_PER_CORE)))
    rows = (
        (number, part.path, part.size, part.first_group, part.groups) for number, parts in numbered for part in parts
    )
    parts = engine.dataset(to_batches(rows, _PARTS), _PARTS)
    return parts.spread(list(_PARTS.names)).flat_map(ReadParts(lists, key_rows))


class KeyRows:
    """Rows of a list (:data:`LISTED`) to stored files (:data:`STORED_FILES`), and one row that counts the others."""

    schema = STORED_FILES

    def __init__(self, index: UnitIndex, units: Sequence[SweepUnit]) -> None:
        self._index = index
        rules = index.rules
        self._listed: Mapping[str, Sequence[_Listed]] = {
            unit.root: [_Listed(rules.exact_prefix(raw), rules.left_out(raw), raw) for raw in unit.locations]
            for unit in units
        }

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Looks each path up; a directory marker is not a file, as for listers."""
        yield from to_batches(self._rows(batches), self.schema)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        elsewhere = 0
        for batch in batches:
            METER.listed(len(batch))
            for path, modified, size in to_rows(batch, *LISTED.names):
                raw, bytes_ = str(path or ""), size if isinstance(size, int) else None
                if raw.endswith("/") and not bytes_:
                    continue
                assert isinstance(modified, int)
                row = self._row(raw, modified, bytes_)
                if row is None:
                    elsewhere += 1
                else:
                    yield row
        if elsewhere:
            yield (_NOWHERE, "", "", None, 0, 0, None, 0, False, None, None, elsewhere, None)

    def _row(self, raw: str, modified: int, size: int | None) -> Row | None:
        """``None`` if a listing of the units would not show the path, or it may be another file, too."""
        rules = self._index.rules
        try:
            written, others = self._index.places(raw)
            exact, store = rules.exact(raw), rules.left_out(raw)
        except UnknownLocationError:
            return None
        if written is None or others:
            return None
        unit, key = written
        at = next((at for at in self._listed[unit] if at.store == store and exact.startswith(at.exact)), None)
        if at is None or len(exact) == len(at.exact):
            return None
        file = FileReference(location=at.raw, path=exact[len(at.exact) :], size=size, modified=_time(modified))
        owner = sidecar_owner(key) if unit.partition(":")[0] in HADOOP_FILE_SYSTEMS else None
        return stored_row(unit, key, file, owner)


class ReadParts:
    """Parts of lists to stored files (:data:`STORED_FILES`); one that cannot be read becomes a row with a problem."""

    schema = STORED_FILES
    elsewhere = True

    def __init__(self, lists: Sequence[FileList], key_rows: KeyRows) -> None:
        self._lists = [replace(each, parts=()) for each in lists]
        self._key_rows = key_rows

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads each part to its end, as a stream."""
        for batch in batches:
            for number, path, size, first, groups in to_rows(batch, *_PARTS.names):
                part = Part(path=str(path), size=_whole(size), first_group=_whole(first), groups=_whole(groups))
                try:
                    yield from self._key_rows(part_rows(self._lists[_whole(number)], part))
                except ListingError as error:
                    problem = (_NOWHERE, "", "", None, 0, 0, None, 0, False, None, str(error), 0, None)
                    yield from to_batches([problem], self.schema)


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def _time(micros: int) -> datetime | None:
    """``None``, too, for a time that no calendar has."""
    try:
        return from_micros(micros)
    except OverflowError:
        return None
