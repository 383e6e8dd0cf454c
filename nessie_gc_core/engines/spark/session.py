"""Makes and checks Spark sessions."""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nessie_gc_core.engines.machine import cores
from nessie_gc_core.engines.spark.jvm import options_of_local_jvm
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import allocator

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "nessie-gc",
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.speculation": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    f"spark.executorEnv.{allocator.VARIABLE}": allocator.SYSTEM,
    "spark.cleaner.referenceTracking.cleanCheckpoints": "true",
}
"""Properties of a session that Nessie GC starts; the user's own override them."""
LOCAL_DEFAULTS: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "32",
    "spark.python.worker.reuse": "true",
}
"""More of them where the master is a local one."""
OLDEST = (3, 5)
"""The first Spark that the engine runs on."""
CONNECT_SCHEME = "sc://"
"""How the address of a Spark Connect server begins."""
CHECKPOINTS = "spark.checkpoint.dir"
"""A reliable directory for checkpoints."""
JVM_OPTIONS = "spark.driver.defaultJavaOptions"
"""Options of the driver's JVM that go before ``spark.driver.extraJavaOptions``."""
_LEAVES = "spark.sql.leafNodeDefaultParallelism"
_CONNECT_PORT = 15002
_CONNECT_TIMEOUT_SECONDS = 10
_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy")


def open_session(master: str | None, conf: Mapping[str, str]) -> SparkSession:
    """Creates a session.

    Raises:
        ConfigurationError: pyspark or pandas is not installed, pyspark is too old, Java is missing or of the wrong
            version, or the Connect server does not answer.
    """
    try:
        from pyspark import __version__
    except ImportError as error:
        raise _lacking("PySpark") from error
    check_version(__version__)
    _check_pandas()  # before a JVM starts
    chosen = master or conf.get("spark.master") or "local[*]"
    return _connect(chosen, conf) if chosen.startswith(CONNECT_SCHEME) else _start(chosen, conf)


def _start(master: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    properties = properties_of(master, conf, available=cores())
    builder = SparkSession.builder.master(master)
    for key, value in properties.items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
        if CHECKPOINTS in properties:  # before Spark 4 it is no property of Spark's own
            session.sparkContext.setCheckpointDir(properties[CHECKPOINTS])
        return session
    except (PySparkException, OSError, RuntimeError) as error:
        raise ConfigurationError(
            f"Spark did not start with master {master!r} ({_first_line(error)}); it needs Java 17 or 21 "
            "(Debian: apt-get install openjdk-17-jre-headless), or use `engine` local"
        ) from error


def properties_of(master: str, conf: Mapping[str, str], *, available: int) -> dict[str, str]:
    """The properties of a session that Nessie GC starts.

    Args:
        master: where it runs; a local one gets options of the JVM, which come before the user's, so that these win.
        conf: what the user wants; it replaces our defaults.
        available: how many cores this machine has for it.
    """
    if not master.startswith("local"):
        return {**DEFAULTS, **conf}
    options = () if site_says(JVM_OPTIONS) else options_of_local_jvm(available)
    return {**DEFAULTS, **LOCAL_DEFAULTS, **({JVM_OPTIONS: " ".join(options)} if options else {}), **conf}


def site_says(name: str) -> bool:
    """Whether the file of a site's own properties has one; what we said would replace it."""
    import pyspark

    home = os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent
    file = Path(os.environ.get("SPARK_CONF_DIR") or Path(home) / "conf") / "spark-defaults.conf"
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return False
    return any(re.split(r"[\s=:]", line.strip(), maxsplit=1)[0] == name for line in lines)


def _connect(address: str, conf: Mapping[str, str]) -> SparkSession:
    """A session on a Connect server; only properties of Spark SQL can be chosen, the others are the server's."""
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    defaults = {key: value for key, value in DEFAULTS.items() if key.startswith("spark.sql.")}
    builder = SparkSession.builder.remote(address)
    for key, value in {**defaults, **conf}.items():
        if key != "spark.master":
            builder = builder.config(key, value)
    _reach(address)
    try:
        return builder.getOrCreate()
    except ImportError as error:
        raise ConfigurationError(
            f"Spark Connect's client is not installed ({_first_line(error)}): pip install 'nessie-gc-core[connect]'"
        ) from error
    except (PySparkException, OSError, RuntimeError) as error:
        raise ConfigurationError(
            f"cannot open a session on the Spark Connect server {_without_parameters(address)} ({_first_line(error)})"
        ) from error


def _reach(address: str) -> None:
    """Finds out at once whether there is a server, which Spark's client tries to find out for ten minutes."""
    if any(os.environ.get(name) for name in _PROXIES):
        return
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname or "", parts.port or _CONNECT_PORT), _CONNECT_TIMEOUT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the Spark Connect server {_without_parameters(address)} cannot be reached ({_first_line(error)}); give "
            "an address such as sc://host:15002"
        ) from error


def _without_parameters(address: str) -> str:
    """An address that can be shown: its parameters may hold a token."""
    return address.partition("/;")[0]


def is_connect(used: SparkSession | DataFrame) -> bool:
    """Whether a session, or the session of a DataFrame, is one of Spark Connect."""
    return any(each.__module__.startswith("pyspark.sql.connect.") for each in type(used).__mro__)


def is_stopped(session: SparkSession) -> bool:
    """Whether somebody stopped a classic session; PySpark has one context for all of a process."""
    return not is_connect(session) and getattr(session.sparkContext, "_jsc", None) is None


def functions_of(used: SparkSession | DataFrame) -> ModuleType:
    """Spark's column functions, of the kind that a session or DataFrame takes.

    Those of ``pyspark.sql.functions`` are of the kind that an environment variable says, and one process may have
    sessions of both kinds.
    """
    if is_connect(used):
        from pyspark.sql.connect import functions as remote_functions

        return remote_functions
    from pyspark.sql import functions

    return functions


def check_version(version: str) -> None:
    """Refuses a Spark that lacks what the engine needs.

    Raises:
        ConfigurationError: it is older than 3.5.
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    if (major, minor) < OLDEST:
        raise ConfigurationError(f"Spark {version} is too old: use Spark 3.5, 4.0 or 4.1")


def parallelism_of(session: SparkSession) -> int:
    """How many partitions Spark gives to rows that nobody distributed: a classic session says it, at no cost."""
    if is_connect(session):
        partitions = session.range(0, 10_000).selectExpr("spark_partition_id()").distinct()
        return max(int(partitions.count()), 1)  # Spark Connect 3.5 gives a number of numpy's
    chosen = session.conf.get(_LEAVES, None)
    return int(chosen or session.sparkContext.defaultParallelism)


def _check_pandas() -> None:
    """PySpark needs it to pass rows to Python, also as Arrow, and does not install it.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        import pandas  # noqa: F401 - however it is found or hidden
    except ImportError as error:
        raise _lacking("pandas") from error


def _lacking(library: str) -> ConfigurationError:
    return ConfigurationError(
        f"`engine` spark needs {library}: pip install 'nessie-gc-core[spark]' (or use `engine` local)"
    )


def check_session(session: SparkSession) -> None:
    """Refuses a session that is too old, that cannot pass rows to Python, or that would run a deletion twice.

    Raises:
        ConfigurationError: Spark is older than 3.5, pandas is not installed, or speculative execution is on.
    """
    check_version(session.version)
    _check_pandas()
    if str(session.conf.get("spark.speculation", "false")).lower() == "true":
        raise ConfigurationError("spark.speculation is true; set it to false, because a speculative task deletes twice")


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
