"""The kit, on catalogs of tables that PyIceberg opens: SQL."""

from __future__ import annotations

import pytest
from nessie_gc_iceberg_catalog import IcebergTableCatalog
from pyiceberg.catalog.sql import SqlCatalog

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.table_catalog import TableCatalogContract


@pytest.fixture
def properties(tmp_path):
    found = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": (tmp_path / "wh").as_uri()}
    SqlCatalog("tables", **found).close()  # makes its database
    return found


class TestSql(TableCatalogContract):
    nested_namespaces = False  # PyIceberg's FileIO names folders after them, and refuses

    @pytest.fixture
    def open_tables(self, properties):
        return lambda: IcebergTableCatalog.from_options({"properties": properties})

    @pytest.fixture
    def catalog_name(self):
        return "tables"


def test_a_catalog_that_has_no_branches_says_so(properties):
    with (
        IcebergTableCatalog.from_options({"properties": properties}) as tables,
        pytest.raises(ConfigurationError, match="it has no branches"),
        tables.open("tables", branch="assets"),
    ):
        pass


def test_a_catalog_that_nothing_configures_is_refused():
    with (
        IcebergTableCatalog.from_options({}) as tables,
        pytest.raises(ConfigurationError, match="'nowhere'"),
        tables.open("nowhere"),
    ):
        pass
