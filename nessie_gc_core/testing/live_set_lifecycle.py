"""Tests of live-set stores: the status machine, live sets as a whole, and times."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, tzinfo
from uuid import UUID, uuid4

import pytest

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import LiveSetNotFoundError, LiveSetStateError
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, ReferenceHead, SweepStep, SweepStepState
from nessie_gc_core.testing.demands import demands, shown
from nessie_gc_core.testing.live_set_samples import (
    HONOLULU,
    KOLKATA,
    LONG_TEXT,
    NOON,
    StoreFixtures,
    deletion,
    start,
    version,
)

Act = Callable[[LiveSetStore, UUID], object]

STEP = SweepStep(unit="s3://bucket/t/", part="0/1", state=SweepStepState.STARTED, planned_files=1, planned_bytes=2)
ACTS: Mapping[str, tuple[Act, frozenset[LiveSetStatus]]] = {
    "finish_identify": (
        lambda store, found: store.finish_identify(found, at=NOON),
        frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS}),
    ),
    "finish_identify with a failure": (
        lambda store, found: store.finish_identify(found, at=NOON, failure="it failed"),
        frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS}),
    ),
    "add_content_versions": (
        lambda store, found: store.add_content_versions(found, [version(1)]),
        frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS}),
    ),
    "start_expire": (
        lambda store, found: store.start_expire(found, at=NOON),
        frozenset({LiveSetStatus.IDENTIFY_SUCCESS}),
    ),
    "start_expire to resume": (
        lambda store, found: store.start_expire(found, at=NOON, resume=True),
        frozenset({LiveSetStatus.IDENTIFY_SUCCESS, LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED}),
    ),
    "record_steps": (
        lambda store, found: store.record_steps(found, [STEP]),
        frozenset({LiveSetStatus.EXPIRY_IN_PROGRESS}),
    ),
    "add_file_deletions": (
        lambda store, found: store.add_file_deletions(found, [deletion(1)]),
        frozenset({LiveSetStatus.EXPIRY_IN_PROGRESS}),
    ),
    "finish_expire": (
        lambda store, found: store.finish_expire(found, at=NOON),
        frozenset({LiveSetStatus.EXPIRY_IN_PROGRESS}),
    ),
    "finish_expire with a failure": (
        lambda store, found: store.finish_expire(found, at=NOON, failure="it failed"),
        frozenset({LiveSetStatus.EXPIRY_IN_PROGRESS}),
    ),
}
"""Every method that needs a status, and the statuses that it accepts."""

ANY_STATUS: Mapping[str, Act] = {
    "get": lambda store, found: store.get(found),
    "delete": lambda store, found: store.delete(found),
    "add_base_locations": lambda store, found: store.add_base_locations(found, [("content", "s3://bucket/t")]),
    "remove_file_deletions": lambda store, found: store.remove_file_deletions(found, [deletion(1)]),
}
"""Methods that accept a live set in any status, but need one."""


def bring_to(store: LiveSetStore, status: LiveSetStatus, repository: str) -> UUID:
    """A new live set in the given status."""
    found = start(store, repository)
    if status is LiveSetStatus.IDENTIFY_IN_PROGRESS:
        return found
    if status is LiveSetStatus.IDENTIFY_FAILED:
        store.finish_identify(found, at=NOON, failure="mark failed")
        return found
    store.finish_identify(found, at=NOON)
    if status is LiveSetStatus.IDENTIFY_SUCCESS:
        return found
    store.start_expire(found, at=NOON)
    if status is not LiveSetStatus.EXPIRY_IN_PROGRESS:
        store.finish_expire(found, at=NOON, failure="sweep failed" if status is LiveSetStatus.EXPIRY_FAILED else None)
    return found


class LifecycleTests(StoreFixtures):
    """The status machine."""

    @demands(
        "S17: a live set comes back as it was written, at every step of its life: times, policies, heads and status."
    )
    def test_a_live_set_goes_through_its_whole_life(self, store: LiveSetStore, repository: str) -> None:
        expected = LiveSet(
            id=uuid4(),
            repository=repository,
            created=NOON,
            status=LiveSetStatus.IDENTIFY_IN_PROGRESS,
            policies=("NONE", "main|dev=10", LONG_TEXT),
        )
        store.start_identify(expected.id, repository=repository, created=NOON, policies=list(expected.policies))
        assert expected == store.get(expected.id)

        heads = (
            ReferenceHead(name="main", commit_id="c0ffee", policy="NONE"),
            ReferenceHead(name="empty", commit_id=None, policy="10"),
        )
        marked, listed = NOON + timedelta(seconds=1), NOON - timedelta(microseconds=1)
        store.finish_identify(expected.id, at=marked, references_listed=listed, heads=iter(heads))
        found = store.get(expected.id)
        assert (LiveSetStatus.IDENTIFY_SUCCESS, marked, listed) == (
            found.status,
            found.identify_completed,
            found.references_listed,
        )
        assert sorted(heads, key=lambda head: head.name) == sorted(found.heads, key=lambda head: head.name)

        started, ended = NOON + timedelta(hours=1), NOON + timedelta(hours=2)
        store.start_expire(expected.id, at=started)
        found = store.get(expected.id)
        assert (LiveSetStatus.EXPIRY_IN_PROGRESS, started) == (found.status, found.expiry_started)
        store.finish_expire(expected.id, at=ended)
        found = store.get(expected.id)
        assert (LiveSetStatus.EXPIRY_SUCCESS, ended, None) == (
            found.status,
            found.expiry_completed,
            found.error_message,
        )
        assert (NOON, marked, started) == (found.created, found.identify_completed, found.expiry_started)

    @demands(
        "S15: a status changes by compare-and-set, in one step. Raise LiveSetStateError, in one line that names the "
        "status found and the one expected, and change nothing."
    )
    @pytest.mark.parametrize("status", list(LiveSetStatus))
    @pytest.mark.parametrize("name", list(ACTS))
    def test_a_verb_that_does_not_fit_the_status_raises_and_changes_nothing(
        self, store: LiveSetStore, repository: str, status: LiveSetStatus, name: str
    ) -> None:
        act, allowed = ACTS[name]
        found = bring_to(store, status, repository)
        before = store.get(found)
        assert status is before.status
        if status in allowed:
            act(store, found)
            return
        with pytest.raises(LiveSetStateError) as caught:
            act(store, found)
        message = str(caught.value)
        assert status.value in message
        assert any(expected.value in message for expected in allowed)
        assert len(message.splitlines()) == 1
        assert before == store.get(found)
        assert (
            list(store.content_versions(found)),
            list(store.steps(found)),
            list(store.file_deletions(found)),
        ) == ([], [], [])

    @demands("An id that does not exist is an error. Raise LiveSetNotFoundError, in one line that names the id.")
    @pytest.mark.parametrize("name", [*ACTS, *ANY_STATUS])
    def test_a_verb_that_needs_a_live_set_names_the_one_that_does_not_exist(
        self, store: LiveSetStore, name: str
    ) -> None:
        act = ANY_STATUS[name] if name in ANY_STATUS else ACTS[name][0]
        unknown = uuid4()
        with pytest.raises(LiveSetNotFoundError, match=str(unknown)) as caught:
            act(store, unknown)
        assert len(str(caught.value).splitlines()) == 1

    @demands("Methods that read rows return nothing for an id that does not exist.")
    def test_the_rows_of_a_live_set_that_does_not_exist_are_none(self, store: LiveSetStore) -> None:
        unknown = uuid4()
        assert list(store.content_versions(unknown)) == []
        assert list(store.content_versions(unknown, ["content"])) == []
        assert list(store.content_ids(unknown)) == []
        assert store.count_content_versions(unknown) == (0, 0)
        assert list(store.base_locations(unknown)) == []
        assert list(store.base_locations(unknown, "content")) == []
        assert list(store.steps(unknown)) == []
        assert list(store.file_deletions(unknown)) == []

    @demands("An id that exists cannot be started again. Raise LiveSetStateError that names it.")
    def test_an_id_that_exists_cannot_be_started_again(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        with pytest.raises(LiveSetStateError, match=str(identifying)):
            store.start_identify(identifying, repository=repository, created=NOON)

    @demands("S17: the text of a failure is kept completely. Do not cut it.")
    def test_failures_are_kept_whole_and_cannot_be_left_but_by_resuming(
        self, store: LiveSetStore, repository: str
    ) -> None:
        marking, sweeping = start(store, repository), bring_to(store, LiveSetStatus.EXPIRY_IN_PROGRESS, repository)
        store.finish_identify(marking, at=NOON, failure=LONG_TEXT)
        store.finish_expire(sweeping, at=NOON, failure=LONG_TEXT)
        assert _outcome(store, marking) == (LiveSetStatus.IDENTIFY_FAILED, LONG_TEXT)
        assert _outcome(store, sweeping) == (LiveSetStatus.EXPIRY_FAILED, LONG_TEXT)

    @demands("S15: a resumed sweep keeps its first expiry_started, and no longer has an expiry_completed or an error.")
    def test_a_resumed_sweep_keeps_its_first_start_and_forgets_the_failure(
        self, store: LiveSetStore, repository: str
    ) -> None:
        found = bring_to(store, LiveSetStatus.EXPIRY_FAILED, repository)
        store.start_expire(found, at=NOON + timedelta(days=1), resume=True)
        resumed = store.get(found)
        assert (
            resumed.status,
            resumed.expiry_started,
            resumed.expiry_completed,
            resumed.error_message,
        ) == (LiveSetStatus.EXPIRY_IN_PROGRESS, NOON, None, None)

    @demands("Live sets come newest first, by creation time.")
    def test_live_sets_come_newest_first(self, store: LiveSetStore, repository: str) -> None:
        hours = [3, 1, 2, 0]
        ids = {hour: start(store, repository, NOON + timedelta(hours=hour)) for hour in hours}
        found = [live_set.id for live_set in store.live_sets() if live_set.repository == repository]
        assert [ids[hour] for hour in sorted(hours, reverse=True)] == found

    @demands("Deleting a live set deletes all of its rows, and no others.")
    def test_a_deleted_live_set_is_gone_with_its_rows_and_no_other_is(
        self, store: LiveSetStore, expiring: UUID, repository: str
    ) -> None:
        other = start(store, repository)
        store.add_content_versions(other, [version(1)])
        store.add_base_locations(expiring, [("content", "s3://bucket/t")])
        store.record_steps(expiring, [STEP])
        store.add_file_deletions(expiring, [deletion(1)])
        store.delete(expiring)
        with pytest.raises(LiveSetNotFoundError):
            store.get(expiring)
        with pytest.raises(LiveSetNotFoundError):
            store.delete(expiring)
        assert [other] == [live_set.id for live_set in store.live_sets() if live_set.repository == repository]
        assert [version(1)] == list(store.content_versions(other))
        store.start_identify(expiring, repository=repository, created=NOON)
        assert store.get(expiring).heads == ()
        assert (
            list(store.base_locations(expiring)),
            list(store.steps(expiring)),
            list(store.file_deletions(expiring)),
        ) == ([], [], [])

    @demands("S17: times come back equal, aware, in UTC and with microseconds, whatever zone they were given in.")
    @pytest.mark.parametrize("zone", [UTC, KOLKATA, HONOLULU], ids=str)
    def test_times_come_back_equal_and_in_utc_whatever_their_zone(
        self, store: LiveSetStore, repository: str, zone: tzinfo
    ) -> None:
        local = NOON.astimezone(zone)
        found = start(store, repository, local)
        store.finish_identify(found, at=local, references_listed=local)
        live_set = store.get(found)
        for time in (live_set.created, live_set.identify_completed, live_set.references_listed):
            assert time == NOON
            assert timedelta(0) == _offset(time)

    @demands("S15: a status changes by compare-and-set, in one step. Of many threads, exactly one starts the sweep.")
    def test_only_one_of_many_threads_starts_a_sweep(self, store: LiveSetStore, repository: str) -> None:
        found = bring_to(store, LiveSetStatus.IDENTIFY_SUCCESS, repository)

        def try_to_start(_: int) -> bool:
            try:
                store.start_expire(found, at=NOON)
            except LiveSetStateError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(try_to_start, range(8))) == 1

    @demands(
        "S15: what was written is there when the store is opened again; otherwise a killed run could not be resumed. "
        "Set outlives_processes = False if the store cannot do that."
    )
    def test_a_store_that_is_opened_again_has_what_it_had(
        self, open_store: Callable[[], LiveSetStore], repository: str
    ) -> None:
        with open_store() as store:
            if not self.outlives_processes:
                pytest.skip(f"{shown(store)} is gone when it is closed (outlives_processes)")
            found = start(store, repository)
            store.add_content_versions(found, [version(1)])
        with open_store() as store:
            assert repository == store.get(found).repository
            assert [version(1)] == list(store.content_versions(found))

    @demands("A store can be closed twice.")
    def test_closing_twice_does_no_harm(self, open_store: Callable[[], LiveSetStore]) -> None:
        store = open_store()
        store.close()
        store.close()


def _outcome(store: LiveSetStore, live_set_id: UUID) -> tuple[LiveSetStatus, str | None]:
    live_set = store.get(live_set_id)
    return live_set.status, live_set.error_message


def _offset(time: datetime | None) -> timedelta | None:
    return None if time is None else time.utcoffset()
