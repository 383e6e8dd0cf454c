"""Iceberg tables and views on disks and object stores: what they reach, what is stored, and how it goes.

Three connectors: :class:`IcebergContentToFiles` (``iceberg``), :class:`IcebergFileLister` and
:class:`IcebergFileDeleter` (both ``iceberg-files``). They share one option, ``properties``: Iceberg's own
FileIO properties.
"""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_iceberg_files.content import IcebergContentToFiles
from nessie_gc_iceberg_files.deleter import IcebergFileDeleter
from nessie_gc_iceberg_files.lister import IcebergFileLister

__all__ = ["IcebergContentToFiles", "IcebergFileDeleter", "IcebergFileLister"]


@hookimpl
def nessie_gc_register_content_to_files() -> type[IcebergContentToFiles]:
    """Registers the reader of Iceberg tables and views."""
    return IcebergContentToFiles


@hookimpl
def nessie_gc_register_file_lister() -> type[IcebergFileLister]:
    """Registers the lister of disks, S3, GCS and ADLS."""
    return IcebergFileLister


@hookimpl
def nessie_gc_register_file_deleter() -> type[IcebergFileDeleter]:
    """Registers the deleter on disks, S3, GCS and ADLS."""
    return IcebergFileDeleter
