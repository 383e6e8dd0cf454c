"""Puts the records of one repository under another identity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sqlalchemy import Column, Connection, Row, Select, Table, delete, func, select, update

from nessie_gc_core.model.live_sets import RepositoryRecords
from nessie_gc_jdbc.database import BATCH_ROWS, Database
from nessie_gc_jdbc.tables import (
    AFTER_ALL,
    DIGEST_BYTES,
    held_files,
    key_of,
    live_sets,
    reached_places,
    seen_contents,
    tags,
    tombstones,
)

_Values = dict[str, Any]


def count_records(connection: Connection, repository: str) -> RepositoryRecords:
    """How many records an identity has."""

    def count(table: Table, key: Column[bytes]) -> int:
        query = select(func.count()).select_from(table).where(*_under(key, repository))
        return int(connection.execute(query).scalar_one())

    sets = select(func.count()).select_from(live_sets).where(live_sets.c.repository == repository)
    held = select(func.count()).select_from(held_files).where(held_files.c.repository == repository)
    return RepositoryRecords(
        live_sets=int(connection.execute(sets).scalar_one()),
        tombstones=count(tombstones, tombstones.c.tombstone_key),
        seen_contents=count(seen_contents, seen_contents.c.seen_key),
        tags=count(tags, tags.c.tag_key),
        held_files=int(connection.execute(held).scalar_one()),
        reached_places=count(reached_places, reached_places.c.reached_key),
    )


def move_records(connection: Connection, database: Database, source: str, target: str) -> None:
    """Moves all of them; the transaction is the caller's."""
    of_source = live_sets.c.repository == source
    connection.execute(update(live_sets).where(of_source).values(repository=target))
    connection.execute(update(held_files).where(held_files.c.repository == source).values(repository=target))
    for table, key, merged in (
        (tombstones, tombstones.c.tombstone_key, _newest_tombstone),
        (seen_contents, seen_contents.c.seen_key, _merged_content),
        (reached_places, reached_places.c.reached_key, _either),
        (tags, tags.c.tag_key, _known_tag),
    ):
        changed = [column.name for column in table.c if column is not key]
        for rows in _batches(connection, select(table).where(*_under(key, source)), key):
            moved = _moved(connection, rows, table, key, target, merged)
            connection.execute(database.insert_or_update(table, changed), moved)
        connection.execute(delete(table).where(*_under(key, source)))


def _under(key: Column[bytes], repository: str) -> tuple[Any, Any]:
    """All keys begin with the digest of the identity."""
    prefix = key_of(repository)
    return key > prefix, key <= prefix + AFTER_ALL


def _batches(connection: Connection, query: Select[Any], key: Column[bytes]) -> Iterator[Sequence[Row[Any]]]:
    above = b""
    while rows := connection.execute(query.where(key > above).order_by(key).limit(BATCH_ROWS)).all():
        yield rows
        above = bytes(getattr(rows[-1], key.name))


def _moved(
    connection: Connection,
    rows: Sequence[Row[Any]],
    table: Table,
    key: Column[bytes],
    target: str,
    merged: Callable[[_Values, _Values], _Values],
) -> list[_Values]:
    """The rows with the target's keys, each put together with the one that the target has already."""
    prefix = key_of(target)
    moved = {prefix + bytes(getattr(row, key.name))[DIGEST_BYTES:]: dict(row._mapping) for row in rows}
    there = connection.execute(select(table).where(key.in_(list(moved)))).all()
    known = {bytes(getattr(row, key.name)): dict(row._mapping) for row in there}
    return [
        {**merged(known.get(new_key, values), values), key.name: new_key, "repository": target}
        for new_key, values in sorted(moved.items())
    ]


def _newest_tombstone(known: _Values, mine: _Values) -> _Values:
    return max(known, mine, key=lambda row: int(row["at"]))


def _either(known: _Values, mine: _Values) -> _Values:
    """They say the same."""
    return known


def _known_tag(known: _Values, mine: _Values) -> _Values:
    return mine if mine["made"] and not known["made"] else known


def _merged_content(known: _Values, mine: _Values) -> _Values:
    latest = max(known, mine, key=lambda row: int(row["last_seen"]))
    return {**latest, "first_seen": min(known["first_seen"], mine["first_seen"])}
