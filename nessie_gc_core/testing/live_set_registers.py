"""Tests of live-set stores: registers that outlive live sets, and the lease of a repository."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.live_sets import ReachedPlace, RepositoryRecords, SeenContent
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.model.text import time_text
from nessie_gc_core.testing.demands import demands
from nessie_gc_core.testing.live_set_samples import KOLKATA, LONG_TEXT, NOON, StoreFixtures

HOUR = timedelta(hours=1)
MOMENT = timedelta(milliseconds=200)


def seen(content_id: str, location: str = "s3://bucket/t/") -> SeenContent:
    """A content seen at noon."""
    return SeenContent(
        content_id=content_id, content_type=ICEBERG_TABLE, location=location, first_seen=NOON, last_seen=NOON
    )


class RegisterTests(StoreFixtures):
    """What outlives live sets."""

    # ---- tombstones -----------------------------------------------------------------------------------
    @demands("S7: tombstones belong to one repository, and outlive live sets.")
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

    @demands("S7: there may be many tombstones, also in one call. Query them in batches.")
    def test_tombstones_may_be_many(self, store: LiveSetStore, repository: str) -> None:
        paths = [f"s3://bucket/t/metadata/{number}.metadata.json" for number in range(2345)]
        store.add_tombstones(repository, (path for path in paths), at=NOON)
        assert set(paths[::2]) == store.tombstones(repository, iter(paths[::2]))

    # ---- contents -------------------------------------------------------------------------------------
    @demands("S6: a content at a location keeps its first_seen, and updates its last_seen.")
    def test_a_content_keeps_its_first_and_moves_its_last_time(self, store: LiveSetStore, repository: str) -> None:
        store.register_contents(repository, [seen("a"), seen("a", "s3://bucket/t2/"), seen("b")])
        later = replace(seen("a"), first_seen=NOON + HOUR, last_seen=(NOON + HOUR).astimezone(KOLKATA))
        store.register_contents(repository, iter([later]))
        assert _by_place([replace(seen("a"), last_seen=NOON + HOUR), seen("a", "s3://bucket/t2/"), seen("b")]) == (
            _by_place(store.seen_contents(repository))
        )
        assert [seen("b")] == list(store.seen_contents(repository, ["b"]))

    @demands("S6: for some contents, all of their locations come and no others, each once; for no contents, none.")
    def test_the_register_of_some_contents_is_all_of_theirs_and_no_others(
        self, store: LiveSetStore, repository: str
    ) -> None:
        contents = [seen(f"c{n}", f"s3://bucket/{place}/") for n in range(600) for place in ("a", "b")]
        store.register_contents(repository, contents)
        store.register_contents(repository + "2", [seen("c0", "s3://bucket/elsewhere/")])
        some = [f"c{n}" for n in range(0, 600, 2)]
        found = list(store.seen_contents(repository, [*some, "c0", "unknown"]))
        assert len(found) == 2 * len(some)
        assert _by_place(each for each in contents if each.content_id in some) == _by_place(found)
        assert list(store.seen_contents(repository, [])) == []

    @demands("A content that comes twice in one call counts once.")
    def test_a_content_that_comes_twice_at_once_is_one(self, store: LiveSetStore, repository: str) -> None:
        later = replace(seen("a"), first_seen=NOON + HOUR, last_seen=NOON + HOUR)
        store.register_contents(repository, [seen("a"), later])
        assert [replace(later, first_seen=NOON)] == list(store.seen_contents(repository))

    @demands("S6: the register belongs to one repository, and outlives live sets.")
    def test_the_register_is_kept_per_repository_and_outlives_live_sets(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        long = seen(LONG_TEXT, "s3://bucket/" + LONG_TEXT + "/")
        store.register_contents(repository, [seen("a"), long])
        store.register_contents(repository + "2", [seen("c")])
        store.delete(identifying)
        assert _by_place([seen("a"), long]) == _by_place(store.seen_contents(repository))
        assert [seen("c")] == list(store.seen_contents(repository + "2"))

    @demands("The register holds many contents, each once for each location.")
    def test_many_contents_are_registered_and_streamed(self, store: LiveSetStore, repository: str) -> None:
        many = [seen(f"c{number % 700}", f"s3://bucket/t{number}/") for number in range(2100)]
        store.register_contents(repository, iter(many))
        store.register_contents(repository, many)
        assert _by_place(many) == _by_place(store.seen_contents(repository))
        assert len(list(store.seen_contents(repository, ["c5"]))) == 3

    # ---- what contents reached ------------------------------------------------------------------------
    @demands("S31: what a content reached is only ever added to, belongs to one repository, and outlives live sets.")
    def test_what_contents_reached_is_added_to_and_stays(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        first = [ReachedPlace(content_id="a"), ReachedPlace(content_id="a", place="s3://bucket/t/")]
        second = [first[0], ReachedPlace(content_id="a", place=f"s3://bucket/{LONG_TEXT}/")]
        store.register_reached(repository, first)
        store.register_reached(repository, iter(second))
        store.register_reached(repository, [ReachedPlace(content_id="b")])
        store.register_reached(repository + "2", [ReachedPlace(content_id="a", place="s3://bucket/elsewhere/")])
        store.delete(identifying)
        assert {*first, *second} == set(store.reached(repository, ["a", "unknown"]))
        assert len(list(store.reached(repository))) == 4
        assert list(store.reached(repository, [])) == []

    @demands("S31: what many contents reached is stored in one call; that of some is all of theirs and no others.")
    def test_what_some_contents_reached_is_all_of_theirs_and_no_others(
        self, store: LiveSetStore, repository: str
    ) -> None:
        rows = [ReachedPlace(content_id=f"c{n}", place=place) for n in range(1100) for place in ("", "s3://bucket/t/")]
        store.register_reached(repository, iter(rows))
        some = [f"c{n}" for n in range(0, 1100, 2)]
        found = list(store.reached(repository, some))
        assert 2 * len(some) == len(found)
        assert {each for each in rows if each.content_id in some} == set(found)

    @demands("S31: move_records moves what contents reached, and joins it with what is there.")
    def test_what_contents_reached_moves_and_joins_what_is_there(self, store: LiveSetStore, repository: str) -> None:
        target = f"name-{uuid4()}"
        mine = [ReachedPlace(content_id="a"), ReachedPlace(content_id="a", place="s3://bucket/t/")]
        theirs = [mine[0], ReachedPlace(content_id="a", place="s3://bucket/u/")]
        store.register_reached(repository, mine)
        store.register_reached(target, theirs)
        assert store.count_records(repository).reached_places == 2
        store.move_records(repository, target)
        assert not store.count_records(repository).any
        assert {*mine, *theirs} == set(store.reached(target, ["a"]))
        assert len(list(store.reached(target))) == 3

    # ---- another identity -----------------------------------------------------------------------------
    @demands("count_records counts the records of one identity.")
    def test_records_are_counted_by_their_identity(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        store.add_tombstones(repository, ["s3://bucket/a", "s3://bucket/b"], at=NOON)
        store.register_contents(repository, [seen("a")])
        assert RepositoryRecords(live_sets=1, tombstones=2, seen_contents=1) == store.count_records(repository)
        assert not store.count_records(repository + "2").any

    @demands("S20: a repository is named as long as its identity has a live set or an entry in the register.")
    def test_every_repository_with_live_sets_or_contents_is_named_once(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        other = repository + "-other"
        store.register_contents(other, [seen("a"), seen("b")])
        found = list(store.repositories())
        assert {repository, other} <= set(found)
        assert len(found) == len(set(found))
        store.delete(identifying)
        assert repository not in set(store.repositories())

    @demands("S7: move_records moves all records of one identity, and no others.")
    def test_all_records_move_to_another_identity_and_no_others(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        source, target = repository, f"name-{uuid4()}"
        paths = [f"s3://bucket/{number}" for number in range(2100)]
        contents = [seen(f"c{number}") for number in range(1100)]
        store.add_tombstones(source, paths, at=NOON)
        store.register_contents(source, contents)
        store.add_tombstones(source + "2", paths[:1], at=NOON)
        expected = RepositoryRecords(live_sets=1, tombstones=len(paths), seen_contents=len(contents))
        assert expected == store.move_records(source, target)
        assert not store.count_records(source).any
        assert expected == store.count_records(target)
        assert target == store.get(identifying).repository
        assert (set(), set(paths)) == (store.tombstones(source, paths), store.tombstones(target, paths))
        assert _by_place(contents) == _by_place(store.seen_contents(target))
        assert [seen("c7")] == list(store.seen_contents(target, ["c7"]))
        assert set(paths[:1]) == store.tombstones(source + "2", paths)

    @demands("move_records merges: a content that both have keeps the earliest first_seen and the latest last_seen.")
    def test_records_that_move_join_those_that_are_there(self, store: LiveSetStore, repository: str) -> None:
        target = f"name-{uuid4()}"
        early, late = NOON - HOUR, NOON + HOUR
        store.register_contents(repository, [replace(seen("a"), first_seen=early), seen("b"), seen("c")])
        store.register_contents(
            target, [replace(seen("a"), last_seen=late), replace(seen("b"), first_seen=early), seen("d")]
        )
        store.add_tombstones(repository, ["s3://bucket/1", "s3://bucket/2"], at=NOON)
        store.add_tombstones(target, ["s3://bucket/2", "s3://bucket/3"], at=NOON)
        store.move_records(repository, target)
        assert store.tombstones(target, [f"s3://bucket/{n}" for n in range(5)]) == {
            f"s3://bucket/{n}" for n in (1, 2, 3)
        }
        assert _by_place(store.seen_contents(target)) == _by_place(
            [
                replace(seen("a"), first_seen=early, last_seen=late),
                replace(seen("b"), first_seen=early),
                seen("c"),
                seen("d"),
            ]
        )

    @demands("S15: records do not move during a collection. Raise LeaseHeldError if either identity has a lease.")
    def test_records_do_not_move_while_somebody_collects_under_either_identity(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        target = f"name-{uuid4()}"
        for held in (repository, target):
            _acquire(store, held, "one")
            with pytest.raises(LeaseHeldError, match="one"):
                store.move_records(repository, target)
            store.release_lease(held, "one")
            assert repository == store.get(identifying).repository
        store.move_records(repository, target)
        assert store.lease(repository) is store.lease(target) is None

    @demands("Moving records to their own identity changes nothing.")
    def test_records_that_move_to_where_they_are_stay(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        store.add_tombstones(repository, ["s3://bucket/a"], at=NOON)
        store.move_records(repository, repository)
        assert store.count_records(repository) == RepositoryRecords(live_sets=1, tombstones=1, seen_contents=0)

    # ---- leases ---------------------------------------------------------------------------------------
    @demands(
        "S15: one collector at a time. Raise LeaseHeldError, in one line that names the holder (lease_held words it)."
    )
    def test_a_held_lease_is_refused_to_others_and_names_its_holder(self, store: LiveSetStore, repository: str) -> None:
        until = _acquire(store, repository, "one")
        with pytest.raises(LeaseHeldError, match=r"process 7 on host-of-one .*one") as caught:
            _acquire(store, repository, "two")
        assert time_text(until) in str(caught.value)
        assert len(str(caught.value).splitlines()) == 1

    @demands("A lease says who holds it, since when and until when, in aware UTC.")
    def test_a_lease_says_who_holds_it_since_when_and_until_when(self, store: LiveSetStore, repository: str) -> None:
        assert store.lease(repository) is None
        until = _acquire(store, repository, "one")
        holder = store.lease(repository)
        assert holder is not None
        assert (holder.owner, holder.host, holder.process) == ("one", "host-of-one", 7)
        assert (holder.until, holder.until - holder.since) == (until, HOUR)
        assert timedelta(0) == holder.since.utcoffset()
        assert store.lease(repository + "2") is None

    @demands("A renewed lease keeps its start time and ends later.")
    def test_a_lease_that_is_renewed_keeps_its_beginning_and_ends_later(
        self, store: LiveSetStore, repository: str
    ) -> None:
        _acquire(store, repository, "one")
        first = store.lease(repository)
        time.sleep(0.01)
        _acquire(store, repository, "one")
        second = store.lease(repository)
        assert first is not None
        assert second is not None
        assert first.since == second.since
        assert first.until < second.until
        with pytest.raises(LeaseHeldError):
            _acquire(store, repository, "two")

    @demands(
        "S15: a lease that has expired by the store's clock is free; its former owner is refused once another has it."
    )
    def test_a_lease_that_ran_out_by_the_clock_of_the_store_is_taken_over_and_its_owner_is_told(
        self, store: LiveSetStore, repository: str
    ) -> None:
        _acquire(store, repository, "one", duration=MOMENT)
        time.sleep(2 * MOMENT.total_seconds())
        assert store.lease(repository) is None
        before = _acquire(store, repository, "two") - HOUR
        holder = store.lease(repository)
        assert holder is not None
        assert ("two", before) == (holder.owner, holder.since)
        with pytest.raises(LeaseHeldError, match="two"):
            _acquire(store, repository, "one")

    @demands("A lease that its owner releases is free at once. Nobody else can release it.")
    def test_a_lease_that_is_given_back_is_free_at_once(self, store: LiveSetStore, repository: str) -> None:
        _acquire(store, repository, "one")
        store.release_lease(repository, "two")
        with pytest.raises(LeaseHeldError):
            _acquire(store, repository, "two")
        store.release_lease(repository, "one")
        store.release_lease(repository, "one")
        assert store.lease(repository) is None
        _acquire(store, repository, "two")

    @demands("Leases of two repositories are independent.")
    def test_leases_of_other_repositories_are_independent(self, store: LiveSetStore, repository: str) -> None:
        _acquire(store, repository, "one")
        _acquire(store, repository + "2", "two")

    @demands("S15: one collector at a time. Take the lease in one step.")
    def test_only_one_of_many_threads_gets_a_lease(self, store: LiveSetStore, repository: str) -> None:
        _acquire(store, repository, "dead", duration=timedelta(0))

        def try_to_acquire(number: int) -> bool:
            try:
                _acquire(store, repository, f"owner-{number}")
            except LeaseHeldError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(try_to_acquire, range(8))) == 1


def _acquire(store: LiveSetStore, repository: str, owner: str, *, duration: timedelta = HOUR) -> datetime:
    return store.acquire_lease(repository, owner, host=f"host-of-{owner}", process=7, duration=duration)


def _by_place(contents: Iterable[SeenContent]) -> dict[tuple[str, str], SeenContent]:
    return {(each.content_id, each.location): each for each in contents}
