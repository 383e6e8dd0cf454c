"""Contents that commits have and that no live commit sees: since when they are gone, as far as the commits say."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime

from nessie_gc_core.algorithms.history import Walked
from nessie_gc_core.algorithms.read_ahead import in_pieces, read_ahead
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model.repository import ContentVersion, LogEntry, OperationKind, Reference

_PIECE = 1_000
"""So many commits are handed on at once."""


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

    def add(self, version: ContentVersion, time: datetime) -> None:
        """One more state of it."""
        self.created = min(self.created, time)
        if time > self.written:
            self.version, self.written = version, time
        self.keys.add(version.content_key)


class PastContents:
    """What the commits of all references say, each commit read once."""

    def __init__(self, live: Collection[str]) -> None:
        """Takes the ids of the contents that are live, which are left out."""
        self._live = live
        self._found: dict[str, PastContent] = {}
        self._changed: dict[str, datetime] = {}
        self._unexplained: datetime | None = None

    def read(self, repository: RepositoryConnector, *, parallelism: int, progress: Callable[[int, int], None]) -> None:
        """Walks all references, so many at once.

        Args:
            repository: whose commits are read.
            parallelism: how many references are walked at once.
            progress: told how many references are done.
        """
        references = list(repository.references())
        walked = Walked(threading.Lock(), set())

        def walk(job: tuple[int, Reference]) -> Iterator[list[LogEntry]]:
            number, reference = job
            yield from in_pieces(_new_commits(repository, reference, walked), _PIECE)
            progress(number, len(references))

        pieces = read_ahead(enumerate(references, start=1), walk, at_once=lambda job: parallelism, kind="history")
        with closing(pieces):
            for piece in pieces:
                for entry in piece:
                    self._add(entry)

    def gone(self) -> Iterator[tuple[PastContent, datetime]]:
        """Each content with the time since when it is gone at the latest.

        That is the time of the last commit that changed any of its keys: whether by dropping it or with another
        content is not asked, and a commit of which nobody knows what it did may have changed any key.
        """
        for past in self._found.values():
            since = max(self._changed[key] for key in past.keys)
            yield past, since if self._unexplained is None else max(since, self._unexplained)

    def _add(self, entry: LogEntry) -> None:
        time = entry.commit_time
        if entry.operations is None:
            self._unexplained = time if self._unexplained is None else max(time, self._unexplained)
            return
        for operation in entry.operations:
            if operation.kind is OperationKind.UNCHANGED:
                continue
            key, content = operation.content_key, operation.content
            self._changed[key] = max(time, self._changed.get(key, time))
            if content is None or content.content_id in self._live:
                continue
            found = self._found.setdefault(content.content_id, PastContent(content, time, time))
            found.add(content, time)


def _new_commits(repository: RepositoryConnector, reference: Reference, walked: Walked) -> Iterator[LogEntry]:
    """The commits of a reference up to one that another reference has led to."""
    if reference.commit_id is None:
        return
    for entry in repository.commit_log(reference):
        if not walked.is_new(entry.commit_id):
            return
        yield entry
