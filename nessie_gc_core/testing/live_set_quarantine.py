"""Tests of live-set stores that remember which files are in quarantine."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

from nessie_gc_core.connectors import LiveSetStore, SupportsQuarantine
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.testing.demands import demands, skip_without
from nessie_gc_core.testing.live_set_samples import KOLKATA, LONG_TEXT, NOON, StoreFixtures

PLACE = "s3://lake/held/"


class QuarantineTests(StoreFixtures):
    """Which files are in quarantine."""

    @demands("SupportsQuarantine: records come back whole, by live set and state, and outlive live sets.")
    def test_records_of_a_quarantine_come_back_and_stay(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        keeping = _keeping(store)
        mine = [
            _held(repository, identifying, "a"),
            replace(_held(repository, identifying, "b"), size=None, modified=None, sidecar=True, state=HeldState.HELD),
            replace(_held(repository, identifying, LONG_TEXT), location=LONG_TEXT, place=LONG_TEXT, table=LONG_TEXT),
        ]
        others = _held(repository, uuid4(), "a")
        keeping.put_held_files(iter([*mine, others]))
        store.delete(identifying)
        assert _by_key(mine) == _by_key(keeping.held_files(identifying))
        assert _by_key(mine[1:2]) == _by_key(keeping.held_files(identifying, [HeldState.HELD]))
        assert [others] == list(keeping.held_files(others.live_set_id))
        assert _by_key([*mine, others]).items() <= _by_key(keeping.held_files()).items()
        assert list(keeping.held_files(identifying, [])) == []
        keeping.forget_held_files([*mine, others])

    @demands("SupportsQuarantine: a record with the same live set, place and held path is replaced. Times are UTC.")
    def test_a_record_of_a_quarantine_is_replaced(self, store: LiveSetStore, repository: str) -> None:
        keeping, live_set = _keeping(store), uuid4()
        first = _held(repository, live_set, "a")
        keeping.put_held_files([first, _held(repository, live_set, "b")])
        later = replace(first, state=HeldState.RESTORING, until=NOON.astimezone(KOLKATA), path="c")
        keeping.put_held_files([later])
        (found,) = keeping.held_files(live_set, [HeldState.RESTORING])
        assert replace(later, until=NOON) == found
        assert all(timedelta(0) == each.utcoffset() for each in (found.until, found.held))
        assert len(list(keeping.held_files(live_set))) == 2
        keeping.forget_held_files([later, _held(repository, live_set, "b")])

    @demands("SupportsQuarantine: records may be put and forgotten while they are read; every other one comes once.")
    def test_records_of_a_quarantine_change_while_they_are_read(self, store: LiveSetStore, repository: str) -> None:
        keeping, live_set = _keeping(store), uuid4()
        records = [_held(repository, live_set, f"f{number}") for number in range(2500)]
        keeping.put_held_files(records)
        seen: list[HeldFile] = []
        for file in keeping.held_files(live_set, [HeldState.MOVING]):
            seen.append(file)
            if len(seen) % 500 == 0:
                keeping.put_held_files(replace(each, state=HeldState.PURGING) for each in seen[-500:-250])
                keeping.forget_held_files(seen[-250:])
        assert _by_key(records) == _by_key(seen)
        assert len(records) == len(seen)
        assert len(list(keeping.held_files(live_set))) == 1250
        keeping.forget_held_files(records)
        assert list(keeping.held_files(live_set)) == []

    @demands("SupportsQuarantine: quarantines counts files and bytes by repository, live set, place, end and state.")
    def test_quarantines_are_counted(self, store: LiveSetStore, repository: str) -> None:
        keeping, live_set = _keeping(store), uuid4()
        unknown = replace(_held(repository, live_set, "c"), size=None)
        held = replace(_held(repository, live_set, "d"), state=HeldState.HELD)
        sidecar = replace(_held(repository, live_set, ".a.crc"), sidecar=True)
        records = [_held(repository, live_set, "a"), _held(repository, live_set, "b"), unknown, held, sidecar]
        keeping.put_held_files(records)
        found = {
            each.state: (each.files, each.bytes) for each in keeping.quarantines() if each.repository == repository
        }
        assert found == {HeldState.MOVING: (3, 20), HeldState.HELD: (1, 10)}
        keeping.forget_held_files(records)
        assert all(each.repository != repository for each in keeping.quarantines())

    @demands("SupportsQuarantine: count_records counts records of a quarantine, and move_records moves them.")
    def test_records_of_a_quarantine_move_along(self, store: LiveSetStore, repository: str) -> None:
        keeping, live_set, target = _keeping(store), uuid4(), f"name-{uuid4()}"
        records = [_held(repository, live_set, "a"), _held(repository, live_set, "b")]
        keeping.put_held_files(records)
        assert 2 == store.count_records(repository).held_files == store.move_records(repository, target).held_files
        assert {target} == {file.repository for file in keeping.held_files(live_set)}
        assert (store.count_records(repository).held_files, store.count_records(repository).any) == (0, False)
        keeping.forget_held_files(records)

    @demands("SupportsQuarantine: removing tombstones removes those of all repositories, and no others (S7).")
    def test_s07_tombstones_of_restored_files_are_removed(self, store: LiveSetStore, repository: str) -> None:
        keeping, paths = _keeping(store), [f"s3://lake/{number}" for number in range(1500)]
        for name in (repository, repository + "2"):
            store.add_tombstones(name, paths, at=NOON)
        keeping.remove_tombstones(iter([*paths[::2], "s3://lake/unknown"]))
        for name in (repository, repository + "2"):
            assert set(paths[1::2]) == store.tombstones(name, paths)


def _held(repository: str, live_set_id: UUID, name: str) -> HeldFile:
    return HeldFile(
        repository=repository,
        live_set_id=live_set_id,
        place=PLACE,
        held_path=name,
        location="s3://lake/wh/t/",
        path=name,
        size=10,
        modified=NOON - timedelta(days=3, microseconds=1),
        table="db.t",
        held=NOON,
        until=NOON + timedelta(days=30),
    )


def _keeping(store: LiveSetStore) -> SupportsQuarantine:
    """The store as one that remembers what is in quarantine."""
    if not isinstance(store, SupportsQuarantine):
        skip_without(store, SupportsQuarantine)
    return store


def _by_key(records: Iterable[HeldFile]) -> dict[tuple[UUID, str, str], HeldFile]:
    return {(each.live_set_id, each.place, each.held_path): each for each in records}
