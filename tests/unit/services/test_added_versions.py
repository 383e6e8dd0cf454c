"""The digest of a mark is that of what the store was given, or, where rows came twice, of what it keeps."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.services.added_versions import AddedVersions
from nessie_gc_core.testing.live_set_samples import NOON, start, version


def test_of_versions_that_came_twice_the_one_counts_that_is_kept() -> None:
    store = MemoryLiveSetStore.from_options({})
    live_set = start(store, "r")
    kept = AddedVersions(store, live_set)
    kept.add([version(1), version(2)])
    kept.add([replace(version(1), commit_time=None), version(3)])
    expected = RowsDigest.of(version(number).values for number in (3, 2, 1))
    assert expected == kept.digest(3)


def test_a_stream_is_added_whole() -> None:
    store = MemoryLiveSetStore.from_options({})
    kept = AddedVersions(store, start(store, "r"))
    kept.add_all(version(number) for number in range(25_000))
    assert 25_000 == kept.digest(25_000).rows


def test_a_digest_is_its_text() -> None:
    digest = RowsDigest.of([("é", 1, None, datetime(2026, 1, 1, tzinfo=UTC))]) - RowsDigest(rows=5, total=2**127)
    assert digest == RowsDigest.parse(str(digest))
    assert uuid4() != digest


def test_rows_that_differ_in_anything_have_different_digests() -> None:
    rows = [("a", "b"), ("ab", ""), ("", "ab"), ("a", None), ("a", "None"), ("a", 1), ("a", "1"), ("a",), (NOON,)]
    assert len(rows) == len({RowsDigest.of([row]) for row in rows})
