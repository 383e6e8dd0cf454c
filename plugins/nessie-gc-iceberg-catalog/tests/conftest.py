from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


class Lake:
    """A catalog in a SQLite file, written by PyIceberg over a local warehouse."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "catalog.db"
        self.uri = f"sqlite:///{self.database}"
        self.warehouse = folder / "warehouse"
        self.warehouse.mkdir()
        catalog = load_catalog("prod", type="sql", uri=self.uri, warehouse=f"file://{self.warehouse}")
        assert isinstance(catalog, SqlCatalog)
        self.catalog = catalog

    def table(self, name: str, *, appends: int = 0, properties: dict[str, str] | None = None) -> Table:
        """A table with some snapshots."""
        namespace = tuple(name.split(".")[:-1])
        for depth in range(1, len(namespace) + 1):
            self.catalog.create_namespace_if_not_exists(namespace[:depth])
        table = self.catalog.create_table(name, ROWS.schema, properties=properties or {})
        for _ in range(appends):
            table.append(ROWS)
        return table

    def execute(self, statement: str, *values: str) -> None:
        """Changes the catalog behind PyIceberg's back."""
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(statement, values)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    lake = Lake(tmp_path)
    yield lake
    lake.catalog.close()


Open = Callable[..., IcebergCatalogConnector]


@pytest.fixture
def connect(lake: Lake) -> Iterator[Open]:
    """Opens connectors to the lake's catalog, and closes them."""
    opened: list[IcebergCatalogConnector] = []

    def connect(**options: object) -> IcebergCatalogConnector:
        values = {"catalog_name": "prod", "uri": lake.uri, **options}
        opened.append(IcebergCatalogConnector.from_options(values))  # type: ignore[arg-type]
        return opened[-1]

    yield connect
    for connector in opened:
        connector.close()
