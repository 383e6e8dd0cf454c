"""Version 7: what contents reached outside their own locations."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, LargeBinary, Text
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.types import TypeEngine

revision = "7"
down_revision = "6"

_KEY_BYTES = 60


def upgrade() -> None:
    """Creates the table, if it is missing."""
    op.create_table(
        "nessie_gc_reached_places",
        Column("reached_key", _key_type(), primary_key=True),
        *(Column(name, _text_type(), nullable=False) for name in ("repository", "content_id", "place")),
        if_not_exists=True,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
    )


def _key_type() -> TypeEngine[bytes]:
    return LargeBinary(_KEY_BYTES).with_variant(mysql.BINARY(_KEY_BYTES), "mysql", "mariadb")


def _text_type() -> TypeEngine[str]:
    long_text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return Text().with_variant(postgresql.TEXT(collation="C"), "postgresql").with_variant(long_text, "mysql", "mariadb")
