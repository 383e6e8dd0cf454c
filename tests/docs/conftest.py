from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs
import pytest
from docs.pages import ROOT, python_path
from spark_defaults import write_spark_defaults

from nessie_gc_core.demo.spark import check_requirements
from nessie_gc_core.testing.servers import JavaRole, find_java, skip_or_fail


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user's own, with this Python's programs, and nothing written outside of the test's folder."""
    with skip_or_fail():
        check_requirements()
    spark = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.jars.ivy": str(Path(platformdirs.user_cache_dir("nessie-gc")) / "ivy"),
    }
    own = {name: value for name, value in os.environ.items() if not name.startswith("NESSIE_GC_") or "JAR" in name}
    return {
        **own,
        "PATH": str(Path(sys.executable).parent) + os.pathsep + own.get("PATH", ""),
        "PYTHONPATH": python_path(ROOT / "tests", ROOT / "examples", *ROOT.glob("examples/*/src")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(find_java(JavaRole.SPARK).home),
        "SPARK_CONF_DIR": str(write_spark_defaults(tmp_path / ".spark", **spark)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "NO_PROXY": "127.0.0.1,localhost",
        "XDG_DATA_HOME": str(tmp_path / ".data"),
        "COLUMNS": "200",
        "TZ": "UTC",
    }
