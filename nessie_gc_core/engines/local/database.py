"""The temporary DuckDB database of the local engine: its tables, its memory limit, and what its errors mean."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from nessie_gc_core.errors import ConfigurationError, InsufficientMemoryError
from nessie_gc_core.model.closing import Closing

if TYPE_CHECKING:
    import duckdb

_SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.int32(): "INTEGER",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BLOB",
    pa.timestamp("us", tz="UTC"): "TIMESTAMPTZ",
}
_OUT_OF_MEMORY = "Out of Memory Error"
"""How DuckDB begins to say so, also where Arrow reads its rows and raises an error of its own."""
_NO_ROOM = ("failed to offload", "max_temp_directory_size", "No space left on device")
"""What it says where the disk is full."""
_INTERRUPTED = "Query interrupted"
"""What it says where a signal arrives while it computes: it takes the exception of the handler for its own."""


class Database(Closing):
    """One file with a memory limit; what does not fit into memory is spilled into it. Threads may share it."""

    def __init__(self, *, threads: int, memory_limit: str, directory: str | None) -> None:
        """Makes it.

        Args:
            threads: how many threads a query may use.
            memory_limit: how much memory joins may take, in DuckDB's words, such as ``512MB``.
            directory: where its file lies; the system's temporary folder where not given.

        Raises:
            ConfigurationError: DuckDB is not installed, or the limit is not a size.
        """
        try:
            import duckdb
        except ImportError as error:
            raise ConfigurationError(
                "`engine` local needs DuckDB: pip install 'nessie-gc-core[local]' (or use `engine` spark)"
            ) from error
        self._memory_limit = memory_limit
        self._directory = Path(tempfile.mkdtemp(prefix="nessie-gc-", dir=directory))
        self._connection = duckdb.connect(str(self._directory / "relations.duckdb"))
        self._tables = itertools.count()
        try:
            self._connection.execute(f"SET memory_limit = {literal(memory_limit)}")
        except duckdb.Error as error:
            self.close()
            raise ConfigurationError(f"memory limit {memory_limit!r} is not a size such as 512MB: {error}") from error
        self._connection.execute(f"SET threads = {threads}")
        self._connection.execute("SET preserve_insertion_order = false")

    def new_table(self, schema: pa.Schema) -> str:
        """Creates an empty table; gives its name."""
        name = self._new_name()
        columns = ", ".join(f"{quoted(field.name)} {_SQL_TYPES[field.type]}" for field in schema)
        self.execute(f"CREATE TABLE {name} ({columns})")
        return name

    def insert(self, table: str, batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> None:
        """Puts batches into a table."""
        with self.cursor() as cursor:
            cursor.register("portion", pa.Table.from_batches(batches, schema))
            cursor.execute(f"INSERT INTO {table} SELECT * FROM portion")

    def store(self, query: str) -> str:
        """Computes a query into a table; gives its name."""
        name = self._new_name()
        self.execute(f"CREATE TABLE {name} AS {query}")
        return name

    def _new_name(self) -> str:
        return f"relation_{next(self._tables)}"

    def execute(self, statement: str) -> None:
        """Each statement has its own connection, because several threads may run statements."""
        with self.cursor() as cursor:
            cursor.execute(statement)

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own to the same database, for the block.

        Raises:
            InsufficientMemoryError: a statement in the block needs more memory than the limit, or the disk is full.
            KeyboardInterrupt: a signal ended a statement.
        """
        with self.connection() as connection:
            try:
                yield connection
            except Exception as error:
                said = str(error)
                if said == _INTERRUPTED:
                    raise KeyboardInterrupt from error
                if _OUT_OF_MEMORY not in said and not _is_of_disk(error):
                    raise
                raise self._insufficient(said) from error

    def _insufficient(self, said: str) -> InsufficientMemoryError:
        if any(words in said for words in _NO_ROOM):
            return InsufficientMemoryError(
                f"no room to spill relations in {self._directory}: free some, or set TMPDIR to a larger disk"
            )
        return InsufficientMemoryError(
            f"relations need more memory than `memory_limit` {self._memory_limit}: set a higher one, or use `engine` "
            "spark"
        )

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A connection that the caller closes."""
        return self._connection.cursor()

    def close(self) -> None:
        """Closes it and removes its file."""
        self._connection.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def _is_of_disk(error: Exception) -> bool:
    """Whether DuckDB, and not what runs beside it, finds the disk full."""
    import duckdb

    return isinstance(error, duckdb.IOException) and any(words in str(error) for words in _NO_ROOM)


def quoted(column: str) -> str:
    """The name of a column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def literal(value: str | int) -> str:
    """A value in SQL."""
    return str(value).lower() if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
