"""A list of files in place of a listing: its rows get the unit and key that a lister's would have (S2, S3, S4, S24)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.file_list_source import LISTED, read_file_lists
from nessie_gc_core.algorithms.listing import sidecar_owner, stored_row
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan, SweepUnit
from nessie_gc_core.config.meter import METER
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import UnknownLocationError
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
}
"""A file that is in a list twice is as young as the younger row."""
_NOWHERE = ""
"""The unit of rows that only count the files outside all units."""


class _Listed(NamedTuple):
    """A location of a unit, as a lister would be asked for it."""

    exact: str
    store: str
    """What canonical forms leave out."""
    raw: str


def stored_from_lists(
    engine: Engine, names: Sequence[str], units: Sequence[SweepUnit], rules: LocationRules
) -> tuple[Dataset, int]:
    """What lists say is stored in some units (:data:`STORED_FILES`), each file once; and how many rows are elsewhere.

    Raises:
        ListingError: a list cannot be read completely.
    """
    index = UnitIndex.of(SweepPlan(units=list(units), rules=rules))
    rows = engine.dataset(read_file_lists(names), LISTED)
    keyed = rows.spread(["path"]).flat_map(KeyRows(index, units))
    schema = pa.schema([*(STORED_FILES.field(name) for name in (*_SAME, *_ONCE))])
    stored = keyed.aggregate(_SAME, _ONCE, schema).select(STORED_FILES).checkpoint()
    elsewhere = stored.where("unit", [_NOWHERE]).head(1).column("left_alone").to_pylist()
    return stored.where("unit", [_NOWHERE], negate=True), sum(elsewhere)


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
            yield (_NOWHERE, "", "", None, 0, 0, None, 0, False, None, None, elsewhere)

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


def _time(micros: int) -> datetime | None:
    """``None``, too, for a time that no calendar has."""
    try:
        return from_micros(micros)
    except OverflowError:
        return None
