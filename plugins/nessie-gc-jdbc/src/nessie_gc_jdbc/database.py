"""The connection to a database: short transactions, pages of rows, the tables, and errors of one line."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Executable,
    Insert,
    Row,
    Select,
    Table,
    create_engine,
    event,
    insert,
    select,
    text,
    union_all,
)
from sqlalchemy.dialects import mysql, postgresql, sqlite
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_jdbc.clock import now
from nessie_gc_jdbc.options import JdbcOptions, SchemaStrategy
from nessie_gc_jdbc.problems import is_denied
from nessie_gc_jdbc.schema import (
    LOCK_SECONDS,
    UPGRADE,
    alone,
    apply_strategy,
    check_foreign_keys,
    check_version,
    find_tables,
    undisturbed,
)
from nessie_gc_jdbc.tables import AFTER_ALL
from nessie_gc_jdbc.transactions import REBUILDS, WRITES, Transactions
from nessie_gc_jdbc.urls import database_url, redacted, shown

BUSY_TIMEOUT_SECONDS = 30.0
"""How long SQLite waits for another writer, unless the property ``timeout`` says otherwise."""
CONNECT_TIMEOUT_SECONDS = 15
POOL_TIMEOUT_SECONDS = 60
BATCH_ROWS = 1000
"""Rows of registers and steps that are written in one transaction."""
BULK_ROWS = 30_000
"""Rows of a live set that are inserted in one transaction, which takes about a second."""
SQLITE_CACHE_KIB = 65_536
"""Keys are digests, so that each row goes to another page of the index; SQLite's own 2 MB hold few of them."""
SQLITE_CHECKPOINT_PAGES = 100_000
"""400 MB: for the same reason a page changes in many transactions, and a checkpoint writes it once for all of them."""
CHANGED_BY = f"a user with more rights can create and upgrade the tables once, with {UPGRADE}"
"""What to do about tables that the user may not change."""
_PREFIXES_AT_ONCE = 100
"""Of how many prefixes the first rows are asked for in one query; databases limit how many parts it has."""
_FIRST_ROWS = 20
"""How many rows of a prefix come with that query."""

_T = TypeVar("_T")

log = logging.getLogger(__name__)


