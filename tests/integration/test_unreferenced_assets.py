"""The table of unreferenced assets, with real Spark, real Iceberg and a real Nessie, and with PyIceberg alone."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from collecting import spark_engine
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.table import StaticTable, Table

from nessie_gc_core.api import Collector, delete_unreferenced_assets, identify_unreferenced_assets
from nessie_gc_core.cli.main import cli
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.engines.local.frame import LocalFrame
from nessie_gc_core.engines.spark.tables import SparkTables
from nessie_gc_core.errors import ConfigurationError, TableError
from nessie_gc_core.model.assets import ASSETS
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class NessieLake:
    """A table with a few overwrites, in a catalog of its own."""

    def __init__(self, spark: SparkSession, uri: str, folder: Path) -> None:
        self.spark, self.uri, self.warehouse = spark, uri, folder / "warehouse"
        self.references = References(uri)
        self.namespace = f"assets_{abs(hash(str(folder)))}"
        self.catalog = f"catalog_of_{self.namespace}"
        use_catalog(spark, uri, self.warehouse, name=self.catalog)
        self.branch = f"branch_of_{self.namespace}"  # Iceberg's client remembers where a branch was, also a deleted one
        spark.sql(f"CREATE NAMESPACE {self.catalog}.{self.namespace}")
        self.table = f"{self.catalog}.{self.namespace}.orders"
        self.assets = f"{self.catalog}.gc.unreferenced"
        spark.sql(f"CREATE TABLE {self.table} (id BIGINT) USING iceberg")
        for number in range(3):
            self.overwrite(number)
        time.sleep(1.1)  # what is modified in the future is too young

    def overwrite(self, number: int) -> None:
        """Leaves the files of the state before it to nobody."""
        self.spark.sql(f"INSERT OVERWRITE {self.table} VALUES ({number})")

    @property
    def settings(self) -> dict[str, Any]:
        """Those of a collector that finds what is older than the last state."""
        return {
            "uri": self.uri,
            "inmemory": True,
            "allow": [self.warehouse.as_uri()],
            "default_cutoff": "1",
            "min_age": "PT0S",
            "no_age_floor": True,
            "branch": self.branch,
        }

    def rows(self, columns: str, name: str = "unreferenced") -> list[Any]:
        """Of a table of the namespace ``gc``."""
        table = f"{self.catalog}.gc.`{name}@{self.branch}`"
        return [tuple(row) for row in self.spark.sql(f"SELECT {columns} FROM {table}").collect()]

    def files(self) -> set[str]:
        """Names of all files of the table, but for checksum sidecars."""
        found = (path for path in self.warehouse.rglob("*") if path.is_file() and self.namespace in str(path))
        return {path.name for path in found if not path.name.endswith(".crc")}


@pytest.mark.spark
@pytest.mark.server
@pytest.mark.thorough
def test_on_spark_connect(connect: SparkSession, nessie: NessieServer, tmp_path: Path) -> None:
    lake = NessieLake(connect, nessie.uri, tmp_path)
    found = identify_unreferenced_assets(connect, table=lake.assets, **lake.settings)
    seen = {row.name for row in found.select("name").collect()}
    before = lake.files()
    deleted = delete_unreferenced_assets(
        connect, table=lake.assets, delete=True, seen_count=1, where="sizeBytes > 0", **lake.settings
    )
    assert {("deleted", len(seen))} == {tuple(row) for row in deleted.groupBy("outcome").count().collect()}
    assert seen == before - lake.files()
    assert [(2,)] == [tuple(row) for row in connect.sql(f"SELECT * FROM {lake.table}").collect()]
    connect.sql(f"DROP TABLE {lake.table}")
    lake.references.delete(lake.branch)


@pytest.mark.spark
@pytest.mark.server
def test_the_catalog_of_a_branch_has_the_credentials_of_the_first(spark: SparkSession) -> None:
    first = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "nessie", ".uri": "http://127.0.0.1:1/api/v2"}
    first |= {".ref": "main", ".authentication.type": "BEARER", ".authentication.token": "a-secret"}
    for key, value in first.items():
        spark.conf.set(f"spark.sql.catalog.guarded{key}", value)
    spark.conf.set("spark.sql.catalog.guarded2.authentication.token", "another")
    SparkTables(spark_engine(spark), "guarded", branch="v1.0")
    name = "guarded_on_" + b"v1.0".hex()
    there = {key: value for key, value in spark.conf.getAll.items() if key.startswith(f"spark.sql.catalog.{name}")}
    assert there.pop(f"spark.sql.catalog.{name}.cache-enabled") == "false"
    assert there == {f"spark.sql.catalog.{name}{key}": value for key, value in {**first, ".ref": "v1.0"}.items()}


@pytest.mark.spark
@pytest.mark.server
@pytest.mark.parametrize("address", ["{}", "{}/", "{}/main", "{}/main%7Cwh", "{}/iceberg"])
def test_the_rest_catalog_of_nessie_has_branches(spark: SparkSession, nessie: NessieServer, address: str) -> None:
    name = f"rest_{abs(hash(address))}"
    branch = f"gc/{name}"
    References(nessie.uri).create_branch(branch)
    if address.endswith("/iceberg"):
        References(nessie.uri).create_branch("iceberg")
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".warehouse": "wh"}
    settings[".io-impl"] = "org.apache.iceberg.hadoop.HadoopFileIO"  # no file is read here
    for key, value in {**settings, ".uri": address.format(nessie.iceberg_uri)}.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)
    SparkTables(spark_engine(spark), name, branch=branch)
    other = f"{name}_on_{branch.encode().hex()}"
    spark.sql(f"CREATE NAMESPACE {other}.{name}")
    namespaces = [{row[0] for row in spark.sql(f"SHOW NAMESPACES IN {of}").collect()} for of in (other, name)]
    assert [name in found for found in namespaces] == [True, False]


@pytest.mark.spark
@pytest.mark.server
def test_a_rest_catalog_that_is_not_of_nessie_has_no_branch(spark: SparkSession, nessie: NessieServer) -> None:
    settings = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "rest", ".uri": f"{nessie.uri}/iceberg"}
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.no_nessie{key}", value)
    with pytest.raises(TableError, match="cannot open the branch 'gc' of the catalog 'no_nessie', taken for Nessie's"):
        SparkTables(spark_engine(spark), "no_nessie", branch="gc")


@pytest.mark.spark
@pytest.mark.server
def test_rows_are_taken_out_while_others_are_added(lake: NessieLake) -> None:
    engine, name = spark_engine(lake.spark), (lake.namespace, "beside")
    keys = pa.schema([pa.field("key", pa.int64(), nullable=False)])
    tables = SparkTables(engine, lake.catalog)
    tables.create(name, keys, properties={})
    tables.append(name, engine.dataset(to_batches([(n,) for n in range(10)], keys), keys))

    def add() -> None:
        for n in range(10, 16):
            tables.append(name, engine.dataset(to_batches([(n,)], keys), keys))

    adding = threading.Thread(target=add)
    adding.start()
    for number in range(4):
        tables.remove(name, engine.dataset(to_batches([(number,)], keys), keys))
    adding.join()
    found = {row["key"] for row in tables.read(name, keys).summary().to_pylist()}
    assert found == set(range(4, 16))
    tables.drop(name)


@pytest.fixture(scope="module")
def nessie(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NessieServer]:
    """A server of this module's own: files that its commits name are deleted here, which others would look for."""
    properties = {
        "nessie.catalog.default-warehouse": "wh",
        "nessie.catalog.warehouses.wh.location": "s3://nobody/looks",
    }
    log = tmp_path_factory.mktemp("nessie") / "nessie.log"
    with running(lambda: NessieServer(log=log, properties=properties)) as server:
        yield server


