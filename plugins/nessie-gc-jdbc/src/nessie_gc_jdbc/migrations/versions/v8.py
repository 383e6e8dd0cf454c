"""Version 8: what the rows of a live set were when its mark and its sweep ended."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, String, inspect

revision = "8"
down_revision = "7"

_LIVE_SETS = "nessie_gc_live_sets"
_DIGESTS = ("versions_digest", "deletions_digest")


def upgrade() -> None:
    """Adds the digests; live sets that are there have none."""
    known = {column["name"] for column in inspect(op.get_bind()).get_columns(_LIVE_SETS)}
    for name in _DIGESTS:
        if name not in known:
            op.add_column(_LIVE_SETS, Column(name, String(80)))
