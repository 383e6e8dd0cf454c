"""Faults of a simulated lake: what goes wrong, where, on purpose."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus


@dataclass(slots=True, kw_only=True)
class Faults:
    """Set what shall go wrong; empty it again, and all is well."""

    references: Exception | None = None
    """Raised when references are asked for."""
    log: dict[str, Exception] = field(default_factory=dict)
    """Commit id to what is raised in its place, in every log that comes to it."""
    contents: dict[str, Exception] = field(default_factory=dict)
    """Commit id to what is raised when its contents are asked for."""
    listing: dict[str, Exception] = field(default_factory=dict)
    """Location to what is raised when its listing ends (its files come first)."""
    listed_besides: dict[str, list[FileReference]] = field(default_factory=dict)
    """Location to files that its listing names on top, such as some outside of it (S5)."""
    unlisted: set[str] = field(default_factory=set)
    """Paths of objects that are there and that no listing shows."""
    unknown_modified: set[str] = field(default_factory=set)
    """Paths of objects whose modification time a listing does not say (S8)."""
    reading: dict[str, Exception] = field(default_factory=dict)
    """Path to what is raised when it is read."""
    deleting: dict[str, str] = field(default_factory=dict)
    """Path to the reason why it cannot be deleted."""
    releasing: str | None = None
    """Why no hidden file can be shown or purged."""
    tagging: str | None = None
    """Why no file can be tagged."""
    deleting_dies: dict[str, BaseException] = field(default_factory=dict)
    """Paths to what is raised in place of an outcome: to the caller it looks as if the process died there."""

    def failed(self, path: str, file: FileVersion) -> VersionOutcome | None:
        """What is said of a file that cannot be deleted; none of another one."""
        reason = self.deleting.get(path)
        return None if reason is None else VersionOutcome(path=file.path, status=VersionStatus.FAILED, reason=reason)

    def die(self, path: str) -> None:
        """Raises what is raised in place of an outcome."""
        if path in self.deleting_dies:
            raise self.deleting_dies[path]


class FetchCounts:
    """How much was read from a repository."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.references = 0
        self.entries_fetched = 0
        """Log entries that were given out."""
        self.contents_calls = 0
        self.fetched: dict[str, int] = {}
        """Commit id to how many times its log entry was given out."""

    def count_references(self) -> None:
        """Counts one listing of references."""
        with self._lock:
            self.references += 1

    def count_entry(self, commit_id: str) -> None:
        """Counts one log entry."""
        with self._lock:
            self.entries_fetched += 1
            self.fetched[commit_id] = self.fetched.get(commit_id, 0) + 1

    def count_contents(self) -> None:
        """Counts one listing of contents."""
        with self._lock:
            self.contents_calls += 1