@pytest.fixture
def lake(spark: SparkSession, nessie: NessieServer, tmp_path: Path) -> Iterator[NessieLake]:
    lake = NessieLake(spark, nessie.uri, tmp_path)
    yield lake
    if lake.branch in lake.references.names():
        lake.references.delete(lake.branch)
    spark.sql(f"DROP TABLE {lake.table}")


@pytest.mark.spark
@pytest.mark.server
def test_assets_are_found_written_to_a_branch_agreed_upon_and_deleted(lake: NessieLake) -> None:
    before = lake.files()
    with Collector(spark=lake.spark, **lake.settings) as gc:
        assets = gc.unreferenced_assets(lake.assets)
        found = assets.identify_unreferenced_assets(history=True)
        assert before == lake.files()
        assert lake.branch not in lake.references.names()
        first = assets.update_unreferenced_asset_table(found)
        assert first.found.runid == 1
        assert {"main", lake.branch} <= set(lake.references.names())
        assert [] == [row for row in lake.spark.sql(f"SHOW NAMESPACES IN {lake.catalog}").collect() if row[0] == "gc"]
        assert {("expired commit", "walk")} == set(lake.rows("reason, typeFrom"))
        lake.overwrite(4)
        time.sleep(1.1)
        second = assets.identify()
        new = second.found.assets - first.found.assets
        assert (2, True) == (second.found.runid, new > 0)
        assert assets.delete_unreferenced_assets(delete=False, seen_count=2).agreed.files == first.found.assets
        figures = assets.report(seen_count=2, where="reason = 'expired commit' OR reason IS NULL").figures
        assert (lake.branch, [first.found.assets, second.found.assets]) == (
            figures.branch,
            [run.assets for run in figures.trend],
        )
        assert figures.latest is not None
        assert (second.found.assets, second.found.size_bytes) == (figures.latest.files, figures.latest.bytes)
        assert {"less than a day": second.found.assets} == {
            group.name: group.files for group in figures.latest.by_age.rows if group.files
        }
        assert {"1": new, "2 or more": first.found.assets} == {
            group.name: group.files for group in figures.latest.sightings.rows
        }
        report = assets.delete_unreferenced_assets(delete=True, seen_count=2, report_table="gc.deleted")
        assert (first.found.assets, 0) == (report.tried, report.failed)
    gone = {row[0] for row in lake.rows("path", "deleted")}
    assert {Path(path).name for path in gone} == before - lake.files()
    assert new == len(lake.rows("name"))
    assert [(4,)] == [tuple(row) for row in lake.spark.sql(f"SELECT * FROM {lake.table}").collect()]


