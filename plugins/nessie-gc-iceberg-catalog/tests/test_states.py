from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from conftest import ROWS, Lake, Open
from nessie_gc_iceberg_catalog import MetadataLogReader
from nessie_gc_iceberg_catalog.content_types import GC_DISABLED, METADATA_LOG_FILE
from pyiceberg.table import Table
from reading import put, put_by, reference

from nessie_gc_core.errors import ReferenceNotFoundError
from nessie_gc_core.model import (
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    UNKNOWN_CONTENT,
    ContentVersion,
    FileKind,
    ReachableFile,
    Reference,
)


def snapshot_ids(table: Table) -> list[int]:
    return [snapshot.snapshot_id for snapshot in table.metadata.snapshots]


def test_the_log_names_every_snapshot_of_the_metadata_newest_first(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=4)

    versions = put(connect(), "sales.orders", ICEBERG_TABLE)

    assert snapshot_ids(table)[::-1] == [version.snapshot_id for version in versions]
    assert {table.metadata_location} == {version.metadata_location for version in versions}
    assert {str(table.metadata.table_uuid)} == {version.content_id for version in versions}


def test_entries_are_linked_and_never_get_newer_down_the_log(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", appends=3)
    connector = connect()

    log = list(connector.commit_log(reference(connector, "sales.orders")))

    assert reference(connector, "sales.orders").commit_id == log[0].commit_id
    assert [entry.commit_id for entry in log[1:]] + [None] == [entry.parent_id for entry in log]
    assert all(newer.commit_time >= older.commit_time for newer, older in pairwise(log))


def test_a_table_without_snapshots_has_one_state(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders")

    [version] = put(connect(), "sales.orders")

    assert (table.metadata_location, None) == (version.metadata_location, version.snapshot_id)


def test_snapshots_of_branches_and_tags_are_in_the_log(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=2)
    first = snapshot_ids(table)[0]
    with table.manage_snapshots() as manage:
        manage.create_branch(first, "audit")
    table.append(ROWS, branch="audit")
    on_branch = table.metadata.refs["audit"].snapshot_id
    connector = connect()

    versions = put(connector, "sales.orders", ICEBERG_TABLE)

    assert table.metadata.current_snapshot_id == versions[0].snapshot_id
    assert on_branch in {version.snapshot_id for version in versions}
    assert len(snapshot_ids(table)) == len(versions)


def test_the_head_keeps_every_snapshot_that_the_metadata_lists(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=3)
    connector = connect()

    head, *older = connector.commit_log(reference(connector, "sales.orders"))

    assert snapshot_ids(table)[::-1] == [version.snapshot_id for version in put_by(head, ICEBERG_TABLE)]
    assert snapshot_ids(table)[1::-1] == [v.snapshot_id for entry in older for v in put_by(entry, ICEBERG_TABLE)]


def test_the_head_keeps_only_its_own_snapshot_where_that_is_asked_for(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=3)
    connector = connect(keep_listed_snapshots=False)

    head, *older = connector.commit_log(reference(connector, "sales.orders"))

    assert snapshot_ids(table)[2:] == [version.snapshot_id for version in put_by(head, ICEBERG_TABLE)]
    assert 3 == len(put_by(head, METADATA_LOG_FILE))
    assert snapshot_ids(table)[1::-1] == [v.snapshot_id for entry in older for v in put_by(entry, ICEBERG_TABLE)]


def test_expired_snapshots_are_not_live(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=3)
    table.maintenance.expire_snapshots().by_id(snapshot_ids(table)[0]).commit()
    table.refresh()

    versions = put(connect(), "sales.orders", ICEBERG_TABLE)

    assert 2 == len(versions)
    assert set(snapshot_ids(table)) == {version.snapshot_id for version in versions}


def test_older_metadata_files_are_kept_as_files(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=3)

    versions = put(connect(), "sales.orders", METADATA_LOG_FILE)

    assert 3 == len(versions)
    assert [entry.metadata_file for entry in table.metadata.metadata_log] == [v.metadata_location for v in versions]


def test_an_older_metadata_file_that_is_gone_is_asked_for_and_never_opened(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=2)
    gone = table.metadata.metadata_log[0].metadata_file
    Path(gone.removeprefix("file://")).unlink()
    [version] = [v for v in put(connect(), "sales.orders") if v.metadata_location == gone]

    with MetadataLogReader.from_options({}) as reader:
        files = list(reader.files(version))

    assert [ReachableFile(path=gone, kind=FileKind.METADATA, location=table.location())] == files


def test_the_log_of_a_commit_stays_as_it_was_when_the_table_moves_on(lake: Lake, connect: Open) -> None:
    table = lake.table("sales.orders", appends=2)
    connector = connect()
    head = reference(connector, "sales.orders")
    before = list(connector.commit_log(head))
    table.append(ROWS)
    list(connector.references())

    assert before == list(connector.commit_log(head))
    assert before == list(connect().commit_log(head))


def test_the_log_of_an_older_commit_is_the_rest_of_the_log(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", appends=3)
    connector = connect()
    head = reference(connector, "sales.orders")
    log = list(connector.commit_log(head))

    older = Reference(name=head.name, kind=head.kind, commit_id=log[1].commit_id)

    assert log[1:] == list(connector.commit_log(older))


def test_a_dropped_table_still_has_the_log_of_its_last_head(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", appends=2)
    connector = connect()
    head = reference(connector, "sales.orders")
    expected = list(connector.commit_log(head))
    lake.catalog.drop_table("sales.orders")

    assert expected == list(connect().commit_log(head))


@pytest.mark.parametrize("commit", ["deadbeef", "#", "#-", "{0}#17", "{1}#-"])
def test_a_commit_that_does_not_exist_is_not_found(lake: Lake, connect: Open, commit: str) -> None:
    table = lake.table("sales.orders", appends=1)
    connector = connect()
    head = reference(connector, "sales.orders")
    missing = Reference(
        name=head.name, kind=head.kind, commit_id=commit.format(table.metadata_location, f"{table.location()}/gone")
    )

    with pytest.raises(ReferenceNotFoundError):
        list(connector.commit_log(missing))


def test_a_renamed_table_keeps_its_content_id(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", appends=1)
    before = put(connect(), "sales.orders")[0].content_id
    lake.catalog.rename_table("sales.orders", "sales.old_orders")

    assert before == put(connect(), "sales.old_orders")[0].content_id


def test_a_table_that_another_tool_collects_is_live_and_frozen(lake: Lake, connect: Open) -> None:
    elsewhere = f"file://{lake.warehouse}/elsewhere"
    properties = {"gc.enabled": "False", "write.data.path": elsewhere}
    table = lake.table("sales.orders", appends=2, properties=properties)

    versions = put(connect(), "sales.orders")

    assert 2 == sum(version.content_type == ICEBERG_TABLE for version in versions)
    frozen = [version for version in versions if version.content_type == GC_DISABLED]
    assert {table.location(), elsewhere} == {version.location for version in frozen}
    assert 2 == len({version.identity for version in frozen})


@pytest.mark.parametrize("damage", ["missing", "no json", "another json"])
def test_a_table_that_cannot_be_read_is_frozen_and_stops_no_other(lake: Lake, connect: Open, damage: str) -> None:
    broken = lake.table("sales.broken", appends=2)
    lake.table("sales.orders", appends=1)
    path = Path(broken.metadata_location.removeprefix("file://"))
    path.unlink() if damage == "missing" else path.write_text("{" if damage == "no json" else json.dumps({"a": 1}))
    connector = connect()

    versions = put(connector, "sales.broken")

    # The reader says that it is unknown; the frozen location holds even if the reader gets further than we did.
    assert [ICEBERG_TABLE, UNKNOWN_CONTENT] == [version.content_type for version in versions]
    assert broken.metadata_location == versions[0].metadata_location
    assert broken.location() == versions[1].location
    assert 1 == len(put(connector, "sales.orders", ICEBERG_TABLE))


def test_a_broken_tables_log_can_be_read_again_by_its_commit(lake: Lake, connect: Open) -> None:
    broken = lake.table("sales.broken", appends=1)
    Path(broken.metadata_location.removeprefix("file://")).unlink()
    head = reference(connect(), "sales.broken")

    [entry] = connect().commit_log(head)

    assert head.commit_id == entry.commit_id


def test_a_view_of_an_sql_catalog_is_read_by_its_metadata_location(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders")
    location = f"file://{lake.warehouse}/sales/v/metadata/00000-v.metadata.json"
    lake.execute("INSERT INTO iceberg_tables VALUES ('prod', 'sales', 'v', ?, NULL, 'VIEW')", location)

    [version] = put(connect(), "sales.v")

    assert (ICEBERG_VIEW, location) == (version.content_type, version.metadata_location)


def test_commit_ids_are_unique_in_the_repository(lake: Lake, connect: Open) -> None:
    for name in ("sales.a", "sales.b"):
        lake.table(name, appends=3)
    connector = connect()

    ids = [entry.commit_id for each in connector.references() for entry in connector.commit_log(each)]

    assert 6 == len(ids) == len(set(ids))


def test_every_version_names_where_it_was_seen(lake: Lake, connect: Open) -> None:
    lake.table("sales.orders", appends=2)
    connector = connect()

    entries = list(connector.commit_log(reference(connector, "sales.orders")))

    def of(entry_number: int) -> list[ContentVersion]:
        return [op.content for op in entries[entry_number].operations or () if op.content is not None]

    assert {entries[0].commit_id} == {version.commit_id for version in of(0)}
    assert {"sales.orders"} == {version.content_key for version in of(0)}
