"""Creates the tables, and refuses those of another version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlalchemy import Connection, insert, inspect, select, text, update
from sqlalchemy.schema import CreateTable, DropTable, ExecutableDDLElement

from nessie_gc_core.errors import StoreError
from nessie_gc_jdbc.options import SchemaStrategy
from nessie_gc_jdbc.tables import SCHEMA_VERSION, held_files, leases, metadata, schema_version, tags

_LOCK = 4_711_020_231
"""The number of the advisory lock under which PostgreSQL creates the tables."""


UPGRADES: Mapping[int, Sequence[ExecutableDDLElement]] = {
    # Leases got host, process and start; one that nobody holds any more is worth nothing.
    1: (DropTable(leases, if_exists=True), CreateTable(leases)),
    2: (CreateTable(tags, if_not_exists=True),),
    3: (CreateTable(held_files, if_not_exists=True),),
}
"""What makes tables of a version those of the next one."""


def apply_strategy(connection: Connection, strategy: SchemaStrategy, shown_url: str, *, now: Callable[[], int]) -> None:
    """Creates the tables, or brings them up to date, in one transaction, where the database can.

    Raises:
        StoreError: a table exists that may not.
    """
    if strategy is SchemaStrategy.NONE:
        return
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
    present = set(inspect(connection).get_table_names())
    own = [table for table in metadata.sorted_tables if table.name in present]
    if strategy is SchemaStrategy.CREATE and own:
        raise StoreError(
            f"the live-set store {shown_url} already has the table {own[0].name}; use CREATE_IF_NOT_EXISTS, or "
            "DROP_AND_CREATE to drop its data"
        )
    if strategy is SchemaStrategy.DROP_AND_CREATE:
        for table in reversed(own):
            connection.execute(DropTable(table))
    elif schema_version.name in present:
        _upgrade(connection, shown_url, now)
        check_version(connection, shown_url)
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
    if connection.execute(select(schema_version.c.version)).first() is None:
        connection.execute(insert(schema_version).values(id=1, version=SCHEMA_VERSION))


def _upgrade(connection: Connection, shown_url: str, now: Callable[[], int]) -> None:
    """Brings tables of an earlier version up to date, version by version.

    Raises:
        StoreError: a process of the earlier release collects right now.
    """
    while (version := found_version(connection)) in UPGRADES:
        assert version is not None
        if version == 1 and inspect(connection).has_table(leases.name):
            held = select(leases.c.repository_key).where(leases.c.ends > now()).limit(1)
            if connection.execute(held).first() is not None:
                raise StoreError(
                    f"the live-set store {shown_url} is in use by a process of an earlier release; wait until it "
                    "ends, then try again"
                )
        for statement in UPGRADES[version]:
            connection.execute(statement)
        connection.execute(update(schema_version).values(version=version + 1))


def found_version(connection: Connection) -> int | None:
    """The version of the tables; ``None`` if there are none."""
    if not inspect(connection).has_table(schema_version.name):
        return None
    found = connection.execute(select(schema_version.c.version)).scalar()
    return None if found is None else int(found)


def check_version(connection: Connection, shown_url: str) -> None:
    """Makes sure that the tables are there, in the version of this release.

    Raises:
        StoreError: they are missing, or have another version.
    """
    found = found_version(connection)
    if found is None:
        raise StoreError(
            f"the live-set store {shown_url} has no tables of Nessie GC; create them with: nessie-gc create-sql-schema"
        )
    if found in UPGRADES:
        raise StoreError(
            f"the live-set store {shown_url} has version {found} of the tables, this release needs version "
            f"{SCHEMA_VERSION}; upgrade them with: nessie-gc create-sql-schema --jdbc-schema "
            "CREATE_IF_NOT_EXISTS"
        )
    if found != SCHEMA_VERSION:
        raise StoreError(
            f"the live-set store {shown_url} has version {found} of the tables, this release needs version "
            f"{SCHEMA_VERSION}; use the release that created them, or another database"
        )
