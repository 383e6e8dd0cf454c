"""Records of files in quarantine, which outlive live sets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import Label, Row, delete, func, select

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model.quarantine import HeldFile, HeldState, Quarantine
from nessie_gc_jdbc.database import Database
from nessie_gc_jdbc.problems import readable
from nessie_gc_jdbc.rows import batches
from nessie_gc_jdbc.tables import (
    digest,
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
        query = select(held_files)
        if set(states) != set(HeldState):  # else one of a later version, with a state of its own, would be left out
            query = query.where(held_files.c.state.in_(sorted(states)))
        prefixes = None if live_set_id is None else [key_of(str(live_set_id))]
        yield from map(_held_file, self.database.pages_below(query, held_files.c.held_key, prefixes))

    def forget_held_files(self, files: Iterable[HeldFile]) -> None:
        """Removes records."""
        for batch in batches(files):
            keys = sorted(map(_key, batch))
            if keys:
                self.database.execute(delete(held_files).where(held_files.c.held_key.in_(keys)))

    def quarantines(self) -> Iterator[Quarantine]:
        """Counted by the database; no record may be missing, because nothing else keeps a sweep off their places."""
        yield from self._quarantines_by_key() or self._quarantines_by_row()

    def _quarantines_by_key(self) -> list[Quarantine]:
        """From the index of groups, and one record of each; none if they are not those that were counted.

        That is so if they change meanwhile, or if an earlier release wrote some, which knows of no groups.
        """
        files, bytes_ = _sums()
        sums = select(held_files.c.group_key, files, bytes_).group_by(held_files.c.group_key).subquery()
        other = held_files.alias()
        some = select(other.c.held_key).where(other.c.group_key == sums.c.group_key)
        one = some.order_by(other.c.sidecar, other.c.size).limit(1).scalar_subquery()  # in the order of the index
        counted = self.database.rows(select(sums, one.label("held_key")))
        examples = {}
        for keys in batches(bytes(each.held_key) for each in counted if each.held_key is not None):
            found = self.database.rows(select(held_files).where(held_files.c.held_key.in_(keys))) if keys else ()
            examples.update({bytes(row.held_key): row for row in found})
        quarantines = []
        for each in counted:
            row = examples.get(bytes(each.held_key or b""))
            if row is None or each.group_key != _group(row.live_set_id, row.place, row.ends, row.state):
                return []
            quarantines.append(_quarantine(row, each))
        return quarantines

    def _quarantines_by_row(self) -> list[Quarantine]:
        """From all records."""
        by = [held_files.c[name] for name in ("repository", "live_set_id", "place", "ends", "state")]
        return [_quarantine(row, row) for row in self.database.rows(select(*by, *_sums()).group_by(*by))]

    def remove_tombstones(self, paths: Iterable[str]) -> None:
        """Removes them from all repositories."""
        repositories = [str(name) for (name,) in self.database.rows(repositories_of_tombstones())]
        for batch in batches(paths):
            for repository in repositories if batch else ():
                keys = sorted(key_of(repository, path) for path in set(batch))
                self.database.execute(delete(tombstones).where(tombstones.c.tombstone_key.in_(keys)))


def _key(file: HeldFile) -> bytes:
    return key_of(str(file.live_set_id), file.place + file.held_path)


@lru_cache(1024)
def _group(live_set_id: str, place: str, ends: int, state: str) -> bytes:
    """What all files of a quarantine share; a live set has one repository."""
    return digest(live_set_id, place, ends, state)


def _sums() -> tuple[Label[int], Label[int]]:
    """Files and bytes without sidecars."""
    is_file = 1 - held_files.c.sidecar
    bytes_ = func.coalesce(func.sum(held_files.c.size * is_file), 0)
    return func.sum(is_file).label("files"), bytes_.label("bytes")


def _quarantine(row: Row[Any], sums: Row[Any]) -> Quarantine:
    with readable(f"the quarantine in {row.place}"):
        return Quarantine(
            repository=row.repository,
            live_set_id=UUID(row.live_set_id),
            place=row.place,
            until=from_micros(row.ends),
            state=HeldState(row.state),
            files=int(sums.files),
            bytes=int(sums.bytes),
        )


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
        "group_key": _group(str(file.live_set_id), file.place, to_micros(file.until), file.state.value),
    }


def _held_file(row: Row[Any]) -> HeldFile:
    with readable(f"{row.held_path} in quarantine"):
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
