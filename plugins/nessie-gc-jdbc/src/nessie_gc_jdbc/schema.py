"""Creates the tables, brings them up to date, and refuses those of another version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass

from sqlalchemy import Connection, insert, inspect, select, text
from sqlalchemy.schema import CreateIndex, CreateTable, DropTable

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.next_steps import next_command
from nessie_gc_jdbc.migrations import SCRIPTS, stamp, upgrade
from nessie_gc_jdbc.options import SchemaStrategy
from nessie_gc_jdbc.tables import SCHEMA_VERSION, indexes_of, metadata, migrations, schema_version
from nessie_gc_jdbc.urls import shown

UPGRADE = next_command("create-sql-schema", "--jdbc-schema", "CREATE_IF_NOT_EXISTS")
"""Creates and upgrades the tables."""
FIRST_REVISION = 4
"""Tables of this version may be older than their migrations; those of earlier versions are."""
_LOCK = 4_711_020_231
"""The number of the advisory lock under which PostgreSQL creates and changes the tables."""
_LOCK_NAME = "CONCAT('nessie_gc_', MD5(DATABASE()))"
"""The name of MariaDB's lock, which is one of the whole server."""
LOCK_SECONDS = 600
"""How long a process waits for another one that creates or changes the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTables:
    """What a database has."""

    version: int | None
    """The version of the tables; ``None`` if there are none."""
    is_stamped: bool
    """Whether Alembic's table says so as well, which releases before it did not write."""

    @property
    def are_old(self) -> bool:
        """Whether they are to be created or upgraded."""
        return self.version is None or self.version < SCHEMA_VERSION

    @property
    def are_current(self) -> bool:
        """Whether they are those of this release."""
        return self.version == SCHEMA_VERSION


def apply_strategy(connection: Connection, strategy: SchemaStrategy, scripts: str = SCRIPTS) -> None:
    """Creates the tables, or brings them up to date, in one transaction, where the database can.

    The caller is :func:`alone`.

    Raises:
        StoreError: a table exists that may not, or is not what its version says.
    """
    if strategy is SchemaStrategy.NONE:
        return
    present = set(inspect(connection).get_table_names())
    own = [table for table in metadata.sorted_tables if table.name in present]
    if strategy is SchemaStrategy.CREATE and own:
        raise StoreError(
            f"{_store(connection)} already has the table {own[0].name}; use CREATE_IF_NOT_EXISTS, or "
            "DROP_AND_CREATE to drop its data"
        )
    if strategy is SchemaStrategy.DROP_AND_CREATE:
        for table in reversed(own):
            connection.execute(DropTable(table))
    _create_or_upgrade(connection, scripts)


def _create_or_upgrade(connection: Connection, scripts: str) -> None:
    found = find_tables(connection)
    if found.version is not None and found.version > SCHEMA_VERSION:
        return  # left alone, and refused
    if found.version is None:
        for table in metadata.sorted_tables:
            connection.execute(CreateTable(table, if_not_exists=True))
            known = {index["name"] for index in inspect(connection).get_indexes(table.name)}
            for index in indexes_of(table):
                if index.name not in known:  # MySQL cannot say: if not exists
                    connection.execute(CreateIndex(index))
        if connection.execute(select(schema_version.c.version)).first() is None:
            connection.execute(insert(schema_version).values(id=1, version=SCHEMA_VERSION))
        stamp(connection, SCHEMA_VERSION, scripts)
    else:
        if not found.is_stamped and found.version >= FIRST_REVISION:
            stamp(connection, found.version, scripts)
        upgrade(connection, scripts)
    check_columns(connection)


