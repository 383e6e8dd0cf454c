from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from uuid import uuid4

import pytest
from nessie_history import Nessie
from nessie_repository import Repository
from records import Records

from nessie_gc_core.testing.servers import PostgresServer, running

pytest_plugins = ["nessie_gc_core.testing.fixtures"]


@pytest.fixture
def empty_database(postgres_server: PostgresServer) -> str:
    """The URL of a new database without tables."""
    return postgres_server.uri(postgres_server.create_database(f"d{uuid4().hex}"))


@pytest.fixture
def written(empty_database: str) -> Callable[[Records], str]:
    """Writes records into a new database; gives its URL."""

    def write(records: Records) -> str:
        records.finish()
        records.write(empty_database)
        return empty_database

    return write


@pytest.fixture
def nessie(repository: Repository) -> Iterator[Nessie]:
    """A client of the repository, which has nothing but an empty main at first."""
    with closing(Nessie(repository.server.uri)) as client:
        for reference in client.references():
            if reference["name"] != "main":
                client.delete(reference["name"])
        repository.gc().plan().apply()
        yield client


@pytest.fixture(scope="session")
def repository(postgres_server: PostgresServer) -> Iterator[Repository]:
    found = Repository(postgres_server)
    with running(lambda: found.server):
        yield found
