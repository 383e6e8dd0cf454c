"""A live-set store in MariaDB with the roles of the script, and an account for each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import sqlalchemy
from nessie_gc_jdbc import JdbcLiveSetStore
from rights_of_statements import Right, rights_in_mariadb
from sqlalchemy.pool import NullPool

from nessie_gc_core.testing.servers import MariaDbServer
from nessie_gc_core.testing.servers.process import LOOPBACK

ROLES = Path(__file__).parents[1] / "examples" / "rights" / "mariadb" / "roles.sql"


@dataclass(frozen=True, kw_only=True)
class MariaDbAccounts:
    """The only database of this kind on a server, which logs every statement: roles are those of the whole server."""

    server: MariaDbServer
    database: str

    @classmethod
    def created(cls, server: MariaDbServer) -> Self:
        """The tables, the roles and the accounts."""
        accounts = cls(server=server, database=server.create_database("rights"))
        with JdbcLiveSetStore.from_options({"url": accounts.owner}) as store:
            store.create_schema("CREATE")
        for statement in statements():
            accounts.do(statement)
        for role in roles():
            accounts.add(role)
        accounts.do("SET GLOBAL log_output = 'TABLE'")
        accounts.do("SET GLOBAL general_log = ON")
        return accounts

    def add(self, role: str) -> None:
        """An account that has a role."""
        self.do(f"CREATE USER {role}_a IDENTIFIED BY 'word'")
        self.do(f"GRANT {role} TO {role}_a")
        self.do(f"SET DEFAULT ROLE {role} FOR {role}_a")

    @property
    def owner(self) -> str:
        """The URL for the owner of the tables."""
        return self.server.uri(self.database)

    def url(self, role: str) -> str:
        """The URL for the account of a role."""
        return f"mariadb://{role}_a:word@{LOOPBACK}:{self.server.port}/{self.database}"

    def do(self, statement: str) -> list[Any]:
        """What the administrator is answered."""
        engine = sqlalchemy.create_engine(self.server.uri(self.database, driver="pymysql"), poolclass=NullPool)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            answer = connection.execute(sqlalchemy.text(statement))
            return [*answer] if answer.returns_rows else []

    def needed(self, role: str) -> set[Right]:
        """The rights that the statements of a role's account needed."""
        rows = self.do(f"SELECT argument FROM mysql.general_log WHERE user_host LIKE '{role}\\\\_a[%'")
        said = (each.decode() if isinstance(each, bytes) else str(each) for (each,) in rows)
        return {right for each in said for right in rights_in_mariadb(" ".join(each.split()))}


def statements() -> list[str]:
    """Those of the script."""
    lines = [line for line in ROLES.read_text(encoding="utf-8").splitlines() if line and not line.startswith("--")]
    return [statement.strip() for statement in " ".join(lines).split(";") if statement.strip()]


def roles() -> list[str]:
    """The roles that the script creates."""
    return [found[1] for each in statements() if (found := re.fullmatch(r"CREATE ROLE (\w+)", each))]


def granted(role: str) -> set[Right]:
    """What the script grants to a role."""
    found = [re.fullmatch(rf"GRANT ([A-Z, ]+) ON (\w+) TO {role}", each) for each in statements()]
    return {(each[2], verb) for each in found if each for verb in each[1].split(", ")}
