"""The databases on which tests run: SQLite, and the servers that ``conftest.py`` starts."""

from __future__ import annotations

import pytest
import sqlalchemy
from nessie_gc_jdbc.urls import database_url

from nessie_gc_core.testing.servers import free_ports

DATABASES = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=pytest.mark.server),
]
"""Parameters for tests that run on every database; :func:`url_of_an_empty` makes a URL of each."""


def url_of_an_empty(database, request):
    """The URL of a new database without tables."""
    return request.getfixturevalue("sqlite_url" if database == "sqlite" else f"empty_{database}_url")


class OnSqlite:
    """Fixtures for the kit: the database of a test, and URLs that cannot be used."""

    @pytest.fixture
    def url(self, sqlite_url):
        return sqlite_url

    @pytest.fixture
    def unusable_urls(self, tmp_path):
        (tmp_path / "text.db").write_text("this is a text and no database, and it is long enough to be sure" * 20)
        return [f"jdbc:sqlite:{tmp_path}/{path}" for path in ("no/folder.db", "text.db", "")]


class OnPostgres:
    """The same."""

    @pytest.fixture
    def url(self, postgres_url):
        return postgres_url

    @pytest.fixture
    def unusable_urls(self, postgres_server, empty_postgres_url):
        nobody = f"jdbc:postgresql://127.0.0.1:{free_ports(1)[0]}/gc?user=me"
        return [nobody, postgres_server.uri("nowhere"), empty_postgres_url]


class OnMariaDb:
    """The same."""

    @pytest.fixture
    def url(self, mariadb_url):
        return mariadb_url

    @pytest.fixture
    def unusable_urls(self, mariadb_server, empty_mariadb_url):
        nobody = f"jdbc:mariadb://127.0.0.1:{free_ports(1)[0]}/gc?user=me"
        return [nobody, mariadb_server.uri("nowhere"), empty_mariadb_url]


def engine_of(url):
    """An engine beside the store, on the same database."""
    return sqlalchemy.create_engine(database_url(url, user=None, password=None, properties={}))
