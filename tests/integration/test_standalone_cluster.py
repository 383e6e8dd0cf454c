"""The Spark engine on a standalone cluster: driver, master, workers and executors are processes of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import pytest
import witness
from docs.pages import python_path
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.api import Collector
from nessie_gc_core.demo.spark import iceberg_runtime, use_catalog
from nessie_gc_core.engines.local.frame import LocalFrame
from nessie_gc_core.testing.servers import NessieServer, running
from nessie_gc_core.testing.servers.spark_cluster import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.server, pytest.mark.spark]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with running(lambda: SparkCluster(tmp_path_factory.mktemp("cluster"))) as cluster:
        yield cluster


def run_python(*arguments: str, site: Path | None = None) -> dict[str, Any]:
    """Runs this Python in a process of its own, with a folder of packages; gives the JSON that it printed."""
    environment = os.environ if site is None else {**os.environ, "PYTHONPATH": python_path(site)}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# ---- a collection -------------------------------------------------------------------------------------
def _lake_on_disk(directory: Path) -> Path:
    lake = MemoryLake("cluster")
    lake.now = datetime.now(UTC) - timedelta(days=30)
    table = lake.table("db.t", location="memory://wh/db/t").append("old.parquet")
    lake.commit("main", put(table.version))
    lake.commit("main", put(table.overwrite("new.parquet").version))
    lake.put("memory://wh/db/t/data/nobody-names-me.parquet")
    return lake.write_to(directory)


def test_a_cluster_collects_what_one_process_would(cluster: SparkCluster, tmp_path: Path) -> None:
    history_file = _lake_on_disk(tmp_path / "lake")
    command = ["-m", "nessie_gc_core", "gc", "--inmemory", "--json", "-c", "1"]
    command += ["--repository", "memory", "-r", f"history_file={history_file}"]
    local = run_python(*command, "--engine", "local", "--dry-run")
    conf = [part for key, value in cluster.driver_conf.items() for part in ("--spark-conf", f"{key}={value}")]
    report = run_python(*command, "--engine", "spark", "--spark-master", cluster.master_uri, *conf)
    assert report["deleted"] == local["would_delete"]
    assert report["deleted"]["files"] > 0
    assert not (tmp_path / "lake/wh/db/t/data/nobody-names-me.parquet").exists()
    assert (tmp_path / "lake/wh/db/t/data/new.parquet").exists()


# ---- unreferenced assets ------------------------------------------------------------------------------
TABLE = "cluster.gc.unreferenced"
COLUMNS = ["path", "assetType", "typeFrom", "sizeBytes", "tableName", "snapshotId"]
JOB = """
import json, os, sys
from pyspark.sql import SparkSession
from nessie_gc_core import Collector
conf, settings, table, columns = json.loads(sys.argv[1])
builder = SparkSession.builder
for key, value in conf.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
with Collector(spark=spark, **settings) as gc:
    assets = gc.unreferenced_assets(table)
    found = assets.identify()
    catalog, namespace, name = table.split(".")
    rows = spark.table(f"{catalog}.{namespace}.`{name}@{found.branch}`").select(*columns).collect()
    deleted = assets.delete_unreferenced_assets(delete=True, seen_count=1)
spark.stop()
print(json.dumps({"pid": os.getpid(), "rows": rows, "found": found.to_dict(), "deleted": deleted.to_dict()}))
"""
"""What a user's job does: it makes a session on the cluster, identifies, reads the table, and deletes."""


class NessieLake:
    """Two tables with some commits, in a catalog that the test's session and the cluster have."""

    def __init__(self, spark: SparkSession, uri: str, folder: Path) -> None:
        self.uri, self.warehouse = uri, folder / "warehouse"
        use_catalog(spark, uri, self.warehouse, name="cluster")
        spark.sql("CREATE NAMESPACE cluster.shop")
        for name in ("orders", "customers"):
            spark.sql(f"CREATE TABLE cluster.shop.{name} (id BIGINT) USING iceberg")
            for number in range(3):
                spark.sql(f"INSERT OVERWRITE cluster.shop.{name} VALUES ({number})")
        self.spared = next(self.warehouse.glob("shop/orders_*/data")) / f"{witness.SPARED}.parquet"
        self.spared.write_bytes(b"left over")
        time.sleep(1.1)  # what is modified in the future is too young

    @property
    def settings(self) -> dict[str, Any]:
        return {"uri": self.uri, "inmemory": True, "default_cutoff": "1", "min_age": "PT0S", "no_age_floor": True}

    def conf(self, cluster: SparkCluster, site: Path) -> dict[str, str]:
        """Properties of a session on the cluster: the catalog, Iceberg, and where executors find the plugin."""
        catalog = "spark.sql.catalog.cluster"
        return {
            **cluster.driver_conf,
            "spark.master": cluster.master_uri,
            "spark.locality.wait": "0s",  # so little data would all stay with one executor
            "spark.executorEnv.PYTHONPATH": python_path(site),
            "spark.jars.packages": iceberg_runtime(),
            "spark.jars.ivy": str(Path(platformdirs.user_cache_dir("nessie-gc")) / "ivy"),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "nessie",
            f"{catalog}.uri": self.uri,
            f"{catalog}.ref": "main",
            f"{catalog}.warehouse": self.warehouse.as_uri(),
        }

    def paths(self) -> set[str]:
        """All files of the two tables, but for checksum sidecars."""
        found = (path for path in (self.warehouse / "shop").rglob("*") if path.is_file())
        return {path.as_uri() for path in found if not path.name.endswith(".crc")}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Iterator[NessieLake]:
    with running(lambda: NessieServer(log=tmp_path / "nessie.log")) as server:
        yield NessieLake(spark, server.uri, tmp_path)


@pytest.mark.thorough
def test_unreferenced_assets_are_found_and_deleted_by_the_executors(
    spark: SparkSession, lake: NessieLake, cluster: SparkCluster, tmp_path: Path
) -> None:
    with Collector(spark=spark, **lake.settings) as gc:
        frame = gc.unreferenced_assets(TABLE).identify_unreferenced_assets()
        assert not isinstance(frame, LocalFrame)
        in_one_process = {tuple(row) for row in frame.select(*COLUMNS).collect()}
    witness.install(tmp_path / "site", lake.warehouse)
    before = lake.paths()
    given = json.dumps([lake.conf(cluster, tmp_path / "site"), lake.settings, TABLE, COLUMNS])
    done = run_python("-c", JOB, given, site=tmp_path / "site")
    notes = witness.take_notes(tmp_path / "site")

    found = {tuple(row) for row in done["rows"]}
    assert {lake.spared.as_uri()} == {row[0] for row in in_one_process - found}  # by the veto of the plugin
    assert found < in_one_process
    gone = {row[0] for row in found}
    assert len(gone) == done["deleted"]["tried"] == done["deleted"]["outcomes"]["deleted"]["files"]
    assert gone == before - lake.paths()
    assert 0 == spark.table("cluster.gc.`unreferenced@unreferenced_assets`").count()
    assert [2] == [row.id for row in spark.table("cluster.shop.orders").collect()]

    names = {Path(path).name for path in gone}
    opened = {note.pid: note.folder for note in notes if note.event == "open"}
    removed = {note.pid: note.folder for note in notes if note.event == "os.remove" and note.path in names}
    assert opened
    assert removed
    assert done["pid"] not in {**opened, **removed}
    folders = {Path(folder) for folder in {**opened, **removed}.values()}  # worker-N/app-.../number of the executor
    assert {"worker-1", "worker-2"} == {folder.parent.parent.name for folder in folders}
