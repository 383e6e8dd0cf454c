"""Tables to which PyIceberg cannot commit, or should not: a dry run must know before anybody tries."""

from __future__ import annotations

from collections.abc import Mapping

from nessie_gc_core.model import TableMetadata
from nessie_gc_iceberg_catalog.errors import without_values

_WITHOUT_COMMITS = ("bigquery", "dynamodb")
_LOCKS = "engine.hive.lock-enabled"
WITHOUT_LOCKS = (
    f"its writers take no locks ({_LOCKS} is not true), so PyIceberg could overwrite their commits; expire its "
    "snapshots with Iceberg's own procedure"
)
"""Why a table in a Hive Metastore is left alone whose :func:`takes_locks` is false."""

NOT_CALLED_A_TABLE = "its catalog does not call it a table (a materialized view?), so PyIceberg cannot commit to it"
"""Why a table is left alone that only the row of something else names."""


def takes_locks(properties: Mapping[str, str]) -> bool:
    """Whether those who change a table in a Hive Metastore lock it, as PyIceberg does."""
    return properties.get(_LOCKS, "true").lower() == "true"


def why_unwritable(catalog_type: str, table: TableMetadata, text: bytes | str | None = None) -> str | None:
    """Why no commit to a table would be made or may be made; ``None``: nothing is known against it.

    Args:
        catalog_type: such as ``rest``, whose server makes the commits; elsewhere PyIceberg does.
        table: the table as it is now.
        text: its metadata, where PyIceberg has not loaded it yet, which it does before every commit.
    """
    reason = None if catalog_type == "rest" else _why_not_by_pyiceberg(catalog_type, table)
    return _why_unloadable(text) if reason is None and text is not None else reason


def _why_not_by_pyiceberg(catalog_type: str, table: TableMetadata) -> str | None:
    from pyiceberg.table.metadata import SUPPORTED_TABLE_FORMAT_VERSION
    from pyiceberg.table.refs import MAIN_BRANCH

    if catalog_type in _WITHOUT_COMMITS:
        return f"PyIceberg cannot commit to tables of {catalog_type} catalogs"
    if table.format_version > SUPPORTED_TABLE_FORMAT_VERSION:
        return f"PyIceberg cannot write metadata of format version {table.format_version}"
    if not table.snapshots and set(table.refs) - {MAIN_BRANCH}:
        return "PyIceberg cannot remove branches and tags from a table without snapshots"
    return WITHOUT_LOCKS if catalog_type == "hive" and not takes_locks(table.properties) else None


def _why_unloadable(text: bytes | str) -> str | None:
    from pyiceberg.table.metadata import TableMetadataUtil

    try:
        TableMetadataUtil.parse_raw(text if isinstance(text, str) else text.decode())
    except Exception as error:  # noqa: BLE001 - whatever PyIceberg raises here, it raises before a commit as well
        cause = error.__cause__
        said = without_values(cause if isinstance(cause, Exception) else error)
        return f"PyIceberg, which makes the commit, cannot load its metadata ({said})"
    return None
