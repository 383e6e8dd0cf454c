"""Tables to which PyIceberg cannot commit, or should not: a dry run must know before anybody tries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

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


def why_unwritable(catalog_type: str, table: TableMetadata) -> str | None:
    """Why no commit to a table would be made or may be made; ``None``: nothing is known against it.

    Args:
        catalog_type: such as ``rest``, whose server makes the commits; elsewhere PyIceberg does.
        table: the table as it is now.
    """
    from pyiceberg.table.metadata import SUPPORTED_TABLE_FORMAT_VERSION
    from pyiceberg.table.refs import MAIN_BRANCH

    if catalog_type == "rest":
        return None
    if catalog_type in _WITHOUT_COMMITS:
        return f"PyIceberg cannot commit to tables of {catalog_type} catalogs"
    if table.format_version > SUPPORTED_TABLE_FORMAT_VERSION:
        return f"PyIceberg cannot write metadata of format version {table.format_version}"
    if not table.snapshots and set(table.refs) - {MAIN_BRANCH}:
        return "PyIceberg cannot remove branches and tags from a table without snapshots"
    return WITHOUT_LOCKS if catalog_type == "hive" and not takes_locks(table.properties) else None


def why_unloadable(metadata: bytes | str | Mapping[str, Any]) -> str | None:
    """Why PyIceberg cannot load a table, as it does before each commit, whoever makes that; ``None``: it can.

    Args:
        metadata: that of the table, as JSON or what is in it.
    """
    from pyiceberg.table.metadata import TableMetadataUtil

    text = json.dumps(metadata) if isinstance(metadata, Mapping) else metadata
    try:
        TableMetadataUtil.parse_raw(text if isinstance(text, str) else text.decode())
    except Exception as error:  # noqa: BLE001 - whatever PyIceberg raises here, it raises before a commit as well
        cause = error.__cause__
        said = without_values(cause if isinstance(cause, Exception) else error)
        return (
            f"PyIceberg cannot load it, as it does before each commit ({said}); expire its snapshots with "
            "Iceberg's own procedure"
        )
    return None