def find_tables(connection: Connection) -> FoundTables:
    """The version of the tables.

    Two tables hold it: Alembic's, and the one that releases before Alembic look at. The newer one counts. The caller
    is :func:`alone` or :func:`undisturbed`.

    Raises:
        StoreError: it is not a version.
    """
    inspector = inspect(connection)
    by_alembic: list[str] = []
    if inspector.has_table(migrations.name):
        by_alembic = list(connection.execute(select(migrations.c.version_num)).scalars())
    versions = []
    if inspector.has_table(schema_version.name):
        versions = list(connection.execute(select(schema_version.c.version)).scalars())
    for revision in by_alembic:
        if not revision.isdecimal():
            raise StoreError(
                f"{_store(connection)} has the revision {revision!r} of the tables, which this release does not know; "
                "use the release that created them, or another database"
            )
        versions.append(int(revision))
    return FoundTables(version=max(versions, default=None), is_stamped=bool(by_alembic))


def check_version(connection: Connection) -> None:
    """Makes sure that the tables are there, in the version of this release.

    Raises:
        StoreError: they are missing, or have another version, or are not what their version says.
    """
    found = find_tables(connection)
    if found.version is None:
        raise StoreError(
            f"{_store(connection)} has no tables of Nessie GC; create them with {next_command('create-sql-schema')}"
        )
    if not found.are_current:
        raise StoreError(
            f"{_store(connection)} has version {found.version} of the tables, this release needs version "
            f"{SCHEMA_VERSION}; {_what_to_do(found)}"
        )
    if not found.is_stamped:
        check_columns(connection)


def _what_to_do(found: FoundTables) -> str:
    if found.are_old:
        return f"upgrade them with {UPGRADE}"
    return "use a release as new as the one that created them, or another database"


def check_columns(connection: Connection) -> None:
    """Makes sure that all tables and columns of this release are there; others do no harm.

    Raises:
        StoreError: one is missing.
    """
    names = [table.name for table in metadata.sorted_tables if table is not migrations]
    found = {name: columns for (_, name), columns in inspect(connection).get_multi_columns(filter_names=names).items()}
    for name in names:
        present = {column["name"] for column in found.get(name, ())}
        for column in metadata.tables[name].columns:
            if column.name not in present:
                what = f"the column {column.name} of the table {name}" if present else f"the table {name}"
                raise StoreError(
                    f"{_store(connection)} lacks {what}, which version {SCHEMA_VERSION} has; restore it from a "
                    "backup, or drop all that the store holds with "
                    + next_command("create-sql-schema", "--jdbc-schema", "DROP_AND_CREATE")
                )


def check_foreign_keys(connection: Connection) -> None:
    """Makes sure that a transaction without foreign keys left every row with what it refers to.

    Raises:
        StoreError: it did not.
    """
    if connection.dialect.name != "sqlite":
        return
    broken = connection.execute(text("PRAGMA foreign_key_check")).first()
    if broken is not None:
        raise StoreError(
            f"{_store(connection)} has rows of the table {broken[0]} that belong to no live set; restore it from a "
            "backup"
        )


def undisturbed(connection: Connection) -> AbstractContextManager[None]:
    """Lets nobody change the tables meanwhile where the database would not describe them: MariaDB."""
    return nullcontext() if connection.dialect.name in ("postgresql", "sqlite") else alone(connection)


@contextmanager
def alone(connection: Connection) -> Iterator[None]:
    """Lets only one process at a time create or change the tables; SQLite's transaction does so already.

    Raises:
        StoreError: another process does so for very long.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    if connection.dialect.name in ("postgresql", "sqlite"):
        yield
        return
    if connection.execute(text(f"SELECT GET_LOCK({_LOCK_NAME}, {LOCK_SECONDS})")).scalar_one() != 1:
        raise StoreError(f"{_store(connection)} is being changed by another process; try again when it is done")
    try:
        yield
        connection.execute(text("COMMIT"))  # before others get the lock; most of it is committed anyway
    finally:
        if not connection.invalidated:  # else the server has released it
            connection.execute(text(f"SELECT RELEASE_LOCK({_LOCK_NAME})")).close()


def _store(connection: Connection) -> str:
    return f"the live-set store {shown(connection.engine.url)}"
