"""Version 5: the tables of schedules."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, SmallInteger, String, Text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.types import TypeEngine

revision = "5"
down_revision = "4"

_DIGEST_BYTES = 20


def upgrade() -> None:
    """Creates what is missing."""
    _create(
        "nessie_gc_jobs",
        Column("job_key", _key_type(2), primary_key=True),
        *map(_text, ("schedule", "name", "service", "timing", "definition", "digest")),
        *_occasion(nullable=True),
        Column("last", BigInteger),
        Column("outcome", String(40)),
        Column("paused", SmallInteger, nullable=False),
        Column("run_id", String(36)),
    )
    _create(
        "nessie_gc_job_runs",
        Column("run_key", _key_type(3), primary_key=True),
        Column("run_id", String(36), nullable=False, unique=True),
        *map(_text, ("schedule", "job", "service")),
        *_occasion(nullable=False),
        Column("status", String(40), nullable=False),
        Column("started", BigInteger, nullable=False),
        Column("ended", BigInteger),
        Column("exit_code", Integer),
        Column("error_message", _text_type()),
        _text("host"),
        Column("process", BigInteger, nullable=False),
        _text("numbers"),
        Column("report", _text_type()),
    )
    _create(
        "nessie_gc_run_leases",
        Column("lease_key", _key_type(2), primary_key=True),
        Column("run_id", String(36), nullable=False),
        _text("job"),
        Column("run_key", _key_type(3), nullable=False),
        Column("ends", BigInteger, nullable=False),
    )


def _occasion(*, nullable: bool) -> tuple[Column[int], ...]:
    times = (Column(name, BigInteger, nullable=nullable) for name in ("due", "starts"))
    return (*times, Column("attempt", Integer, nullable=nullable), Column("by_hand", SmallInteger, nullable=nullable))


def _create(name: str, *columns: Column[str] | Column[int] | Column[bytes]) -> None:
    op.create_table(name, *columns, if_not_exists=True, mysql_engine="InnoDB", mysql_charset="utf8mb4")


def _key_type(digests: int) -> TypeEngine[bytes]:
    size = digests * _DIGEST_BYTES
    return LargeBinary(size).with_variant(mysql.BINARY(size), "mysql", "mariadb")


def _text_type() -> TypeEngine[str]:
    long_text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return Text().with_variant(postgresql.TEXT(collation="C"), "postgresql").with_variant(long_text, "mysql", "mariadb")


def _text(name: str) -> Column[str]:
    return Column(name, _text_type(), nullable=False)
