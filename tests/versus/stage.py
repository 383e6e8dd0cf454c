"""A small lake that Spark writes: a JDBC catalog on SQLite over a local warehouse, which can be put back."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie_gc_core.demo.spark import iceberg_runtime

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SQLITE_JDBC = "org.xerial:sqlite-jdbc:3.50.3.0"
NAMESPACE = "db"
DAY = 24 * 60 * 60
_AGE = 30 * DAY
"""So old are all files before a procedure runs."""


def with_sqlite() -> dict[str, str]:
    """The setting by which a Spark session gets Iceberg, and the driver of the catalog's database."""
    return {"spark.jars.packages": f"{iceberg_runtime()},{SQLITE_JDBC}"}


class Stage:
    """One lake. Tables are named without their namespace; paths are told below the warehouse."""

    def __init__(self, spark: SparkSession, folder: Path, catalog: str, *, links: bool = False) -> None:
        """Makes an empty one; with ``links`` copies are hard links, which is quick, and as good while files only go."""
        self._copy = os.link if links else shutil.copy2
        self.spark = spark
        self.catalog = catalog
        self.folder = folder
        self.warehouse = folder / "warehouse"
        self.warehouse.mkdir(parents=True)
        self._database = folder / "catalog.db"
        self._aside = folder / "aside"
        self._use_catalog()
        self.sql(f"CREATE NAMESPACE {catalog}.{NAMESPACE}")

    def _use_catalog(self) -> None:
        settings = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
            ".uri": f"jdbc:sqlite:{self._database}",
            ".jdbc.schema-version": "V1",
            ".warehouse": self.warehouse.as_uri(),
            # A cached table would be read from memory, and prove nothing about its files.
            ".cache-enabled": "false",
        }
        for key, value in settings.items():
            self.spark.conf.set(f"spark.sql.catalog.{self.catalog}{key}", value)

    @property
    def uri(self) -> str:
        """The catalog's database, as PyIceberg names it."""
        return f"sqlite:///{self._database}"

    # ---- writing --------------------------------------------------------------------------------------
    def sql(self, *statements: str) -> DataFrame:
        """Runs statements in which ``{t}`` is the table ``t``; gives the rows of the last one."""
        frames = [self.spark.sql(_with_names(statement, self.catalog)) for statement in statements]
        return frames[-1]

    def call(self, procedure: str, arguments: str) -> list[Any]:
        """Calls one of Iceberg's procedures."""
        return self.sql(f"CALL {self.catalog}.system.{procedure}({arguments})").collect()

    def create(
        self, table: str = "t", *, columns: str = "id BIGINT", more: str = "", version: int = 2, **properties: str
    ) -> None:
        """Creates a table; underscores of properties are dots, and two of them are a dash."""
        named = {key.replace("__", "-").replace("_", "."): value for key, value in properties.items()}
        set_ = ", ".join(f"'{key}' = '{value}'" for key, value in {"format-version": str(version), **named}.items())
        self.sql(f"CREATE TABLE {{{table}}} ({columns}) USING iceberg {more} TBLPROPERTIES ({set_})")

    def append(self, *values: str, table: str = "t") -> None:
        """One commit for each row, such as ``"1"`` or ``"(2, 'a'), (3, 'b')"``."""
        for value in values:
            rows = value if value.startswith("(") else f"({value})"
            self.sql(f"INSERT INTO {{{table}}} VALUES {rows}")

    def java(self, table: str = "t") -> Any:
        """The table as Iceberg's Java API has it."""
        jvm: Any = self.spark._jvm
        session: Any = self.spark._jsparkSession
        return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session, f"{self.catalog}.{NAMESPACE}.{table}")

    # ---- what is there --------------------------------------------------------------------------------
    def metadata_location(self, table: str = "t") -> str:
        """Where the current metadata file of a table is."""
        with closing(sqlite3.connect(self._database)) as connection:
            query = "SELECT metadata_location FROM iceberg_tables WHERE table_name = ? AND table_namespace = ?"
            return str(connection.execute(query, (table, NAMESPACE)).fetchone()[0])

    def metadata(self, table: str = "t") -> dict[str, Any]:
        """What that file says."""
        found: dict[str, Any] = json.loads(local(self.metadata_location(table)).read_text(encoding="utf-8"))
        return found

    def snapshots(self, table: str = "t") -> list[int]:
        """The listed snapshots in the order in which they were made."""
        listed = sorted(
            self.metadata(table)["snapshots"], key=lambda each: (each.get("sequence-number", 0), each["timestamp-ms"])
        )
        return [each["snapshot-id"] for each in listed]

    def tables(self) -> list[str]:
        """The tables of the catalog."""
        with closing(sqlite3.connect(self._database)) as connection:
            return sorted(row[0] for row in connection.execute("SELECT table_name FROM iceberg_tables"))

    def files(self) -> frozenset[str]:
        """Every file below the warehouse, but Hadoop's sidecars."""
        return frozenset(path for path in _walk(self.warehouse) if not _is_sidecar(path))

    def sidecars(self) -> frozenset[str]:
        """Hadoop's sidecars."""
        return frozenset(path for path in _walk(self.warehouse) if _is_sidecar(path))

    def below(self, path: str) -> str:
        """A raw path as :meth:`files` has it."""
        return local(path).relative_to(self.warehouse).as_posix()

    # ---- changes behind Iceberg's back ----------------------------------------------------------------
    def leave(self, *paths: str, content: bytes = b"left over") -> None:
        """Leaves files that nothing names."""
        for path in paths:
            target = self.warehouse / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def change_metadata(self, change: Callable[[dict[str, Any]], object], table: str = "t") -> None:
        """Changes a table's metadata file in its place."""
        path = local(self.metadata_location(table))
        metadata = self.metadata(table)
        change(metadata)
        path.write_text(json.dumps(metadata), encoding="utf-8")
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def date_back(self, *days: float, table: str = "t") -> None:
        """Says of the listed snapshots how many days ago they were made, the oldest first."""
        now = int(time.time() * 1000)
        times = {id_: now - int(ago * DAY * 1000) for id_, ago in zip(self.snapshots(table), days, strict=True)}

        def change(metadata: dict[str, Any]) -> None:
            for entry in (*metadata["snapshots"], *metadata["snapshot-log"]):
                entry["timestamp-ms"] = times.get(entry["snapshot-id"], entry["timestamp-ms"])
            current = times.get(metadata["current-snapshot-id"], now)
            log = (entry for entry in metadata["snapshot-log"] if entry["timestamp-ms"] <= current)
            metadata["snapshot-log"] = sorted(log, key=lambda entry: entry["timestamp-ms"])

        self.change_metadata(change, table)

    # ---- copies ---------------------------------------------------------------------------------------
    def keep(self, *, young: Callable[[str], bool] = lambda path: False) -> None:
        """Ages every file that is not to be young, and copies everything aside."""
        long_ago = time.time() - _AGE
        for path in _walk(self.warehouse):
            if not young(path):
                os.utime(self.warehouse / path, (long_ago, long_ago))
        shutil.copytree(self.warehouse, self._aside, copy_function=self._copy)
        _copy_database(self._database, self.folder / "aside.db")

    def put_back(self) -> None:
        """Puts everything back to the same paths."""
        shutil.rmtree(self.warehouse)
        shutil.copytree(self._aside, self.warehouse, copy_function=self._copy)
        _copy_database(self.folder / "aside.db", self._database)


class _Names(Mapping[str, str]):
    """Full names of tables."""

    def __init__(self, catalog: str) -> None:
        self._catalog = catalog

    def __getitem__(self, table: str) -> str:
        return f"{self._catalog}.{NAMESPACE}.{table}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _with_names(statement: str, catalog: str) -> str:
    return statement.format_map(_Names(catalog))


def local(path: str) -> Path:
    """The local path that a ``file:`` URI of Hadoop means."""
    return Path(re.sub("/+", "/", path.removeprefix("file:")))


def _walk(folder: Path) -> Iterator[str]:
    for root, _, names in os.walk(folder):
        below = Path(root).relative_to(folder).as_posix()
        yield from (name if below == "." else f"{below}/{name}" for name in names)


def _is_sidecar(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".") and name.endswith(".crc")


def _copy_database(source: Path, target: Path) -> None:
    """As a transaction of the target: Spark keeps its connection."""
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as write:
        read.backup(write)
