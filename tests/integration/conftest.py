"""Lakes that real Spark writes through a real Nessie, once for all tests that only read them; an object store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import boto3
import pytest
from catalog_kinds import Servers
from cli_runs import go_home
from pyiceberg.catalog import Catalog, load_catalog
from spark_lakes import write_every_format
from store_accounts import StoreAccounts
from versus.stage import Stage

from nessie_gc_core import Collector
from nessie_gc_core.demo.lake import Lake, write_lake
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.testing.servers import HiveMetastore, NessieServer, PostgresServer, running
from nessie_gc_core.testing.servers.s3 import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def written_lake(spark: SparkSession, nessie: NessieServer, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The demo's lake, and beside it tables of every format version."""
    warehouse = tmp_path_factory.mktemp("lake") / "warehouse"
    use_catalog(spark, nessie.uri, warehouse)
    lake = Lake(spark=spark, references=References(nessie.uri), warehouse=warehouse)
    write_lake(lake)
    write_every_format(lake)
    return lake


@pytest.fixture
def collector(spark: SparkSession) -> Collector:
    """Calls on the session of the tests."""
    return Collector(spark=spark)


@pytest.fixture
def plain(spark: SparkSession, tmp_path: Path) -> Stage:
    """A catalog in SQLite."""
    return Stage(spark, tmp_path, f"plain_{uuid4().hex[:8]}")


@pytest.fixture(scope="session")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveMetastore]:
    with running(lambda: HiveMetastore(tmp_path_factory.mktemp("hive"))) as server:
        yield server


@pytest.fixture
def servers(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Servers:
    """What kinds of catalogs need, with a home and a warehouse of the test's own."""
    go_home(tmp_path, monkeypatch)
    (tmp_path / "warehouse").mkdir()
    return Servers(request=request, folder=tmp_path)


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    with running(S3Server) as server:
        yield server


@pytest.fixture(scope="session")
def store_accounts(postgres: PostgresServer) -> StoreAccounts:
    return StoreAccounts.created(postgres)


@pytest.fixture
def bucket(s3: S3Server) -> Any:
    client = boto3.resource(
        "s3",
        endpoint_url=s3.endpoint,
        aws_access_key_id=s3.access_key,
        aws_secret_access_key=s3.secret_key,
        region_name=s3.region,
    )
    bucket = client.Bucket(s3.bucket)
    bucket.objects.all().delete()
    return bucket


@pytest.fixture
def catalog(s3: S3Server, tmp_path: Path) -> Iterator[Catalog]:
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with load_catalog("prod", type="sql", uri=uri, **s3.properties) as catalog:
        catalog.create_namespace("db")
        yield catalog
