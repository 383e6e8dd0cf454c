"""A Spark session that writes Iceberg tables through Nessie."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers import JavaRole, find_java
from nessie_gc_core.testing.servers.java import SHORT_LIVED_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "nessie"
"""Name of the catalog in Spark."""
ICEBERG = "1.11.0"
"""The version of Iceberg that Spark gets from Maven Central, once, and keeps in our cache folder."""

_QUIET_LOGGING = """status = error
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


def check_requirements() -> None:
    """Looks for everything that must be installed, before anything starts or is fetched.

    Raises:
        ConfigurationError: something is missing; the message says what to install.
    """
    _check_pyspark()
    for role in JavaRole:
        find_java(role)


def iceberg_session(*, log: Path, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session on two local cores, with Iceberg; :func:`use_catalog` gives it a lake.

    Args:
        log: file that gets what Spark has to say.
        settings: more Spark settings.

    Raises:
        ConfigurationError: pyspark or a Java for it is missing, or Spark does not start.
    """
    check_requirements()
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    _prepare_environment()
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list({**_settings(log), **(settings or {})}.items()))
    with log.open("ab") as output:
        streams = {"stdout": output, "stderr": output}
        try:
            gateway = launch_gateway(conf, popen_kwargs=streams)  # type: ignore[no-untyped-call]  # pyspark's own
        except PySparkException as error:
            raise ConfigurationError(f"Spark did not start; see {log}: {_last_line(log)}") from error
    SparkContext(conf=conf, gateway=gateway)
    return SparkSession.builder.getOrCreate()


def iceberg_runtime() -> str:
    """The Maven coordinates of Iceberg for the PySpark that is installed.

    Raises:
        ConfigurationError: none is.
    """
    _check_pyspark()
    import pyspark

    version = ".".join(pyspark.__version__.split(".")[:2])
    scala = "2.12" if version.startswith("3.") else "2.13"  # what PySpark's own wheels have
    return f"org.apache.iceberg:iceberg-spark-runtime-{version}_{scala}:{ICEBERG}"


def iceberg_jar() -> dict[str, str]:
    """The settings by which a Spark fetches Iceberg once, and keeps it in our cache folder."""
    folder = Path(platformdirs.user_cache_dir("nessie-gc")) / "ivy"
    return {"spark.jars.packages": iceberg_runtime(), "spark.jars.ivy": str(folder)}


def use_catalog(session: SparkSession, nessie_uri: str, warehouse: Path, *, name: str = CATALOG) -> None:
    """Gives a session a catalog: a Nessie server by its REST v2 URI, and the local folder of the lake."""
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "nessie",
        ".uri": nessie_uri,
        ".ref": "main",
        ".warehouse": warehouse.as_uri(),
        # A cached table would be read from memory, and prove nothing about its files.
        ".cache-enabled": "false",
    }
    for key, value in settings.items():
        session.conf.set(f"spark.sql.catalog.{name}{key}", value)


def _check_pyspark() -> None:
    if importlib.util.find_spec("pyspark") is None:
        raise ConfigurationError("Spark is not installed: pip install 'nessie-gc-core[demo]'")


def _prepare_environment() -> None:
    """What Spark's launcher and workers read before any setting."""
    os.environ["JAVA_HOME"] = str(find_java(JavaRole.SPARK).home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _settings(log: Path) -> dict[str, str]:
    logging = log.with_name("log4j2.properties")
    logging.write_text(_QUIET_LOGGING, encoding="utf-8")
    return {
        "spark.app.name": "nessie-gc demo",
        "spark.master": "local[2]",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": f"{SHORT_LIVED_SPARK} -Dlog4j2.configurationFile={logging.as_uri()}",
        **iceberg_jar(),
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(log.parent / "spark-warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.speculation": "false",
    }


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else "the log is empty"
