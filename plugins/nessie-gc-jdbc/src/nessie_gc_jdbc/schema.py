"""Creates the tables, and refuses those of another version."""

from __future__ import annotations

from sqlalchemy import Connection, insert, inspect, select, text
from sqlalchemy.schema import CreateTable, DropTable

from nessie_gc_core.errors import StoreError
from nessie_gc_jdbc.options import SchemaStrategy
from nessie_gc_jdbc.tables import SCHEMA_VERSION, metadata, schema_version

_LOCK = 4_711_020_231
"""The number of the advisory lock under which PostgreSQL creates the tables."""


def apply_strategy(connection: Connection, strategy: SchemaStrategy, shown_url: str) -> None:
    """Creates the tables in one transaction, where the database can.

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
            f"the live-set store {shown_url} has the table {own[0].name} already; "
            "use CREATE_IF_NOT_EXISTS, or DROP_AND_CREATE to lose what is in it"
        )
    if strategy is SchemaStrategy.DROP_AND_CREATE:
        for table in reversed(own):
            connection.execute(DropTable(table))
    elif schema_version.name in present:
        check_version(connection, shown_url)
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table, if_not_exists=True))
    if connection.execute(select(schema_version.c.version)).first() is None:
        connection.execute(insert(schema_version).values(id=1, version=SCHEMA_VERSION))


def check_version(connection: Connection, shown_url: str, *, required: bool = True) -> bool:
    """Whether the tables are there, all of them in the version of this release.

    Raises:
        StoreError: they are missing and required, or have another version.
    """
    found = None
    if inspect(connection).has_table(schema_version.name):
        found = connection.execute(select(schema_version.c.version)).scalar()
    if found is None:
        if not required:
            return False
        raise StoreError(
            f"the live-set store {shown_url} has no tables of Nessie GC; create them with: nessie-gc create-sql-schema"
        )
    if found != SCHEMA_VERSION:
        raise StoreError(
            f"the live-set store {shown_url} has version {found} of the tables, this release needs version "
            f"{SCHEMA_VERSION}; use the release that made them, or another database"
        )
    return True
