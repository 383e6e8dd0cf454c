"""The verdict on a stored file that nothing live reaches, and its outcome."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What the guard says about a candidate."""

    UNREFERENCED = "UNREFERENCED"
    """No live state reaches it, and nothing keeps it."""
    TOO_YOUNG = "TOO_YOUNG"
    """It is not old enough, its time is unknown, or its time is in the future."""
    SPARED = "SPARED"
    """A veto, a moved reference, or a worker that lacks a plugin keeps it."""


class Outcome(StrEnum):
    """The outcome of an unreferenced file; their sum is the number of unreferenced files."""

    DELETED = "deleted"
    """It is gone."""
    ALREADY_GONE = "already_gone"
    """Someone else had deleted it in between."""
    FAILED = "failed"
    """It could not be deleted."""
    SPARED = "spared"
    """A moved reference, a veto, a cap, or a location that became unknown keeps it."""
    TOO_YOUNG = "too_young"
    """It is not old enough, its time is unknown, or its time is in the future."""
    DEFERRED = "deferred"
    """Its deletion is recorded for later."""
    WOULD_DELETE = "would_delete"
    """A dry run stopped before the deletion itself."""


class DeleteMode(StrEnum):
    """What the last step does with a file that may be deleted."""

    DELETE = "delete"
    """Deletes it."""
    DEFER = "defer"
    """Records its deletion for later."""
    DRY_RUN = "dry_run"
    """Does nothing."""


GONE = (Outcome.DELETED.value, Outcome.ALREADY_GONE.value)
"""The outcomes of files that no longer exist."""
