"""Keyed: files that metadata names, with the sweep unit and key of every place where each may be (S3, S24)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import Row, constant, in_schema, to_batches, to_rows
from nessie_gc_core.model.relations import EXPANDED_FILES, PROBLEM, SPELLING

TO_KEY = ("path", "kind", "content_type", "length", "announced")
"""The columns of a file that has no key yet."""


def carrying(schema: pa.Schema, carried: pa.Schema | None) -> tuple[tuple[str, ...], pa.Schema]:
    """The names of further columns, and a schema with these columns."""
    return ((), schema) if carried is None else (tuple(carried.names), pa.schema([*schema, *carried]))


class KeyVersionFiles:
    """Files of content versions with their unit and key (:data:`EXPANDED_FILES`); problems are left out."""

    schema = EXPANDED_FILES

    def __init__(self, index: UnitIndex, *, carried: pa.Schema | None = None) -> None:
        """Takes the sweep units, and further columns that stay as they are."""
        self._index = index
        self._carried, self.schema = carrying(EXPANDED_FILES, carried)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Looks each path up."""
        for batch in batches:
            files = batch.filter(pc.not_equal(batch.column("kind"), PROBLEM))
            if files.num_rows:
                yield from keyed(self._index, files, self.schema)


def keyed(index: UnitIndex, files: pa.RecordBatch, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Files with their places, one row for each; a path that cannot be compared is a PROBLEM.

    Args:
        index: the sweep units.
        files: the columns of :data:`TO_KEY`, and those that the schema has more than :data:`EXPANDED_FILES`.
        schema: :data:`EXPANDED_FILES`, and further columns.
    """
    found = index.by_folder(files.column("path").to_pylist())
    rows = files.num_rows
    given = {
        "unit": pa.array(found.units, pa.string()),
        "key": pa.array(found.keys, pa.string()),
        "problem": constant(None, rows, pa.string()),
    }
    batch = in_schema(files, schema, given)
    if not found.single:
        yield batch
        return
    mask = [True] * rows
    for at in found.single:
        mask[at] = False
    yield batch.filter(pa.array(mask, pa.bool_()))
    carried = tuple(schema.names[len(EXPANDED_FILES) :])
    single = files.take(pa.array(found.single, pa.int64()))
    names = zip(to_rows(single, *TO_KEY), to_rows(single, *carried) if carried else [()] * len(single), strict=True)
    yield from to_batches(((*row, *more) for file, more in names for row in _rows(index, file)), schema)


def _rows(index: UnitIndex, file: Row) -> list[Row]:
    """Rows of :data:`EXPANDED_FILES` for a row of :data:`TO_KEY`."""
    path, kind, content_type, length, announced = file
    try:
        places = index.places(str(path))
    except UnknownLocationError as error:
        return [(path, PROBLEM, content_type, None, None, kind, str(error), None)]
    unit, key = places.written or (None, None)
    rows: list[Row] = [(path, kind, content_type, length, unit, key, None, announced)]
    rows.extend((path, SPELLING, content_type, None, *other, None, None) for other in places.others)
    return rows
