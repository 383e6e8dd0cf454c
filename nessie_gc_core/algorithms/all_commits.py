"""All commits of all references, each commit once: for what commits say beyond the live ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TypeVar

from nessie_gc_core.algorithms.read_ahead import in_pieces, read_ahead
from nessie_gc_core.algorithms.suspicion import checked_log, checked_references, commit_key
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.closing import closed
from nessie_gc_core.model.repository import LogEntry, Reference

T = TypeVar("T")
_PIECE = 1_000
"""How many items are handed on at once."""
_KNOWN_COMMITS = 5_000_000
"""How many commits are remembered; beyond that some are walked twice."""


@dataclass(slots=True, kw_only=True)
class AllCommits:
    """The commits of a repository as someone walks them."""

    repository: RepositoryConnector
    parallelism: int
    """How many references are walked at once."""
    progress: Callable[[int, int], None] = lambda done, total: None
    """Told how many references are done, of how many."""
    problems: list[str] = field(default_factory=list)
    """Why references could not be walked to their end; one line each."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _walked: set[bytes] = field(default_factory=set)

    def of_each(self, look: Callable[[Reference, Iterator[LogEntry]], Iterator[T]]) -> Iterator[T]:
        """What someone sees in the commits of each reference, from its head to one that another reference had.

        Raises:
            NessieGcError: the references cannot be listed.
        """
        references = list(checked_references(self.repository))

        def walk(job: tuple[int, Reference]) -> Iterator[list[T]]:
            number, reference = job
            try:
                yield from in_pieces(look(reference, self._new_commits(reference)), _PIECE)
            except NessieGcError as error:
                self.problems.append(f"{reference.name}: {error}")
            self.progress(number, len(references))

        pieces = read_ahead(enumerate(references, start=1), walk, at_once=lambda job: self.parallelism, kind="history")
        with closing(pieces):
            for piece in pieces:
                yield from piece

    def _new_commits(self, reference: Reference) -> Iterator[LogEntry]:
        with closed(checked_log(self.repository, reference)) as entries:
            for entry in entries:
                if not self._is_new(entry.commit_id):
                    return
                yield entry

    def _is_new(self, commit_id: str) -> bool:
        key = commit_key(commit_id)
        with self._lock:
            if key in self._walked:
                return False
            if len(self._walked) < _KNOWN_COMMITS:
                self._walked.add(key)
            return True
