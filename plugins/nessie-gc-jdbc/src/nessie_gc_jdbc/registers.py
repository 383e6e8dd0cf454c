"""What outlives live sets, and the lease of a repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import delete, or_, select, update

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.live_sets import SeenContent
from nessie_gc_jdbc.database import Database
from nessie_gc_jdbc.rows import batches
from nessie_gc_jdbc.tables import AFTER_ALL, from_micros, key_of, leases, seen_contents, to_micros, tombstones


class RegisterVerbs(LiveSetStore):
    """Tombstones, the register of contents, and leases."""

    database: Database

    def add_tombstones(self, repository: str, paths: Iterable[str], *, at: datetime) -> None:
        """Remembers paths."""
        for batch in batches(paths):
            rows = [
                {"tombstone_key": key_of(repository, path), "repository": repository, "path": path, "at": to_micros(at)}
                for path in dict.fromkeys(batch)
            ]
            if rows:
                with self.database.writing() as connection:
                    connection.execute(self.database.insert_or_update(tombstones, ["at"]), _by_key(rows))

    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """Which paths are remembered."""
        found: set[str] = set()
        for batch in batches(paths):
            keys = {key_of(repository, path): path for path in batch}
            query = select(tombstones.c.tombstone_key).where(tombstones.c.tombstone_key.in_(list(keys)))
            with self.database.reading() as connection:
                found.update(keys[bytes(key)] for key in connection.execute(query).scalars())
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
                with self.database.writing() as connection:
                    connection.execute(statement, [rows[key] for key in sorted(rows)])

    def seen_contents(self, repository: str, content_id: str | None = None) -> Iterator[SeenContent]:
        """The register in pages."""
        prefix = key_of(repository) if content_id is None else key_of(repository, content_id)
        key = seen_contents.c.seen_key
        for row in self.database.pages(select(seen_contents), key, above=prefix, upto=prefix + AFTER_ALL):
            yield SeenContent(
                content_id=row.content_id,
                content_type=row.content_type,
                location=row.location,
                first_seen=from_micros(row.first_seen),
                last_seen=from_micros(row.last_seen),
            )

    def acquire_lease(self, repository: str, owner: str, *, now: datetime, until: datetime) -> None:
        """Takes or renews the lease: changes one that is ours or ran out, or makes one where there is none."""
        mine = leases.c.repository_key == key_of(repository)
        free = or_(leases.c.owner == owner, leases.c.ends <= to_micros(now))
        taken = {"owner": owner, "ends": to_micros(until)}
        row = {"repository_key": key_of(repository), "repository": repository, **taken}
        with self.database.writing() as connection:
            if connection.execute(update(leases).where(mine, free).values(taken)).rowcount == 1:
                return
            if connection.execute(self.database.insert_new(leases).values(row)).rowcount == 1:
                return
            holder = connection.execute(select(leases.c.owner, leases.c.ends).where(mine)).one()
        raise LeaseHeldError(
            f"{holder.owner!r} collects {repository} until {from_micros(holder.ends).isoformat()}; "
            "wait for it, or stop it"
        )

    def release_lease(self, repository: str, owner: str) -> None:
        """Gives the lease back."""
        where = leases.c.repository_key == key_of(repository), leases.c.owner == owner
        with self.database.writing() as connection:
            connection.execute(delete(leases).where(*where))


def _by_key(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["tombstone_key"])
