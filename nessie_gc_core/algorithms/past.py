"""Contents of commits that no live commit sees any more, and since when, if the commits show it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from nessie_gc_core.algorithms.all_commits import AllCommits
from nessie_gc_core.algorithms.storable import storable
from nessie_gc_core.model.repository import ContentVersion, LogEntry, OperationKind


@dataclass(slots=True)
class PastContent:
    """A content that is gone."""

    version: ContentVersion
    """Its newest state."""
    written: datetime
    """When that state was committed, UTC."""
    created: datetime
    """When its first state was committed."""
    keys: set[str] = field(default_factory=set)
    """The dotted keys that it ever had."""

    def add(self, key: str, version: ContentVersion, time: datetime) -> None:
        """One more state of it, under a key."""
        self.created = min(self.created, time)
        if time > self.written:
            self.version, self.written = version, time
        self.keys.add(key)


class PastContents:
    """What the commits of all references say; one entry for each content that is gone, and for each key."""

    def __init__(self, live: Collection[str]) -> None:
        """Takes the ids of the contents that are live, which are left out."""
        self._live = live
        self._found: dict[str, PastContent] = {}
        self._changed: dict[str, datetime] = {}
        self.unexplained: datetime | None = None
        """When the last commit was made that does not say what it did."""

    def read(self, commits: AllCommits) -> None:
        """Reads them all; where a problem is noted there, nothing can be concluded."""
        for entry in commits.of_each(lambda reference, entries: entries):
            self._add(entry)

    def gone(self) -> Iterator[tuple[PastContent, datetime]]:
        """Each content with the latest time at which it can have gone.

        That is the time of the last commit that changed any of its keys, whether it dropped the content or replaced it.
        A commit whose operations are unknown may have changed any key.
        """
        for past in self._found.values():
            since = max(self._changed[key] for key in past.keys)
            yield past, since if self.unexplained is None else max(since, self.unexplained)

    def _add(self, entry: LogEntry) -> None:
        time = entry.commit_time
        if entry.operations is None:
            self.unexplained = time if self.unexplained is None else max(time, self.unexplained)
            return
        for operation in entry.operations:
            if operation.kind is OperationKind.UNCHANGED:
                continue
            key = operation.content_key
            self._changed[key] = max(time, self._changed.get(key, time))
            if operation.content is None:
                continue
            content = storable(operation.content)  # as live sets have it
            if content.content_id not in self._live:
                found = self._found.setdefault(content.content_id, PastContent(content, time, time))
                found.add(key, content, time)
