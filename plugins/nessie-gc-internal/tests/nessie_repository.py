"""A real Nessie over a real PostgreSQL, and what its database holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import psycopg
from nessie_gc_internal import InternalGc

from nessie_gc_core.testing.servers import NessieServer, PostgresServer

SMALL_INDEXES = {
    "max-incremental-index-size": "1500",
    "max-serialized-index-size": "1200",
    "max-reference-stripes-per-commit": "2",
    "cache-capacity-mb": "0",
}
"""Settings that make a few dozen keys need several indexes, and that let nothing be answered from memory."""


class Repository:
    """A Nessie over PostgreSQL, and the records in its database."""

    def __init__(self, postgres: PostgresServer, settings: Mapping[str, str] = SMALL_INDEXES) -> None:
        database = postgres.create_database(f"d{uuid4().hex}")
        self.url = postgres.uri(database)
        store = "nessie.version.store"
        source = "quarkus.datasource.postgresql"
        self.server = NessieServer(
            properties={
                f"{store}.type": "JDBC2",
                f"{store}.persist.jdbc.datasource": "postgresql",
                f"{source}.jdbc.url": postgres.jdbc_url(database),
                f"{source}.username": postgres.user,
                f"{source}.password": postgres.password,
                **{f"{store}.persist.{name}": value for name, value in settings.items()},
            }
        )

    def gc(self, **parameters: Any) -> InternalGc:
        """What purges everything that nothing reaches, however young."""
        now = {"referenced_grace": 0, "no_age_floor": True}
        return InternalGc(nessie_jdbc_url=self.url, **{**now, **parameters})

    def sql(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(query, values)
            return cursor.fetchall() if cursor.description else []

    def ids(self, kind: str) -> set[bytes]:
        return {id_ for (id_,) in self.sql("SELECT obj_id FROM objs2 WHERE obj_type = %s", kind)}
