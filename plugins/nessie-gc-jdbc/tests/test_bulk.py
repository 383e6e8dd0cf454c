"""Many rows at once: each database's own way, and what it must not change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from each_database import DATABASES, url_of_an_empty
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_jdbc.bulk import COPIED_ROWS
from nessie_gc_jdbc.database import BULK_ROWS
from nessie_gc_jdbc.tables import digest, key_of

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.testing.live_set_samples import NOON, start, version


@pytest.fixture(params=DATABASES)
def store(request):
    with JdbcLiveSetStore.from_options({"url": url_of_an_empty(request.param, request)}) as store:
        store.create_schema("CREATE")
        yield store


def test_rows_of_several_batches_are_counted_exactly(store):
    found, many = start(store, "r"), BULK_ROWS + COPIED_ROWS
    assert many == store.add_content_versions(found, (version(n) for n in range(many)))
    overlapping = [version(n) for n in range(many - 50, many + COPIED_ROWS)]
    assert COPIED_ROWS == store.add_content_versions(found, overlapping)
    assert (many + COPIED_ROWS,) * 2 == store.count_content_versions(found)
    assert version(7) in list(store.content_versions(found, ["content-7"]))


def test_deferred_deletions_of_many_locations_come_by_location(store):
    found = start(store, "r")
    store.finish_identify(found, at=NOON)
    store.start_expire(found, at=NOON)
    files = [1, 19, 20, 21, 45, *[2] * 150]
    deletions = [
        FileDeletion(location=f"s3://bucket/t{table:04}/", path=f"{n}.parquet", size=n, modified=None)
        for table, count in enumerate(files)
        for n in range(count)
    ]
    assert len(deletions) == store.add_file_deletions(found, reversed(deletions))
    read = list(store.file_deletions(found))
    assert [each.location for each in deletions] == [each.location for each in read]
    assert {(each.location, each.path) for each in deletions} == {(each.location, each.path) for each in read}


@pytest.mark.server
def test_s17_mariadb_stores_no_value_that_it_would_have_to_change(empty_mariadb_url):
    with JdbcLiveSetStore.from_options({"url": empty_mariadb_url, "schema": "CREATE"}) as store:
        found = start(store, "r")
        with pytest.raises(StoreError, match="cannot hold"):
            store.add_content_versions(found, [version(1), replace(version(2), snapshot_id=2**63)])
        assert (0, 0) == store.count_content_versions(found)


def test_keys_are_those_of_earlier_releases():
    assert "162a1bae04db03a7e82c8bd9f63043d40ebc3bbb" == digest("a").hex()
    assert "7bd0d8a72358526d3c45aee935cc7c4eb286ea2e" == digest('ü"\\\x00\ud800', -1, None).hex()
    assert digest("a") + digest("b") == key_of("a", "b")
