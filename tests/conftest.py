"""What tests of the core share: one Nessie server, one Spark session of each kind, and the collected scenes of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from collected_scenes import CollectedScenes, collect_scenes
from collecting import spark_engine
from hypothesis import settings
from spark_defaults import FEW_TASKS, write_spark_defaults
from thoroughness import MARKER, leave_out_combinations
from versus.stage import with_sqlite

from nessie_gc_core.demo.spark import iceberg_jar, iceberg_session
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.testing.servers import NessieServer, PostgresServer, running, skip_or_fail
from nessie_gc_core.testing.servers.spark_connect import SparkConnectServer

if TYPE_CHECKING:
    from pathlib import Path

    from expiry_lakes import ExpiryLake
    from pyspark.sql import SparkSession

# How long an example takes depends on the machine.
settings.register_profile("nessie-gc", deadline=None)
settings.load_profile("nessie-gc")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_combinations(config, items)


@pytest.fixture(scope="session", autouse=True)
def small_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Properties for every Spark of another process: the command line's, Spark Connect's, a cluster's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(write_spark_defaults(tmp_path_factory.mktemp("conf") / "spark")))
        yield


@pytest.fixture(scope="session")
def nessie(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NessieServer]:
    """A server for tests that leave alone what others have put there."""
    log = tmp_path_factory.mktemp("nessie") / "nessie.log"
    with running(lambda: NessieServer(log=log)) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server; make databases of your own."""
    with running(PostgresServer) as server:
        yield server


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The only Spark session of the test process: hand it to engines, and never stop it."""
    with skip_or_fail():
        settings = {**FEW_TASKS, **with_sqlite()}
        session = iceberg_session(log=tmp_path_factory.mktemp("spark") / "spark.log", settings=settings)
    yield session
    session.stop()


@pytest.fixture
def expiry_lake(tmp_path: Path) -> Iterator[ExpiryLake]:
    """A plain catalog without tables, on the local engine."""
    from expiry_lakes import ExpiryLake

    with LocalEngine(workers=2) as engine:
        lake = ExpiryLake(tmp_path / "lake", engine)
        yield lake
        lake.close()


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkConnectServer]:
    """A Spark Connect server, whose Spark runs in a process of its own, and has Iceberg."""
    log = tmp_path_factory.mktemp("connect") / "connect.log"
    with running(lambda: SparkConnectServer(log, conf=iceberg_jar())) as server:
        yield server


@pytest.fixture(scope="session")
def connect(connect_server: SparkConnectServer, spark: SparkSession) -> Iterator[SparkSession]:
    """The tests' session on that server: never stop it.

    Spark itself is started before it: a process that has threads of gRPC may fail to start one.
    """
    session = connect_server.new_session()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def collected_locally(tmp_path_factory: pytest.TempPathFactory) -> CollectedScenes:
    """All scenes after a run of the local engine."""
    with LocalEngine(workers=2) as engine:
        return collect_scenes(engine, SweepParameters(), tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="session")
def collected_by_spark(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CollectedScenes:
    """All scenes after a run on Spark."""
    return collect_scenes(spark_engine(spark), SweepParameters(), tmp_path_factory.mktemp("scenes"))


@pytest.fixture(scope="session")
def collected_by_spark_connect(connect: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CollectedScenes:
    """All scenes after a run on Spark Connect."""
    return collect_scenes(spark_engine(connect), SweepParameters(), tmp_path_factory.mktemp("scenes"))
