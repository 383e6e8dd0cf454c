"""Iceberg tables of a catalog that a Spark session has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.engines.spark.engine import SparkDataset, SparkEngine, frame_of
from nessie_gc_core.engines.spark.maintenance import SparkMaintenance
from nessie_gc_core.engines.spark.session import functions_of, is_connect
from nessie_gc_core.engines.spark.transfer import schema_of, settings_of
from nessie_gc_core.errors import ConfigurationError, TableError
from nessie_gc_core.model.batches import Value, to_batches
from nessie_gc_core.model.tables import BUCKETS, TableName, TableState
from nessie_gc_core.model.text import one_line
from nessie_gc_core.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SQL_TYPES = {
    pa.string(): "STRING",
    pa.int64(): "BIGINT",
    pa.int32(): "INT",
    pa.bool_(): "BOOLEAN",
    pa.binary(): "BINARY",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP",
}
_CATALOG = "spark.sql.catalog."
_TRIES = 5
_CONFLICTS = ("ValidationException", "CommitFailedException")
_NESSIE = "org.apache.iceberg.nessie.NessieCatalog"
_REST = "org.apache.iceberg.rest.RESTCatalog"
_NESSIE_REST = re.compile(
    r"(?P<base>https?://.+?/iceberg)(/(?P<branch>[^/]*?)((%7C|\|)(?P<warehouse>[^/]*))?)?/?", re.IGNORECASE
)


class SparkTables(Tables):
    """Reads and writes through the session's catalog: with its configuration, its credentials and its Iceberg."""

    def __init__(self, engine: SparkEngine, catalog: str, *, branch: str | None = None) -> None:
        """Takes a catalog of the session.

        Args:
            engine: whose session it is.
            catalog: its name.
            branch: of a Nessie catalog the branch; by default, the one that the catalog is configured for.

        Raises:
            ConfigurationError: the session has no such catalog, or it has no branches.
        """
        self._engine = engine
        self._session = engine.session
        self._configured = catalog
        self._catalog = _on_branch(self._session, catalog, branch)

    def maintenance(self) -> SparkMaintenance:
        """Through the JVM of the session."""
        if is_connect(self._session):
            raise ConfigurationError(
                "tables can only be rewritten in a classic Spark session; Spark Connect gives no access to the JVM"
            )
        return SparkMaintenance(self._session, self._catalog, self._configured)

    def state(self, name: TableName) -> TableState | None:
        """By ``DESCRIBE TABLE EXTENDED`` and ``SHOW TBLPROPERTIES``."""
        table = self._sql_name(name)
        with _refusals(f"read {self._shown(name)}"):
            if not self._session.catalog.tableExists(table):
                return None
            described = self._session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
            more = {row.col_name: row.data_type for row in described}
            if more.get("Provider") != "iceberg":
                raise TableError(f"{self._shown(name)} is not an Iceberg table; choose another name")
            properties = {row.key: row.value for row in self._session.sql(f"SHOW TBLPROPERTIES {table}").collect()}
            snapshot = properties.get("current-snapshot-id", "none")
            return TableState(
                schema=schema_of(self._session.table(table)),
                properties=properties,
                snapshot_id=None if snapshot == "none" else int(snapshot),
                location=str(more["Location"]),
            )

    def create(
        self, name: TableName, schema: pa.Schema, *, properties: Mapping[str, str], bucket_by: str | None = None
    ) -> None:
        """``CREATE NAMESPACE`` and ``CREATE TABLE``, both ``IF NOT EXISTS``."""
        columns = ", ".join(_column(field) + ("" if field.nullable else " NOT NULL") for field in schema)
        pairs = ", ".join(f"{_text(key)} = {_text(value)}" for key, value in properties.items())
        settings = f" TBLPROPERTIES ({pairs})" if pairs else ""
        partition = f" PARTITIONED BY (bucket({BUCKETS}, {_quoted(bucket_by)}))" if bucket_by else ""
        with _refusals(f"create {self._shown(name)}"):
            for depth in range(1, len(name)):
                self._session.sql(f"CREATE NAMESPACE IF NOT EXISTS {self._sql_name(name[:depth])}")
            self._session.sql(
                f"CREATE TABLE IF NOT EXISTS {self._sql_name(name)} ({columns}) USING iceberg{partition}{settings}"
            )

    def add_columns(self, name: TableName, fields: Sequence[pa.Field]) -> None:
        """``ALTER TABLE … ADD COLUMNS``."""
        if fields:
            with _refusals(f"add columns to {self._shown(name)}"):
                columns = ", ".join(map(_column, fields))
                self._session.sql(f"ALTER TABLE {self._sql_name(name)} ADD COLUMNS ({columns})")

    def append(self, name: TableName, rows: Dataset) -> None:
        """One append; Spark deals the rows out by the partitions of the table."""
        with _refusals(f"write to {self._shown(name)}"):
            frame_of(rows).writeTo(self._sql_name(name)).append()

    def claim(self, name: TableName, row: Mapping[str, Value], column: str, *, since: TableState) -> bool:
        """Overwrites the rows with this number, of which there are none, on condition that none has come since.

        Iceberg then refuses a commit where a file came in between that may hold such a row (isolation level
        serializable): https://iceberg.apache.org/docs/1.11.0/spark-configuration/#write-options
        """
        schema = pa.schema([since.schema.field(column) for column in row])
        rows = self._engine.dataset(to_batches([tuple(row.values())], schema), schema)
        writer = frame_of(rows).coalesce(1).writeTo(self._sql_name(name)).option("isolation-level", "serializable")
        if since.snapshot_id is not None:
            writer = writer.option("validate-from-snapshot-id", str(since.snapshot_id))
        f = functions_of(self._session)
        try:
            writer.overwrite(f.col(column) == f.lit(row[column]))
        except Exception as error:  # the classes are those of Py4J, of Spark, or of Spark Connect
            if "ValidationException" in str(error):
                return False
            raise TableError(f"cannot write to {self._shown(name)}: {_reason(error)}") from error
        return True

    def read(self, name: TableName, schema: pa.Schema) -> Dataset:
        """The current snapshot, as it is when it is asked for."""
        f = functions_of(self._session)
        with _refusals(f"read {self._shown(name)}"):
            frame = self._session.table(self._sql_name(name))
            there = {column.lower() for column in frame.columns}
            columns = [
                f.col(field.name) if field.name.lower() in there else f.lit(None).cast(_SQL_TYPES[field.type])
                for field in schema
            ]
            named = [column.alias(field.name) for column, field in zip(columns, schema, strict=True)]
            return SparkDataset(self._engine, frame.select(*named), schema)

    def remove(self, name: TableName, keys: Dataset) -> None:
        """``DELETE … WHERE EXISTS``."""
        view = f"nessie_gc_gone_{id(keys)}"
        (column,) = keys.schema.names
        same = f"t.{_quoted(column)} = k.{_quoted(column)}"
        with _refusals(f"delete rows from {self._shown(name)}"):
            frame_of(keys).createOrReplaceTempView(view)
            try:
                self._again(f"DELETE FROM {self._sql_name(name)} t WHERE EXISTS (SELECT 1 FROM {view} k WHERE {same})")
            finally:
                self._session.catalog.dropTempView(view)

    def _again(self, statement: str) -> None:
        """Runs a statement, and once more where another commit was faster than it."""
        for tries_left in reversed(range(_TRIES)):
            try:
                self._session.sql(statement)
            except Exception as error:  # the classes are those of Py4J, of Spark, or of Spark Connect
                if tries_left == 0 or not any(conflict in str(error) for conflict in _CONFLICTS):
                    raise
            else:
                return

    def drop(self, name: TableName) -> None:
        """``DROP TABLE``."""
        with _refusals(f"drop {self._shown(name)}"):
            self._session.sql(f"DROP TABLE IF EXISTS {self._sql_name(name)}")

    def _sql_name(self, name: Sequence[str]) -> str:
        return ".".join(map(_quoted, (self._catalog, *name)))

    def _shown(self, name: TableName) -> str:
        return f"table {'.'.join(name)} of catalog {self._catalog!r}"


