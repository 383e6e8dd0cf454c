"""SQL catalogs: their one table tells every table and view with its metadata location, in one statement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nessie_gc_core.errors import ConfigurationError, RepositoryError
from nessie_gc_iceberg_catalog.listing import Listed

if TYPE_CHECKING:
    from pyiceberg.catalog.sql import SqlCatalog

_TABLE = "iceberg_tables"


def list_sql_contents(catalog: SqlCatalog) -> list[Listed]:
    """Lists one catalog of the database; also contents without a namespace, which PyIceberg leaves out.

    All at once: a cursor that stays open would lock writers out of some databases.

    Raises:
        ConfigurationError: the database is not a catalog, or has only catalogs of other names (S20: a catalog that
            looks empty by mistake would protect nothing).
    """
    import sqlalchemy as sql

    inspector = sql.inspect(catalog.engine)
    if not inspector.has_table(_TABLE):
        raise ConfigurationError(f"the database of catalog {catalog.name!r} has no table {_TABLE}; correct the uri")
    has_type = any(column["name"] == "iceberg_type" for column in inspector.get_columns(_TABLE))
    names = ["catalog_name", "table_namespace", "table_name", "metadata_location", "previous_metadata_location"]
    columns: list[sql.ColumnClause[str]] = [sql.column(name) for name in [*names, *["iceberg_type"] * has_type]]
    table = sql.table(_TABLE, *columns)
    mine = sql.select(*columns[1:]).select_from(table).where(columns[0] == catalog.name)
    with catalog.engine.connect() as connection:
        rows = connection.execute(mine).all()
        others = (
            [] if rows else connection.execute(sql.select(columns[0]).select_from(table).distinct()).scalars().all()
        )
    if others:
        raise ConfigurationError(
            f"the database has no catalog {catalog.name!r}, only {', '.join(map(repr, sorted(others)))}; "
            "correct catalog_name"
        )
    return [_listed(*row[:4], row[4] if has_type else None) for row in rows]


def _listed(
    namespace: str | None, name: str | None, location: str | None, previous: str | None, iceberg_type: str | None
) -> Listed:
    if not name:
        raise RepositoryError(f"table {_TABLE} has a row without a name in namespace {namespace!r}; repair it")
    identifier = (*(namespace.split(".") if namespace else ()), name)
    type_ = (iceberg_type or "TABLE").upper()
    is_table, is_view = type_ in ("TABLE", "VIEW"), type_ == "VIEW"
    if not location:
        problem = f"it has no metadata location in table {_TABLE}; drop or repair it"
        return Listed(identifier=identifier, problem=problem, previous_location=previous or None)
    return Listed(identifier=identifier, is_view=is_view, is_table=is_table, metadata_location=location)
