from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import sqlalchemy
from each_database import OnMariaDb, OnPostgres, OnSqlite, engine_of
from java_rows import put_rows
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_jdbc.tables import live_sets, metadata

from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.testing.live_set_lifecycle import bring_to
from nessie_gc_core.testing.live_set_samples import NOON, version
from nessie_gc_core.testing.live_set_store import LiveSetStoreContract


class _JdbcContract(LiveSetStoreContract):
    @pytest.fixture
    def open_store(self, url):
        return lambda **options: store_at(url, **options)

    @pytest.fixture
    def unusable(self, unusable_urls):
        return [partial(store_at, url) for url in unusable_urls]

    @pytest.fixture
    def put_java_rows(self, java_url):
        with JdbcLiveSetStore.from_options({"url": java_url, "fetch_size": 5, "pool_max_size": 1}) as reading:

            def put(rows):
                engine = engine_of(java_url)
                put_rows(engine, rows)
                engine.dispose()
                return reading

            yield put

    @pytest.mark.parametrize("fetch_size", [1, 3, 1000])
    def test_pages_of_any_size_give_every_row_once(self, open_store, repository, fetch_size):
        with open_store(fetch_size=fetch_size) as store:
            found = bring_to(store, LiveSetStatus.IDENTIFY_IN_PROGRESS, repository)
            store.add_content_versions(found, [version(n, content_id=f"c{n % 2}") for n in range(9)])
            assert sorted(n - 1 for n in range(9)) == sorted(each.snapshot_id for each in store.content_versions(found))
            assert ["c0", "c1"] == sorted(store.content_ids(found))
            assert 4 == len(list(store.content_versions(found, ["c1"])))

    def test_a_deleted_live_set_leaves_no_row_in_any_table(self, open_store, store, repository, url):
        found = bring_to(store, LiveSetStatus.EXPIRY_SUCCESS, repository)
        store.delete(found)
        engine = engine_of(url)
        with engine.connect() as connection:
            for table in metadata.sorted_tables:
                if "live_set_id" in table.c:
                    rows = sqlalchemy.select(table).where(table.c.live_set_id == str(found))
                    assert [] == connection.execute(rows).all()
        engine.dispose()

    def test_times_are_stored_as_utc_microseconds(self, store, repository, url):
        found = bring_to(store, LiveSetStatus.IDENTIFY_IN_PROGRESS, repository)
        engine = engine_of(url)
        with engine.connect() as connection:
            query = sqlalchemy.select(live_sets.c.created).where(live_sets.c.live_set_id == str(found))
            assert NOON.timestamp() * 1_000_000 == connection.execute(query).scalar_one()
        engine.dispose()


class TestSqlite(OnSqlite, _JdbcContract):
    @pytest.fixture
    def java_url(self, tmp_path):
        return f"sqlite:///{tmp_path}/java.db"

    def test_its_folder_is_made(self, store, tmp_path):
        assert [] == list(store.live_sets())
        assert Path(tmp_path, "new folder", "live-sets.db").exists()

    def test_it_is_for_one_process_at_a_time(self, store):
        assert not store.multi_process


@pytest.mark.server
class TestPostgres(OnPostgres, _JdbcContract):
    @pytest.fixture
    def java_url(self, empty_postgres_url):
        return empty_postgres_url

    def test_it_is_for_many_processes(self, store):
        assert store.multi_process


@pytest.mark.server
class TestMariaDb(OnMariaDb, _JdbcContract):
    @pytest.fixture
    def java_url(self, empty_mariadb_url):
        return empty_mariadb_url

    def test_it_is_for_many_processes(self, store):
        assert store.multi_process


def store_at(url, **options):
    return JdbcLiveSetStore.from_options({"url": url, **options})