def _on_branch(session: SparkSession, catalog: str, branch: str | None) -> str:
    """The catalog, or a second one that is configured as it is but for the branch."""
    prefix = f"{_CATALOG}{catalog}"
    settings = {
        key: value for key, value in settings_of(session).items() if key == prefix or key.startswith(f"{prefix}.")
    }
    if prefix not in settings and catalog != "spark_catalog":
        raise ConfigurationError(
            f"the Spark session has no catalog {catalog!r}; configure it with `spark_conf` "
            f"{prefix}=org.apache.iceberg.spark.SparkCatalog and its properties"
        )
    if branch is None:
        return catalog
    chosen = _choice({key.removeprefix(prefix): value for key, value in settings.items()}, branch)
    if chosen is None:
        raise ConfigurationError(
            f"the catalog {catalog!r} of the Spark session is not a Nessie catalog ({prefix}.type=nessie, or "
            "type=rest and a uri that ends in /iceberg), so it has no branches; use `own_branch=False` to write "
            "to the table as the catalog shows it"
        )
    key, value = chosen
    if settings.get(prefix + key) == value:
        return catalog
    other = f"{catalog}_on_{branch}" if branch.isidentifier() else f"{catalog}_on_{branch.encode().hex()}"
    for name, setting in {**settings, prefix + key: value, f"{prefix}.cache-enabled": "false"}.items():
        session.conf.set(f"{_CATALOG}{other}{name.removeprefix(prefix)}", setting)
    if key == ".uri":  # other servers have an address like that, too
        with _refusals(f"open the branch {branch!r} of the catalog {catalog!r}, taken for Nessie's, at {value}"):
            session.sql(f"SHOW NAMESPACES IN {_quoted(other)}").collect()
    return other


def _choice(settings: Mapping[str, str], branch: str) -> tuple[str, str] | None:
    """The setting of a catalog that chooses a branch; ``None`` if it is not a catalog of Nessie.

    Nessie's REST catalog has the branch in its address, after ``/iceberg``, and the warehouse may come after it.
    """
    type_, implementation = settings.get(".type"), settings.get(".catalog-impl", "")
    if type_ == "nessie" or _NESSIE in implementation:
        return ".ref", branch
    address = _NESSIE_REST.fullmatch(settings.get(".uri", ""))
    if address is None or not (type_ == "rest" or _REST in implementation):
        return None
    warehouse = "" if address["warehouse"] is None else f"%7C{address['warehouse']}"
    return ".uri", f"{address['base']}/{quote(branch, safe='')}{warehouse}"


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    """Turns what Spark raises into one line."""
    try:
        yield
    except TableError:
        raise
    except Exception as error:  # the classes are those of Py4J, of Spark, or of Spark Connect
        raise TableError(f"cannot {what}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """The first line that says something; Py4J begins with the name of its call."""
    lines = [line.strip(": ") for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("An error occurred while calling")]
    return one_line(ValueError(said[0])) if said else one_line(error)


def _column(field: pa.Field) -> str:
    return f"{_quoted(field.name)} {_SQL_TYPES[field.type]}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
