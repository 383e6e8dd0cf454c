"""Nessie's version store JDBC2 in PostgreSQL.

Tables and columns, and what Nessie itself does in which transaction, are those of
https://github.com/projectnessie/nessie/tree/nessie-0.99.0/versioned/storage/jdbc2
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import Connection, IsolationLevel, errors

from nessie_gc_core.errors import RepositoryError
from nessie_gc_internal.objects import previous_pointers
from nessie_gc_internal.problems import database_error
from nessie_gc_internal.schema import OBJECTS, REFERENCES, check_repository, check_rights, check_tables
from nessie_gc_internal.store import Deleted, Deletion, ObjectRow, ObjectStore, StoredObject, StoredReference
from nessie_gc_internal.urls import Parameters, shown
from nessie_gc_internal.wire import FormatError

ROWS_AT_ONCE = 10_000
"""Rows that a scan fetches at once."""
_LOCK_TIMEOUTS_SECONDS = (0.2, 0.4, 0.8, *(1.6,) * 5)
"""How long to wait for the lock, each time; twice as long is the pause after it.

Writers wait behind us as long, so none is longer. After a second, PostgreSQL ends an automatic vacuum in the way.
"""
_NOW = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
_REFERENCES = f"SELECT ref_name, pointer, deleted, ext_info, prev_ptr FROM {REFERENCES} WHERE repo = %s"
_POINTERS = f"SELECT ref_name, pointer FROM {REFERENCES} WHERE repo = %s"
_COUNTS = f"SELECT obj_type, count(*) FROM {OBJECTS} WHERE repo = %s GROUP BY obj_type"
_FETCH = f"SELECT obj_id, obj_type, obj_value FROM {OBJECTS} WHERE repo = %s AND obj_id = ANY(%s)"
_WRITTEN_AFTER = f"SELECT obj_id FROM {OBJECTS} WHERE repo = %s AND obj_ref > %s"
_SCAN = f"""
SELECT obj_id, obj_type, obj_vers, obj_ref, COALESCE(octet_length(obj_value), 0) FROM {OBJECTS} WHERE repo = %s"""
_DELETE = f"""
DELETE FROM {OBJECTS} o USING unnest(%s::bytea[], %s::text[], %s::text[], %s::bigint[]) AS d (id, kind, version, stamp)
WHERE o.repo = %s AND o.obj_id = ANY(%s) AND o.obj_id = d.id AND o.obj_type = d.kind
  AND o.obj_vers IS NOT DISTINCT FROM d.version AND o.obj_ref IS NOT DISTINCT FROM d.stamp
