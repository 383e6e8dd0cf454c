from __future__ import annotations

from uuid import uuid4

import pytest
from each_database import DATABASES, engine_of, url_of_an_empty
from nessie_gc_jdbc import JdbcLiveSetStore

pytest_plugins = ["nessie_gc_core.testing.fixtures"]


def with_tables(server):
    """The URL of a new database with tables."""
    url = server.uri(server.create_database("shared"))
    with JdbcLiveSetStore.from_options({"url": url}) as store:
        store.create_schema("CREATE")
    return url


@pytest.fixture(scope="session")
def postgres_url(postgres_server):
    """The URL of a database with tables, which tests share."""
    return with_tables(postgres_server)


@pytest.fixture
def empty_postgres_url(postgres_server):
    """The URL of a new database without tables."""
    return postgres_server.uri(postgres_server.create_database(f"d{uuid4().hex}"))


@pytest.fixture(scope="session")
def mariadb_url(mariadb_server):
    """The URL of a database with tables, which tests share."""
    return with_tables(mariadb_server)


@pytest.fixture
def empty_mariadb_url(mariadb_server):
    """The URL of a new database without tables."""
    return mariadb_server.uri(mariadb_server.create_database(f"d{uuid4().hex}"))


@pytest.fixture
def sqlite_url(tmp_path):
    (tmp_path / "new folder").mkdir()
    return f"sqlite:///{tmp_path}/new folder/live-sets.db"


@pytest.fixture(params=DATABASES)
def url(request):
    """The URL of a new database without tables, of each kind."""
    return url_of_an_empty(request.param, request)


@pytest.fixture
def store(url):
    """A store in it."""
    with JdbcLiveSetStore.from_options({"url": url}) as store:
        store.create_schema("CREATE")
        yield store


@pytest.fixture
def engine(url, tmp_path):
    """What SQLAlchemy works with in it."""
    (tmp_path / "new folder").mkdir(exist_ok=True)
    engine = engine_of(url)
    yield engine
    engine.dispose()
