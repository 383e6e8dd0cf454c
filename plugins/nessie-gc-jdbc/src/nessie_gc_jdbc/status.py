"""Live sets and their status machine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Connection, Row, delete, insert, select, update

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import LiveSetNotFoundError, LiveSetStateError
from nessie_gc_core.model import RowsDigest
from nessie_gc_core.model.live_sets import DroppedSweep, LiveSet, LiveSetStatus, ReferenceHead
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_jdbc.database import BATCH_ROWS, Database
from nessie_gc_jdbc.problems import readable
from nessie_gc_jdbc.tables import from_micros, heads, live_sets, optional_micros, optional_time, to_micros

_MICROSECOND = timedelta(microseconds=1)
_RESUMABLE = (LiveSetStatus.IDENTIFY_SUCCESS, LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED)


class StatusVerbs(LiveSetStore):
    """The verbs that make, move and delete live sets."""

    database: Database

    def start_identify(
        self, live_set_id: UUID, *, repository: str, created: datetime, policies: Sequence[str] = ()
    ) -> None:
        """Creates a live set."""
        row = {
            "live_set_id": str(live_set_id),
            "repository": repository,
            "created": to_micros(created),
            "status": LiveSetStatus.IDENTIFY_IN_PROGRESS.value,
            "policies": json.dumps(list(policies)),
        }

        def start(connection: Connection) -> None:
            if connection.execute(self.database.insert_new(live_sets).values(row)).rowcount != 1:
                status = _status(connection, live_set_id)
                raise LiveSetStateError(f"live set {live_set_id} already exists, in {status}; use another id")

        self.database.write(start)

    def finish_identify(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        references_listed: datetime | None = None,
        heads: Iterable[ReferenceHead] = (),
        failure: str | None = None,
        versions: RowsDigest | None = None,
    ) -> None:
        """Ends the mark."""
        known = list(heads)
        status = LiveSetStatus.IDENTIFY_SUCCESS if failure is None else LiveSetStatus.IDENTIFY_FAILED
        values = {
            "identify_completed": to_micros(at),
            "references_listed": optional_micros(references_listed),
            "error_message": failure,
            "versions_digest": None if versions is None else str(versions),
        }

        def finish(connection: Connection) -> None:
            _move(connection, live_set_id, (LiveSetStatus.IDENTIFY_IN_PROGRESS,), status, values)
            _insert_heads(connection, live_set_id, known)

        self.database.write(finish)

    def start_expire(self, live_set_id: UUID, *, at: datetime, resume: bool = False) -> None:
        """Starts or resumes the sweep."""
        allowed = _RESUMABLE if resume else (LiveSetStatus.IDENTIFY_SUCCESS,)

        def start(connection: Connection) -> None:
            values = {"expiry_completed": None, "error_message": None}
            _move(connection, live_set_id, allowed, LiveSetStatus.EXPIRY_IN_PROGRESS, values)
            first = live_sets.c.live_set_id == str(live_set_id), live_sets.c.expiry_started.is_(None)
            connection.execute(update(live_sets).where(*first).values(expiry_started=to_micros(at)))

        self.database.write(start)

    def finish_expire(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        failure: str | None = None,
        deletions: RowsDigest | None = None,
        dropped: DroppedSweep | None = None,
    ) -> None:
        """Ends the sweep."""
        status = LiveSetStatus.EXPIRY_SUCCESS if failure is None else LiveSetStatus.EXPIRY_FAILED
        values = {
            "expiry_completed": to_micros(at),
            "error_message": failure,
            "deletions_digest": None if deletions is None else str(deletions),
            "dropped_after": None if dropped is None else dropped.after // _MICROSECOND,
            "dropped_left": None if dropped is None else dropped.left,
        }
        expected = (LiveSetStatus.EXPIRY_IN_PROGRESS,)
        self.database.write(lambda connection: _move(connection, live_set_id, expected, status, values))

    def get(self, live_set_id: UUID) -> LiveSet:
        """The live set with its heads."""
        of_set = heads.c.live_set_id == str(live_set_id)

        def find(connection: Connection) -> tuple[Row[Any], Sequence[Row[Any]]]:
            row = connection.execute(select(live_sets).where(live_sets.c.live_set_id == str(live_set_id))).first()
            if row is None:
                raise _not_found(live_set_id)
            return row, connection.execute(select(heads).where(of_set).order_by(heads.c.position)).all()

        row, found = self.database.read(find)
        known = (ReferenceHead(name=head.name, commit_id=head.commit_id, policy=head.policy) for head in found)
        return _live_set(row, tuple(known))

    def live_sets(self) -> Iterator[LiveSet]:
        """All live sets without their heads, newest first."""
        for row in self.database.rows(select(live_sets).order_by(live_sets.c.created.desc())):
            yield _live_set(row, ())

    def delete(self, live_set_id: UUID) -> None:
        """Deletes a live set; its rows go with it."""

        def remove(connection: Connection) -> None:
            if connection.execute(delete(live_sets).where(live_sets.c.live_set_id == str(live_set_id))).rowcount != 1:
                raise _not_found(live_set_id)

        self.database.write(remove)


def hold(connection: Connection, live_set_id: UUID, *expected: LiveSetStatus, alone: bool = False) -> None:
    """Makes sure that a live set exists and has one of the statuses, if any are named, until the transaction ends.

    With ``alone``, no other transaction holds it meanwhile.
    """
    status = _status(connection, live_set_id, alone=alone)
    if status is None:
        raise _not_found(live_set_id)
    if expected and status not in expected:
        raise _wrong_status(live_set_id, status, expected)


def take_from_digest(connection: Connection, live_set_id: UUID, removed: RowsDigest) -> None:
    """Subtracts what is removed from the digest of deferred deletions, where one is recorded; the caller is alone."""
    mine = live_sets.c.live_set_id == str(live_set_id)
    recorded = _digest(connection.execute(select(live_sets.c.deletions_digest).where(mine)).scalar())
    if recorded is not None and removed.rows:
        connection.execute(update(live_sets).where(mine).values(deletions_digest=str(recorded - removed)))


def _digest(text: str | None) -> RowsDigest | None:
    """A digest as it is stored; one that cannot be read is that of no rows that there could be."""
    try:
        return None if text is None else RowsDigest.parse(text)
    except ValueError:
        return RowsDigest(rows=-1)


def _dropped(after: int | None, left: int | None) -> DroppedSweep | None:
    if after is None or left is None:
        return None
    return DroppedSweep(after=after * _MICROSECOND, left=left)


def _status(connection: Connection, live_set_id: UUID, *, alone: bool = False) -> LiveSetStatus | None:
    query = select(live_sets.c.status).where(live_sets.c.live_set_id == str(live_set_id))
    query = query.with_for_update(read=not alone)
    found = connection.execute(query).scalar()
    with readable(f"live set {live_set_id}"):
        return None if found is None else LiveSetStatus(found)


def _move(
    connection: Connection,
    live_set_id: UUID,
    expected: Sequence[LiveSetStatus],
    status: LiveSetStatus,
    values: dict[str, Any],
) -> None:
    """Compares and sets the status."""
    where = live_sets.c.live_set_id == str(live_set_id), live_sets.c.status.in_([each.value for each in expected])
    moved = connection.execute(update(live_sets).where(*where).values(status=status.value, **values)).rowcount
    if moved != 1:
        found = _status(connection, live_set_id)
        raise _not_found(live_set_id) if found is None else _wrong_status(live_set_id, found, expected)


def _insert_heads(connection: Connection, live_set_id: UUID, known: Sequence[ReferenceHead]) -> None:
    rows = [
        {
            "live_set_id": str(live_set_id),
            "position": position,
            "name": head.name,
            "commit_id": head.commit_id,
            "policy": head.policy,
        }
        for position, head in enumerate(known)
    ]
    for start in range(0, len(rows), BATCH_ROWS):
        connection.execute(insert(heads), rows[start : start + BATCH_ROWS])


def _live_set(row: Row[Any], known: tuple[ReferenceHead, ...]) -> LiveSet:
    with readable(f"live set {row.live_set_id}"):
        return LiveSet(
            id=UUID(row.live_set_id),
            repository=row.repository,
            created=from_micros(row.created),
            status=LiveSetStatus(row.status),
            references_listed=optional_time(row.references_listed),
            identify_completed=optional_time(row.identify_completed),
            expiry_started=optional_time(row.expiry_started),
            expiry_completed=optional_time(row.expiry_completed),
            error_message=row.error_message,
            policies=tuple(cast("list[str]", parsed_json(row.policies))),
            heads=known,
            versions=_digest(row.versions_digest),
            deletions=_digest(row.deletions_digest),
            dropped=_dropped(row.dropped_after, row.dropped_left),
        )


def _not_found(live_set_id: UUID) -> LiveSetNotFoundError:
    return LiveSetNotFoundError(f"live set {live_set_id} does not exist; {next_call('list')} shows the existing ones")


def _wrong_status(live_set_id: UUID, found: LiveSetStatus, expected: Sequence[LiveSetStatus]) -> LiveSetStateError:
    return LiveSetStateError(f"live set {live_set_id} is in {found}, expected {' or '.join(expected)}")
