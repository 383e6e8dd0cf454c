"""Version 4, the first one that Alembic knows: adds what the tables of versions 1 to 3 lack."""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    inspect,
    select,
)
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.types import TypeEngine

from nessie_gc_core.errors import StoreError
from nessie_gc_jdbc.clock import now
from nessie_gc_jdbc.urls import shown

revision = "4"
down_revision = None

_LEASES = "nessie_gc_leases"
_DIGEST_BYTES = 20


def upgrade() -> None:
    """Creates what is missing; leases got host, process and start in version 2."""
    connection = op.get_bind()
    version = Table("nessie_gc_schema", MetaData(), Column("version", Integer))
    if connection.execute(select(version.c.version)).scalar_one() == 1 and inspect(connection).has_table(_LEASES):
        _check_free(connection)
        op.drop_table(_LEASES)  # a lease that nobody holds is worth nothing
    _create(
        "nessie_gc_tags",
        Column("tag_key", _key_type(3), primary_key=True),
        *map(_text, ("repository", "holder", "name", "prefix", "branch")),
        Column("instant", BigInteger, nullable=False),
        Column("state_at", BigInteger, nullable=False),
        _text("periods"),
        Column("target", _text_type()),
        Column("made", SmallInteger, nullable=False),
    )
    _create(
        "nessie_gc_held_files",
        Column("held_key", _key_type(2), primary_key=True),
        _text("repository"),
        Column("live_set_id", String(36), nullable=False),
        *map(_text, ("place", "held_path", "location", "path")),
        Column("size", BigInteger),
        Column("modified", BigInteger),
        _text("tables"),
        Column("sidecar", SmallInteger, nullable=False),
        Column("held", BigInteger, nullable=False),
        Column("ends", BigInteger, nullable=False),
        Column("state", String(40), nullable=False),
    )
    _create(
        _LEASES,
        Column("repository_key", _key_type(1), primary_key=True),
        *map(_text, ("repository", "owner", "host")),
        Column("process", BigInteger, nullable=False),
        Column("since", BigInteger, nullable=False),
        Column("ends", BigInteger, nullable=False),
    )


def _check_free(connection: Connection) -> None:
    """Makes sure that no process of the earlier release collects right now.

    Raises:
        StoreError: one does.
    """
    leases = Table(_LEASES, MetaData(), Column("ends", BigInteger))
    if connection.execute(select(leases.c.ends).where(leases.c.ends > now(connection)).limit(1)).first() is not None:
        raise StoreError(
            f"the live-set store {shown(connection.engine.url)} is in use by a process of an earlier release; wait "
            "until it ends, then try again"
        )


def _create(name: str, *columns: Column[Any]) -> None:
    op.create_table(name, *columns, if_not_exists=True, mysql_engine="InnoDB", mysql_charset="utf8mb4")


def _key_type(digests: int) -> TypeEngine[bytes]:
    size = digests * _DIGEST_BYTES
    return LargeBinary(size).with_variant(mysql.BINARY(size), "mysql", "mariadb")


def _text_type() -> TypeEngine[str]:
    long_text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return Text().with_variant(postgresql.TEXT(collation="C"), "postgresql").with_variant(long_text, "mysql", "mariadb")


def _text(name: str) -> Column[str]:
    return Column(name, _text_type(), nullable=False)
