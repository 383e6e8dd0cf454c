"""The Spark engine on a standalone cluster: driver, master, worker and executors are processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.testing.servers import running
from nessie_gc_core.testing.servers.spark_cluster import SparkCluster


def _lake_on_disk(directory: Path) -> Path:
    lake = MemoryLake("cluster")
    lake.now = datetime.now(UTC) - timedelta(days=30)
    table = lake.table("db.t", location="memory://wh/db/t").append("old.parquet")
    lake.commit("main", put(table.version))
    lake.commit("main", put(table.overwrite("new.parquet").version))
    lake.put("memory://wh/db/t/data/nobody-names-me.parquet")
    return lake.write_to(directory)


@pytest.mark.server
@pytest.mark.spark
def test_a_cluster_collects_what_one_process_would(tmp_path: Path) -> None:
    history_file = _lake_on_disk(tmp_path / "lake")
    command = [
        *(sys.executable, "-m", "nessie_gc_core", "gc", "--inmemory", "--json", "-c", "1"),
        *("--repository", "memory", "-r", f"history_file={history_file}"),
    ]
    local = subprocess.run([*command, "--engine", "local", "--dry-run"], capture_output=True, text=True, check=False)
    with running(lambda: SparkCluster(tmp_path)) as cluster:
        conf = [part for key, value in cluster.driver_conf.items() for part in ("--spark-conf", f"{key}={value}")]
        on_cluster = subprocess.run(
            [*command, "--engine", "spark", "--spark-master", cluster.master_uri, *conf],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (on_cluster.returncode, local.returncode) == (0, 0), on_cluster.stderr[-2000:]
    report = json.loads(on_cluster.stdout)
    assert report["deleted"] == json.loads(local.stdout)["would_delete"]
    assert report["deleted"]["files"] > 0
    assert not (tmp_path / "lake/wh/db/t/data/nobody-names-me.parquet").exists()
    assert (tmp_path / "lake/wh/db/t/data/new.parquet").exists()
