"""Tables of services in a catalog that PyIceberg has opened."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from nessie_gc_core.connectors import OpenCatalog
from nessie_gc_core.errors import NessieGcError, TableError
from nessie_gc_core.model.batches import portions
from nessie_gc_core.model.tables import BUCKETS, TableName, TableState
from nessie_gc_iceberg_catalog.errors import Redactor

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction

_RETRIES = "commit.retry.num-retries"
PORTION_ROWS = 100_000
"""So many rows are written at once, and so many keys are looked for."""


class PyIcebergTables(OpenCatalog):
    """Each verb loads the table anew: someone else may have written to it."""

    def __init__(self, catalog: Catalog, *, retries: int, redact: Redactor) -> None:
        self._catalog = catalog
        self._retries = retries
        self._redact = redact

    def state(self, name: TableName) -> TableState | None:
        """From the table's metadata."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        with self._refusals(f"read table {_shown(name)}"):
            try:
                table = self._catalog.load_table(name)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None
            return _state(table)

    def create(
        self, name: TableName, schema: pa.Schema, *, properties: Mapping[str, str], bucket_by: str | None = None
    ) -> None:
        """Creates the namespaces from the outermost, and then the table with its partitioning in one commit."""
        with self._refusals(f"create table {_shown(name)}"):
            for depth in range(1, len(name)):
                self._catalog.create_namespace_if_not_exists(name[:depth])
            columns, spec = _iceberg_schema(schema), _partition_spec(schema, bucket_by)
            self._catalog.create_table_if_not_exists(name, columns, partition_spec=spec, properties=dict(properties))

    def add_columns(self, name: TableName, fields: Sequence[pa.Field]) -> None:
        """One change of the schema."""

        def add(transaction: Transaction) -> None:
            with transaction.update_schema() as update:
                update.union_by_name(pa.schema(fields))

        self._commit(name, f"add columns to table {_shown(name)}", add)

    def append(self, name: TableName, rows: Iterable[pa.RecordBatch]) -> None:
        """Portion by portion, in one transaction: it becomes visible as a whole."""
        tables = _portions(rows)
        first = next(tables, None)
        if first is None:
            return
        with self._refusals(f"write to table {_shown(name)}"):
            table = self._catalog.load_table(name)
            with table.transaction() as transaction:
                transaction.append(first)
                for portion in tables:
                    transaction.append(portion)

    def claim(self, name: TableName, row: pa.RecordBatch, column: str, *, since: TableState) -> bool:
        """An append on condition that the table is at the given snapshot; whoever else writes to it takes it away."""
        from pyiceberg.exceptions import CommitFailedException

        with self._refusals(f"write to table {_shown(name)}"):
            table = self._begun(name)
            if since.snapshot_id is None:
                if _row_count(table):
                    return False
            elif _snapshot_id(table) != since.snapshot_id:
                return False
            try:
                table.append(pa.Table.from_batches([row]))
            except CommitFailedException:
                return False
            return True

    def _begun(self, name: TableName) -> Table:
        """The table with a snapshot, to which nothing is added twice.

        Of two commits that both want a table to have no snapshot, the REST catalog of Nessie (0.99) accepts both, and
        the first one is lost; where there is a snapshot, it refuses the second.
        """
        from pyiceberg.exceptions import CommitFailedException

        table = self._catalog.load_table(name)
        if table.current_snapshot() is None:
            with suppress(CommitFailedException):
                _once(table).append(table.schema().as_arrow().empty_table())
            table = self._catalog.load_table(name)
        return _once(table)

    def read(self, name: TableName, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """File by file."""
        with self._refusals(f"read table {_shown(name)}"):
            table = self._catalog.load_table(name)
            yield from table.scan(selected_fields=tuple(columns)).to_arrow_batch_reader()

    def remove(self, name: TableName, keys: Iterable[pa.RecordBatch]) -> None:
        """Files that hold such rows are written again without them."""
        from pyiceberg.expressions import In

        for portion in _portions(keys):
            (column,) = portion.schema.names
            wanted = In(term=column, values=set(portion.column(column).to_pylist()))
            self._commit(name, f"delete rows from table {_shown(name)}", partial(_delete, wanted))

    def drop(self, name: TableName) -> None:
        """From the catalog."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        with self._refusals(f"drop table {_shown(name)}"):
            try:
                self._catalog.drop_table(name)
            except (NoSuchTableError, NoSuchNamespaceError):
                return

    def _commit(self, name: TableName, what: str, change: Callable[[Transaction], object]) -> None:
        """Creates a change to the table as it is, and again where someone else was faster."""
        from pyiceberg.exceptions import CommitFailedException

        for attempt in range(self._retries + 1):
            with self._refusals(what):
                try:
                    with self._catalog.load_table(name).transaction() as transaction:
                        change(transaction)
                except CommitFailedException:
                    if attempt == self._retries:
                        raise
                    continue
                return

    @contextmanager
    def _refusals(self, what: str) -> Iterator[None]:
        """Turns what PyIceberg and its drivers raise into one line."""
        try:
            yield
        except NessieGcError:
            raise
        except Exception as error:
            raise TableError(f"cannot {what}: {type(error).__name__}: {self._redact(str(error))}") from error


def _iceberg_schema(schema: pa.Schema) -> Schema:
    """Iceberg's form of a schema, its fields numbered from 1: only then can a partition spec name one."""
    from pyiceberg import types
    from pyiceberg.schema import Schema

    kinds = {
        pa.string(): types.StringType(),
        pa.int64(): types.LongType(),
        pa.int32(): types.IntegerType(),
        pa.bool_(): types.BooleanType(),
        pa.binary(): types.BinaryType(),
        pa.timestamp("us", tz="UTC"): types.TimestamptzType(),
    }
    fields = enumerate(schema, start=1)
    return Schema(*(types.NestedField(n, f.name, kinds[f.type], required=not f.nullable) for n, f in fields))


def _partition_spec(schema: pa.Schema, bucket_by: str | None) -> PartitionSpec:
    from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
    from pyiceberg.transforms import BucketTransform

    if bucket_by is None:
        return PartitionSpec()
    source = schema.get_field_index(bucket_by) + 1
    name = f"{bucket_by}_bucket"
    field = PartitionField(source, PARTITION_FIELD_ID_START, transform=BucketTransform(BUCKETS), name=name)
    return PartitionSpec(field)


def _state(table: Table) -> TableState:
    return TableState(
        schema=_plain(table.schema().as_arrow()),
        properties=table.properties,
        snapshot_id=_snapshot_id(table),
        location=table.location(),
    )


def _once(table: Table) -> Table:
    """The table, whose commits are not tried again: PyIceberg would put them upon whatever came since."""
    table.metadata.properties[_RETRIES] = "0"  # of this copy only
    return table


def _row_count(table: Table) -> int:
    snapshot = table.current_snapshot()
    if snapshot is None or snapshot.summary is None:
        return 0
    return int(snapshot.summary.additional_properties.get("total-records", 0))


def _snapshot_id(table: Table) -> int | None:
    snapshot = table.current_snapshot()
    return None if snapshot is None else snapshot.snapshot_id


def _plain(schema: pa.Schema) -> pa.Schema:
    """Without the long forms of text and bytes, and without PyIceberg's metadata of fields."""
    short = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}
    return pa.schema([pa.field(f.name, short.get(f.type, f.type), nullable=f.nullable) for f in schema])


def _delete(wanted: BooleanExpression, transaction: Transaction) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Delete operation did not match any records", UserWarning)
        transaction.delete(wanted)


def _portions(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    tables = map(pa.Table.from_batches, portions(batches, PORTION_ROWS))
    return (table for table in tables if table.num_rows)


def _shown(name: TableName) -> str:
    return ".".join(name)
