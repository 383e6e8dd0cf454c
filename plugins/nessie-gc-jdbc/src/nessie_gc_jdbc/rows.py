"""What belongs to a live set: content versions, base locations, steps and deferred deletions."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Row, Select, Table, delete, func, select

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model import RowsDigest
from nessie_gc_core.model.live_sets import FileDeletion, LiveSetStatus, SweepStep, SweepStepState
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_jdbc.bulk import Values, insert_new_rows
from nessie_gc_jdbc.database import BATCH_ROWS, BULK_ROWS, Database
from nessie_gc_jdbc.problems import UNREADABLE, not_understood, readable
from nessie_gc_jdbc.status import hold, take_from_digest
from nessie_gc_jdbc.tables import (
    AFTER_ALL,
    DIGEST_BYTES,
    base_locations,
    content_versions,
    deletion_locations,
    digest,
    file_deletions,
    key_of,
    optional_micros,
    optional_time,
    steps,
)

_T = TypeVar("_T")
_Values = Mapping[str, object]
_BOUND_BITS = 64
"""Of the first of 160 bits of a digest: more parts than anybody has processes."""


class RowVerbs(LiveSetStore):
    """The verbs that write and read the rows of a live set."""

    database: Database

    # ---- content versions -----------------------------------------------------------------------------
    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Adds versions; how many were new."""
        new, of_set = 0, str(live_set_id)
        for batch in batches(versions, BULK_ROWS):
            rows = (_version_row(of_set, version) for version in batch)
            new += self._add(live_set_id, [LiveSetStatus.IDENTIFY_IN_PROGRESS], content_versions, rows)
        return new

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        """The versions in pages."""
        query, key = _of(live_set_id, content_versions), content_versions.c.version_key
        prefixes = None if content_ids is None else [key_of(content_id) for content_id in content_ids]
        yield from map(_version, self.database.pages_below(query, key, prefixes))

    def content_versions_of_part(self, live_set_id: UUID, part: int, parts: int) -> Iterator[ContentVersion]:
        """The versions in pages; keys are digests, so that equal ranges of them have about as many."""
        query, key = _of(live_set_id, content_versions), content_versions.c.version_key
        above, upto = (_bound(each, parts) for each in (part, part + 1))
        yield from map(_version, self.database.pages(query, key, above=above, upto=upto))

    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        """The distinct content ids in pages."""
        columns, last = content_versions.c, b""
        query = select(columns.version_key, columns.content_id).where(columns.live_set_id == str(live_set_id))
        for row in self.database.pages(query, columns.version_key):
            content = bytes(row.version_key)[:DIGEST_BYTES]
            if content != last:
                last = content
                yield row.content_id

    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        """How many versions and contents."""
        columns = content_versions.c
        contents = func.count(func.substr(columns.version_key, 1, DIGEST_BYTES).distinct())
        query = select(func.count(), contents).where(columns.live_set_id == str(live_set_id))
        ((versions, distinct),) = self.database.rows(query)
        return int(versions), int(distinct)

    def add_base_locations(self, live_set_id: UUID, locations: Iterable[tuple[str, str]]) -> int:
        """Remembers base locations; how many were new."""
        new, of_set = 0, str(live_set_id)
        for batch in batches(locations, BULK_ROWS):
            rows = ((of_set, key_of(content_id, location), content_id, location) for content_id, location in batch)
            new += self._add(live_set_id, (), base_locations, rows)
        return new

    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """Distinct content ids and base locations in pages."""
        query, key = _of(live_set_id, base_locations), base_locations.c.location_key
        prefixes = None if content_id is None else [key_of(content_id)]
        for row in self.database.pages_below(query, key, prefixes):
            yield row.content_id, row.location

    # ---- sweep ----------------------------------------------------------------------------------------
    def record_steps(self, live_set_id: UUID, recorded: Iterable[SweepStep]) -> None:
        """Records or replaces steps, of those with one unit and part the last."""
        changed = ("state", "planned_files", "planned_bytes", "outcomes")
        for batch in batches(recorded):
            rows = {digest(step.unit, step.part): _step_values(live_set_id, step) for step in batch}
            ordered = [{**rows[key], "step_key": key} for key in sorted(rows)]
            self.database.write(partial(self._record, live_set_id, changed, ordered))

    def _record(
        self, live_set_id: UUID, changed: Sequence[str], ordered: Sequence[_Values], connection: Connection
    ) -> None:
        hold(connection, live_set_id, LiveSetStatus.EXPIRY_IN_PROGRESS)
        if ordered:
            connection.execute(self.database.insert_or_update(steps, changed), ordered)

    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """All steps in pages."""
        for row in self.database.pages(_of(live_set_id, steps), steps.c.step_key):
            with readable(f"a step of the sweep of live set {live_set_id}"):
                step = SweepStep(
                    unit=row.unit,
                    part=row.part,
                    state=SweepStepState(row.state),
                    planned_files=row.planned_files,
                    planned_bytes=row.planned_bytes,
                    outcomes=_outcomes(row.outcomes),
                )
            yield step

    def add_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Records deferred deletions; how many were new."""
        new, of_set, allowed = 0, str(live_set_id), [LiveSetStatus.EXPIRY_IN_PROGRESS]
        for batch in batches(deletions, BULK_ROWS):
            places = ((of_set, key_of(location), location) for location in {deletion.location for deletion in batch})
            rows = (_deletion_row(of_set, deletion) for deletion in batch)
            self._add(live_set_id, allowed, deletion_locations, places)
            new += self._add(live_set_id, allowed, file_deletions, rows)
        return new

    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """The deferred deletions by location, in pages."""
        columns = deletion_locations.c
        query = select(columns.location_key, columns.location).where(columns.live_set_id == str(live_set_id))
        found = self.database.rows(query.order_by(columns.location))
        places = {bytes(location_key): location for location_key, location in found}
        rows = self.database.pages_below(_of(live_set_id, file_deletions), file_deletions.c.deletion_key, list(places))
        for deletion_key, path, size, modified in map(tuple, rows):
            location = places[bytes(deletion_key)[:DIGEST_BYTES]]
            with readable(f"{path} to delete of live set {live_set_id}"):
                deletion = FileDeletion(location=location, path=path, size=size, modified=optional_time(modified))
            yield deletion

    def remove_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Forgets deferred deletions; how many were there."""
        removed = 0
        for batch in batches(deletions):
            places = {key_of(deletion.location, deletion.path): deletion.location for deletion in batch}
            removed += self.database.write(partial(_remove, live_set_id, places))
        return removed

    def _add(self, live_set_id: UUID, statuses: Sequence[LiveSetStatus], table: Table, rows: Iterable[Values]) -> int:
        """Inserts one batch in one transaction; how many rows were new.

        Rows are those of the table, with their key in the second column. They go in by that key: two processes that
        add the same ones then wait for, and never block, each other.
        """
        unique: dict[bytes, Values] = {}
        for row in rows:
            unique.setdefault(row[1], row)
        ordered = [unique[key] for key in sorted(unique)]

        def add(connection: Connection) -> int:
            hold(connection, live_set_id, *statuses)
            return insert_new_rows(connection, table, ordered)

        return self.database.write(add)


