"""Records of files in quarantine, which outlive live sets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any
from uuid import UUID

from sqlalchemy import Row, delete, func, select

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model.quarantine import HeldFile, HeldState, Quarantine
from nessie_gc_jdbc.database import Database
from nessie_gc_jdbc.rows import batches
from nessie_gc_jdbc.tables import (
    from_micros,
    held_files,
    key_of,
    optional_micros,
    optional_time,
    repositories_of_tombstones,
    to_micros,
    tombstones,
)


class QuarantineVerbs(LiveSetStore):
    """The verbs of a quarantine."""

    database: Database

    def put_held_files(self, files: Iterable[HeldFile]) -> None:
        """Adds or replaces records."""
        changed = [column.name for column in held_files.c if column is not held_files.c.held_key]
        for batch in batches(files):
            rows = {_key(file): _row(file) for file in batch}
            if rows:
                statement = self.database.insert_or_update(held_files, changed)
                self.database.execute(statement, [rows[key] for key in sorted(rows)])

    def held_files(
        self, live_set_id: UUID | None = None, states: Collection[HeldState] = tuple(HeldState)
    ) -> Iterator[HeldFile]:
        """The records in pages."""
        query = select(held_files).where(held_files.c.state.in_(sorted(states)))
        prefixes = None if live_set_id is None else [key_of(str(live_set_id))]
        yield from map(_held_file, self.database.pages_below(query, held_files.c.held_key, prefixes))

    def forget_held_files(self, files: Iterable[HeldFile]) -> None:
        """Removes records."""
        for batch in batches(files):
            keys = sorted(map(_key, batch))
            if keys:
                self.database.execute(delete(held_files).where(held_files.c.held_key.in_(keys)))

    def quarantines(self) -> Iterator[Quarantine]:
        """Counted by the database."""
        by = (
            held_files.c.repository,
            held_files.c.live_set_id,
            held_files.c.place,
            held_files.c.ends,
            held_files.c.state,
        )
        is_file = 1 - held_files.c.sidecar
        query = select(*by, func.sum(is_file), func.coalesce(func.sum(held_files.c.size * is_file), 0)).group_by(*by)
        for repository, id_, place, ends, state, files, bytes_ in self.database.rows(query):
            yield Quarantine(
                repository=repository,
                live_set_id=UUID(id_),
                place=place,
                until=from_micros(ends),
                state=HeldState(state),
                files=int(files),
                bytes=int(bytes_),
            )

    def remove_tombstones(self, paths: Iterable[str]) -> None:
        """Removes them from all repositories."""
        repositories = [str(name) for (name,) in self.database.rows(repositories_of_tombstones())]
        for batch in batches(paths):
            for repository in repositories if batch else ():
                keys = sorted(key_of(repository, path) for path in set(batch))
                self.database.execute(delete(tombstones).where(tombstones.c.tombstone_key.in_(keys)))


def _key(file: HeldFile) -> bytes:
    return key_of(str(file.live_set_id), file.place + file.held_path)


def _row(file: HeldFile) -> dict[str, Any]:
    return {
        "held_key": _key(file),
        "repository": file.repository,
        "live_set_id": str(file.live_set_id),
        "place": file.place,
        "held_path": file.held_path,
        "location": file.location,
        "path": file.path,
        "size": file.size,
        "modified": optional_micros(file.modified),
        "tables": file.table,
        "sidecar": int(file.sidecar),
        "held": to_micros(file.held),
        "ends": to_micros(file.until),
        "state": file.state.value,
    }


def _held_file(row: Row[Any]) -> HeldFile:
    return HeldFile(
        repository=row.repository,
        live_set_id=UUID(row.live_set_id),
        place=row.place,
        held_path=row.held_path,
        location=row.location,
        path=row.path,
        size=row.size,
        modified=optional_time(row.modified),
        table=row.tables,
        sidecar=bool(row.sidecar),
        held=from_micros(row.held),
        until=from_micros(row.ends),
        state=HeldState(row.state),
    )
