"""Tags that a service made, as a store remembers them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TagRecord:
    """A tag that auto-tagging made, or was about to make. Only tags with such a record are ever deleted."""

    holder: str
    """The content id of the table that has it; empty for a tag of the repository itself."""
    name: str
    """Its name, unique in its holder."""
    prefix: str
    """What its name begins with, such as ``date/``, or ``date/dev/`` for another branch than the default one."""
    branch: str
    """The branch whose state it is."""
    instant: datetime
    """The roll-over after which it is named, UTC."""
    state_at: datetime
    """The instant whose state it shows, UTC: the roll-over, or some time after it."""
    periods: tuple[str, ...]
    """The periods that ask for it, such as ``hourly``."""
    target: str | None
    """The commit id at which it is; of a tag of a table the snapshot id as decimal digits. ``None``: no tag was made,
    because there was no state to tag."""
    made: bool
    """Whether it was certainly created. If that is unknown, it is never deleted."""

    @property
    def key(self) -> tuple[str, str]:
        """Holder and name, unique in a repository."""
        return (self.holder, self.name)
