"""The whole job on a real HDFS cluster: the command line collects a table, with the sidecars that Hadoop writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from lakes_on_hdfs import ADDRESS, USER, copied_with_sidecars, hdfs_stores
from pyiceberg.catalog import Catalog, load_catalog

from nessie_gc_core.demo.collector import collect
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.testing.servers import HdfsServer, NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.server, pytest.mark.thorough]
TESTS = Path(__file__).parents[1]
OLD = 1_700_000_000_000
"""When all files were written, as the cluster says: nobody waits until they are old enough."""
SERVICE = "lakes"


@dataclass(frozen=True)
class Lake:
    server: HdfsServer
    store: Any
    catalog: Catalog
    properties: dict[str, str]
    home: Path

    def files(self) -> set[str]:
        return set(self.store.keys("lake/"))

    def gc(self, *options: str, **environment: str) -> dict[str, Any]:
        for key in self.files():
            self.store.set_time(key, OLD)
        properties = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in self.properties.items())
        (self.home / "nessie-gc.toml").write_text(
            '[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\n'
            f'uri = "sqlite:///{self.home}/catalog.db"\n[repository.properties]\n{properties}'
        )
        command = [sys.executable, "-m", "nessie_gc_core", "gc", "--config", str(self.home / "nessie-gc.toml")]
        paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        hadoop = {"HADOOP_CONF_DIR": str(self.home / "conf"), "HADOOP_USER_NAME": self.properties[USER]}
        run = subprocess.run(
            [*command, "--inmemory", "--json", "--engine", "local", *options],
            env={**os.environ, "PYTHONPATH": paths, **hadoop, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.stdout, run.stderr
        return dict(json.loads(run.stdout))


@pytest.fixture(scope="module")
def server() -> Iterator[HdfsServer]:
    with running(HdfsServer) as server:
        yield server


@pytest.fixture
def lake(server: HdfsServer, tmp_path: Path) -> Iterator[Lake]:
    stores = hdfs_stores()
    store = stores.HdfsFiles(server)
    site = {
        "dfs.nameservices": SERVICE,
        f"dfs.namenode.rpc-address.{SERVICE}": server.rpc_address,
        f"dfs.namenode.http-address.{SERVICE}": server.http_address,
    }
    server.write_configuration(tmp_path / "conf", site)
    own = {"py-io-impl": "lakes_on_hdfs.ThroughWebHdfs", ADDRESS: server.http_address, USER: stores.USER}
    properties = {**own, "nessie-gc.trusted-hosts": SERVICE}
    catalog_uri, warehouse = f"sqlite:///{tmp_path}/catalog.db", f"hdfs://{SERVICE}/lake/warehouse"
    with load_catalog("prod", type="sql", uri=catalog_uri, warehouse=warehouse, **properties) as catalog:
        catalog.create_namespace("db")
        yield Lake(server, store, catalog, properties, tmp_path)
    store.remove("lake")
    store.close()


def written(lake: Lake) -> str:
    """The key of a table with two rows, of which the second one is left, and two files that nobody needs."""
    rows = pa.table({"n": pa.array([1, 2], pa.int64())})
    table = lake.catalog.create_table("db.t", rows.schema)
    table.append(rows)
    table.overwrite(rows.slice(1))
    key = table.location().partition(f"{SERVICE}/")[2]
    for name in ("orphan.parquet", "odd #1 ?a=b%20c [*].parquet"):
        lake.store.put(f"{key}/data/{name}", b"left over")
    return key


def is_sidecar(key: str) -> bool:
    return key.rpartition("/")[2].startswith(".") and key.endswith(".crc")


def sidecar_of(key: str) -> str:
    folder, _, name = key.rpartition("/")
    return f"{folder}/.{name}.crc"


def test_files_go_with_the_sidecars_that_hadoop_wrote_for_them(lake: Lake) -> None:
    key = written(lake)
    without = lake.files()
    for path in copied_with_sidecars(lake.server, key, lake.home / "copy"):
        if is_sidecar(str(path)):
            lake.store.put(f"{key}/{path.relative_to(lake.home / 'copy')}", path.read_bytes())
    before = lake.files()
    assert {sidecar_of(file) for file in without} == before - without

    dry = lake.gc("--dry-run")
    assert (0, before) == (dry["exit_code"], lake.files()), dry
    report = lake.gc()

    left = lake.files()
    gone = {file for file in before - left if not is_sidecar(file)}
    assert 0 == report["exit_code"], report
    assert {"orphan.parquet", "odd #1 ?a=b%20c [*].parquet"} <= {file.rpartition("/")[2] for file in gone}
    assert {sidecar_of(file) for file in gone} == {file for file in before - left if is_sidecar(file)}
    assert dry["would_delete"]["files"] == report["deleted"]["files"] == len(gone)
    assert dry["sidecars"]["files"] == report["sidecars"]["files"] == len(gone)
    assert [2] == lake.catalog.load_table("db.t").scan().to_arrow().column("n").to_pylist()
    again = lake.gc()
    assert (0, 0, left) == (again["exit_code"], again["deleted"]["files"], lake.files())


def test_s28_without_hadoops_files_the_cluster_is_not_asked_and_nothing_is_deleted(lake: Lake) -> None:
    written(lake)
    before = lake.files()
    report = lake.gc(HADOOP_CONF_DIR="")
    assert (1, before) == (report["exit_code"], lake.files()), report
    assert all(
        "is neither a host of the cloud nor in the configuration" in each["reason"] for each in report["unknown"]
    )
    assert report["unknown"]


def test_s06_files_that_the_user_may_not_read_are_unknown_and_stay(lake: Lake) -> None:
    key = written(lake)
    lake.store.forbid(f"{key}/metadata", "700")
    before = lake.files()
    report = lake.gc(HADOOP_USER_NAME="nobody")
    assert (1, before) == (report["exit_code"], lake.files()), report
    assert any("Permission denied: user=nobody" in each["reason"] for each in report["unknown"]), report["unknown"]


@pytest.fixture
def own_nessie(tmp_path: Path) -> Iterator[NessieServer]:
    """A server of this test's own: whoever else collects its tables cannot reach this cluster."""
    with running(lambda: NessieServer(log=tmp_path / "nessie.log")) as server:
        yield server


