"""Whether a PostgreSQL database holds what this distribution knows: Nessie's tables, with all rows in sight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import Connection

from nessie_gc_core.errors import AccessDeniedError, ConfigurationError

REFERENCES = "refs2"
OBJECTS = "objs2"
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    REFERENCES: {
        "repo": "character varying",
        "ref_name": "character varying",
        "pointer": "bytea",
        "deleted": "boolean",
        "created_at": "bigint",
        "ext_info": "bytea",
        "prev_ptr": "bytea",
    },
    OBJECTS: {
        "repo": "character varying",
        "obj_id": "bytea",
        "obj_type": "character varying",
        "obj_vers": "character varying",
        "obj_value": "bytea",
        "obj_ref": "bigint",
    },
}
_FIND_COLUMNS = """
SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_FIND_TABLE = "SELECT relkind::text IN ('r', 'p'), row_security_active(oid) FROM pg_class WHERE oid = to_regclass(%s)"


def check_tables(connection: Connection[Any], place: str) -> None:
    """Refuses tables that are not those of Nessie's version store JDBC2.

    Raises:
        ConfigurationError: they are of another store or version, or part of their rows is hidden.
    """
    row = connection.execute("SELECT version()").fetchone()
    if row is None or not str(row[0]).startswith("PostgreSQL "):
        raise ConfigurationError(
            f"{place} is not PostgreSQL; other databases that speak its protocol are not supported"
        )
    for table, expected in _COLUMNS.items():
        facts = connection.execute(_FIND_TABLE, (table,)).fetchone()
        if facts is None:
            raise ConfigurationError(f"{place} has no table {table}{_hint(connection)}")
        is_table, hides_rows = facts
        if not is_table:
            raise ConfigurationError(f"{place}: {table} is not a table; give the database that Nessie itself uses")
        if hides_rows:
            raise ConfigurationError(
                f"{place}: a policy hides rows of {table}; use a role that sees all rows (BYPASSRLS)"
            )
        found = dict(connection.execute(_FIND_COLUMNS, (table,)).fetchall())
        if missing := sorted(expected.keys() - found.keys()):
            raise ConfigurationError(
                f"{place}: {table} has no column {', '.join(missing)}, so Nessie before 0.96 created it; start a "
                "later Nessie on it first"
            )
        unknown = sorted(f"{name} {type_}" for name, type_ in found.items() if expected.get(name) != type_)
        if unknown:
            raise ConfigurationError(
                f"{place}: {table} has {', '.join(unknown)}, which this version does not know; upgrade "
                "nessie-gc-internal, as a later Nessie created it"
            )


def check_rights(connection: Connection[Any], place: str, *, deletes: bool) -> None:
    """Refuses to begin without the rights to end.

    Raises:
        AccessDeniedError: the message names the right.
    """
    needed = [(REFERENCES, "SELECT"), (OBJECTS, "SELECT"), *([(OBJECTS, "DELETE")] if deletes else [])]
    for table, right in needed:
        row = connection.execute("SELECT has_table_privilege(%s, %s)", (table, right)).fetchone()
        if row is None or not row[0]:
            raise AccessDeniedError(f"{place}: the right {right} on {table} is missing; grant it to this user")


def check_repository(connection: Connection[Any], place: str, repository_id: str) -> None:
    """Refuses a repository that does not exist.

    Raises:
        ConfigurationError: the message names those that do.
    """
    rows = connection.execute(f"SELECT repo FROM {REFERENCES} WHERE ref_name = 'int/repo' ORDER BY repo").fetchall()
    found = [str(repo) for (repo,) in rows]
    if repository_id not in found:
        names = ", ".join(repr(name) for name in found[:20]) or "none"
        raise ConfigurationError(
            f"{place} has no repository {repository_id!r}; give `nessie_repository_id` one of: {names}"
        )


def _hint(connection: Connection[Any]) -> str:
    row = connection.execute("SELECT to_regclass('objs') IS NOT NULL AND to_regclass('refs') IS NOT NULL").fetchone()
    if row is not None and row[0]:
        return (
            " but those of the version store JDBC, which is not supported; move to JDBC2 (Nessie's export and import)"
        )
    return "; only Nessie's version store JDBC2 is supported, in the first schema of the search path"
