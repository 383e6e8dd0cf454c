"""Iceberg's own Spark procedures beside ours: on copies of the same tables, compared file by file."""
