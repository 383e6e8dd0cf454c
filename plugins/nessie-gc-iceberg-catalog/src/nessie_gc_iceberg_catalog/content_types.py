"""Content types of plain catalogs beside Nessie's own.

No reader claims those that freeze: nothing is deleted at their locations, which the report names with their type (S23).
"""

METADATA_LOG_FILE = "ICEBERG_METADATA_LOG_FILE"
"""One older metadata file that a table's metadata log names; kept as a file, whatever it says."""
GC_DISABLED = "ICEBERG_TABLE_GC_DISABLED"
"""A table with ``gc.enabled=false``."""
LEFT_OUT = "ICEBERG_CONTENT_LEFT_OUT"
"""A table or view that the options ``include`` and ``exclude`` leave out."""
UNREADABLE_TABLE = "ICEBERG_TABLE_UNREADABLE"
"""A table that the option ``unreadable_tables`` names, because it cannot be read."""
OTHER_TABLE = "HIVE_TABLE"
"""A table of the same metastore that is not Iceberg's, in the folder of one that is."""
WHOLE_VIEW = "ICEBERG_VIEW_AS_A_WHOLE"
"""A view whose catalog does not tell its metadata location."""


def managed_by(manager: str) -> str:
    """The type of a table that a product collects itself, such as ``ICEBERG_TABLE_MANAGED_BY_AWS_S3_TABLES``."""
    return f"ICEBERG_TABLE_MANAGED_BY_{manager.upper().replace(' ', '_')}"
