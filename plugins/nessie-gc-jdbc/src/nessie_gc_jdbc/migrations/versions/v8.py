"""Version 8: digests of the rows of a live set, and what its sweep did about dropped tables."""

from __future__ import annotations

from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column, String, inspect

revision = "8"
down_revision = "7"

_LIVE_SETS = "nessie_gc_live_sets"
_TEXTS = ("versions_digest", "deletions_digest")
_NUMBERS = ("dropped_after", "dropped_left")


def upgrade() -> None:
    """Adds columns; live sets that are there have nothing in them."""
    known = {column["name"] for column in inspect(op.get_bind()).get_columns(_LIVE_SETS)}
    columns: list[Column[Any]] = [
        *(Column(name, String(80)) for name in _TEXTS),
        *(Column(name, BigInteger) for name in _NUMBERS),
    ]
    for column in columns:
        if column.name not in known:
            op.add_column(_LIVE_SETS, column)
