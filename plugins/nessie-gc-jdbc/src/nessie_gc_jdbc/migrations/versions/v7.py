"""Version 7: nothing yet."""

from __future__ import annotations

revision = "7"
down_revision = "6"


def upgrade() -> None:
    """Changes nothing."""
