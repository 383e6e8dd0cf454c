"""Version 8: digests of the rows of a live set, and what its sweep did about dropped tables."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, String, inspect

revision = "8"
down_revision = "7"

_LIVE_SETS = "nessie_gc_live_sets"
_ADDED = {
    "versions_digest": String(80),
    "deletions_digest": String(80),
    "dropped_after": BigInteger(),
    "dropped_left": BigInteger(),
}


def upgrade() -> None:
    """Adds columns; live sets that are there have nothing in them."""
    known = {column["name"] for column in inspect(op.get_bind()).get_columns(_LIVE_SETS)}
    for name, type_ in _ADDED.items():
        if name not in known:
            op.add_column(_LIVE_SETS, Column(name, type_))
