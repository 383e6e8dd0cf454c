from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs
import pytest
from docs.pages import ROOT, python_path

from nessie_gc_core.demo.spark import check_requirements
from nessie_gc_core.testing.servers import JavaRole, find_java, skip_or_fail


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A user's own, with this Python's programs, and nothing written outside of the test's folder."""
    with skip_or_fail():
        check_requirements()
    conf = tmp_path / ".spark"
    conf.mkdir()
    spark = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.jars.ivy": str(Path(platformdirs.user_cache_dir("nessie-gc")) / "ivy"),
    }
    lines = (f"{key} {value}\n" for key, value in spark.items())
    (conf / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if not name.startswith("NESSIE_GC_") or "JAR" in name}
    return {
        **own,
        "PATH": str(Path(sys.executable).parent) + os.pathsep + own.get("PATH", ""),
        "PYTHONPATH": python_path(ROOT / "tests", ROOT / "examples", *ROOT.glob("examples/*/src")),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(find_java(JavaRole.SPARK).home),
        "SPARK_CONF_DIR": str(conf),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "NO_PROXY": "127.0.0.1,localhost",
        "XDG_DATA_HOME": str(tmp_path / ".data"),
        "COLUMNS": "200",
        "TZ": "UTC",
    }
