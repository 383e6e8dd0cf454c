from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from uuid import uuid4

import pytest
import sqlalchemy
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_jdbc.tables import SCHEMA_VERSION, create_script, metadata
from sqlalchemy.dialects.mysql.base import MySQLDialect
from sqlalchemy.dialects.mysql.mariadb import MariaDBDialect

from nessie_gc_core.connectors import SupportsSqlSchema
from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.testing.live_set_samples import NOON, start


@pytest.fixture
def open_store(url):
    stores = []

    def make(**options):
        stores.append(JdbcLiveSetStore.from_options({"url": url, **options}))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def used_once(store):
    """The store with one live set; its id."""
    return start(store, f"repository-{uuid4()}")


def test_a_new_sqlite_file_gets_its_tables_on_first_use(sqlite_url):
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        assert [] == list(store.live_sets())


@pytest.mark.server
def test_other_databases_get_their_tables_only_on_request(empty_postgres_url, postgres_server):
    with JdbcLiveSetStore.from_options({"url": empty_postgres_url}) as store:
        with pytest.raises(StoreError, match="nessie-gc create-sql-schema") as caught:
            list(store.live_sets())
        assert 1 == len(str(caught.value).splitlines())
        assert postgres_server.password not in str(caught.value)
        store.create_schema("CREATE")
        assert [] == list(store.live_sets())


def test_no_strategy_at_all_creates_nothing(open_store):
    with pytest.raises(StoreError, match="has no tables"):
        list(open_store(schema="NONE").live_sets())


@pytest.mark.parametrize("strategy", ["CREATE", "create_if_not_exists", "DROP_AND_CREATE"])
def test_every_strategy_creates_what_is_missing(open_store, strategy):
    store = open_store(schema="NONE")
    assert isinstance(store, SupportsSqlSchema)
    store.create_schema(strategy)
    used_once(store)


@pytest.mark.parametrize("strategy", ["CREATE", "CREATE_IF_NOT_EXISTS", "DROP_AND_CREATE"])
def test_every_strategy_can_be_an_option(open_store, strategy):
    store = open_store(schema=strategy)
    assert not store.multi_process or strategy == "CREATE_IF_NOT_EXISTS"
    used_once(store)
    assert 1 == len(list(store.live_sets()))


def test_create_refuses_tables_that_exist(open_store):
    open_store().create_schema("CREATE")
    with pytest.raises(StoreError, match="DROP_AND_CREATE"):
        open_store().create_schema("CREATE")


def test_create_if_not_exists_keeps_what_there_is(open_store):
    store = open_store(schema="CREATE_IF_NOT_EXISTS")
    found = used_once(store)
    store.create_schema("CREATE_IF_NOT_EXISTS")
    assert NOON == open_store().get(found).created


def test_drop_and_create_loses_what_there_was(open_store, engine):
    store = open_store(schema="CREATE_IF_NOT_EXISTS")
    used_once(store)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("CREATE TABLE nessie_gc_of_somebody_else (x INTEGER)"))
    store.create_schema("DROP_AND_CREATE")
    assert [] == list(open_store().live_sets())
    assert sqlalchemy.inspect(engine).has_table("nessie_gc_of_somebody_else")


def test_a_strategy_that_is_not_known_is_refused(open_store):
    with pytest.raises(ConfigurationError, match="'SOMETIMES'"):
        open_store().create_schema("SOMETIMES")


def test_the_script_makes_the_tables_that_the_store_uses(open_store, engine):
    store = open_store(schema="NONE")
    with engine.begin() as connection:
        for statement in store.schema_script().split(";"):
            if statement.strip():
                connection.execute(sqlalchemy.text(statement))
    used_once(store)
    assert {table.name for table in metadata.sorted_tables} <= set(sqlalchemy.inspect(engine).get_table_names())


@pytest.mark.parametrize("dialect", [MySQLDialect(), MariaDBDialect()], ids=["mysql", "mariadb"])
def test_the_script_for_databases_to_come_has_keys_that_they_can_index(dialect):
    script = create_script(dialect)
    assert "BINARY(40)" in script
    assert "LONGTEXT" in script
    assert "BLOB" not in script


