"""What the store ``memory`` holds, its registers that outlive live sets, and the lease of a repository."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.connectors.live_set_store import lease_held
from nessie_gc_core.model.live_sets import (
    FileDeletion,
    LeaseHolder,
    LiveSet,
    ReachedPlace,
    RepositoryRecords,
    SeenContent,
    SweepStep,
)
from nessie_gc_core.model.quarantine import HeldFile, HeldState, Quarantine
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.times import in_zone


@dataclass(slots=True)
class Rows:
    """A live set and what belongs to it."""

    live_set: LiveSet
    versions: dict[object, ContentVersion] = field(default_factory=dict)
    locations: dict[tuple[str, str], None] = field(default_factory=dict)
    steps: dict[tuple[str, str], SweepStep] = field(default_factory=dict)
    deletions: dict[tuple[str, str], FileDeletion] = field(default_factory=dict)


@dataclass(slots=True)
class Data:
    """Everything that a store has."""

    lock: threading.RLock = field(default_factory=threading.RLock)
    live_sets: dict[UUID, Rows] = field(default_factory=dict)
    tombstones: dict[tuple[str, str], datetime] = field(default_factory=dict)
    seen: dict[tuple[str, str, str], SeenContent] = field(default_factory=dict)
    reached: dict[tuple[str, ReachedPlace], None] = field(default_factory=dict)
    tags: dict[tuple[str, str, str], TagRecord] = field(default_factory=dict)
    held: dict[tuple[UUID, str, str], HeldFile] = field(default_factory=dict)
    """Files in quarantine by live set, place and held path."""
    leases: dict[str, LeaseHolder] = field(default_factory=dict)


class RegisterVerbs(LiveSetStore):
    """Tombstones, the register of contents, records of tags, and leases."""

    clock: Callable[[], datetime]
    """The store's clock, by which leases run out."""
    _data: Data

    # ---- registers ------------------------------------------------------------------------------------
    def add_tombstones(self, repository: str, paths: Iterable[str], *, at: datetime) -> None:
        """Remembers paths."""
        wanted = {(repository, path): utc(at) for path in paths}
        with self._data.lock:
            self._data.tombstones.update(wanted)

    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """Which paths are remembered."""
        asked = list(paths)
        with self._data.lock:
            return {path for path in asked if (repository, path) in self._data.tombstones}

    def register_contents(self, repository: str, contents: Iterable[SeenContent]) -> None:
        """Adds contents or moves their last time."""
        for content in contents:
            key = (repository, content.content_id, content.location)
            with self._data.lock:
                known = self._data.seen.get(key, content)
                self._data.seen[key] = replace(
                    content, first_seen=utc(known.first_seen), last_seen=utc(content.last_seen)
                )

    def seen_contents(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[SeenContent]:
        """The register."""
        wanted = None if content_ids is None else frozenset(content_ids)
        with self._data.lock:
            found = list(self._data.seen.items())
        for (owner, seen_id, _), content in found:
            if owner == repository and (wanted is None or seen_id in wanted):
                yield content

    def register_reached(self, repository: str, reached: Iterable[ReachedPlace]) -> None:
        """Adds rows."""
        new = dict.fromkeys((repository, each) for each in reached)
        with self._data.lock:
            self._data.reached.update(new)

    def reached(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[ReachedPlace]:
        """The rows."""
        wanted = None if content_ids is None else frozenset(content_ids)
        with self._data.lock:
            found = list(self._data.reached)
        for owner, each in found:
            if owner == repository and (wanted is None or each.content_id in wanted):
                yield each

    def put_tags(self, repository: str, records: Iterable[TagRecord]) -> None:
        """Adds or replaces records."""
        for record in records:
            with self._data.lock:
                self._data.tags[repository, *record.key] = replace(
                    record, instant=utc(record.instant), state_at=utc(record.state_at)
                )

    def tags(self, repository: str) -> Iterator[TagRecord]:
        """The records."""
        with self._data.lock:
            found = [record for (owner, _, _), record in self._data.tags.items() if owner == repository]
        yield from found

    def forget_tags(self, repository: str, keys: Iterable[tuple[str, str]]) -> None:
        """Removes records."""
        for key in keys:
            with self._data.lock:
                self._data.tags.pop((repository, *key), None)

    def put_held_files(self, files: Iterable[HeldFile]) -> None:
        """Adds or replaces records."""
        for file in files:
            modified = None if file.modified is None else utc(file.modified)
            kept = replace(file, modified=modified, held=utc(file.held), until=utc(file.until))
            with self._data.lock:
                self._data.held[_held_key(file)] = kept

    def held_files(
        self, live_set_id: UUID | None = None, states: Collection[HeldState] = tuple(HeldState)
    ) -> Iterator[HeldFile]:
        """The records."""
        with self._data.lock:
            found = list(self._data.held.values())
        yield from (file for file in found if file.state in states and live_set_id in (None, file.live_set_id))

    def forget_held_files(self, files: Iterable[HeldFile]) -> None:
        """Removes records."""
        for file in files:
            with self._data.lock:
                self._data.held.pop(_held_key(file), None)

    def quarantines(self) -> Iterator[Quarantine]:
        """What there is."""
        found: dict[tuple[str, UUID, str, datetime, HeldState], tuple[int, int]] = {}
        for file in self.held_files():
            key = (file.repository, file.live_set_id, file.place, file.until, file.state)
            files, bytes_ = found.get(key, (0, 0))
            found[key] = (files + (not file.sidecar), bytes_ + (0 if file.sidecar else file.size or 0))
        for (repository, id_, place, until, state), (files, bytes_) in found.items():
            yield Quarantine(
                repository=repository,
                live_set_id=id_,
                place=place,
                until=until,
                state=state,
                files=files,
                bytes=bytes_,
            )

    def remove_tombstones(self, paths: Iterable[str]) -> None:
        """Forgets paths, of all repositories."""
        gone = set(paths)
        with self._data.lock:
            for key in [key for key in self._data.tombstones if key[1] in gone]:
                del self._data.tombstones[key]

    def repositories(self) -> Iterator[str]:
        """All that have live sets or seen contents."""
        with self._data.lock:
            found = {rows.live_set.repository for rows in self._data.live_sets.values()}
            found.update(owner for owner, _, _ in self._data.seen)
        yield from sorted(found)

    def count_records(self, repository: str) -> RepositoryRecords:
        """How many there are."""
        with self._data.lock:
            return RepositoryRecords(
                live_sets=sum(rows.live_set.repository == repository for rows in self._data.live_sets.values()),
                tombstones=sum(owner == repository for owner, _ in self._data.tombstones),
                seen_contents=sum(owner == repository for owner, _, _ in self._data.seen),
                tags=sum(owner == repository for owner, _, _ in self._data.tags),
                held_files=sum(file.repository == repository for file in self._data.held.values()),
                reached_places=sum(owner == repository for owner, _ in self._data.reached),
            )

    def move_records(self, source: str, target: str) -> RepositoryRecords:
        """Moves all records."""
        with self._data.lock:
            for repository in (source, target):
                holder = self.lease(repository)
                if holder is not None:
                    raise lease_held(repository, holder)
            moved = self.count_records(source)
            if source != target:
                self._move(source, target)
            return moved

    def _move(self, source: str, target: str) -> None:
        data = self._data
        for rows in data.live_sets.values():
            if rows.live_set.repository == source:
                rows.live_set = replace(rows.live_set, repository=target)
        for owner, path in [key for key in data.tombstones if key[0] == source]:
            data.tombstones[target, path] = data.tombstones.pop((owner, path))
        for owner, content_id, location in [key for key in data.seen if key[0] == source]:
            mine = data.seen.pop((owner, content_id, location))
            theirs = data.seen.get((target, content_id, location), mine)
            latest = max(mine, theirs, key=lambda seen: seen.last_seen)
            first = min(mine.first_seen, theirs.first_seen)
            data.seen[target, content_id, location] = replace(latest, first_seen=first)
        for owner, each in [key for key in data.reached if key[0] == source]:
            del data.reached[owner, each]
            data.reached[target, each] = None
        for key, file in data.held.items():
            if file.repository == source:
                data.held[key] = replace(file, repository=target)
        for owner, holder, name in [key for key in data.tags if key[0] == source]:
            moved = data.tags.pop((owner, holder, name))
            known = data.tags.get((target, holder, name), moved)
            data.tags[target, holder, name] = moved if moved.made and not known.made else known

    # ---- lease ----------------------------------------------------------------------------------------
    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        """Takes or renews the lease."""
        with self._data.lock:
            now, holder = self.clock(), self.lease(repository)
            if holder is not None and holder.owner != owner:
                raise lease_held(repository, holder)
            since = holder.since if holder is not None else now
            taken = LeaseHolder(owner=owner, host=host, process=process, since=since, until=now + duration)
            self._data.leases[repository] = taken
            return taken.until

    def lease(self, repository: str) -> LeaseHolder | None:
        """The holder, where the lease has not run out."""
        with self._data.lock:
            holder = self._data.leases.get(repository)
            return holder if holder is not None and holder.until > self.clock() else None

    def release_lease(self, repository: str, owner: str) -> None:
        """Releases the lease."""
        with self._data.lock:
            holder = self._data.leases.get(repository)
            if holder is not None and holder.owner == owner:
                del self._data.leases[repository]


def _held_key(file: HeldFile) -> tuple[UUID, str, str]:
    return file.live_set_id, file.place, file.held_path


def utc_now() -> datetime:
    """The machine's clock."""
    return datetime.now(UTC)


def utc(time: datetime) -> datetime:
    """The same instant in UTC."""
    return in_zone(time)
