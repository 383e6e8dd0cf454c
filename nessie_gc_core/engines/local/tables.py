"""Tables of a catalog that a plugin opens, for the local engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from nessie_gc_core.connectors import OpenCatalog
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.model.batches import Value, to_batches
from nessie_gc_core.model.tables import TableName, TableState
from nessie_gc_core.tables import Tables


class LocalTables(Tables):
    """Streams rows between the engine and the catalog."""

    def __init__(self, engine: Engine, catalog: OpenCatalog) -> None:
        self._engine = engine
        self._catalog = catalog

    def state(self, name: TableName) -> TableState | None:
        """As the catalog says."""
        return self._catalog.state(name)

    def create(
        self, name: TableName, schema: pa.Schema, *, properties: Mapping[str, str], bucket_by: str | None = None
    ) -> None:
        """Through the catalog."""
        self._catalog.create(name, schema, properties=properties, bucket_by=bucket_by)

    def add_columns(self, name: TableName, fields: Sequence[pa.Field]) -> None:
        """Through the catalog."""
        if fields:
            self._catalog.add_columns(name, fields)

    def append(self, name: TableName, rows: Dataset) -> None:
        """A batch at a time."""
        self._catalog.append(name, rows.batches())

    def claim(self, name: TableName, row: Mapping[str, Value], column: str, *, since: TableState) -> bool:
        """Through the catalog."""
        schema = pa.schema([since.schema.field(name) for name in row])
        (batch,) = to_batches([tuple(row.values())], schema)
        return self._catalog.claim(name, batch, column, since=since)

    def read(self, name: TableName, schema: pa.Schema) -> Dataset:
        """As it is now: the rows go to a table of the engine."""
        state = self._catalog.state(name)
        there = set() if state is None else set(state.schema.names)
        batches = self._catalog.read(name, [column for column in schema.names if column in there])
        return self._engine.dataset(_with_nulls(batches, schema), schema)

    def remove(self, name: TableName, keys: Dataset) -> None:
        """A batch at a time."""
        self._catalog.remove(name, keys.batches())

    def drop(self, name: TableName) -> None:
        """Through the catalog."""
        self._catalog.drop(name)


def _with_nulls(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The columns of a schema, with nulls where a batch has none of that name."""
    for batch in batches:
        columns = [
            batch.column(field.name).cast(field.type)
            if field.name in batch.schema.names
            else pa.nulls(batch.num_rows, field.type)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)
