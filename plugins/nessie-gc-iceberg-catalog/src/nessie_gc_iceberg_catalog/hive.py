"""Hive metastores: tables and views with their metadata locations, and the locks under which tables are changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nessie_gc_core.errors import RepositoryError
from nessie_gc_iceberg_catalog.listing import Caller, Listed

if TYPE_CHECKING:
    from pyiceberg.catalog.hive import HiveCatalog

_AT_ONCE = 1000
_TABLE, _VIEW = "iceberg", "iceberg-view"


def list_hive_contents(catalog: HiveCatalog, call: Caller) -> Iterator[Listed]:
    """Lists database by database; PyIceberg would leave out the views."""

    def databases() -> list[str]:
        with catalog._client as client:
            return list(client.get_all_databases())

    for database in call(databases, "listing the databases"):
        yield from call(lambda database=database: _in(catalog, database), f"listing database {database}")  # type: ignore[misc]  # mypy knows no lambda with a default


def _in(catalog: HiveCatalog, database: str) -> list[Listed]:
    found: list[Listed] = []
    with catalog._client as client:
        names = client.get_all_tables(db_name=database)
        for start in range(0, len(names), _AT_ONCE):
            for table in client.get_table_objects_by_name(dbname=database, tbl_names=names[start : start + _AT_ONCE]):
                parameters = table.parameters or {}
                kind = parameters.get("table_type", "").lower()
                if kind in (_TABLE, _VIEW):
                    where = parameters.get("metadata_location")
                    found.append(_listed((database, table.tableName), where, is_view=kind == _VIEW))
    return found


def _listed(identifier: tuple[str, str], metadata_location: str | None, *, is_view: bool) -> Listed:
    if not metadata_location:
        raise RepositoryError(f"{'.'.join(identifier)} has no metadata_location in the metastore; drop or repair it")
    return Listed(identifier=identifier, is_view=is_view, metadata_location=metadata_location)


def why_locked(error: Exception) -> str | None:
    """What to say of a commit that waited for a lock in vain; ``None`` for any other error."""
    from pyiceberg.exceptions import WaitingForLockException

    if not isinstance(error.__cause__, WaitingForLockException):
        return None
    return "another process holds its lock in the metastore, or left it behind; try again when it is released"
