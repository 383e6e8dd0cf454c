from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from urllib.parse import quote

import pytest
import sqlalchemy
from nessie_gc_jdbc import JdbcLiveSetStore
from sqlalchemy.pool import QueuePool

from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.testing.live_set_samples import start, version
from nessie_gc_core.testing.servers import free_ports


def the_error(url, act=lambda store: list(store.live_sets()), **options):
    with JdbcLiveSetStore.from_options({"url": url, **options}) as store, pytest.raises(StoreError) as caught:
        act(store)
    message = str(caught.value)
    assert 1 == len(message.splitlines())
    return message


def test_a_locked_file_is_said_to_be_locked(sqlite_url, tmp_path):
    with JdbcLiveSetStore.from_options({"url": sqlite_url, "properties": {"timeout": "0.1"}}) as store:
        found = start(store, "r")
        with closing(sqlite3.connect(tmp_path / "new folder/live-sets.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert found == store.get(found).id
            with pytest.raises(StoreError, match=r"live-sets\.db failed: database is locked; another process holds it"):
                store.add_content_versions(found, [version(1)])
            other.execute("ROLLBACK")
        assert 1 == store.add_content_versions(found, [version(1)])


def test_a_status_that_a_later_version_wrote_is_said_with_its_live_set(sqlite_url, tmp_path):
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        found = start(store, "r")
        with closing(sqlite3.connect(tmp_path / "new folder/live-sets.db", isolation_level=None)) as other:
            other.execute("UPDATE nessie_gc_live_sets SET status = 'POSTPONED'")
        for read in (lambda: store.get(found), lambda: list(store.live_sets())):
            with pytest.raises(
                StoreError, match=rf"{found} in the database cannot be understood .*'POSTPONED'"
            ) as caught:
                read()
            assert 1 == len(str(caught.value).splitlines())


def test_a_file_that_is_no_database_is_said_to_be_none(tmp_path):
    (tmp_path / "x.db").write_text("this is a text and no database, and it is long enough to be sure" * 20)
    assert "is damaged, or not a database of Nessie GC" in the_error(f"jdbc:sqlite:{tmp_path}/x.db")


@pytest.mark.parametrize("folder", ["misspelt", "a/b/c", "file", "file/folder"])
def test_a_folder_that_does_not_exist_is_named_and_not_made(tmp_path, folder):
    (tmp_path / "file").write_text("")
    for act in (lambda store: list(store.live_sets()), lambda store: store.create_schema("CREATE")):
        said = the_error(f"jdbc:sqlite:{tmp_path}/{folder}/x.db", act)
        assert f"the folder {tmp_path}/{folder} of the live-set store does not exist; create it, or correct" in said
    assert ["file"] == [path.name for path in tmp_path.iterdir()]


def test_a_folder_in_place_of_the_file_is_said(tmp_path):
    assert "check path and rights" in the_error(f"jdbc:sqlite:{tmp_path}")


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_said(tmp_path):
    with JdbcLiveSetStore.from_options({"url": f"jdbc:sqlite:{tmp_path}/x.db"}) as store:
        list(store.live_sets())
    (tmp_path / "x.db").chmod(0o400)
    assert "check path and rights" in the_error(f"jdbc:sqlite:{tmp_path}/x.db", lambda store: start(store, "r"))


def test_a_server_that_does_not_run_is_named_without_the_password():
    (port,) = free_ports(1)
    message = the_error(f"jdbc:postgresql://127.0.0.1:{port}/gc?user=me", password="hidden-word")
    assert f"postgresql+psycopg://me@127.0.0.1:{port}/gc" in message
    assert "check that the database is running" in message
    assert "hidden-word" not in message


@pytest.mark.parametrize("value", ["disable,password:hunter2", "hunter2", "hunter2 and more"])
@pytest.mark.parametrize("in_url", [True, False])
def test_s28_the_value_of_a_parameter_is_not_shown(value, in_url):
    url = "jdbc:postgresql://127.0.0.1:5432/gc?user=me"
    given = {"url": f"{url}&sslmode={quote(value)}"} if in_url else {"url": url, "properties": {"sslmode": value}}
    message = the_error(**given)
    assert 'sslmode value: "***"' in message
    assert "hunter2" not in message
    assert "check the parameters" in message


def test_s28_the_value_of_a_parameter_for_sqlite_is_not_shown(tmp_path):
    with pytest.raises(ConfigurationError, match="could not convert string to float: ") as caught:
        JdbcLiveSetStore.from_options({"url": f"jdbc:sqlite:{tmp_path}/x.db", "properties": {"timeout": "1,hunter2"}})
    assert "hunter2" not in str(caught.value)


def test_a_short_value_of_a_parameter_hides_no_part_of_a_port():
    (port,) = free_ports(1)
    message = the_error(f"jdbc:postgresql://127.0.0.1:{port}/gc?user=me", properties={"connect_timeout": str(port)[:2]})
    assert 2 == message.count(str(port))


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_server", "mariadb_server"])
def test_a_wrong_password_is_said_and_not_shown(server, request):
    running = request.getfixturevalue(server)
    message = the_error(running.jdbc_url("mysql"), user=running.user, password="hidden-word")
    assert "check user and password" in message
    assert "hidden-word" not in message


@pytest.mark.server
@pytest.mark.parametrize("server", ["postgres_server", "mariadb_server"])
def test_a_database_that_does_not_exist_is_said(server, request):
    message = the_error(request.getfixturevalue(server).uri("nowhere"))
    assert "/nowhere failed: " in message
    assert "check the name of the database" in message


@pytest.mark.server
def test_text_that_the_database_cannot_hold_is_an_error_and_changes_nothing(empty_postgres_url):
    with JdbcLiveSetStore.from_options({"url": empty_postgres_url, "schema": "CREATE"}) as store:
        found = start(store, "r")
        for text in ("nul\x00", "\ud800"):
            with pytest.raises(StoreError, match="cannot hold this text"):
                store.add_content_versions(found, [version(1), version(2, content_id=text)])
        assert (0, 0) == store.count_content_versions(found)


@pytest.mark.server
def test_a_connection_that_the_server_closed_is_replaced(postgres_server, empty_postgres_url):
    with JdbcLiveSetStore.from_options({"url": empty_postgres_url, "schema": "CREATE"}) as store:
        found = start(store, "r")
        database = empty_postgres_url.rpartition("/")[2]
        engine = sqlalchemy.create_engine(postgres_server.uri(driver="psycopg"))
        with engine.connect() as connection:
            query = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = :name"
            assert 0 < connection.execute(sqlalchemy.text(query), {"name": database}).scalar_one()
        engine.dispose()
        assert found == store.get(found).id


@pytest.mark.server
def test_no_connection_is_held_while_rows_are_read_or_computed(empty_postgres_url):
    with JdbcLiveSetStore.from_options(
        {"url": empty_postgres_url, "schema": "CREATE", "pool_max_size": 1, "fetch_size": 2}
    ) as store:
        found, other = start(store, "r"), start(store, "r")
        store.add_content_versions(found, [version(n) for n in range(10)])
        streams = [store.content_versions(found) for _ in range(5)]
        for stream in streams:
            next(stream)
        assert 10 == store.add_content_versions(other, store.content_versions(found))
        pool = store.database.engine.pool
        assert isinstance(pool, QueuePool)
        assert 0 == pool.checkedout()
