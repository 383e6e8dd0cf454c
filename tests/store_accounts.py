"""A live-set store in PostgreSQL with the roles of the script, and an account for each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import psycopg
from nessie_gc_jdbc import JdbcLiveSetStore

from nessie_gc_core.testing.servers import PostgresServer

ROLES = Path(__file__).parents[1] / "examples" / "rights" / "postgresql" / "roles.sql"


@dataclass(frozen=True, kw_only=True)
class StoreAccounts:
    """Its database, which may be the only one of this kind on a server: roles are those of the whole server."""

    server: PostgresServer
    database: str

    @classmethod
    def created(cls, server: PostgresServer) -> Self:
        """The tables, the roles and the accounts."""
        accounts = cls(server=server, database=server.create_database("rights"))
        with JdbcLiveSetStore.from_options({"url": accounts.owner}) as store:
            store.create_schema("CREATE")
        script = ROLES.read_text(encoding="utf-8")
        accounts.do(script)
        for role in re.findall(r"CREATE ROLE (\w+)", script):
            accounts.do(f"CREATE ROLE {account_of(role)} LOGIN PASSWORD 'word' IN ROLE {role}")
        return accounts

    @property
    def owner(self) -> str:
        """The URL for the owner of the tables."""
        return self.server.uri(self.database)

    def url(self, role: str) -> str:
        """The URL for the account of a role."""
        return f"postgresql://{account_of(role)}:word@127.0.0.1:{self.server.port}/{self.database}"

    def do(self, statements: str) -> None:
        """As the owner."""
        with psycopg.connect(self.owner) as connection:
            connection.execute(statements.encode())


def account_of(role: str) -> str:
    """Who has a role, and no other."""
    return f"{role}_account"
