"""Tests of live-set stores: registers that outlive live sets, and the lease of a repository."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.live_sets import SeenContent
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.testing.live_set_samples import KOLKATA, LONG_TEXT, NOON, StoreFixtures

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)


def seen(content_id: str, location: str = "s3://bucket/t/") -> SeenContent:
    """A content seen at noon."""
    return SeenContent(
        content_id=content_id, content_type=ICEBERG_TABLE, location=location, first_seen=NOON, last_seen=NOON
    )


class RegisterTests(StoreFixtures):
    """What outlives live sets."""

    # ---- tombstones -----------------------------------------------------------------------------------
    def test_tombstones_belong_to_their_repository_and_stay(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        paths = ["s3://bucket/t/metadata/1.metadata.json", "s3://bucket/" + LONG_TEXT]
        store.add_tombstones(repository, paths, at=NOON)
        store.add_tombstones(repository, iter(paths), at=NOON + HOUR)
        store.delete(identifying)
        assert set(paths) == store.tombstones(repository, [*paths, "s3://bucket/t/metadata/2.metadata.json"])
        assert set() == store.tombstones(repository + "2", paths)
        assert set() == store.tombstones(repository, [])

    def test_tombstones_may_be_many(self, store: LiveSetStore, repository: str) -> None:
        paths = [f"s3://bucket/t/metadata/{number}.metadata.json" for number in range(2345)]
        store.add_tombstones(repository, (path for path in paths), at=NOON)
        assert set(paths[::2]) == store.tombstones(repository, iter(paths[::2]))

    # ---- contents -------------------------------------------------------------------------------------
    def test_a_content_keeps_its_first_and_moves_its_last_time(self, store: LiveSetStore, repository: str) -> None:
        store.register_contents(repository, [seen("a"), seen("a", "s3://bucket/t2/"), seen("b")])
        later = replace(seen("a"), first_seen=NOON + HOUR, last_seen=(NOON + HOUR).astimezone(KOLKATA))
        store.register_contents(repository, iter([later]))
        assert _by_place([replace(seen("a"), last_seen=NOON + HOUR), seen("a", "s3://bucket/t2/"), seen("b")]) == (
            _by_place(store.seen_contents(repository))
        )
        assert [seen("b")] == list(store.seen_contents(repository, "b"))

    def test_a_content_that_comes_twice_at_once_is_one(self, store: LiveSetStore, repository: str) -> None:
        later = replace(seen("a"), first_seen=NOON + HOUR, last_seen=NOON + HOUR)
        store.register_contents(repository, [seen("a"), later])
        assert [replace(later, first_seen=NOON)] == list(store.seen_contents(repository))

    def test_the_register_is_kept_per_repository_and_outlives_live_sets(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        long = seen(LONG_TEXT, "s3://bucket/" + LONG_TEXT + "/")
        store.register_contents(repository, [seen("a"), long])
        store.register_contents(repository + "2", [seen("c")])
        store.delete(identifying)
        assert _by_place([seen("a"), long]) == _by_place(store.seen_contents(repository))
        assert [seen("c")] == list(store.seen_contents(repository + "2"))

    def test_many_contents_are_registered_and_streamed(self, store: LiveSetStore, repository: str) -> None:
        many = [seen(f"c{number % 700}", f"s3://bucket/t{number}/") for number in range(2100)]
        store.register_contents(repository, iter(many))
        store.register_contents(repository, many)
        assert _by_place(many) == _by_place(store.seen_contents(repository))
        assert len(list(store.seen_contents(repository, "c5"))) == 3

    # ---- leases ---------------------------------------------------------------------------------------
    def test_a_held_lease_is_refused_to_others_and_renewed_by_its_owner(
        self, store: LiveSetStore, repository: str
    ) -> None:
        store.acquire_lease(repository, "one", now=NOON, until=NOON + HOUR)
        with pytest.raises(LeaseHeldError, match="one") as caught:
            store.acquire_lease(repository, "two", now=NOON + HOUR - MICROSECOND, until=NOON + 2 * HOUR)
        assert (NOON + HOUR).strftime("%H:%M") in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1
        store.acquire_lease(repository, "one", now=NOON + HOUR / 2, until=NOON + 2 * HOUR)
        with pytest.raises(LeaseHeldError, match="one"):
            store.acquire_lease(repository, "two", now=NOON + HOUR, until=NOON + 3 * HOUR)

    def test_a_lease_that_ran_out_is_taken_over_and_its_owner_is_told(
        self, store: LiveSetStore, repository: str
    ) -> None:
        store.acquire_lease(repository, "one", now=NOON, until=NOON + HOUR)
        store.acquire_lease(repository, "two", now=(NOON + 2 * HOUR).astimezone(KOLKATA), until=NOON + 3 * HOUR)
        with pytest.raises(LeaseHeldError, match="two"):
            store.acquire_lease(repository, "one", now=NOON + 2 * HOUR, until=NOON + 4 * HOUR)

    def test_a_lease_that_is_given_back_is_free_at_once(self, store: LiveSetStore, repository: str) -> None:
        store.acquire_lease(repository, "one", now=NOON, until=NOON + HOUR)
        store.release_lease(repository, "two")
        with pytest.raises(LeaseHeldError):
            store.acquire_lease(repository, "two", now=NOON, until=NOON + HOUR)
        store.release_lease(repository, "one")
        store.release_lease(repository, "one")
        store.acquire_lease(repository, "two", now=NOON, until=NOON + HOUR)

    def test_leases_of_other_repositories_are_independent(self, store: LiveSetStore, repository: str) -> None:
        store.acquire_lease(repository, "one", now=NOON, until=NOON + HOUR)
        store.acquire_lease(repository + "2", "two", now=NOON, until=NOON + HOUR)

    def test_only_one_of_many_threads_gets_a_lease(self, store: LiveSetStore, repository: str) -> None:
        store.acquire_lease(repository, "dead", now=NOON - HOUR, until=NOON)

        def try_to_acquire(number: int) -> bool:
            try:
                store.acquire_lease(repository, f"owner-{number}", now=NOON + HOUR, until=NOON + 2 * HOUR)
            except LeaseHeldError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(try_to_acquire, range(8))) == 1


def _by_place(contents: Iterable[SeenContent]) -> dict[tuple[str, str], SeenContent]:
    return {(each.content_id, each.location): each for each in contents}
