"""What outlives live sets, and the lease of a repository."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any, cast
from uuid import uuid4

from sqlalchemy import Connection, Row, delete, or_, select, union, update

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.connectors.live_set_store import lease_held
from nessie_gc_core.model.live_sets import LeaseHolder, ReachedPlace, RepositoryRecords, SeenContent
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_jdbc.bulk import insert_new_rows
from nessie_gc_jdbc.database import Database
from nessie_gc_jdbc.moving import count_records, move_records
from nessie_gc_jdbc.problems import readable
from nessie_gc_jdbc.rows import batches
from nessie_gc_jdbc.tables import (
    from_micros,
    key_of,
    leases,
    live_sets,
    reached_places,
    seen_contents,
    tags,
    to_micros,
    tombstones,
)

_MICROSECOND = timedelta(microseconds=1)
_MOVING = timedelta(minutes=1)
"""Seen by nobody: the lease under which records move is made and given back in one transaction."""
_NEVER = from_micros(0)


class RegisterVerbs(LiveSetStore):
    """Tombstones, the register of contents, records of tags, and leases."""

    database: Database

    def add_tombstones(self, repository: str, paths: Iterable[str], *, at: datetime) -> None:
        """Remembers paths."""
        for batch in batches(paths):
            rows = [
                {"tombstone_key": key_of(repository, path), "repository": repository, "path": path, "at": to_micros(at)}
                for path in dict.fromkeys(batch)
            ]
            if rows:
                statement = self.database.insert_or_update(tombstones, ["at"])
                self.database.execute(statement, _by_key(rows))

    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """Which paths are remembered."""
        found: set[str] = set()
        for batch in batches(paths):
            keys = {key_of(repository, path): path for path in batch}
            query = select(tombstones.c.tombstone_key).where(tombstones.c.tombstone_key.in_(list(keys)))
            found.update(keys[bytes(row.tombstone_key)] for row in self.database.rows(query))
        return found

    def register_contents(self, repository: str, contents: Iterable[SeenContent]) -> None:
        """Adds contents or moves their last time."""
        for batch in batches(contents):
            rows: dict[bytes, dict[str, Any]] = {}
            for content in batch:
                key = key_of(repository, content.content_id, content.location)
                first = rows[key]["first_seen"] if key in rows else to_micros(content.first_seen)
                rows[key] = {
                    "seen_key": key,
                    "repository": repository,
                    "content_id": content.content_id,
                    "content_type": content.content_type,
                    "location": content.location,
                    "first_seen": first,
                    "last_seen": to_micros(content.last_seen),
                }
            if rows:
                statement = self.database.insert_or_update(seen_contents, ["content_type", "last_seen"])
                self.database.execute(statement, [rows[key] for key in sorted(rows)])

    def seen_contents(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[SeenContent]:
        """The register in pages."""
        prefixes = [key_of(repository)]
        if content_ids is not None:
            prefixes = [key_of(repository, content_id) for content_id in content_ids]
        for row in self.database.pages_below(select(seen_contents), seen_contents.c.seen_key, prefixes):
            with readable(f"content {row.content_id}"):
                seen = SeenContent(
                    content_id=row.content_id,
                    content_type=row.content_type,
                    location=row.location,
                    first_seen=from_micros(row.first_seen),
                    last_seen=from_micros(row.last_seen),
                )
            yield seen

    def register_reached(self, repository: str, reached: Iterable[ReachedPlace]) -> None:
        """Adds rows."""
        for batch in batches(reached):
            rows = {
                key: (key, repository, each.content_id, each.place)
                for each in batch
                for key in [key_of(repository, each.content_id, each.place)]
            }
            ordered = [rows[key] for key in sorted(rows)]
            self.database.write(partial(insert_new_rows, table=reached_places, rows=ordered))

    def reached(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[ReachedPlace]:
        """The rows in pages."""
        prefixes = [key_of(repository)]
        if content_ids is not None:
            prefixes = [key_of(repository, content_id) for content_id in content_ids]
        for row in self.database.pages_below(select(reached_places), reached_places.c.reached_key, prefixes):
            yield ReachedPlace(content_id=row.content_id, place=row.place)

    def put_tags(self, repository: str, records: Iterable[TagRecord]) -> None:
        """Adds or replaces records."""
        for batch in batches(records):
            rows = {key_of(repository, *each.key): _tag_row(repository, each) for each in batch}
            if rows:
                changed = [column.name for column in tags.c if column is not tags.c.tag_key]
                statement = self.database.insert_or_update(tags, changed)
                self.database.execute(statement, [rows[key] for key in sorted(rows)])

    def tags(self, repository: str) -> Iterator[TagRecord]:
        """The records in pages."""
        for row in self.database.pages_below(select(tags), tags.c.tag_key, [key_of(repository)]):
            with readable(f"tag {row.name}"):
                record = TagRecord(
                    holder=row.holder,
                    name=row.name,
                    prefix=row.prefix,
                    branch=row.branch,
                    instant=from_micros(row.instant),
                    state_at=from_micros(row.state_at),
                    periods=tuple(cast("list[str]", parsed_json(row.periods))),
                    target=row.target,
                    made=bool(row.made),
                )
            yield record

    def forget_tags(self, repository: str, keys: Iterable[tuple[str, str]]) -> None:
        """Removes records."""
        for batch in batches(keys):
            gone = [key_of(repository, *key) for key in batch]
            if gone:
                self.database.execute(delete(tags).where(tags.c.tag_key.in_(sorted(gone))))

    def repositories(self) -> Iterator[str]:
        """All that have live sets or seen contents."""
        query = union(select(live_sets.c.repository), select(seen_contents.c.repository))
        yield from sorted(str(row.repository) for row in self.database.rows(query))

    def count_records(self, repository: str) -> RepositoryRecords:
        """How many there are."""
        return self.database.read(lambda connection: count_records(connection, repository))

    def move_records(self, source: str, target: str) -> RepositoryRecords:
        """Moves all records in one transaction, which holds both leases."""
        holder = LeaseHolder(owner=str(uuid4()), host="", process=0, since=_NEVER, until=_NEVER)

        def move(connection: Connection) -> RepositoryRecords:
            for repository in sorted({source, target}):
                self._take(connection, repository, holder, _MOVING)
            moved = count_records(connection, source)
            if source != target:
                move_records(connection, self.database, source, target)
            connection.execute(delete(leases).where(leases.c.owner == holder.owner))
            return moved

        return self.database.write(move)

    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        """Takes or renews the lease."""
        holder = LeaseHolder(owner=owner, host=host, process=process, since=_NEVER, until=_NEVER)
        return self.database.write(lambda connection: self._take(connection, repository, holder, duration))

    def _take(self, connection: Connection, repository: str, holder: LeaseHolder, duration: timedelta) -> datetime:
        """Changes a lease that is ours or ran out, or makes one if there is none."""
        now = self.database.now(connection)
        ends = now + duration // _MICROSECOND
        mine = leases.c.repository_key == key_of(repository)
        renewed = update(leases).where(mine, leases.c.owner == holder.owner, leases.c.ends > now)
        taken = {"owner": holder.owner, "host": holder.host, "process": holder.process, "since": now, "ends": ends}
        free = update(leases).where(mine, or_(leases.c.owner == holder.owner, leases.c.ends <= now))
        new = {"repository_key": key_of(repository), "repository": repository, **taken}
        for statement in (
            renewed.values(ends=ends),
            free.values(taken),
            self.database.insert_new(leases).values(new),
        ):
            if connection.execute(statement).rowcount == 1:
                return from_micros(ends)
        found = connection.execute(select(leases).where(mine)).one()
        raise lease_held(repository, _lease_holder(found))

    def lease(self, repository: str) -> LeaseHolder | None:
        """The holder, where the lease has not run out."""

        def find(connection: Connection) -> Row[Any] | None:
            mine = leases.c.repository_key == key_of(repository), leases.c.ends > self.database.now(connection)
            return connection.execute(select(leases).where(*mine)).first()

        row = self.database.read(find)
        return None if row is None else _lease_holder(row)

    def release_lease(self, repository: str, owner: str) -> None:
        """Releases the lease: a run has ended."""
        where = leases.c.repository_key == key_of(repository), leases.c.owner == owner
        self.database.execute(delete(leases).where(*where))
        self.database.settle()


def _lease_holder(row: Row[Any]) -> LeaseHolder:
    with readable(f"the lease of {row.owner}"):
        return LeaseHolder(
            owner=row.owner,
            host=row.host,
            process=row.process,
            since=from_micros(row.since),
            until=from_micros(row.ends),
        )


def _tag_row(repository: str, record: TagRecord) -> dict[str, Any]:
    return {
        "tag_key": key_of(repository, *record.key),
        "repository": repository,
        "holder": record.holder,
        "name": record.name,
        "prefix": record.prefix,
        "branch": record.branch,
        "instant": to_micros(record.instant),
        "state_at": to_micros(record.state_at),
        "periods": json.dumps(record.periods),
        "target": record.target,
        "made": int(record.made),
    }


def _by_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["tombstone_key"])
