"""What every catalog of tables must do (:class:`nessie_gc_core.connectors.TableCatalog`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, ClassVar

import pyarrow as pa
import pytest

from nessie_gc_core.connectors import OpenCatalog, TableCatalog
from nessie_gc_core.errors import TableError
from nessie_gc_core.model.batches import Row, to_batches
from nessie_gc_core.model.tables import TableName, TableState
from nessie_gc_core.testing.demands import demands, not_defined
from nessie_gc_core.testing.options import OptionsTests

Open = Callable[[], AbstractContextManager[OpenCatalog]]
"""Opens the catalog of the test."""

NAME: TableName = ("assets", "found")
COLUMNS = pa.schema(
    [
        pa.field("number", pa.int64(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("small", pa.int32()),
        pa.field("sure", pa.bool_()),
        pa.field("note", pa.string()),
    ]
)
_TIME = datetime(2026, 1, 31, 8, 15, 0, 123456, tzinfo=UTC)
_ROWS: list[Row] = [
    (1, "a", b"\x00\xff", _TIME, 1, True, "plain"),
    (2, "", b"", None, None, None, None),
    (2**62, "ü'\"`\\ \U0001f9ca", None, datetime(1969, 12, 31, tzinfo=UTC), -1, False, ""),
]
_PROPERTIES = {"nessie-gc.test": "it's a 'test'", "nessie-gc.empty": "x"}


def _batches(rows: Sequence[Row], schema: pa.Schema = COLUMNS) -> Iterator[pa.RecordBatch]:
    return to_batches(rows, schema)


def _one(row: Row) -> pa.RecordBatch:
    (batch,) = _batches([row])
    return batch


def _row(number: int) -> Row:
    return (number, f"row {number}", str(number).encode(), _TIME, None, None, None)


def _read(catalog: OpenCatalog, *columns: str) -> list[tuple[Any, ...]]:
    wanted = columns or tuple(COLUMNS.names)
    found = [row for batch in catalog.read(NAME, wanted) for row in batch.to_pylist()]
    return sorted((tuple(row[name] for name in wanted) for row in found), key=repr)


def _state(catalog: OpenCatalog) -> TableState:
    state = catalog.state(NAME)
    assert state is not None
    return state


class TableCatalogContract(OptionsTests):
    """Inherit it and give it two fixtures.

    Required:
        ``open_tables``: a function that makes the connector.
        ``catalog_name``: the name of a catalog of the test's own, without tables.

    Set ``nested_namespaces = False`` for catalogs without namespaces in namespaces.
    """

    opener: ClassVar[str] = "open_tables"
    nested_namespaces: ClassVar[bool] = True

    @pytest.fixture
    def open_tables(self) -> Callable[[], TableCatalog]:
        raise not_defined("open_tables")

    @pytest.fixture
    def catalog_name(self) -> str:
        raise not_defined("catalog_name")

    @pytest.fixture
    def open_catalog(self, open_tables: Callable[[], TableCatalog], catalog_name: str) -> Open:
        @contextmanager
        def opened() -> Iterator[OpenCatalog]:
            with open_tables() as tables, tables.open(catalog_name) as catalog:
                yield catalog

        return opened

    @pytest.fixture
    def catalog(self, open_catalog: Open) -> Iterator[OpenCatalog]:
        with open_catalog() as opened:
            yield opened

    @pytest.fixture
    def made(self, catalog: OpenCatalog) -> OpenCatalog:
        catalog.create(NAME, COLUMNS, properties=_PROPERTIES)
        return catalog

    @demands("A table that does not exist has no state, whether its namespace exists or not. Answer None.")
    def test_a_table_that_is_not_there_has_no_state(self, catalog: OpenCatalog) -> None:
        assert catalog.state(("nobody", "made", "this")) is None
        catalog.create(NAME, COLUMNS, properties={})
        assert catalog.state((NAME[0], "other")) is None

    @demands("A new table has the requested columns, in order and required as requested, and the properties.")
    @pytest.mark.parametrize("bucket_by", [None, "name"])
    def test_a_new_table_is_as_it_was_asked_for(self, catalog: OpenCatalog, bucket_by: str | None) -> None:
        catalog.create(NAME, COLUMNS, properties=_PROPERTIES, bucket_by=bucket_by)
        state = _state(catalog)
        assert state.schema.equals(COLUMNS, check_metadata=False)
        assert _PROPERTIES.items() <= dict(state.properties).items()
        assert state.snapshot_id is None
        assert ":" in state.location or state.location.startswith("/")

    @demands(
        "Missing namespaces are created, from the outermost; a table may be several levels deep. Set "
        "nested_namespaces = False if the catalog has no nested namespaces."
    )
    def test_namespaces_are_made(self, catalog: OpenCatalog) -> None:
        if not self.nested_namespaces:
            pytest.skip("the catalog has no namespaces in namespaces")
        deep = ("one", "two", "three")
        catalog.create(deep, COLUMNS, properties={})
        catalog.create(("one", "two", "four"), COLUMNS, properties={})
        assert catalog.state(deep) is not None

    @demands("A table that already exists stays as it is, with its rows.")
    def test_making_a_table_twice_leaves_it_alone(self, made: OpenCatalog) -> None:
        made.append(NAME, _batches(_ROWS))
        made.create(NAME, pa.schema([pa.field("other", pa.string())]), properties={"nessie-gc.test": "other"})
        assert _state(made).properties["nessie-gc.test"] == _PROPERTIES["nessie-gc.test"]
        assert len(_read(made)) == len(_ROWS)

    @demands("Rows come back as they were written: text of any kind, bytes, instants to the microsecond, nulls.")
    @pytest.mark.parametrize("bucket_by", [None, "name"])
    def test_rows_come_back_as_they_went_in(self, open_catalog: Open, bucket_by: str | None) -> None:
        with open_catalog() as catalog:
            catalog.create(NAME, COLUMNS, properties={}, bucket_by=bucket_by)
            catalog.append(NAME, _batches(_ROWS))
        with open_catalog() as catalog:
            assert _read(catalog) == sorted(_ROWS, key=repr)
            assert _read(catalog, "number", "note") == sorted(((row[0], row[6]) for row in _ROWS), key=repr)

    @demands("An append adds, and one without rows changes nothing.")
    def test_an_append_adds(self, made: OpenCatalog) -> None:
        made.append(NAME, _batches([_row(1)]))
        before = _state(made).snapshot_id
        made.append(NAME, iter(()))
        assert _state(made).snapshot_id == before
        made.append(NAME, _batches([_row(2), _row(3)]))
        assert _read(made, "number") == [(1,), (2,), (3,)]

    @demands("All rows of an append become visible in one commit, or none do: if the stream breaks off, none.")
    def test_an_append_that_breaks_off_adds_nothing(self, made: OpenCatalog) -> None:
        def breaking_off() -> Iterator[pa.RecordBatch]:
            yield from _batches([_row(1)])
            raise ConnectionError("the stream broke off")

        with pytest.raises((ConnectionError, TableError)):
            made.append(NAME, breaking_off())
        assert _read(made) == []

    @demands("A number that was claimed since the given state is refused; other numbers can be claimed.")
    def test_a_number_is_claimed_once(self, made: OpenCatalog) -> None:
        before = _state(made)
        assert made.claim(NAME, _one(_row(1)), "number", since=before)
        assert not made.claim(NAME, _one(_row(1)), "number", since=before)
        assert made.claim(NAME, _one(_row(2)), "number", since=_state(made))
        assert _read(made, "number") == [(1,), (2,)]

    @demands("If several callers claim one number at the same time, one gets it. Make it a condition of the commit.")
    def test_of_several_at_once_one_gets_a_number(self, open_catalog: Open) -> None:
        with open_catalog() as catalog:
            catalog.create(NAME, COLUMNS, properties={})
            before = _state(catalog)
        barrier = threading.Barrier(4)

        def claim(number: int) -> bool:
            with open_catalog() as mine:
                barrier.wait(60)
                return mine.claim(NAME, _one(_row(7)), "number", since=before)

        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(claim, range(4)))
        with open_catalog() as catalog:
            assert (answers.count(True), _read(catalog, "number")) == (1, [(7,)])

    @demands(
        "The rows of all given keys are deleted, and no others. There may be more keys than fit into one statement."
    )
    @pytest.mark.parametrize("bucket_by", [None, "name"])
    def test_rows_are_removed_by_their_key(self, catalog: OpenCatalog, bucket_by: str | None) -> None:
        catalog.create(NAME, COLUMNS, properties={}, bucket_by=bucket_by)
        catalog.append(NAME, _batches([_row(number) for number in range(3_000)]))
        catalog.append(NAME, _batches([_row(1), _row(3_000)]))
        keys = pa.schema([COLUMNS.field("key")])
        catalog.remove(NAME, _batches([(str(number).encode(),) for number in range(2_990)], keys))
        assert _read(catalog, "number") == sorted(((number,) for number in range(2_990, 3_001)), key=repr)
        catalog.remove(NAME, _batches([(b"nobody",)], keys))
        catalog.remove(NAME, iter(()))
        assert len(_read(catalog, "number")) == 11

    @demands("New columns are null in existing rows, and existing columns stay as they are.")
    def test_columns_are_added(self, made: OpenCatalog) -> None:
        made.append(NAME, _batches([_row(1)]))
        made.add_columns(NAME, [pa.field("more", pa.string())])
        wider = pa.schema([*COLUMNS, pa.field("more", pa.string())])
        made.append(NAME, _batches([(*_row(2), "said")], wider))
        assert _read(made, "number", "more") == [(1, None), (2, "said")]
        assert _state(made).schema.names == wider.names

    @demands("A dropped table is gone, and dropping it again does no harm.")
    def test_a_dropped_table_is_gone(self, made: OpenCatalog) -> None:
        made.drop(NAME)
        assert made.state(NAME) is None
        made.drop(NAME)
        made.drop(("nobody", "made", "this"))

    @demands("If the catalog refuses, raise a TableError, in one line that names the table.")
    def test_what_is_refused_is_said_in_one_line(self, catalog: OpenCatalog) -> None:
        with pytest.raises(TableError, match=NAME[-1]) as caught:
            catalog.append(NAME, _batches([_row(1)]))
        assert "\n" not in str(caught.value)
        with pytest.raises(TableError, match=NAME[-1]):
            list(catalog.read(NAME, ["number"]))
