"""What a run finds to be needed and in quarantine, and how to restore it (S29)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.table_patterns import whole_name


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
    return next_call("restore", under=prefix)


def restore_file(path: str) -> str:
    """What restores the file that was taken to quarantine from this raw path."""
    return next_call("restore", matching=whole_name(path))