class Database:
    """One database, opened on first use; used from several threads.

    No transaction is open while a caller's code runs: rows are written in batches that are complete before they
    begin, and read in pages, each by the key after which it starts.
    """

    def __init__(self, options: JdbcOptions) -> None:
        options.check()
        self.url = database_url(
            options.url or "", user=options.user, password=options.password, properties=options.properties
        )
        self.shown_url = shown(self.url)
        self.backend = self.url.get_backend_name()
        self.fetch_size = options.fetch_size
        self.is_file = self.backend == "sqlite"
        default = SchemaStrategy.CREATE_IF_NOT_EXISTS if self.is_file else SchemaStrategy.NONE
        self.strategy = options.strategy(default=default)
        self.engine = self._make_engine(options)
        self._transactions = Transactions(self.engine, wait_seconds=options.reconnect_seconds)
        self._lock = threading.Lock()
        self._ready = False

    def close(self) -> None:
        """Closes all connections; the next use opens new ones."""
        self.engine.dispose()

    def settle(self) -> None:
        """Moves what a run has written from SQLite's log into its file, except what somebody is reading.

        The log is large, for speed; without this, a copy of the file alone would lack the latest runs.
        """
        if self.engine.dialect.name != "sqlite":
            return
        with self.engine.connect() as connection:
            driver = connection.connection.driver_connection
            assert isinstance(driver, sqlite3.Connection)
            driver.execute("PRAGMA wal_checkpoint(PASSIVE)")

    # ---- transactions ---------------------------------------------------------------------------------
    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Runs work in a transaction that writes, and gives what it gives; what it reads stays true until it ends.

        It is run again if the database goes away before it is complete.

        Raises:
            StoreError: the database cannot be used, or has no fitting tables.
        """
        self._make_ready()
        return self._transactions.run(work, writes=True, waits=True)

    def read(self, work: Callable[[Connection], _T]) -> _T:
        """Runs work in a transaction that only reads; else as :meth:`write`."""
        self._make_ready()
        return self._transactions.run(work, writes=False, waits=True)

    def read_as_it_is(self, work: Callable[[Connection], _T]) -> _T:
        """The same on tables that are not those of this store, which need not exist.

        Raises:
            StoreError: the database cannot be used, or is a file that does not exist.
        """
        if self.is_file and not Path(self.url.database or "").exists():
            raise StoreError(f"the file {self.url.database} does not exist; correct the path of the database")
        return self._transactions.run(work, writes=False, waits=False)

    def execute(self, statement: Executable, rows: Sequence[Mapping[str, Any]] | None = None) -> None:
        """Runs one statement in a transaction of its own, once for each of the rows, if there are some."""
        self.write(lambda connection: connection.execute(statement, rows).close())

    def rows(self, query: Executable) -> Sequence[Any]:
        """All rows of a query that has few."""
        return self.read(lambda connection: connection.execute(query).all())

    def pages(
        self,
        query: Select[Any],
        key: Column[bytes],
        *,
        above: bytes = b"",
        upto: bytes | None = None,
        size: int | None = None,
    ) -> Iterator[Row[Any]]:
        """The rows of a query in the order of a key, which is its first column, a page of some size at a time."""
        size = min(size or self.fetch_size, self.fetch_size)
        query = query.order_by(key).limit(size)
        if upto is not None:
            query = query.where(key <= upto)
        while True:
            page = self.rows(query.where(key > above))
            yield from page
            if len(page) < size:
                return
            above = bytes(page[-1][0])

    def pages_below(
        self, query: Select[Any], key: Column[bytes], prefixes: Sequence[bytes] | None
    ) -> Iterator[Row[Any]]:
        """The rows whose key begins with one of the prefixes, prefix by prefix, or all.

        The first rows of some prefixes come with one question, which looks each of them up; the rest of a prefix that
        has more comes in pages.
        """
        if prefixes is None:
            yield from self.pages(query, key)
            return
        ordered = list(dict.fromkeys(prefixes))
        for start in range(0, len(ordered), _PREFIXES_AT_ONCE):
            some = ordered[start : start + _PREFIXES_AT_ONCE]
            firsts = [_first_rows(query, key, prefix) for prefix in some]
            found = self.rows(union_all(*firsts))
            by_prefix: dict[bytes, list[Row[Any]]] = {prefix: [] for prefix in some}
            for row in found:
                by_prefix[bytes(row[0])[: len(some[0])]].append(row)
            for prefix, rows in by_prefix.items():
                yield from rows
                if len(rows) == _FIRST_ROWS:
                    last = max(bytes(row[0]) for row in rows)
                    yield from self.pages(query, key, above=last, upto=prefix + AFTER_ALL)

    # ---- statements of the dialect --------------------------------------------------------------------
    def now(self, connection: Connection) -> int:
        """The database's clock, in microseconds since the epoch; SQLite has none but the machine's."""
        return now(connection)

    def insert_new(self, table: Table) -> Insert:
        """An insert that leaves rows that exist as they are, and does not count them."""
        if self.backend == "postgresql":
            return postgresql.insert(table).on_conflict_do_nothing()
        if self.backend == "sqlite":
            return sqlite.insert(table).on_conflict_do_nothing()
        return insert(table).prefix_with("IGNORE")

    def insert_or_update(self, table: Table, columns: Sequence[str]) -> Insert:
        """An insert that changes these columns of rows that exist."""
        return self.insert_or_change(table, lambda given: {name: given[name] for name in columns})

    def insert_or_change(
        self, table: Table, changed: Callable[[ReadOnlyColumnCollection[str, Any]], Mapping[str, Any]]
    ) -> Insert:
        """An insert that changes rows that exist, to values that depend on their columns and the given ones."""
        if self.backend in ("postgresql", "sqlite"):
            own = postgresql.insert(table) if self.backend == "postgresql" else sqlite.insert(table)
            keys = [column.name for column in table.primary_key]
            return own.on_conflict_do_update(index_elements=keys, set_=changed(own.excluded))
        theirs = mysql.insert(table)
        return theirs.on_duplicate_key_update(dict(changed(theirs.inserted)))

    # ---- tables ---------------------------------------------------------------------------------------
    def create_schema(self, strategy: SchemaStrategy) -> None:
        """Creates the tables, or brings them up to date.

        Raises:
            StoreError: that fails, or an existing table is in the way.
        """
        self._check_folder()

        def create(connection: Connection) -> None:
            with alone(connection):
                apply_strategy(connection, strategy)
                check_version(connection)
                check_foreign_keys(connection)

        try:
            self._transactions.run(create, writes=True, waits=False, rebuilds=True)
        except StoreError as error:
            if is_denied(error.__cause__):
                raise StoreError(f"{error}; {CHANGED_BY}") from error
            raise
        self._ready = True

    def _make_ready(self) -> None:
        if self._ready:
            return
        with self._lock:
            if self._ready:
                return
            if self.strategy is SchemaStrategy.CREATE_IF_NOT_EXISTS and not self._has_old_tables():
                pass  # nothing to create, so that many processes may open it at the same time
            elif self.strategy is not SchemaStrategy.NONE:
                self.create_schema(self.strategy)
            self._first(check_version)
            self._ready = True

    def _has_old_tables(self) -> bool:
        """Whether there is something to create, or to bring up to date."""
        if self.is_file and not Path(self.url.database or "").exists():
            return True
        found = self._first(find_tables)
        if found.are_current and not found.is_stamped:
            self._stamp()
        return found.are_old

    def _stamp(self) -> None:
        """Lets Alembic know of tables that are older than it; who may not create its table can use them as well."""
        try:
            self.create_schema(SchemaStrategy.CREATE_IF_NOT_EXISTS)
        except StoreError as error:
            log.info("%s", error)

    def _first(self, work: Callable[[Connection], _T]) -> _T:
        """Reads before the database was ever reached: an address may be wrong, so nothing is waited for."""

        def read(connection: Connection) -> _T:
            with undisturbed(connection):
                return work(connection)

        return self._transactions.run(read, writes=False, waits=False)

    # ---- connections ----------------------------------------------------------------------------------
    def _make_engine(self, options: JdbcOptions) -> Engine:
        arguments: dict[str, Any] = {}
        if self.backend == "postgresql" and "connect_timeout" not in self.url.query:
            arguments["connect_timeout"] = CONNECT_TIMEOUT_SECONDS
        if self.is_file:
            if "timeout" not in self.url.query:
                arguments["timeout"] = BUSY_TIMEOUT_SECONDS
            arguments["check_same_thread"] = False
        try:
            engine = create_engine(
                self.url,
                poolclass=QueuePool,
                pool_size=options.pool_max_size,
                max_overflow=0,
                pool_timeout=POOL_TIMEOUT_SECONDS,
                pool_pre_ping=not self.is_file,
                connect_args=arguments,
                **({} if self.is_file else {"isolation_level": "READ COMMITTED"}),
            )
            if engine.dialect.driver == "psycopg":
                _check_parameters(self.url)
        except (ImportError, NoSuchModuleError) as error:
            extra = "postgresql" if self.backend == "postgresql" else "mysql"
            raise ConfigurationError(
                f"the driver of {self.url.drivername} is not installed: pip install 'nessie-gc-jdbc[{extra}]'"
            ) from error
        except (ArgumentError, TypeError, ValueError) as error:
            reason = redacted(str(error), self.url)
            raise ConfigurationError(f"the options of {self.shown_url} are wrong: {reason}") from error
        if self.is_file:
            given = self.url.query.get("timeout")
            waits = (BUSY_TIMEOUT_SECONDS, LOCK_SECONDS) if given is None else (float(str(given)),) * 2
            _prepare_sqlite(engine, *waits)
            event.listen(engine, "do_connect", lambda *_: self._check_folder())
        return engine

    def _check_folder(self) -> None:
        """Refuses a file in a folder that does not exist: more often misspelt than meant as a new, empty store.

        Raises:
            StoreError: the message names the folder.
        """
        name = self.url.database or ""
        if not self.is_file or name.startswith("file:"):  # SQLite opens a URI itself, and makes no folder either
            return
        folder = Path(name).parent
        if not folder.is_dir():
            raise StoreError(
                f"the folder {folder} of the live-set store does not exist; create it, or correct the path of the "
                "database"
            )


def _check_parameters(url: URL) -> None:
    """Refuses parameters that the client library of PostgreSQL does not know.

    Raises:
        ConfigurationError: there is one; the message names it, and no value.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import make_conninfo

    for name in url.query:
        try:
            make_conninfo(**{name: "1"})
        except ProgrammingError as error:
            raise ConfigurationError(
                f"PostgreSQL's client has no parameter {name!r}; remove it from the URL or the properties"
            ) from error


