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
        "hdfs.host", "hdfs.port", "oss.endpoint", "hive.hive2-compatible", "rest.sigv4-enabled", "rest.signing-region",
        "rest.signing-name", "rest-metrics-reporting-enabled", "snapshot-loading-mode", "oauth2-server-uri", "scope",
    }
)  # fmt: skip
"""By their whole names."""
_SPARK = frozenset(
    {
        "spark.app.name", "spark.master", "spark.submit.deployMode", "spark.jars.packages",
        "spark.default.parallelism", "spark.local.dir", "spark.serializer", "spark.cores.max", "spark.task.cpus",
        "spark.speculation", "spark.network.timeout", "spark.ui.port", "spark.ui.enabled", "spark.eventLog.dir",
        "spark.eventLog.enabled", "spark.kubernetes.namespace", "spark.kubernetes.container.image", "spark.yarn.queue",
        "spark.driver.memory", "spark.driver.memoryOverhead", "spark.driver.cores", "spark.driver.maxResultSize",
        "spark.driver.host", "spark.driver.port", "spark.driver.bindAddress",
        "spark.executor.memory", "spark.executor.memoryOverhead", "spark.executor.cores", "spark.executor.instances",
        "spark.memory.fraction", "spark.memory.offHeap.enabled", "spark.memory.offHeap.size",
        "spark.dynamicAllocation.enabled", "spark.dynamicAllocation.minExecutors",
        "spark.dynamicAllocation.maxExecutors", "spark.dynamicAllocation.initialExecutors",
        "spark.shuffle.service.enabled", "spark.scheduler.mode",
        "spark.sql.extensions", "spark.sql.shuffle.partitions", "spark.sql.session.timeZone",
        "spark.sql.adaptive.enabled", "spark.sql.defaultCatalog", "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.warehouse.dir", "spark.sql.files.maxPartitionBytes", "spark.sql.execution.arrow.pyspark.enabled",
        "spark.sql.execution.arrow.maxRecordsPerBatch", "spark.sql.catalogImplementation",
        "spark.hadoop.fs.s3a.endpoint", "spark.hadoop.fs.s3a.endpoint.region", "spark.hadoop.fs.s3a.path.style.access",
        "spark.hadoop.fs.s3a.impl", "spark.hadoop.fs.defaultFS",
    }
)  # fmt: skip
_BUCKET = re.compile(r"spark\.hadoop\.fs\.s3a\.bucket\..+\.(?:endpoint|endpoint\.region|path\.style\.access)")
"""The same of one bucket."""
_CATALOG = re.compile(r"spark\.sql\.catalog\.[^.]+(?:\.(?P<property>.+))?")
"""A catalog of a Spark session; what follows its name is a property of Iceberg."""
_DOUBTFUL_VALUE = re.compile(
    r"[@?;=#%{}]|secret|passw|pwd|token|credential|key|bearer|"
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9]*[0-9])(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{16,}",
    re.IGNORECASE,
)
"""What a URL with a user, a password, a query or a token in its path has, and options in a value."""


def is_plain_property(setting: str, name: str, value: str) -> bool:
    """Whether a property may be shown with its value.

    Args:
        setting: what holds it (:data:`PROPERTIES`): ``spark_conf`` for properties of Spark, else of Iceberg.
        name: the whole name of the property.
        value: its value: never one that may have a secret in it.
    """
    return _DOUBTFUL_VALUE.search(value) is None and is_known_property(setting, name)


def is_known_property(setting: str, name: str) -> bool:
    """Whether a property is well known, and holds no secret unless somebody writes one into its value.

    Args:
        setting: what holds it, as above.
        name: the whole name of the property.
    """
    if setting not in PROPERTIES:
        return False
    if setting != "spark_conf":
        return name in _ICEBERG
    catalog = _CATALOG.fullmatch(name)
    if catalog is not None:
        return catalog["property"] is None or catalog["property"] in _ICEBERG
    return name in _SPARK or _BUCKET.fullmatch(name) is not None
