"""Which distribution brings which connector or service, only to say what to install when one is asked for and missing.

Like fsspec's table of known implementations: an entry gives a better error, and nothing else. Send a change to
add your own.
"""

from __future__ import annotations

KNOWN_CONNECTORS: dict[tuple[str, str], str] = {
    ("repository", "nessie"): "nessie-gc-nessie",
    ("repository", "iceberg-catalog"): "nessie-gc-iceberg-catalog",
    ("repository", "memory"): "nessie-gc-memory",
    ("content-to-files", "iceberg"): "nessie-gc-iceberg-files",
    ("file-lister", "iceberg-files"): "nessie-gc-iceberg-files",
    ("file-deleter", "iceberg-files"): "nessie-gc-iceberg-files",
    ("content-to-files", "memory"): "nessie-gc-memory",
    ("file-lister", "memory"): "nessie-gc-memory",
    ("file-deleter", "memory"): "nessie-gc-memory",
    ("repository", "mock"): "nessie-gc-memory",
    ("content-to-files", "mock"): "nessie-gc-memory",
    ("file-lister", "mock"): "nessie-gc-memory",
    ("file-deleter", "mock"): "nessie-gc-memory",
    ("live-set-store", "jdbc"): "nessie-gc-jdbc",
    ("live-set-store", "memory"): "nessie-gc-memory",
    ("table-catalog", "iceberg"): "nessie-gc-iceberg-catalog",
    ("table-catalog", "memory"): "nessie-gc-memory",
    ("schedule-store", "jdbc"): "nessie-gc-jdbc",
    ("schedule-store", "memory"): "nessie-gc-memory",
    ("visited-deduplicator", "exact"): "nessie-gc-core",
    ("visited-deduplicator", "none"): "nessie-gc-core",
}
"""Kind and connector name to the distribution that has it."""

KNOWN_SERVICES: dict[str, str] = {"internal-gc": "nessie-gc-internal", "make-lake": "nessie-gc-memory"}
"""Name of a service that the core does not bring to the distribution that has it."""

KNOWN_SCHEMES: dict[str, str] = dict.fromkeys(("memory", "mock"), "nessie-gc-memory") | dict.fromkeys(
    (
        *("file", "s3", "s3a", "s3n", "gs", "gcs", "abfs", "abfss", "wasb", "wasbs"),
        *("hdfs", "arrow_hdfs", "webhdfs", "sftp", "ssh", "oss", "oci", "ocilake", "tos", "tosfs"),
    ),
    "nessie-gc-iceberg-files",
)
"""URI scheme to the distribution that lists and deletes there."""