@pytest.mark.spark
def test_a_table_that_spark_wrote_with_hadoops_own_client_is_collected(
    server: HdfsServer, own_nessie: NessieServer, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = hdfs_stores().HdfsFiles(server)
    use_catalog(spark, own_nessie.uri, tmp_path, name="on_hdfs")
    spark.conf.set("spark.sql.catalog.on_hdfs.warehouse", f"{server.uri}spark/lake")
    spark.sql("CREATE NAMESPACE on_hdfs.hdfs")
    spark.sql("CREATE TABLE on_hdfs.hdfs.t (n INT, day STRING) USING iceberg PARTITIONED BY (day)")
    spark.sql("INSERT INTO on_hdfs.hdfs.t VALUES (1, 'a b%20c'), (2, 'ü')")
    spark.sql("INSERT OVERWRITE on_hdfs.hdfs.t VALUES (3, 'a b%20c')")
    store.put("spark/lake/hdfs/orphan.parquet", b"elsewhere")
    before = set(store.keys("spark/lake/"))
    (location,) = {key.partition("/data/")[0] for key in before if "/data/" in key}
    store.put(f"{location}/data/orphan.parquet", b"left over")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(server.write_configuration(tmp_path / "conf")))
    monkeypatch.setenv("HADOOP_USER_NAME", server.user)

    more = ["--allow", f"{server.uri}spark/", "--default-cutoff", "1"]
    run = collect(own_nessie.uri, engine="local", folder=tmp_path, more=more)

    left = set(store.keys("spark/lake/"))
    assert (0, []) == (run.exit_code, run.report["unknown"]), run.complaints
    assert f"{location}/data/orphan.parquet" not in left
    assert "spark/lake/hdfs/orphan.parquet" in left
    assert left < before  # what only the first insertion needed is gone as well
    assert [(3, "a b%20c")] == [tuple(row) for row in spark.sql("SELECT * FROM on_hdfs.hdfs.t").collect()]
    spark.sql("DROP TABLE on_hdfs.hdfs.t")
    store.close()
