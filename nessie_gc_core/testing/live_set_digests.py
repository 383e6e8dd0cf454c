"""Tests of live-set stores: the digests of rows, and what a sweep did about dropped tables."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from nessie_gc_core.connectors import LiveSetStore, SupportsVersionParts
from nessie_gc_core.model.live_sets import DroppedSweep, LiveSet
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.testing.demands import demands
from nessie_gc_core.testing.live_set_samples import KOLKATA, LONG_TEXT, NOON, StoreFixtures, deletion, version

_LARGEST = RowsDigest(rows=2**40, total=2**128 - 1)


class DigestTests(StoreFixtures):
    """What a reader compares the rows of a live set with (S34)."""

    @demands("S34: the digests that end a mark and a sweep come back equal, from get and from live_sets.")
    def test_digests_come_back_equal(self, store: LiveSetStore, identifying: UUID) -> None:
        store.finish_identify(identifying, at=NOON, versions=_LARGEST)
        store.start_expire(identifying, at=NOON)
        assert _digests(store, identifying) == [(_LARGEST, None)] * 2
        few = RowsDigest(rows=0, total=0)
        store.finish_expire(identifying, at=NOON, deletions=few)
        assert [(_LARGEST, few)] * 2 == _digests(store, identifying)

    @demands("S20: what a sweep did about dropped tables comes back equal; a live set is without it until then.")
    def test_what_was_done_about_dropped_tables_comes_back(self, store: LiveSetStore, expiring: UUID) -> None:
        assert store.get(expiring).dropped is None
        done = DroppedSweep(after=timedelta(days=4000, microseconds=1), left=2**40)
        store.finish_expire(expiring, at=NOON, dropped=done, failure="it failed")
        assert done == store.get(expiring).dropped
        assert [done] == [each.dropped for each in store.live_sets() if each.id == expiring]
        store.start_expire(expiring, at=NOON, resume=True)
        store.finish_expire(expiring, at=NOON)
        assert store.get(expiring).dropped is None

    @demands("S34: a live set without a digest has none, as one of an earlier release.")
    def test_a_live_set_without_digests_has_none(self, store: LiveSetStore, expiring: UUID) -> None:
        store.add_file_deletions(expiring, [deletion(1)])
        store.finish_expire(expiring, at=NOON)
        assert store.remove_file_deletions(expiring, [deletion(1)]) == 1
        assert _digests(store, expiring) == [(None, None)] * 2

    @demands("S34: the content versions that come back, whole or in parts, have the digest of those that were added.")
    def test_versions_have_the_digest_of_those_that_were_added(self, store: LiveSetStore, identifying: UUID) -> None:
        added = [version(n, content_id=f"c{n % 70}") for n in range(700)]
        added += [
            replace(version(700), commit_time=NOON.astimezone(KOLKATA), snapshot_id=-(2**63)),
            replace(version(701), commit_time=None, metadata_location=None, location=LONG_TEXT, content_key='é😀\\"'),
        ]
        for number in (0, 1):
            store.add_content_versions(identifying, added[number::2])
        expected = RowsDigest.of(each.values for each in added)
        assert expected == RowsDigest.of(each.values for each in store.content_versions(identifying))
        if isinstance(store, SupportsVersionParts):
            parts = (store.content_versions_of_part(identifying, part, 3) for part in range(3))
            assert expected == sum((RowsDigest.of(each.values for each in part) for part in parts), RowsDigest())

    @demands(
        "S34: deferred deletions that are removed leave the digest with them: by what was stored of them, once, and "
        "only those that were there."
    )
    def test_deletions_that_are_removed_leave_the_digest(self, store: LiveSetStore, expiring: UUID) -> None:
        deletions = [replace(deletion(n), size=None if n % 2 else n, modified=None) for n in range(1500)]
        store.add_file_deletions(expiring, deletions)
        recorded = RowsDigest.of(each.values for each in store.file_deletions(expiring))
        assert RowsDigest.of(each.values for each in deletions) == recorded
        store.finish_expire(expiring, at=NOON, deletions=recorded)
        for _ in (1, 2):
            store.remove_file_deletions(expiring, (replace(each, size=7) for each in deletions[:1200]))
        left = RowsDigest.of(each.values for each in deletions[1200:])
        assert left == RowsDigest.of(each.values for each in store.file_deletions(expiring))
        assert [(None, left)] * 2 == _digests(store, expiring)


def _digests(store: LiveSetStore, live_set_id: UUID) -> list[tuple[RowsDigest | None, RowsDigest | None]]:
    def of(found: LiveSet) -> tuple[RowsDigest | None, RowsDigest | None]:
        return found.versions, found.deletions

    return [of(store.get(live_set_id)), *(of(each) for each in store.live_sets() if each.id == live_set_id)]