RETURNING o.obj_id"""
_WHICH_EXIST = f"SELECT obj_id FROM {OBJECTS} WHERE repo = %s AND obj_id = ANY(%s)"


class PostgresqlStore(ObjectStore):
    """One repository of a database, over two connections: one scans, the other does everything else."""

    def __init__(self, parameters: Parameters, repository_id: str = "", *, read_only: bool = False) -> None:
        """Takes the parameters of the connection; it is made on first use.

        Args:
            parameters: by the names of libpq.
            repository_id: which repository; Nessie's default is the empty text.
            read_only: whether the database itself is to refuse every change.
        """
        self._parameters = parameters
        self._repository_id = repository_id
        self._read_only = read_only
        self._open: dict[str, Connection[Any]] = {}

    @property
    def address(self) -> str:
        """Where the database is, without credentials."""
        return shown(self._parameters)

    @property
    def repository_id(self) -> str:
        """Which repository of the database it is."""
        return self._repository_id

    def check(self, *, deletes: bool) -> None:
        """Refuses tables that are not known, missing rights, and repositories that do not exist."""
        place = f"Nessie's database {self.address}"
        with self._using("work") as connection:
            check_tables(connection, place)
            check_rights(connection, place, deletes=deletes)
            check_repository(connection, place, self._repository_id)

    def now(self) -> int:
        """The database's clock, in microseconds since the epoch."""
        with self._using("work") as connection:
            ((now,),) = connection.execute(_NOW).fetchall()
        return int(now)

    def counts(self) -> Mapping[str, int]:
        """How many records there are of each kind."""
        with self._using("work") as connection:
            return dict(connection.execute(_COUNTS, (self._repository_id,)).fetchall())

    def references(self) -> list[StoredReference]:
        """All references, of one snapshot of the database."""
        with self._using("work") as connection:
            return _references(connection, self._repository_id)

    def fetch(self, ids: Sequence[bytes]) -> list[StoredObject]:
        """The records of these ids that exist."""
        with self._using("work") as connection:
            rows = connection.execute(_FETCH, (self._repository_id, list(ids)), binary=True).fetchall()
        return [StoredObject(id=id_, kind=kind, data=data or b"") for id_, kind, data in rows]

    def written_after(self, time: int) -> Generator[bytes]:
        """The ids of all records whose stamp is later than a time in microseconds since the epoch."""
        for (id_,) in self._stream(_WRITTEN_AFTER, (self._repository_id, time)):
            yield id_

    def scan(self) -> Generator[ObjectRow]:
        """All records of one snapshot of the database."""
        for row in self._stream(_SCAN, (self._repository_id,)):
            yield ObjectRow(*row)

    @contextmanager
    def deletion(self) -> Iterator[Deletion]:
        """A transaction that holds off those who write records.

        Nessie writes a record with two statements of one transaction: an insert that does nothing where the record
        exists, and then an update of its stamp. A deletion between the two would pass unnoticed, for the update of a
        row that is gone changes nothing. The lock waits until no such transaction is under way, and keeps new ones
        waiting for the milliseconds that the deletion takes; readers go on.
        """
        with self._using("work") as connection:
            _lock(connection)
            yield _PostgresqlDeletion(connection, self._repository_id)

    def close(self) -> None:
        """Closes both connections."""
        while self._open:
            self._open.popitem()[1].close()

    def _stream(self, query: str, values: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, in batches, by a server-side cursor."""
        with (
            self._using("scan") as connection,
            connection.cursor("nessie_gc_internal", binary=True) as cursor,
        ):
            connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # deletions come between rows
            cursor.itersize = ROWS_AT_ONCE
            cursor.execute(query, values)
            yield from cursor

    @contextmanager
    def _using(self, name: str) -> Iterator[Connection[Any]]:
        """A transaction on its own connection for each name; one that broke is opened again by the next use."""
        try:
            if name not in self._open or self._open[name].closed:
                self._open[name] = self._connect()
            with self._open[name].transaction():
                yield self._open[name]
        except psycopg.Error as error:
            raise database_error(error, self._parameters) from error

    def _connect(self) -> Connection[Any]:
        """A connection whose every transaction says how it is isolated and whether it writes.

        What a role, a database or a pooler has as its default does not count, and nothing is set for the session. Each
        statement of a transaction must see what was committed before it: references are read after the wait for the
        lock.
        """
        parameters: Any = self._parameters
        connection: Connection[Any] = psycopg.connect(**parameters, autocommit=True, prepare_threshold=None)
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        connection.read_only = self._read_only
        return connection


class _PostgresqlDeletion(Deletion):
    def __init__(self, connection: Connection[Any], repository_id: str) -> None:
        self._connection = connection
        self._repository_id = repository_id

    def pointers(self) -> Mapping[str, bytes]:
        """The commit to which each reference points now, by the reference's name."""
        return dict(self._connection.execute(_POINTERS, (self._repository_id,), binary=True).fetchall())

    def delete(self, rows: Sequence[ObjectRow]) -> Deleted:
        """Deletes each record that is still exactly what its row says, its stamp included."""
        ids = [row.id for row in rows]
        kinds, versions = [row.kind for row in rows], [row.version for row in rows]
        values = (ids, kinds, versions, [row.referenced for row in rows], self._repository_id, ids)
        found = self._connection.execute(_DELETE, values, binary=True).fetchall()
        deleted = frozenset(id_ for (id_,) in found)
        rest = [id_ for id_ in ids if id_ not in deleted]
        there = self._connection.execute(_WHICH_EXIST, (self._repository_id, rest), binary=True) if rest else ()
        return Deleted(deleted=deleted, changed=frozenset(id_ for (id_,) in there))


def _lock(connection: Connection[Any]) -> None:
    """Takes the lock on the records, for the rest of the transaction."""
    for timeout in _LOCK_TIMEOUTS_SECONDS:
        try:
            with connection.transaction():  # a savepoint, so that a failed attempt leaves the transaction as it was
                connection.execute("SELECT set_config('lock_timeout', %s, true)", (f"{int(timeout * 1000)}ms",))
                connection.execute(f"LOCK TABLE {OBJECTS} IN SHARE ROW EXCLUSIVE MODE")
            return
        except errors.LockNotAvailable:
            if timeout == _LOCK_TIMEOUTS_SECONDS[-1]:
                raise
            time.sleep(2 * timeout)


def _references(connection: Connection[Any], repository_id: str) -> list[StoredReference]:
    rows = connection.execute(_REFERENCES, (repository_id,), binary=True).fetchall()
    return [
        _reference(name, pointer, extended_info, previous, deleted=deleted)
        for name, pointer, deleted, extended_info, previous in rows
    ]


def _reference(
    name: str, pointer: bytes, extended_info: bytes | None, previous: bytes | None, *, deleted: bool | None
) -> StoredReference:
    try:
        before = previous_pointers(previous or b"")
    except FormatError as error:
        raise RepositoryError(f"the reference {name!r} cannot be understood: {error}") from error
    return StoredReference(
        name=name, pointer=pointer, deleted=bool(deleted), extended_info=extended_info, previous=before
    )