def _prepare_sqlite(engine: Engine, timeout_seconds: float, rebuild_seconds: float) -> None:
    """Makes SQLite durable, concurrent and strict; transactions that write take the lock when they begin.

    One that changes tables waits longer: another process may be at it, and a long history takes its time.
    """

    def on_connect(connection: sqlite3.Connection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA cache_size = -{SQLITE_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint = {SQLITE_CHECKPOINT_PAGES}")
        deadline = time.monotonic() + timeout_seconds
        while connection.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:  # another process may be changing the mode right now, and SQLite does not wait for that
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def on_begin(connection: Connection) -> None:
        chosen = connection.get_execution_options()
        wait = rebuild_seconds if chosen.get(REBUILDS) else timeout_seconds
        connection.execute(text(f"PRAGMA busy_timeout = {int(wait * 1000)}"))
        connection.execute(text(f"PRAGMA foreign_keys = {'OFF' if chosen.get(REBUILDS) else 'ON'}"))
        connection.execute(text("BEGIN IMMEDIATE" if chosen.get(WRITES) else "BEGIN"))

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)


def _first_rows(query: Select[Any], key: Column[bytes], prefix: bytes) -> Select[Any]:
    """A query for the first rows of a prefix, as a part of a larger one."""
    return select(query.where(key.between(prefix, prefix + AFTER_ALL)).order_by(key).limit(_FIRST_ROWS).subquery())
