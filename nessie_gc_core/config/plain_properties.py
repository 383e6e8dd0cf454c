"""Properties of Iceberg and Spark that may be shown: well known, and no secret is in them.

Everything else stays hidden, whatever its name: a property that nobody knows may be a password.
"""

from __future__ import annotations

import re

PROPERTIES = frozenset({"iceberg", "spark_conf", "properties"})
"""Settings, and options of connectors, that hold properties of Iceberg or Spark; of others nothing is shown."""
_ICEBERG = frozenset(
    {
        "type", "catalog-impl", "catalog-type", "io-impl", "py-catalog-impl", "py-io-impl",
        "uri", "warehouse", "warehouse-location", "ref", "prefix", "clients",
        "cache-enabled", "cache.case-sensitive", "cache.expiration-interval-ms",
        "client.region", "glue.region", "glue.endpoint", "glue.skip-archive", "dynamodb.region", "dynamodb.table-name",
        "s3.endpoint", "s3.region", "s3.path-style-access", "s3.force-virtual-addressing", "s3.remote-signing-enabled",
        "s3.connect-timeout", "s3.request-timeout", "s3.proxy-uri", "s3.acceleration-enabled", "s3.dualstack-enabled",
        "s3.cross-region-access-enabled", "s3.resolve-region",
        "gcs.project-id", "gcs.service.host", "gcs.default-bucket-location", "gcs.version-aware",
        "adls.account-name", "adls.account-host", "adls.blob-storage-authority", "adls.dfs-storage-authority",
        "adls.blob-storage-scheme", "adls.dfs-storage-scheme",
        "hdfs.host", "hdfs.port", "hive.hive2-compatible", "rest.sigv4-enabled", "rest.signing-region",
        "rest.signing-name", "rest-metrics-reporting-enabled", "snapshot-loading-mode", "oauth2-server-uri", "scope",
    }
)  # fmt: skip
"""By their whole names."""
_ICEBERG_ENDS = (
    ".endpoint", ".region", ".path-style-access", ".force-virtual-addressing", ".project-id", ".account-name",
)  # fmt: skip
"""By the ends of their names, for those of stores that are not among them."""
_SPARK = frozenset(
    {
        "spark.app.name", "spark.master", "spark.submit.deployMode", "spark.remote", "spark.jars.packages",
        "spark.jars.repositories", "spark.jars", "spark.default.parallelism", "spark.local.dir", "spark.serializer",
        "spark.cores.max", "spark.speculation", "spark.network.timeout", "spark.ui.port", "spark.eventLog.dir",
        "spark.kubernetes.namespace", "spark.kubernetes.container.image", "spark.yarn.queue",
        "spark.hadoop.fs.s3a.endpoint", "spark.hadoop.fs.s3a.endpoint.region", "spark.hadoop.fs.s3a.path.style.access",
        "spark.hadoop.fs.s3a.impl", "spark.hadoop.fs.defaultFS",
    }
)  # fmt: skip
_SPARK_STARTS = (
    "spark.sql.", "spark.executor.", "spark.driver.", "spark.dynamicAllocation.", "spark.memory.", "spark.task.",
    "spark.shuffle.", "spark.scheduler.", "spark.kryoserializer.", "spark.rdd.", "spark.broadcast.",
)  # fmt: skip
"""By the beginnings of their names, unless a word in the name makes them doubtful."""
_SPARK_ENDS = (".memory", ".cores", ".instances", ".partitions", ".packages", ".enabled", ".master")
_CATALOG = re.compile(r"spark\.sql\.catalog\.[^.]+(?:\.(?P<property>.+))?")
"""A catalog of a Spark session; what follows its name is a property of Iceberg."""
_DOUBTFUL_NAME = re.compile(
    r"secret|passw|token|key|credential|auth|sign|sas|private|cert|option|header|env|user", re.IGNORECASE
)
_DOUBTFUL_VALUE = re.compile(r"[@?;=#%]|secret|passw|token|credential", re.IGNORECASE)
"""What a URL with a user, a password or a query has, and options in a value."""


def is_plain_property(setting: str, name: str, value: str) -> bool:
    """Whether a property may be shown with its value.

    Args:
        setting: what holds it: ``spark_conf`` for properties of Spark, else any setting with properties of Iceberg.
        name: the whole name of the property.
        value: its value: never one with a user, a password or a query of a URL in it.
    """
    if _DOUBTFUL_VALUE.search(value):
        return False
    return _is_of_spark(name) if setting == "spark_conf" else _is_of_iceberg(name)


def _is_of_iceberg(name: str) -> bool:
    return name in _ICEBERG or (name.endswith(_ICEBERG_ENDS) and not _DOUBTFUL_NAME.search(name))


def _is_of_spark(name: str) -> bool:
    catalog = _CATALOG.fullmatch(name)
    if catalog is not None:
        return catalog["property"] is None or _is_of_iceberg(catalog["property"])
    known = name.startswith(_SPARK_STARTS) or name.endswith(_SPARK_ENDS)
    return name in _SPARK or (known and not _DOUBTFUL_NAME.search(name))
