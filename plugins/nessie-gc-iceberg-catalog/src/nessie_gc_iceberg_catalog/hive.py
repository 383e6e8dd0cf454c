"""Hive metastores: tables and views with their metadata locations, and the locks under which tables are changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nessie_gc_core.errors import RepositoryError
from nessie_gc_iceberg_catalog.listing import Caller, Listed
from nessie_gc_iceberg_catalog.metastore import Metastore

if TYPE_CHECKING:
    from pyiceberg.catalog.hive import HiveCatalog

_AT_ONCE = 1000


def list_hive_contents(catalog: HiveCatalog, call: Caller) -> Iterator[Listed]:
    """Lists database by database; PyIceberg would leave out the views."""
    metastore = Metastore("the metastore")

    def databases() -> list[str]:
        with catalog._client as client:
            return list(client.get_all_databases())

    for database in call(databases, "listing the databases"):
        yield from call(lambda database=database: _in(catalog, database, metastore), f"listing database {database}")  # type: ignore[misc]  # mypy knows no lambda with a default
    yield from metastore.in_folders_of_iceberg()


def _in(catalog: HiveCatalog, database: str, metastore: Metastore) -> list[Listed]:
    found: list[Listed] = []
    with catalog._client as client:
        names = client.get_all_tables(db_name=database)
        for start in range(0, len(names), _AT_ONCE):
            asked = names[start : start + _AT_ONCE]
            tables = client.get_table_objects_by_name(dbname=database, tbl_names=asked)
            _check_all(client, database, set(asked) - {table.tableName for table in tables})
            for table in tables:
                location = table.sd.location if table.sd is not None else None
                identifier = (database, table.tableName)
                found.extend(metastore.listed(identifier, table.parameters or {}, table.tableType, location))
    return found


def _check_all(client: Any, database: str, missing: set[str]) -> None:
    """Makes sure that what the metastore listed and did not give is gone since."""
    left_out = missing & set(client.get_all_tables(db_name=database)) if missing else set()
    if left_out:
        raise RepositoryError(
            f"the metastore lists {len(left_out)} tables of database {database} that it does not give, such as "
            f"{min(left_out)}; try again, and check its log"
        )


def why_locked(error: Exception) -> str | None:
    """What to say of a commit that waited for a lock in vain; ``None`` for any other error."""
    from pyiceberg.exceptions import WaitingForLockException

    if not isinstance(error.__cause__, WaitingForLockException):
        return None
    return "another process holds its lock in the metastore, or left it behind; try again when it is released"
