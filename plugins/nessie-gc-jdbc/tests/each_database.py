"""The databases on which tests run: SQLite, and the servers that ``conftest.py`` starts."""

from __future__ import annotations

import pytest
import sqlalchemy
from nessie_gc_jdbc.urls import database_url

DATABASES = [
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.server),
    pytest.param("mariadb", marks=pytest.mark.server),
]
"""Parameters for tests that run on every database; :func:`url_of_an_empty` makes a URL of each."""


def url_of_an_empty(database, request):
    """The URL of a new database without tables."""
    return request.getfixturevalue("sqlite_url" if database == "sqlite" else f"empty_{database}_url")


def engine_of(url):
    """An engine beside the store, on the same database."""
    return sqlalchemy.create_engine(database_url(url, user=None, password=None, properties={}))
