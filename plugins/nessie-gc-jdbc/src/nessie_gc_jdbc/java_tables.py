"""The tables of Nessie's Java tool, which are only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Column, Connection, MetaData, Row, Select, Table, inspect, or_, select

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.java_tables import JavaBaseLocation, JavaContentVersion, JavaFileDeletion, JavaLiveSet
from nessie_gc_jdbc.database import Database

_metadata = MetaData()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _table(name: str, *columns: str) -> Table:
    """A table by the names of its columns; values come as the driver gives them."""
    return Table(name, _metadata, *(Column[Any](column) for column in columns))


_live_sets = _table(
    "gc_live_sets",
    "live_set_id",
    "set_status",
    "identify_started",
    "identify_finished",
    "expire_started",
    "expire_finished",
    "error_message",
)
_contents = _table(
    "gc_live_set_contents",
    "live_set_id",
    "content_id",
    "commit_id",
    "content_key",
    "content_type",
    "metadata_location",
    "snapshot_id",
)
_locations = _table("gc_live_set_content_locations", "live_set_id", "content_id", "base_location")
_deletions = _table("gc_file_deletions", "live_set_id", "base_uri", "path_uri", "modification_timestamp")


class JavaTableVerbs(LiveSetStore):
    """The verbs that read them."""

    database: Database

    def java_live_sets(self) -> Iterator[JavaLiveSet]:
        """All live sets; there are few."""

        def find(connection: Connection) -> tuple[Sequence[Row[Any]], bool]:
            inspector = inspect(connection)
            for table in _metadata.sorted_tables:
                if not inspector.has_table(table.name):
                    raise StoreError(
                        f"the database {self.database.shown_url} has no table {table.name} of the Java tool; name the "
                        "database that has it"
                    )
            defaults = {column["name"]: column.get("default") for column in inspector.get_columns(_live_sets.name)}
            moves = "on update" in str(defaults.get(_live_sets.c.identify_started.name)).lower()
            return connection.execute(select(_live_sets)).all(), moves

        rows, start_moves = self.database.read_as_it_is(find)
        for row in rows:
            yield JavaLiveSet(
                live_set_id=str(row.live_set_id),
                status=row.set_status,
                # Older servers set the first time of a row again whenever the row changes.
                identify_started=None if start_moves else _time(row.identify_started),
                identify_finished=_time(row.identify_finished),
                expire_started=_time(row.expire_started),
                expire_finished=_time(row.expire_finished),
                error_message=row.error_message,
            )

    def java_content_versions(self, live_set_id: str) -> Iterator[JavaContentVersion]:
        """The content versions in pages."""
        for row in self._pages(_contents, live_set_id, _contents.c.content_id, _contents.c.commit_id):
            yield JavaContentVersion(
                content_id=row.content_id,
                commit_id=row.commit_id,
                content_key=row.content_key,
                content_type=row.content_type,
                metadata_location=row.metadata_location,
                snapshot_id=row.snapshot_id,
            )

    def java_base_locations(self, live_set_id: str) -> Iterator[JavaBaseLocation]:
        """The base locations in pages."""
        for row in self._pages(_locations, live_set_id, _locations.c.content_id, _locations.c.base_location):
            yield JavaBaseLocation(content_id=row.content_id, base_location=row.base_location)

    def java_file_deletions(self, live_set_id: str) -> Iterator[JavaFileDeletion]:
        """The deferred deletions in pages."""
        for row in self._pages(_deletions, live_set_id, _deletions.c.base_uri, _deletions.c.path_uri):
            yield JavaFileDeletion(
                base_uri=row.base_uri, path_uri=row.path_uri, modification_timestamp=row.modification_timestamp
            )

    def _pages(self, table: Table, live_set_id: str, first: Column[Any], second: Column[Any]) -> Iterator[Row[Any]]:
        """The rows of a live set in the order of their key; those without one first, which only SQLite allows.

        What is left of the last content comes first, then what follows it: MariaDB compares no pairs by an index.
        """
        query = select(table).where(table.c.live_set_id == live_set_id)
        yield from self._read(query.where(or_(first.is_(None), second.is_(None))))
        query = query.where(first.is_not(None), second.is_not(None)).order_by(first, second)
        page = self._read(query)
        while len(page) == self.database.fetch_size:
            yield from page
            last = page[-1]._mapping
            page = self._read(query.where(first == last[first], second > last[second]))
            if len(page) < self.database.fetch_size:
                yield from page
                page = self._read(query.where(first > last[first]))
        yield from page

    def _read(self, query: Select[Any]) -> Sequence[Row[Any]]:
        limited = query.limit(self.database.fetch_size)
        return self.database.read_as_it_is(lambda connection: connection.execute(limited).all())


def _time(value: object) -> datetime | None:
    """A time as drivers give it: as one, as text (SQLite) or as milliseconds; ``None``: none, or none that exists."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, int):
        return _EPOCH + timedelta(milliseconds=value)
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return None
