"""What a run finds to be needed and in quarantine, and how to restore it (S29)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Restorable:
    """The needed files in quarantine of one run."""

    files: dict[str, str] = field(default_factory=dict)
    """Raw paths to what to do; only those that are named."""
    count: int = 0
    """How many there are."""
    prefixes: set[str] = field(default_factory=set)
    """Canonical prefixes to restore: what the missing files would name is not known."""

    def add(self, files: Mapping[str, str], *, more: int = 0) -> None:
        """Adds raw paths with the canonical prefix to restore for each, and how many more there are."""
        self.count += len(files.keys() - self.files.keys()) + more
        self.files.update((path, in_quarantine(prefix)) for path, prefix in files.items())
        self.prefixes.update(files.values())


def in_quarantine(prefix: str) -> str:
    """What to do about a needed file that was taken to quarantine from below a canonical prefix."""
    return f"it is in quarantine; {restore_call(prefix)} brings it back"


def restore_call(prefix: str) -> str:
    """What restores everything that was taken to quarantine from below a canonical prefix."""
    return f"`restore(under='{prefix}')`"
