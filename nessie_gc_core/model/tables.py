"""Iceberg tables of a catalog, as services that keep what they found see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

TableName = tuple[str, ...]
"""Namespaces, outermost first, and the name of the table."""

BUCKETS = 16
"""Over how many partitions rows are dealt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentTable:
    """Which state of a table is current in its catalog."""

    name: TableName
    """Its name."""
    uuid: str
    """The id of the table: another table of the same name has another one. Empty where it has none (early tables)."""
    metadata_location: str
    """Raw location of its metadata file."""
    snapshot_id: int | None
    """Its current snapshot; ``None`` if nothing was ever written."""
    format_version: int
    """Version of Iceberg's table format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A table as it is now."""

    schema: pa.Schema
    """Its columns; times are microseconds in UTC."""
    properties: Mapping[str, str]
    """Its properties."""
    snapshot_id: int | None
    """Its current snapshot; ``None`` if nothing was ever written."""
    location: str
    """Its raw base location."""
