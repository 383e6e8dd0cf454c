"""What servers need that are started from the parts of the pyspark wheel."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.java import JavaRole, find_java
from nessie_gc_core.testing.servers.process import LOOPBACK

_PACKAGES = "spark.jars.packages"


def spark_program(name: str) -> str:
    """The path of a program of Spark, such as ``spark-class``.

    Raises:
        ConfigurationError: pyspark is not installed.
    """
    return str(_spark_home() / "bin" / name)


def spark_environment() -> Mapping[str, str]:
    """Environment variables of a server: its Java, loopback only, and workers that run this Python.

    Raises:
        ConfigurationError: pyspark is not installed, or there is no Java that Spark runs on.
    """
    return {
        "SPARK_HOME": str(_spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "JAVA_HOME": str(find_java(JavaRole.SPARK).home),
        "PYSPARK_PYTHON": sys.executable,
    }


def with_connect(conf: Mapping[str, str]) -> Mapping[str, str]:
    """Properties of a Connect server; the wheel of Spark 3.5 comes without it, so that Spark fetches it.

    Raises:
        ConfigurationError: pyspark is not installed.
    """
    jars = _spark_home() / "jars"
    if any(jars.glob("spark-connect_*.jar")):
        return conf
    scala, version = next(jars.glob("spark-sql_*.jar")).stem.removeprefix("spark-sql_").split("-")
    newest = f"{version.rpartition('.')[0]}.+"  # not every patch version of the wheel has a jar of its own
    packages = [conf[_PACKAGES]] if _PACKAGES in conf else []
    return {**conf, _PACKAGES: ",".join([*packages, f"org.apache.spark:spark-connect_{scala}:{newest}"])}


def _spark_home() -> Path:
    try:
        import pyspark
    except ImportError as error:
        raise ConfigurationError("a Spark server needs PySpark: pip install 'nessie-gc-core[spark]'") from error
    return Path(pyspark.__file__).parent
