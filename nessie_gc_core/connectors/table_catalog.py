"""The contract of catalogs in which services keep tables, for engines without their own catalogs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.tables import TableName, TableState


class OpenCatalog(Protocol):
    """One catalog, and in Nessie one branch of it.

    Every method raises :class:`nessie_gc_core.errors.TableError`, with a message of one line, if the catalog rejects
    it. Columns are strings, 64-bit and 32-bit integers, booleans, bytes, and instants in microseconds (UTC).
    """

    def state(self, name: TableName) -> TableState | None:
        """The state of a table; ``None`` if it does not exist.

        Raises:
            TableError: it exists, but is not an Iceberg table.
        """

    def create(
        self, name: TableName, schema: pa.Schema, *, properties: Mapping[str, str], bucket_by: str | None = None
    ) -> None:
        """Creates a table, and its missing namespaces; an existing table stays as it is.

        Args:
            name: of the table.
            schema: its columns; those that are not nullable are required.
            properties: of the table.
            bucket_by: the column by whose hash rows are distributed over 16 partitions; ``None``: unpartitioned.
        """

    def add_columns(self, name: TableName, fields: Sequence[pa.Field]) -> None:
        """Adds optional columns; existing ones stay as they are."""

    def append(self, name: TableName, rows: Iterable[pa.RecordBatch]) -> None:
        """Adds all rows in one commit; does nothing if there are none."""

    def claim(self, name: TableName, row: pa.RecordBatch, column: str, *, since: TableState) -> bool:
        """Adds a row, unless a row with the same number in this column was added since the given state.

        Returns:
            Whether it was added. If several claim a number at the same time, at most one succeeds.
        """

    def read(self, name: TableName, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows, with these columns, which the table has."""

    def remove(self, name: TableName, keys: Iterable[pa.RecordBatch]) -> None:
        """Deletes the rows whose value in the single column of ``keys`` is one of its values."""

    def drop(self, name: TableName) -> None:
        """Drops a table if it exists; its files stay, because other references may need them."""


class TableCatalog(Connector):
    """Opens catalogs of Iceberg tables by the names configured on this machine.

    Example of a whole plugin::

        import os
        import uuid
        from contextlib import contextmanager
        from dataclasses import dataclass
        from pathlib import Path

        import pyarrow as pa
        import pyarrow.compute as pc
        import pyarrow.parquet as pq
        from nessie_gc_core import hookimpl
        from nessie_gc_core.connectors import TableCatalog
        from nessie_gc_core.model import TableState

        @dataclass(frozen=True)
        class Folders:
            root: Path

            def folder(self, name):
                return self.root.joinpath(*name)

            def columns(self, name):
                return self.folder(name) / "columns"

            def files(self, name):
                return sorted(self.folder(name).glob("*.parquet"))

            def state(self, name):
                if not self.columns(name).exists():
                    return None
                stored = pq.read_schema(self.columns(name))
                properties = {key.decode(): value.decode() for key, value in (stored.metadata or {}).items()}
                snapshot = max((file.stat().st_mtime_ns for file in self.files(name)), default=None)
                location = self.folder(name).as_uri()
                return TableState(
                    schema=stored.remove_metadata(), properties=properties, snapshot_id=snapshot, location=location
                )

            def create(self, name, schema, *, properties, bucket_by=None):
                self.folder(name).mkdir(parents=True, exist_ok=True)
                if not self.columns(name).exists():
                    pq.write_metadata(schema.with_metadata(properties), self.columns(name))

            def add_columns(self, name, fields):
                stored = pq.read_schema(self.columns(name))
                new = [field for field in fields if field.name not in stored.names]
                pq.write_metadata(pa.schema([*stored, *new], stored.metadata), self.columns(name))

            def write(self, name, rows, file):
                temporary = self.folder(name) / f"{uuid.uuid4()}.tmp"
                pq.write_table(rows, temporary)
                os.link(temporary, self.folder(name) / file)
                temporary.unlink()

            def append(self, name, rows):
                if batches := list(rows):
                    self.write(name, pa.Table.from_batches(batches), f"{uuid.uuid4()}.parquet")

            def claim(self, name, row, column, *, since):
                try:
                    self.write(name, pa.Table.from_batches([row]), f"{row.column(column)[0]}.parquet")
                except FileExistsError:
                    return False
                return True

            def read(self, name, columns):
                schema = pq.read_schema(self.columns(name)).remove_metadata()
                tables = [pa.Table.from_batches([], schema), *map(pq.read_table, self.files(name))]
                rows = pa.concat_tables(tables, promote_options="default")
                yield from rows.select(list(columns)).to_batches()

            def remove(self, name, keys):
                gone = pa.Table.from_batches(keys)
                for file in self.files(name):
                    rows = pq.read_table(file)
                    (column,) = gone.column_names
                    pq.write_table(rows.filter(pc.invert(pc.is_in(rows[column], gone[column]))), file)

            def drop(self, name):
                for file in [*self.files(name), self.columns(name)]:
                    file.unlink(missing_ok=True)

        class FolderTables(TableCatalog):
            name = "folders"

            @contextmanager
            def open(self, catalog, *, branch=None):
                yield Folders(Path(catalog))

        @hookimpl
        def nessie_gc_register_table_catalog():
            return FolderTables

    The contracts for collection only read catalogs; through this one, services write their findings and read them
    again.
    """

    @abstractmethod
    def open(self, catalog: str, *, branch: str | None = None) -> AbstractContextManager[OpenCatalog]:
        """Opens a catalog; leaving the context closes it.

        Args:
            catalog: its name.
            branch: in Nessie, an existing branch; ``None``: the configured branch.

        Raises:
            ConfigurationError: the catalog does not exist, or has no branches.
            ServiceUnavailableError, AccessDeniedError: it does not answer, or rejects the credentials.
        """
