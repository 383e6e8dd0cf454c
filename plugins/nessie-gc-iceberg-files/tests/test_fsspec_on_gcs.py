"""The paths of a real asynchronous file system, gcsfs: whatever it makes of a key, no other file is taken for it."""

from __future__ import annotations

import itertools

import pytest
from nessie_gc_iceberg_files import gcs_store  # keeps gcsfs from asking a service of Google's for the kind of a bucket
from nessie_gc_iceberg_files.fsspec_store import FsspecStore
from test_contracts import gcs

from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.files import DeleteStatus

__all__ = ["gcs"]  # a fixture
pytestmark = pytest.mark.server
_NUMBERS = itertools.count()


@pytest.fixture
def store(gcs):
    file_system = gcs_store.FsspecFileIO({**gcs.properties, "gcs.project-id": "none"}).get_fs("gs")
    return FsspecStore(file_system, "lake/", where="gs://lake/", is_bucket=True)


@pytest.fixture
def prefix():
    return f"generic-{next(_NUMBERS)}/"


@pytest.mark.parametrize("key", ["a#1", "a b%20c", "a?generation=1", "x:y/é", "d/~/e", "a::b", "..."])
def test_a_key_that_arrives_is_listed_read_and_deleted(gcs, store, prefix, key):
    for name in (key, "neighbour"):
        gcs.put(prefix + name, name.encode())
    if "?" in key:  # it may be a pattern, so it stays
        assert DeleteStatus.FAILED is next(store.delete(prefix, [key])).status
        gone = set()
    else:
        assert key.encode() == store.read(prefix + key)
        assert DeleteStatus.DELETED is next(store.delete(prefix, [key])).status
        gone = {key}
    expected = {prefix + name for name in {key, "neighbour"} - gone}
    assert expected == {file.key for file in store.files(prefix)} == set(gcs.keys(prefix))


@pytest.mark.parametrize("key", ["a//b", "/a", "d/./e", "a//"])
def test_s04_a_key_that_does_not_arrive_stops_the_listing_and_stays(gcs, store, prefix, key):
    for name in (key, "a", "b", "d/e", "e"):
        gcs.put(prefix + name, b"x")
    before = set(gcs.keys(prefix))
    with pytest.raises(ListingError):
        list(store.files(prefix))
    assert DeleteStatus.FAILED is next(store.delete(prefix, [key])).status
    with pytest.raises(OSError, match="cannot name") as caught:
        store.read(prefix + key)
    assert not isinstance(caught.value, FileNotFoundError)
    assert before == set(gcs.keys(prefix))
