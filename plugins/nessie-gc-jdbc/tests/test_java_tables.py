"""The tables of Nessie's Java tool are read page by page, and stay as they are."""

from __future__ import annotations

from datetime import datetime

import pytest
import sqlalchemy
from each_database import engine_of
from java_rows import all_rows, create_tables, put, put_rows
from nessie_gc_jdbc import JdbcLiveSetStore

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.java_tables import JavaContentVersion, JavaFileDeletion, JavaLiveSet
from nessie_gc_core.testing.live_set_java import JavaRows

ID = "4f2f2ea6-63c4-4a5a-9d0f-52f6a3a8b5c1"


@pytest.fixture
def store(url):
    with JdbcLiveSetStore.from_options({"url": url, "fetch_size": 3, "pool_max_size": 1}) as store:
        yield store


def content(number, of_each=3):
    return JavaContentVersion(
        content_id=f"c{number // of_each:02}",
        commit_id=f"{number:03}",
        content_key="db.t",
        content_type="ICEBERG_TABLE",
        metadata_location="s3://b/db/t/m.json",
        snapshot_id=number,
    )


@pytest.mark.parametrize("of_each", [1, 3, 7, 20])
def test_reading_gives_every_row_once_and_changes_nothing(store, engine, of_each):
    contents = [content(number, of_each) for number in range(20)]
    deletions = [
        JavaFileDeletion(base_uri=f"s3://b/{number % 2}/", path_uri=f"{number:03}", modification_timestamp=number)
        for number in range(20)
    ]
    put_rows(engine, JavaRows(content_versions={ID: contents}, file_deletions={ID: deletions}))
    before, tables = all_rows(engine), sqlalchemy.inspect(engine).get_table_names()
    assert list(range(20)) == sorted(each.snapshot_id for each in store.java_content_versions(ID))
    assert list(range(20)) == sorted(each.modification_timestamp for each in store.java_file_deletions(ID))
    assert [] == list(store.java_base_locations(ID))
    assert (before, tables) == (all_rows(engine), sqlalchemy.inspect(engine).get_table_names())


def test_rows_that_are_written_beside_our_tables_are_read(store, engine):
    store.create_schema("CREATE")
    put_rows(engine, JavaRows(content_versions={ID: [content(1)]}))
    assert [content(1)] == list(store.java_content_versions(ID))
    assert [] == list(store.live_sets())


def test_a_missing_table_is_named(store, engine):
    create_tables(engine)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("DROP TABLE gc_file_deletions"))
    with pytest.raises(StoreError, match="has no table gc_file_deletions of the Java tool") as caught:
        list(store.java_live_sets())
    assert 1 == len(str(caught.value).splitlines())


@pytest.mark.server
def test_s10_a_start_that_the_database_moves_is_unknown(empty_mariadb_url):
    """Older servers set the first time of a row again whenever the row changes: at the end of the mark, say."""
    engine = engine_of(empty_mariadb_url)
    create_tables(engine)
    live_set = {"live_set_id": ID, "set_status": "IDENTIFY_SUCCESS", "identify_started": datetime(2026, 7, 1)}
    with engine.begin() as connection:
        moved = "TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"
        connection.execute(sqlalchemy.text(f"ALTER TABLE gc_live_sets MODIFY identify_started {moved}"))
        put(connection, "gc_live_sets", live_set)
    engine.dispose()
    with JdbcLiveSetStore.from_options({"url": empty_mariadb_url}) as store:
        assert [None] == [each.identify_started for each in store.java_live_sets()]


def test_rows_without_a_key_are_not_passed_over(sqlite_url, tmp_path):
    (tmp_path / "new folder").mkdir(exist_ok=True)
    engine = engine_of(sqlite_url)
    odd = JavaContentVersion(
        content_id=None, commit_id="a", content_key=None, content_type=None, metadata_location=None, snapshot_id=None
    )
    put_rows(engine, JavaRows(content_versions={ID: [odd, content(1)]}))
    engine.dispose()
    with JdbcLiveSetStore.from_options({"url": sqlite_url, "fetch_size": 1}) as store:
        assert [odd, content(1)] == list(store.java_content_versions(ID))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("2026-07-01 12:00:00.5", datetime(2026, 7, 1, 12, 0, 0, 500_000)),
        ("0000-00-00 00:00:00", None),
        ("", None),
        (None, None),
    ],
)
def test_a_time_that_does_not_exist_is_unknown(sqlite_url, tmp_path, stored, expected):
    engine = engine_of(sqlite_url)
    create_tables(engine)
    with engine.begin() as connection:
        put(connection, "gc_live_sets", {"live_set_id": ID, "identify_started": stored})
    engine.dispose()
    nothing = JavaLiveSet(
        live_set_id=ID,
        status=None,
        identify_started=expected,
        identify_finished=None,
        expire_started=None,
        expire_finished=None,
        error_message=None,
    )
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        assert [nothing] == list(store.java_live_sets())
