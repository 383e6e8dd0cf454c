"""Tables of services in memory: for tests, and for looking at what a service would write."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.connectors import OpenCatalog, TableCatalog
from nessie_gc_core.errors import TableError
from nessie_gc_core.model.tables import TableName, TableState


@dataclass(slots=True)
class _Table:
    """A table, each of its states a whole."""

    rows: pa.Table
    properties: Mapping[str, str]
    location: str
    snapshot_id: int | None = None


@dataclass(slots=True)
class _Catalog:
    tables: dict[TableName, _Table] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)


_CATALOGS: dict[tuple[str, str | None], _Catalog] = {}
"""The catalogs of this process, by name and branch."""
_SNAPSHOTS = itertools.count(1)


class MemoryTableCatalog(TableCatalog):
    """Catalogs that live as long as the process; any name is one."""

    name = "memory"
    executor_safe = False

    @contextmanager
    def open(self, catalog: str, *, branch: str | None = None) -> Iterator[OpenCatalog]:
        """The catalog of this name."""
        yield MemoryTables(catalog, _CATALOGS.setdefault((catalog, branch), _Catalog()))


class MemoryTables(OpenCatalog):
    """The tables of one catalog."""

    def __init__(self, name: str, catalog: _Catalog) -> None:
        self._name = name
        self._catalog = catalog

    def state(self, name: TableName) -> TableState | None:
        """As it is."""
        table = self._catalog.tables.get(name)
        if table is None:
            return None
        return TableState(
            schema=table.rows.schema,
            properties=table.properties,
            snapshot_id=table.snapshot_id,
            location=table.location,
        )

    def create(
        self, name: TableName, schema: pa.Schema, *, properties: Mapping[str, str], bucket_by: str | None = None
    ) -> None:
        """Namespaces and partitions are nothing in memory."""
        location = f"memory://{self._name}/{'/'.join(name)}/"
        with self._catalog.lock:
            self._catalog.tables.setdefault(name, _Table(schema.empty_table(), dict(properties), location))

    def add_columns(self, name: TableName, fields: Sequence[pa.Field]) -> None:
        """With nulls."""
        with self._catalog.lock:
            table = self._existing(name)
            for each in fields:
                if each.name not in table.rows.schema.names:
                    column = pa.nulls(table.rows.num_rows, each.type)
                    table.rows = table.rows.append_column(each.with_nullable(nullable=True), column)

    def append(self, name: TableName, rows: Iterable[pa.RecordBatch]) -> None:
        """All at once."""
        batches = list(rows)
        if batches:
            with self._catalog.lock:
                self._add(self._existing(name), pa.Table.from_batches(batches))

    def claim(self, name: TableName, row: pa.RecordBatch, column: str, *, since: TableState) -> bool:
        """Where the table is at the given state, or has no such number."""
        with self._catalog.lock:
            table = self._existing(name)
            if table.snapshot_id != since.snapshot_id:
                taken = pc.is_in(row.column(column), value_set=table.rows.column(column).combine_chunks())
                if taken[0].as_py():
                    return False
            self._add(table, pa.Table.from_batches([row]))
            return True

    def read(self, name: TableName, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows as they are now."""
        yield from self._existing(name).rows.select(list(columns)).to_batches()

    def remove(self, name: TableName, keys: Iterable[pa.RecordBatch]) -> None:
        """All at once."""
        for batch in keys:
            (column,) = batch.schema.names
            with self._catalog.lock:
                table = self._existing(name)
                gone = pc.is_in(table.rows.column(column), value_set=batch.column(column))
                table.rows = table.rows.filter(pc.invert(gone))
                table.snapshot_id = next(_SNAPSHOTS)

    def drop(self, name: TableName) -> None:
        """Forgets it."""
        with self._catalog.lock:
            self._catalog.tables.pop(name, None)

    def _add(self, table: _Table, rows: pa.Table) -> None:
        schema = table.rows.schema
        columns = [
            rows.column(field.name).cast(field.type)
            if field.name in rows.schema.names
            else pa.nulls(rows.num_rows, field.type)
            for field in schema
        ]
        table.rows = pa.concat_tables([table.rows, pa.Table.from_arrays(columns, schema=schema)])
        table.snapshot_id = next(_SNAPSHOTS)

    def _existing(self, name: TableName) -> _Table:
        try:
            return self._catalog.tables[name]
        except KeyError:
            raise TableError(f"catalog {self._name!r} has no table {'.'.join(name)}") from None
