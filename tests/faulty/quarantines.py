from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from uuid import UUID

from nessie_gc_ledger import LedgerStore

from faulty import fault
from faulty.stores import StoreTests
from nessie_gc_core.model import HeldFile, HeldState, Quarantine


class Holds(LedgerStore):
    """Remembers in this process what is in quarantine."""

    held: dict[tuple[UUID, str, str], HeldFile] = {}  # noqa: RUF012 - one for all that open the store
    down: set[str] = set()  # noqa: RUF012

    def put_held_files(self, files: Iterable[HeldFile]) -> None:
        for file in files:
            self.held[self.key(file)] = self.kept(file)

    def key(self, file: HeldFile) -> tuple[UUID, str, str]:
        return file.live_set_id, file.place, file.held_path

    def kept(self, file: HeldFile) -> HeldFile:
        return replace(file, held=file.held.astimezone(UTC), until=file.until.astimezone(UTC))

    def held_files(
        self, live_set_id: UUID | None = None, states: Collection[HeldState] = tuple(HeldState)
    ) -> Iterator[HeldFile]:
        for file in list(self.held.values()):
            if live_set_id in (None, file.live_set_id) and file.state in states:
                yield file

    def forget_held_files(self, files: Iterable[HeldFile]) -> None:
        for file in files:
            self.held.pop(self.key(file), None)

    def quarantines(self) -> Iterator[Quarantine]:
        def by(file: HeldFile) -> tuple[str, UUID, str, datetime, HeldState]:
            return file.repository, file.live_set_id, file.place, file.until, file.state

        for (repository, id_, place, until, state), some in groupby(sorted(self.held.values(), key=by), key=by):
            sizes = [file.size or 0 for file in some if not file.sidecar]
            yield Quarantine(
                repository=repository,
                live_set_id=id_,
                place=place,
                until=until,
                state=state,
                files=len(sizes),
                bytes=sum(sizes),
            )

    def remove_tombstones(self, paths: Iterable[str]) -> None:
        self.down.update(paths)

    def add_tombstones(self, repository, paths, *, at):
        paths = list(paths)
        self.down.difference_update(paths)
        super().add_tombstones(repository, paths, at=at)

    def tombstones(self, repository, paths):
        return super().tombstones(repository, paths) - self.down

    def count_records(self, repository):
        mine = sum(file.repository == repository for file in self.held.values())
        return replace(super().count_records(repository), held_files=mine)

    def move_records(self, source, target):
        found = self.count_records(source)
        super().move_records(source, target)
        for key, file in self.held.items():
            if file.repository == source:
                self.held[key] = replace(file, repository=target)
        return found


class TestGood(StoreTests):
    connector = Holds


@fault(StoreTests, "test_records_of_a_quarantine_come_back_and_stay", "SupportsQuarantine: records come back whole, by")
class OfAnyLiveSet(Holds):
    def held_files(self, live_set_id=None, states=tuple(HeldState)):
        return super().held_files(None, states)


@fault(StoreTests, "test_a_record_of_a_quarantine_is_replaced", "SupportsQuarantine: a record with the same live set")
class FirstStays(Holds):
    def put_held_files(self, files):
        super().put_held_files(file for file in files if self.key(file) not in self.held)


@fault(
    StoreTests,
    "test_records_of_a_quarantine_change_while_they_are_read",
    "SupportsQuarantine: records may be put and forgotten while",
)
class ReadsByPosition(Holds):
    def held_files(self, live_set_id=None, states=tuple(HeldState)):
        number = 0
        while number < len(found := list(super().held_files(live_set_id, states))):
            yield found[number]
            number += 1


@fault(StoreTests, "test_quarantines_are_counted", "SupportsQuarantine: quarantines counts files and bytes")
class CountsNoStates(Holds):
    def quarantines(self):
        return (replace(each, state=HeldState.HELD) for each in super().quarantines())


@fault(StoreTests, "test_records_of_a_quarantine_move_along", "SupportsQuarantine: count_records counts records of a")
class StaysBehind(Holds):
    def move_records(self, source, target):
        found = self.count_records(source)
        super(Holds, self).move_records(source, target)
        return found


@fault(
    StoreTests, "test_s07_tombstones_of_restored_files_are_removed", "SupportsQuarantine: removing tombstones removes"
)
class RemovesAll(Holds):
    def tombstones(self, repository, paths):
        return set() if self.down else super().tombstones(repository, paths)
