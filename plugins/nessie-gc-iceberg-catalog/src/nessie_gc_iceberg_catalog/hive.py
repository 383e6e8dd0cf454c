"""Hive metastores: tables and views with their metadata locations, and the locks under which tables are changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

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
            asked = names[start : start + _AT_ONCE]
            tables = client.get_table_objects_by_name(dbname=database, tbl_names=asked)
            _check_all(client, database, set(asked) - {table.tableName for table in tables})
            for table in tables:
                parameters = table.parameters or {}
                kind = (parameters.get("table_type") or "").lower()
                if kind in (_TABLE, _VIEW):
                    found.append(_listed((database, table.tableName), parameters, is_view=kind == _VIEW))
    return found


def _check_all(client: Any, database: str, missing: set[str]) -> None:
    """Makes sure that what the metastore listed and did not give is gone since."""
    left_out = missing & set(client.get_all_tables(db_name=database)) if missing else set()
    if left_out:
        raise RepositoryError(
            f"the metastore lists {len(left_out)} tables of database {database} that it does not give, such as "
            f"{min(left_out)}; try again, and check its log"
        )


def _listed(identifier: tuple[str, str], parameters: Mapping[str, str], *, is_view: bool) -> Listed:
    metadata_location = parameters.get("metadata_location")
    if not metadata_location:
        previous = parameters.get("previous_metadata_location") or None
        problem = "it has no metadata_location in the metastore; drop or repair it"
        return Listed(identifier=identifier, problem=problem, previous_location=previous)
    return Listed(identifier=identifier, is_view=is_view, metadata_location=metadata_location)


def why_locked(error: Exception) -> str | None:
    """What to say of a commit that waited for a lock in vain; ``None`` for any other error."""
    from pyiceberg.exceptions import WaitingForLockException

    if not isinstance(error.__cause__, WaitingForLockException):
        return None
    return "another process holds its lock in the metastore, or left it behind; try again when it is released"
