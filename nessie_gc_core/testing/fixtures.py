"""Fixtures that start real servers, once for all tests of a process.

Load them in the ``conftest.py`` of your tests::

    pytest_plugins = ["nessie_gc_core.testing.fixtures"]

A server that is not installed skips its tests with what to install; with ``CI`` or ``NESSIE_GC_REQUIRE_SERVERS`` set in
the environment, it fails them. All tests share a server, and what they put there: use a prefix, container or database
of your own in each.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nessie_gc_core.testing.servers import (
    AzureServer,
    GcsServer,
    HdfsServer,
    MariaDbServer,
    MotoServer,
    NessieServer,
    PostgresServer,
    S3Server,
    running,
)


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """SeaweedFS with one bucket, a user who may do everything, and one who may only read."""
    with running(S3Server) as server:
        yield server


@pytest.fixture(scope="session")
def moto_server() -> Iterator[MotoServer]:
    """S3, Glue and DynamoDB by moto, which checks no credentials; there are no buckets."""
    with running(MotoServer) as server:
        yield server


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[GcsServer]:
    """An emulator of Google Cloud Storage with one bucket."""
    with running(GcsServer) as server:
        yield server


@pytest.fixture(scope="session")
def azure_server() -> Iterator[AzureServer]:
    """Azurite; there are no containers."""
    with running(AzureServer) as server:
        yield server


@pytest.fixture(scope="session")
def hdfs_server() -> Iterator[HdfsServer]:
    """A cluster of Hadoop with one data node."""
    with running(HdfsServer) as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """PostgreSQL; :meth:`PostgresServer.create_database` makes databases."""
    with running(PostgresServer) as server:
        yield server


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[MariaDbServer]:
    """MariaDB; :meth:`MariaDbServer.create_database` makes databases."""
    with running(MariaDbServer) as server:
        yield server


@pytest.fixture(scope="session")
def nessie_server() -> Iterator[NessieServer]:
    """Nessie, without tables."""
    with running(NessieServer) as server:
        yield server