def batches(rows: Iterable[_T], size: int = BATCH_ROWS) -> Iterator[list[_T]]:
    """The rows in lists; one empty list if there are none."""
    iterator = iter(rows)
    yield list(islice(iterator, size))
    while batch := list(islice(iterator, size)):
        yield batch


def _remove(live_set_id: UUID, places: Mapping[bytes, str], connection: Connection) -> int:
    """Takes deferred deletions by their keys, each with its location, out of the table and out of its digest."""
    hold(connection, live_set_id, alone=True)
    columns = file_deletions.c
    where = columns.live_set_id == str(live_set_id), columns.deletion_key.in_(sorted(places))
    found = connection.execute(_of(live_set_id, file_deletions).where(*where)).all()
    with readable(f"a deferred deletion of live set {live_set_id}"):
        removed = RowsDigest.of(
            (places[bytes(key)], path, size, optional_time(modified)) for key, path, size, modified in map(tuple, found)
        )
    take_from_digest(connection, live_set_id, removed)
    connection.execute(delete(file_deletions).where(*where))
    return removed.rows


def _outcomes(text: str) -> dict[str, tuple[int, int]]:
    found = parsed_json(text)
    if not isinstance(found, dict):
        raise TypeError("its outcomes are not an object")
    return {outcome: (int(files), int(size)) for outcome, (files, size) in found.items()}


def _step_values(live_set_id: UUID, step: SweepStep) -> _Values:
    return {
        "live_set_id": str(live_set_id),
        "unit": step.unit,
        "part": step.part,
        "state": step.state.value,
        "planned_files": step.planned_files,
        "planned_bytes": step.planned_bytes,
        "outcomes": json.dumps(step.outcomes),
    }


def _of(live_set_id: UUID, table: Table) -> Select[Any]:
    """The rows of a live set, their key first."""
    key = next(column for column in table.primary_key if column.name != "live_set_id")
    others = [column for column in table.c if column is not key and column.name != "live_set_id"]
    return select(key, *others).where(table.c.live_set_id == str(live_set_id))


def _bound(part: int, parts: int) -> bytes:
    """What the keys of a part are greater than, and those of the parts before it are not; shorter than any key."""
    if part == parts:
        return AFTER_ALL
    return (part * 2**_BOUND_BITS // parts).to_bytes(_BOUND_BITS // 8) if part else b""


def _version(row: Row[Any]) -> ContentVersion:
    # By position: ten million times, that takes minutes less than by name.
    _, content_id, content_type, metadata_location, snapshot_id, *others = tuple(row)
    content_key, commit_id, commit_time, location = others
    try:
        return ContentVersion(
            content_id=content_id,
            content_type=content_type,
            metadata_location=metadata_location,
            snapshot_id=snapshot_id,
            content_key=content_key,
            commit_id=commit_id,
            commit_time=optional_time(commit_time),
            location=location,
        )
    except UNREADABLE as error:
        raise not_understood(f"a version of {content_key}", error) from error


def _version_row(of_set: str, version: ContentVersion) -> Values:
    return (
        of_set,
        key_of(version.content_id) + digest(*version.identity),
        version.content_id,
        version.content_type,
        version.metadata_location,
        version.snapshot_id,
        version.content_key,
        version.commit_id,
        optional_micros(version.commit_time),
        version.location,
    )


def _deletion_row(of_set: str, deletion: FileDeletion) -> Values:
    return (
        of_set,
        key_of(deletion.location, deletion.path),
        deletion.path,
        deletion.size,
        optional_micros(deletion.modified),
    )
