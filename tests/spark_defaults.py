"""Properties of every Spark that tests start in processes of their own: little data, for a few minutes."""

from __future__ import annotations

from pathlib import Path

from nessie_gc_core.testing.servers.java import SHORT_LIVED_SPARK

FEW_TASKS = {"spark.default.parallelism": "1", "spark.sql.shuffle.partitions": "2"}
"""Rows are dealt over four tasks, on two cores; a task of Python costs more than what the tests have for it."""
DEFAULTS = {
    **FEW_TASKS,
    "spark.driver.extraJavaOptions": SHORT_LIVED_SPARK,
    "spark.executor.extraJavaOptions": SHORT_LIVED_SPARK,
    "spark.ui.enabled": "false",
}


def write_spark_defaults(folder: Path, **more: str) -> Path:
    """Writes the properties, and more, where ``SPARK_CONF_DIR`` may point to; gives the folder."""
    folder.mkdir(exist_ok=True)
    lines = (f"{key} {value}\n" for key, value in {**DEFAULTS, **more}.items())
    (folder / "spark-defaults.conf").write_text("".join(lines), encoding="utf-8")
    return folder
