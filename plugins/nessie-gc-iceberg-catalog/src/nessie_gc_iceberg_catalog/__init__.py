"""Plain Iceberg catalogs as repositories: one reference per table, one log entry per snapshot that it lists.

Three connectors: :class:`IcebergCatalogConnector` (repository ``iceberg-catalog``), :class:`MetadataLogReader`
(content reader ``iceberg-metadata-log``), which keeps older metadata files, and :class:`IcebergTableCatalog` (table
catalog ``iceberg``), in which services keep tables.
"""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_iceberg_catalog.connector import IcebergCatalogConnector
from nessie_gc_iceberg_catalog.log_files import MetadataLogReader
from nessie_gc_iceberg_catalog.table_catalog import IcebergTableCatalog

__all__ = ["IcebergCatalogConnector", "IcebergTableCatalog", "MetadataLogReader"]


@hookimpl
def nessie_gc_register_repository_connector() -> type[IcebergCatalogConnector]:
    """Registers the connector to plain Iceberg catalogs."""
    return IcebergCatalogConnector


@hookimpl
def nessie_gc_register_content_to_files() -> type[MetadataLogReader]:
    """Registers the reader that keeps the files of a metadata log."""
    return MetadataLogReader


@hookimpl
def nessie_gc_register_table_catalog() -> type[IcebergTableCatalog]:
    """Registers the catalogs that PyIceberg knows."""
    return IcebergTableCatalog