@pytest.mark.spark
@pytest.mark.server
def test_a_second_engine_reads_the_table(lake: NessieLake) -> None:
    with Collector(spark=lake.spark, **lake.settings) as gc:
        found = gc.unreferenced_assets(lake.assets).identify()
    commit = lake.references.commits(lake.branch, limit=1)[0]
    content = lake.references.contents(lake.branch, commit)["gc.unreferenced"]
    rows = StaticTable.from_metadata(content["metadataLocation"]).scan().to_arrow()
    assert found.found.assets == rows.num_rows
    assert ASSETS.names == rows.schema.names


@pytest.mark.spark
@pytest.mark.server
@pytest.mark.thorough
def test_as_functions_that_take_a_session(lake: NessieLake) -> None:
    found = identify_unreferenced_assets(lake.spark, table=lake.assets, **lake.settings)
    counted = lake.spark.sql("SELECT count(*) FROM unreferenced_assets").collect()[0][0]
    assert found.count() == counted > 0
    delete_unreferenced_assets(lake.spark, table=lake.assets, delete=True, seenCount=1, **lake.settings)
    outcomes = lake.spark.sql("SELECT outcome, count(*) FROM deleted_assets GROUP BY 1").collect()
    assert [("deleted", counted)] == [tuple(row) for row in outcomes]


@pytest.mark.spark
@pytest.mark.server
def test_runs_at_the_same_time_never_share_a_number(lake: NessieLake) -> None:
    numbers: list[int] = []

    def identify() -> None:
        with Collector(spark=lake.spark, **lake.settings) as gc:
            numbers.append(gc.unreferenced_assets(lake.assets).identify().found.runid)

    identify()
    threads = [threading.Thread(target=identify) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [1, 2, 3, 4] == sorted(numbers)
    assert {1, 2, 3, 4} == {row[0] for row in lake.rows("runid")}


@pytest.mark.spark
@pytest.mark.server
def test_catalogs_and_branches_that_are_not_there_are_named(lake: NessieLake) -> None:
    with Collector(spark=lake.spark, **lake.settings) as gc:
        with pytest.raises(ConfigurationError, match="has no catalog 'nowhere'"):
            gc.unreferenced_assets("nowhere.gc.t").identify()
        with pytest.raises(ConfigurationError, match=r"the table of unreferenced assets .* does not exist"):
            gc.unreferenced_assets(lake.assets, branch="not_made").delete_unreferenced_assets(delete=False)
        lake.spark.sql(f"CREATE TABLE {lake.catalog}.{lake.namespace}.other (x INT) USING iceberg")
        with pytest.raises(TableError, match="is not a table of unreferenced-assets"):
            gc.unreferenced_assets(f"{lake.catalog}.{lake.namespace}.other", own_branch=False).identify()
        lake.spark.sql(f"DROP TABLE {lake.catalog}.{lake.namespace}.other")


# ---- without Spark ------------------------------------------------------------------------------------
@pytest.fixture
def plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Catalog]:
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": warehouse.as_uri()}
    for key, value in properties.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__PROD__{key.upper()}", value)
    with load_catalog("prod", **properties) as catalog:
        catalog.create_namespace("sales")
        yield catalog


