"""Makes and checks Spark sessions."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from nessie_gc_core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "nessie-gc",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.speculation": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}
"""Properties of an own session, below whatever the user gives."""
LOCAL_DEFAULTS: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "32",
    "spark.python.worker.reuse": "true",
}
"""More of them where the master is a local one."""


def open_session(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """Makes a session.

    Raises:
        ConfigurationError: pyspark is not installed, or Java is missing or of the wrong version.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise ConfigurationError(
            "--engine spark needs PySpark: pip install 'nessie-gc-core[spark]' (or use --engine local)"
        ) from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = master or conf.get("spark.master") or "local[*]"
    properties = {**DEFAULTS, **(LOCAL_DEFAULTS if chosen.startswith("local") else {}), **conf}
    builder = SparkSession.builder.master(chosen)
    for key, value in properties.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise ConfigurationError(
            f"Spark does not start with master {chosen!r} ({_first_line(error)}); it needs Java 17 or 21 "
            "(Debian: apt-get install openjdk-17-jre-headless), or use --engine local"
        ) from error


def check_session(session: SparkSession) -> None:
    """Refuses a session that would run a deletion twice.

    Raises:
        ConfigurationError: speculative execution is on.
    """
    if str(session.conf.get("spark.speculation", "false")).lower() == "true":
        raise ConfigurationError("spark.speculation is true; set it to false, for a speculative task deletes twice")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
