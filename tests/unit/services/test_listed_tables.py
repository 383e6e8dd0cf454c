"""Iceberg tables as lists of files, written by PyIceberg."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import BooleanType

from nessie_gc_core.algorithms.file_list_source import cut, rows_of_lists
from nessie_gc_core.algorithms.file_list_table import list_of_data_files
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError, ListingError
from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.manifests import FileEntry
from nessie_gc_core.services.listed_tables import check_file_lists, open_file_lists

TIME = datetime(2026, 1, 31, 12, 0, 0, 123_000, UTC)
CHOICE = ConnectorChoice()


def files(*names: str) -> pa.Table:
    paths = [f"s3://b/wh/{name}" for name in names]
    times = pa.array([TIME] * len(names), pa.timestamp("us", "UTC"))
    return pa.table({"file_path": paths, "last_modified": times, "size": pa.array([7] * len(names), pa.int64())})


Write = Callable[..., Table]


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    """Makes a table of what is appended, piece by piece."""
    with SqlCatalog("c", uri="sqlite:///:memory:", warehouse=f"file://{tmp_path}/wh") as catalog:
        catalog.create_namespace("ops")

        def make(*pieces: pa.Table, **properties: str) -> Table:
            table = catalog.create_table("ops.files", pieces[0].schema, properties=properties)
            for piece in pieces:
                table.append(piece)
            return table

        yield make


def read(name: str) -> list[tuple[Any, ...]]:
    check_file_lists([name], CHOICE)
    lists = cut(open_file_lists([name], CHOICE), 4)
    return sorted(tuple(row.values()) for batch in rows_of_lists(lists) for row in batch.to_pylist())


def refused(name: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        check_file_lists([name], CHOICE)
    assert 1 == len(str(caught.value).splitlines())
    return str(caught.value)


def test_a_table_lists_what_its_current_snapshot_has(write: Write) -> None:
    table = write(files("a"), files("b", "c"))
    table.overwrite(files("d"), overwrite_filter="file_path = 's3://b/wh/a'")
    expected = [(f"s3://b/wh/{name}", to_micros(TIME), 7) for name in "bcd"]
    assert expected == read(table.metadata_location)


def test_s08_a_table_was_made_when_its_snapshot_was(write: Write) -> None:
    table = write(files("a"))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    (opened,) = open_file_lists([table.metadata_location], CHOICE)
    assert datetime.fromtimestamp(snapshot.timestamp_ms / 1000, UTC) == opened.made


def test_s33_a_table_whose_snapshot_has_a_time_that_no_calendar_has_is_refused(write: Write) -> None:
    """A list from the future would be newer than everything that was written since."""
    table = write(files("a"))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    path = Path(table.metadata_location.removeprefix("file://"))
    path.write_text(path.read_text().replace(f":{snapshot.timestamp_ms}", f":{snapshot.timestamp_ms}000"))
    assert "no time in milliseconds" in refused(table.metadata_location)


def test_an_earlier_state_is_named_by_its_metadata(write: Write) -> None:
    table = write(files("a"))
    before = table.metadata_location
    table.append(files("b"))
    assert [("s3://b/wh/a", to_micros(TIME), 7)] == read(before)


@pytest.mark.parametrize("state", ["created", "emptied"])
def test_a_table_without_files_is_refused(write: Write, state: str) -> None:
    table = write(files("a"))
    table.delete("size = 7")
    name = table.metadata_location if state == "emptied" else str(table.metadata.metadata_log[0].metadata_file)
    assert "without" in refused(name)


def test_s08_a_column_that_was_another_one_before_is_refused(write: Write) -> None:
    """Names that changed places would make files older than they are."""
    created = pa.array([datetime(2020, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    table = write(files("a").append_column("created", created))
    with table.update_schema() as update:
        update.rename_column("last_modified", "other")
    with table.update_schema() as update:
        update.rename_column("created", "last_modified")
    assert "its column last_modified has had another name" in refused(table.metadata_location)


def test_s27_a_flag_that_old_files_lack_is_refused(write: Write) -> None:
    times = pa.array([TIME], pa.timestamp("us", "UTC"))
    table = write(pa.table({"bucket": ["b"], "key": ["wh/a"], "last_modified_date": times}))
    with table.update_schema() as update:
        update.add_column("is_delete_marker", BooleanType())
    assert "its column is_delete_marker has had another name" in refused(table.metadata_location)


def test_s06_a_file_of_the_table_that_is_gone_is_an_error(write: Write) -> None:
    table = write(files("a"), files("b"))
    opened = open_file_lists([table.metadata_location], CHOICE)
    Path(opened[0].parts[-1].path).unlink()
    with pytest.raises(ListingError, match="cannot be read completely"):
        list(rows_of_lists(opened))


def test_s27_metadata_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v1.metadata.json").write_text("{}")
    refused(f"{tmp_path}/v1.metadata.json")
    refused(f"{tmp_path}/v2.metadata.json")


DATA = FileEntry(path="/wh/a", kind=FileKind.DATA, file_format="PARQUET", size=1, records=1, spec_id=0)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kind": FileKind.POSITION_DELETES}, "has delete files"),
        ({"kind": FileKind.EQUALITY_DELETES}, "has delete files"),
        ({"kind": FileKind.DELETION_VECTOR, "file_format": "PUFFIN"}, "has delete files"),
        ({"file_format": "AVRO"}, "is AVRO, expected PARQUET"),
        ({"path": "gs://b/wh/a"}, "is not in the store of the metadata file"),
        ({"path": "tape://b/wh/a"}, "is not in the store of the metadata file"),
    ],
)
def test_s06_a_table_of_which_not_every_row_would_be_understood_is_refused(change: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        list_of_data_files("/wh/v1.metadata.json", [replace(DATA, **change)], made=TIME, column_ids={})


@pytest.mark.parametrize("raw", ["/wh/a", "file:///wh/a", "file:/wh/a", "file://localhost/wh/a"])
def test_s03_a_local_file_of_a_table_may_be_written_in_several_ways(raw: str) -> None:
    opened = list_of_data_files("/wh/v1.metadata.json", [replace(DATA, path=raw)], made=TIME, column_ids={})
    assert ["/wh/a"] == [part.path for part in opened.parts]


def test_s04_the_path_of_a_file_of_a_table_is_raw() -> None:
    files = [replace(DATA, path="file:///wh/ts=00%3A00/a b?.parquet")]
    opened = list_of_data_files("file:///wh/metadata/v1.metadata.json", files, made=TIME, column_ids={})
    assert ["/wh/ts=00%3A00/a b?.parquet"] == [part.path for part in opened.parts]


def test_s28_credentials_in_the_name_of_a_table_are_refused_and_not_repeated() -> None:
    said = refused("s3://AKIA:our-secret@b/wh/metadata/v1.metadata.json")
    assert "our-secret" not in said
    assert "contains credentials" in said