def test_the_commands_on_a_plain_catalog(plain: Catalog, tmp_path: Path) -> None:
    table = plain.create_table("sales.orders", pa.schema([pa.field("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    orphan = Path(table.location().removeprefix("file://"), "data", "orphan.parquet")
    orphan.write_bytes(b"left over")
    time.sleep(1.1)
    common = ["--engine", "local", "--repository", "iceberg-catalog", "-r", "catalog_name=prod", "--json"]
    common += ["--jdbc-url", f"sqlite:///{tmp_path}/live-sets.db", "--table", "prod.gc.assets"]

    def run(command: str, *arguments: str) -> dict[str, Any]:
        result = CliRunner().invoke(cli, [command, *common, *arguments], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        found: dict[str, Any] = json.loads(result.stdout)
        return found

    for number in (1, 2):
        found = run("identify-unreferenced", "--min-age", "PT0S", "--no-age-floor")
        assert (number, 1) == (found["runid"], found["assets"]["files"])
    page = tmp_path / "page.html"
    report = run("report", "--seen-count", "2", "--output", str(page))
    assert (None, 1, 1) == (report["branch"], report["latest"]["files"], report["latest"]["next_delete"]["files"])
    assert "prod.gc.assets" in page.read_text(encoding="utf-8")
    assert run("delete-unreferenced", "--seen-count", "2", "--dry-run")["outcomes"]["would_delete"]["files"] == 1
    assert orphan.exists()
    assert run("delete-unreferenced", "--seen-count", "2")["outcomes"]["deleted"]["files"] == 1
    assert not orphan.exists()
    assert plain.load_table("gc.assets").scan().to_arrow().num_rows == 0
    assert plain.load_table("sales.orders").scan().to_arrow().to_pydict() == {"id": [1]}


def test_files_of_the_programs_own_tables_are_no_assets(plain: Catalog, tmp_path: Path) -> None:
    plain.create_table("sales.orders", pa.schema([pa.field("id", pa.int64())])).append(pa.table({"id": [1]}))
    with Collector(
        repository="iceberg-catalog",
        repository_option={"catalog_name": "prod"},
        engine="local",
        jdbc_url=f"sqlite:///{tmp_path}/sets.db",
        min_age="PT0S",
        no_age_floor=True,
    ) as gc:
        assets = gc.unreferenced_assets("prod.gc.assets")
        for name in ("first", "second"):
            left_over(plain.load_table("sales.orders"), f"{name}.parquet")
            assert assets.identify(lost_table="gc.lost").found.assets == 1
            deleted = assets.delete_unreferenced_assets(delete=True, seen_count=1, report_table="gc.deleted")
            assert deleted.outcomes[Outcome.DELETED].files == 1
        plain.create_table("gc.somebody_elses", pa.schema([pa.field("id", pa.int64())]))
        for table in ("deleted", "lost", "assets", "assets_runs", "somebody_elses"):
            left_over(plain.load_table(f"gc.{table}"), f"{table}.parquet")
        frame = assets.identify_unreferenced_assets()
        assert isinstance(frame, LocalFrame)
        found = frame.to_arrow()
    assert found.column("name").to_pylist() == ["somebody_elses.parquet"]


def left_over(table: Table, name: str) -> None:
    """Leaves a file beside the others that nothing names; waits until it is old enough to go."""
    Path(table.location().removeprefix("file://"), "data").mkdir(exist_ok=True)
    Path(table.location().removeprefix("file://"), "data", name).write_bytes(b"left over")
    time.sleep(1.1)


@pytest.mark.spark
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_table_that_was_dropped_before_the_first_run_is_found_in_its_warehouse(
    plain: Catalog, tmp_path: Path, spark: SparkSession, engine: str
) -> None:
    for name in ("kept", "dropped"):
        table = plain.create_table(f"sales.{name}", pa.schema([pa.field("id", pa.int64())]))
        table.append(pa.table({"id": [1]}))
        table.append(pa.table({"id": [2]}))
    plain.drop_table("sales.dropped")
    warehouse = tmp_path / "warehouse"
    place = Path(table.location().removeprefix("file://"))
    rule: dict[str, Any] = {"dropped_after": "PT1S", "dropped_under": [warehouse.as_uri()]}
    settings: dict[str, Any] = {"repository": "iceberg-catalog", "repository_option": {"catalog_name": "prod"}}
    settings |= {"spark": spark} if engine == "spark" else {"engine": "local"}
    settings |= {"min_age": "PT0S", "no_age_floor": True, "allow": [warehouse.as_uri()]}
    with Collector(**settings, jdbc_url=f"sqlite:///{tmp_path}/sets.db") as gc:
        time.sleep(1.1)
        first = gc.collect(delete=True, **rule)
        assert (0, []) == (first.exit_code, list(first.unknown))
        files = {path for path in place.rglob("*") if path.is_file()}
        assert len(files) > 8
        time.sleep(2.2)
        second = gc.collect(delete=True, **rule)
        third = gc.collect(delete=True, **rule)
    assert second.outcomes[Outcome.DELETED].files == len(files) - 1  # what shows it goes last
    assert third.outcomes[Outcome.DELETED].files == 1
    assert not any(path.is_file() for path in place.rglob("*"))
    assert sorted(plain.load_table("sales.kept").scan().to_arrow()["id"].to_pylist()) == [1, 2]
