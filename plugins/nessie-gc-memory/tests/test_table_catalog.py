"""The kit, on catalogs of tables in memory."""

from __future__ import annotations

import uuid

import pyarrow as pa
import pytest
from nessie_gc_memory import MemoryTableCatalog

from nessie_gc_core.testing.table_catalog import TableCatalogContract


class TestMemoryTableCatalog(TableCatalogContract):
    @pytest.fixture
    def open_tables(self):
        return lambda: MemoryTableCatalog.from_options({})

    @pytest.fixture
    def catalog_name(self):
        return str(uuid.uuid4())


def test_branches_of_a_catalog_have_tables_of_their_own():
    name = str(uuid.uuid4())
    with (
        MemoryTableCatalog.from_options({}) as tables,
        tables.open(name) as main,
        tables.open(name, branch="b") as other,
    ):
        main.create(("n", "t"), pa.schema([pa.field("x", pa.int64())]), properties={})
        assert main.state(("n", "t")) is not None
        assert other.state(("n", "t")) is None
