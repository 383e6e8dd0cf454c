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
    QUARANTINED = "quarantined"
    """It was moved to a quarantine, from which it can be restored."""
    DEFERRED = "deferred"
    """Its deletion is recorded for later."""
    WOULD_DELETE = "would_delete"
    """A dry run stopped before the deletion itself."""


class DeleteMode(StrEnum):
    """What the last step does with a file that may be deleted."""

    DELETE = "delete"
    """Deletes it."""
    QUARANTINE = "quarantine"
    """Moves it to a quarantine."""
    DEFER = "defer"
    """Records its deletion for later."""
    DRY_RUN = "dry_run"
    """Does nothing."""

    @property
    def removes(self) -> bool:
        """Whether the file is then no longer where it was."""
        return self in (DeleteMode.DELETE, DeleteMode.QUARANTINE)

    @property
    def done(self) -> Outcome:
        """The outcome of a file with which all went well."""
        return {
            DeleteMode.DELETE: Outcome.DELETED,
            DeleteMode.QUARANTINE: Outcome.QUARANTINED,
            DeleteMode.DEFER: Outcome.DEFERRED,
            DeleteMode.DRY_RUN: Outcome.WOULD_DELETE,
        }[self]


GONE = (Outcome.DELETED.value, Outcome.ALREADY_GONE.value, Outcome.QUARANTINED.value)
"""The outcomes of files that are no longer where they were."""
