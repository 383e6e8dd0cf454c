"""The two deduplicators of visited commits in the core, registered by its own entry point."""

from __future__ import annotations

import threading
from array import array

from nessie_gc_core.algorithms.key_table import MAX_ROWS, KeyTable
from nessie_gc_core.connectors import VisitedDeduplicator
from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.policies import Reach

_MAX_COMMITS = 2**32 - 1
"""The longest reach that is recorded; a longer one is never covered, so it is walked again."""
_EVER = -(2**63)
"""The instant of a reach of everything."""
_NEVER = 2**63 - 1
"""The instant of a reach of nothing by age."""


@options
class ExactVisitedOptions(ConnectorOptions):
    """Options of the exact deduplicator."""

    capacity: int = option(
        20_000_000,
        help="how many commits to remember, and the parents of as many; others may be walked twice, but none is missed",
    )


class ExactVisited(VisitedDeduplicator):
    """An exact map of 16-byte commit keys to the widest reach with which they were walked.

    A commit takes 34 to 40 bytes.
    """

    name = "exact"
    Options = ExactVisitedOptions

    def __init__(self, options: ExactVisitedOptions) -> None:
        super().__init__(options)
        self._capacity = min(max(options.capacity, 0), MAX_ROWS)
        self._keys = KeyTable()
        self._since, self._commits = array("q", [_NEVER]), array("I", [0])
        """By row the widest reach: its instant in microseconds, and its number of commits."""
        self._lock = threading.Lock()

    def capacity(self) -> int:
        """How many commits it remembers."""
        return self._capacity

    def should_walk(self, commit: bytes, reach: Reach) -> bool:
        """Whether no recorded reach covers this one; records it while there is room."""
        since, commits = _numbers(reach)
        with self._lock:
            row = self._keys.row(commit)
            if not row:
                if len(self._keys) < self._capacity:
                    self._keys.add(commit)
                    self._since.append(since)
                    self._commits.append(min(commits, _MAX_COMMITS))
                return True
            known_since, known_commits = self._since[row], self._commits[row]
            if known_since == _EVER or (known_since <= since and known_commits >= commits):
                return False
            self._since[row] = min(known_since, since)
            self._commits[row] = max(known_commits, min(commits, _MAX_COMMITS))
            return True


class NoneVisited(VisitedDeduplicator):
    """Remembers nothing: every reference is walked from its head to its cut-off."""

    name = "none"

    def should_walk(self, commit: bytes, reach: Reach) -> bool:
        """Always."""
        return True


def _numbers(reach: Reach) -> tuple[int, int]:
    """A reach as two numbers: it covers another one if its instant is not later and its commits are not fewer."""
    if reach.everything:
        return _EVER, 0
    return _NEVER if reach.since is None else to_micros(reach.since), max(reach.commits, 0)