@pytest.mark.parametrize("strategy", [None, "CREATE_IF_NOT_EXISTS", "NONE"])
def test_tables_of_another_version_are_refused_and_left_alone(open_store, engine, strategy):
    open_store().create_schema("CREATE")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(f"UPDATE nessie_gc_schema SET version = {SCHEMA_VERSION + 1}"))
    store = open_store(schema=strategy)
    with pytest.raises(StoreError, match=f"version {SCHEMA_VERSION + 1} .* needs version {SCHEMA_VERSION}"):
        list(store.live_sets())
    with pytest.raises(StoreError, match=f"needs version {SCHEMA_VERSION}"):
        store.create_schema("CREATE_IF_NOT_EXISTS")
    store.create_schema("DROP_AND_CREATE")
    used_once(store)


LEASES_OF_VERSION_1 = """CREATE TABLE nessie_gc_leases (
    repository_key {binary} NOT NULL PRIMARY KEY,
    repository TEXT NOT NULL,
    owner TEXT NOT NULL,
    ends BIGINT NOT NULL
)"""


def make_version_1(engine, *, ends=0):
    """Turns the tables into those of version 1, with a lease that runs out then."""
    binary = {"postgresql": "BYTEA", "sqlite": "BLOB"}.get(engine.dialect.name, "BINARY(20)")
    with engine.begin() as connection:
        for statement in (
            "DROP TABLE nessie_gc_migrations",
            "DROP TABLE nessie_gc_leases",
            LEASES_OF_VERSION_1.format(binary=binary),
            "UPDATE nessie_gc_schema SET version = 1",
        ):
            connection.execute(sqlalchemy.text(statement))
        row = {"key": b"k" * 20, "ends": ends}
        connection.execute(sqlalchemy.text("INSERT INTO nessie_gc_leases VALUES (:key, 'r', 'one', :ends)"), row)


def test_tables_of_version_1_are_brought_up_to_date_with_all_they_hold(open_store, engine):
    store = open_store(schema="CREATE_IF_NOT_EXISTS")
    found = used_once(store)
    store.add_tombstones("r", ["s3://b/t"], at=NOON)
    store.close()
    make_version_1(engine)

    store = open_store(schema="CREATE_IF_NOT_EXISTS")
    assert NOON == store.get(found).created
    assert {"s3://b/t"} == store.tombstones("r", ["s3://b/t"])
    store.acquire_lease("r", "one", host="h", process=1, duration=timedelta(hours=1))
    assert "h" == store.lease("r").host
    assert found == open_store(schema="NONE").get(found).id


def test_an_sqlite_file_of_version_1_is_brought_up_to_date_on_first_use(sqlite_url):
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        found = used_once(store)
    engine = sqlalchemy.create_engine(sqlite_url)
    make_version_1(engine)
    engine.dispose()
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        assert [found] == [live_set.id for live_set in store.live_sets()]


def test_tables_of_version_1_say_how_to_bring_them_up_to_date_where_they_are_left_alone(open_store, engine):
    open_store().create_schema("CREATE")
    make_version_1(engine)
    with pytest.raises(StoreError, match=r"create-sql-schema --jdbc-schema CREATE_IF_NOT_EXISTS"):
        list(open_store(schema="NONE").live_sets())


def test_tables_that_a_process_of_the_earlier_release_uses_stay_as_they_are(open_store, engine):
    open_store().create_schema("CREATE")
    make_version_1(engine, ends=2**62)
    with pytest.raises(StoreError, match="earlier release"):
        open_store().create_schema("CREATE_IF_NOT_EXISTS")
    assert "host" not in [column["name"] for column in sqlalchemy.inspect(engine).get_columns("nessie_gc_leases")]


def test_sqlite_is_durable_and_concurrent(sqlite_url, tmp_path):
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        found = used_once(store)
        with store.database.engine.connect() as connection:
            pragmas = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
            }
        assert {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000} == pragmas
        with closing(sqlite3.connect(tmp_path / "new folder/live-sets.db")) as other:
            assert [(str(found),)] == other.execute("SELECT live_set_id FROM nessie_gc_live_sets").fetchall()
