"""What is said of a stored file that nothing live reaches, and what becomes of it."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What the guard says about a candidate."""

    UNREFERENCED = "UNREFERENCED"
    TOO_YOUNG = "TOO_YOUNG"
    SPARED = "SPARED"


class Outcome(StrEnum):
    """What became of an unreferenced file; their sum is the number of unreferenced files."""

    DELETED = "deleted"
    ALREADY_GONE = "already_gone"
    FAILED = "failed"
    SPARED = "spared"
    TOO_YOUNG = "too_young"
    DEFERRED = "deferred"
    WOULD_DELETE = "would_delete"


class DeleteMode(StrEnum):
    """What the last call does with a file that may go."""

    DELETE = "delete"
    DEFER = "defer"
    DRY_RUN = "dry_run"
