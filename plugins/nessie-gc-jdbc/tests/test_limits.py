"""A database that gives less than is asked for: few connections, no space, no rights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from each_database import DATABASES, engine_of, url_of_an_empty
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_jdbc.bulk import COPIED_ROWS
from old_tables import run
from sqlalchemy.pool import QueuePool

from nessie_gc_core.errors import StoreError
from nessie_gc_core.testing.live_set_samples import start, version

RIGHTS = "grant the user the rights to use this database and the tables nessie_gc_*"


@pytest.mark.parametrize("database", DATABASES)
def test_many_threads_share_one_connection_without_blocking_each_other(database, request):
    url = url_of_an_empty(database, request)
    with JdbcLiveSetStore.from_options({"url": url, "schema": "CREATE", "pool_max_size": 1, "fetch_size": 5}) as store:
        live_sets = [start(store, f"r{n}") for n in range(6)]

        def use(number):
            """Reads while it writes, and takes a lease meanwhile."""
            mine, next_one = live_sets[number], live_sets[(number + 1) % 6]
            store.add_content_versions(mine, (version(n) for n in range(40)))
            store.acquire_lease(f"r{number}", "me", host="h", process=1, duration=timedelta(hours=1))
            pairs = ((each.content_id, "s3://b/t") for each in store.content_versions(mine))
            return store.add_base_locations(mine, pairs), len(list(store.content_versions(next_one)))

        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(use, range(6), timeout=120))
        assert [40] * 6 == [added for added, _ in found]
        connections = store.database.engine.pool
        assert isinstance(connections, QueuePool)
        assert 0 == connections.checkedout()


def test_a_full_disk_is_said_and_what_was_stored_before_stays(sqlite_url):
    with JdbcLiveSetStore.from_options({"url": sqlite_url, "pool_max_size": 1}) as store:
        found = start(store, "r")
        assert 100 == store.add_content_versions(found, [version(n) for n in range(100)])
        with store.database.engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 5}")
        with pytest.raises(StoreError) as caught:
            store.add_content_versions(found, (version(n) for n in range(100, 5000)))
        assert r"live-sets.db failed: database or disk is full; free some space" in str(caught.value)
        assert 1 == len(str(caught.value).splitlines())
        assert (100, 100) == store.count_content_versions(found)
        with store.database.engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA max_page_count = {2**30}")
        assert 4900 == store.add_content_versions(found, (version(n) for n in range(100, 5000)))


@pytest.fixture(params=[each for each in DATABASES if each != "sqlite"])
def engine(request):
    """A database with tables, for its owner."""
    url = url_of_an_empty(request.param, request)
    with JdbcLiveSetStore.from_options({"url": url}) as store:
        store.create_schema("CREATE")
    engine = engine_of(url)
    yield engine
    engine.dispose()


@pytest.fixture
def granting(engine):
    """A function that gives a new user some rights, and the URL for that user."""
    name = engine.url.database
    assert name is not None
    user = f"u{name[:12]}"
    if engine.dialect.name == "postgresql":
        run(engine, f"CREATE ROLE {user} LOGIN PASSWORD 'word'", f"REVOKE ALL ON DATABASE {name} FROM PUBLIC")
        run(engine, f"GRANT CONNECT ON DATABASE {name} TO {user}")
        everything = "ALL TABLES IN SCHEMA public"
    else:
        run(engine, f"CREATE USER {user}@'%' IDENTIFIED BY 'word'")
        everything = f"{name}.*"

    def grant(*rights):
        if rights:
            run(engine, f"GRANT {', '.join(rights)} ON {everything} TO {user}")
        return engine.url.set(username=user, password="word").render_as_string(hide_password=False)

    return grant


@pytest.mark.parametrize("rights", [(), ("SELECT",)])
def test_a_user_without_rights_is_told_which_are_missing(granting, rights):
    with JdbcLiveSetStore.from_options({"url": granting(*rights)}) as store:
        with pytest.raises(StoreError, match=r"^the live-set store .*@127\.0\.0\.1.* failed: .*denied") as caught:
            start(store, "r")
        assert RIGHTS in str(caught.value)
        assert 1 == len(str(caught.value).splitlines())
        assert "word@" not in str(caught.value)


def test_a_user_who_may_create_nothing_is_told_so(granting):
    with JdbcLiveSetStore.from_options({"url": granting("SELECT")}) as store:
        with pytest.raises(StoreError, match=r"denied|must be owner") as caught:
            store.create_schema("DROP_AND_CREATE")
        assert RIGHTS in str(caught.value)


ROWS_ONLY = ("SELECT", "INSERT", "UPDATE", "DELETE")


def test_a_user_who_may_not_change_old_tables_is_told_who_does_what(engine, granting):
    run(engine, "DROP TABLE nessie_gc_held_files", "DROP TABLE nessie_gc_migrations")
    run(engine, "UPDATE nessie_gc_schema SET version = 3")
    options = {"url": granting(*ROWS_ONLY), "schema": "CREATE_IF_NOT_EXISTS"}
    with JdbcLiveSetStore.from_options(options) as store:
        with pytest.raises(StoreError, match="a user with more rights can create and upgrade the tables") as caught:
            start(store, "r")
        assert "nessie-gc create-sql-schema --jdbc-schema CREATE_IF_NOT_EXISTS" in str(caught.value)
        assert 1 == len(str(caught.value).splitlines())


def test_a_user_who_may_change_no_table_uses_those_from_before_the_migrations(engine, granting):
    run(engine, "DROP TABLE nessie_gc_migrations")
    options = {"url": granting(*ROWS_ONLY), "schema": "CREATE_IF_NOT_EXISTS"}
    with JdbcLiveSetStore.from_options(options) as store:
        found = start(store, "r")
        assert [found] == [live_set.id for live_set in store.live_sets()]


def test_a_user_who_may_only_read_and_write_rows_writes_many(granting):
    with JdbcLiveSetStore.from_options({"url": granting(*ROWS_ONLY)}) as store:
        found = start(store, "r")
        many = COPIED_ROWS + 50
        assert many == store.add_content_versions(found, (version(n) for n in range(many)))
        assert 0 == store.add_content_versions(found, (version(n) for n in range(many)))
        store.delete(found)
