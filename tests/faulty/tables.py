from __future__ import annotations

import time
import uuid
from contextlib import contextmanager

import pyarrow as pa
import pytest
from nessie_gc_memory.table_catalog import MemoryTableCatalog, MemoryTables

from faulty import fault
from nessie_gc_core.testing.table_catalog import TableCatalogContract


class GoodTables(MemoryTableCatalog):
    """Tables in memory."""

    name = "good"
    Tables: type[MemoryTables] = MemoryTables

    @contextmanager
    def open(self, catalog, *, branch=None):
        with super().open(catalog, branch=branch) as opened:
            assert isinstance(opened, MemoryTables)
            yield self.Tables(catalog, opened._catalog)


class TablesTests(TableCatalogContract):
    connector: type[GoodTables] = GoodTables

    @pytest.fixture
    def open_tables(self):
        return lambda: self.connector.from_options({})

    @pytest.fixture
    def catalog_name(self):
        return str(uuid.uuid4())


class TestGood(TablesTests):
    pass


@fault(TablesTests, "test_a_table_that_is_not_there_has_no_state", "A table that does not exist has no state, whether")
class MissesTables(GoodTables):
    class Tables(MemoryTables):
        def state(self, name):
            self._existing(name)
            return super().state(name)


@fault(TablesTests, "test_a_new_table_is_as_it_was_asked_for", "A new table has the requested columns, in order and")
class ForgetsProperties(GoodTables):
    class Tables(MemoryTables):
        def create(self, name, schema, *, properties, bucket_by=None):
            super().create(name, schema, properties={}, bucket_by=bucket_by)


@fault(TablesTests, "test_making_a_table_twice_leaves_it_alone", "A table that already exists stays as it is, with its")
class MakesTablesAnew(GoodTables):
    class Tables(MemoryTables):
        def create(self, name, schema, *, properties, bucket_by=None):
            self.drop(name)
            super().create(name, schema, properties=properties, bucket_by=bucket_by)


@fault(TablesTests, "test_rows_come_back_as_they_went_in", "Rows come back as they were written: text of any kind")
class CutsTimesToMilliseconds(GoodTables):
    class Tables(MemoryTables):
        def read(self, name, columns):
            for batch in super().read(name, columns):
                at = batch.schema.get_field_index("at")
                if at >= 0:
                    cut = batch.column(at).cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(batch.column(at).type)
                    yield batch.set_column(at, "at", cut)
                else:
                    yield batch


@fault(TablesTests, "test_an_append_adds", "An append adds, and one without rows changes nothing")
class Overwrites(GoodTables):
    class Tables(MemoryTables):
        def append(self, name, rows):
            self._catalog.tables[name].rows = self._catalog.tables[name].rows.slice(0, 0)
            super().append(name, rows)


@fault(TablesTests, "test_an_append_that_breaks_off_adds_nothing", "All rows of an append become visible in one commit")
class AppendsBatchByBatch(GoodTables):
    class Tables(MemoryTables):
        def append(self, name, rows):
            for batch in rows:
                super().append(name, [batch])


@fault(TablesTests, "test_a_number_is_claimed_once", "A number that was claimed since the given state is refused")
class ClaimsAlways(GoodTables):
    class Tables(MemoryTables):
        def claim(self, name, row, column, *, since):
            self.append(name, [row])
            return True


@fault(TablesTests, "test_of_several_at_once_one_gets_a_number", "If several callers claim one number at the same")
class ClaimsWithoutACondition(GoodTables):
    class Tables(MemoryTables):
        def claim(self, name, row, column, *, since):
            taken = any(row.column(column)[0] in batch.column(0) for batch in self.read(name, [column]))
            time.sleep(0.05)
            self.append(name, [row])
            return not taken


@fault(TablesTests, "test_rows_are_removed_by_their_key", "The rows of all given keys are deleted, and no others")
class RemovesTheFirstKeysOnly(GoodTables):
    class Tables(MemoryTables):
        def remove(self, name, keys):
            super().remove(name, [batch.slice(0, 1_000) for batch in keys])


@fault(TablesTests, "test_columns_are_added", "New columns are null in existing rows, and existing columns stay as")
class AddsNoColumns(GoodTables):
    class Tables(MemoryTables):
        def add_columns(self, name, fields):
            self._existing(name)


@fault(TablesTests, "test_a_dropped_table_is_gone", "A dropped table is gone, and dropping it again does no harm")
class DropsOnce(GoodTables):
    class Tables(MemoryTables):
        def drop(self, name):
            self._existing(name)
            super().drop(name)


@fault(TablesTests, "test_what_is_refused_is_said_in_one_line", "If the catalog refuses, raise a TableError, in one")
class RaisesWhatItLikes(GoodTables):
    class Tables(MemoryTables):
        def _existing(self, name):
            return self._catalog.tables[name]
