"""The two deduplicators of visited commits in the core, registered by its own entry point."""

from __future__ import annotations

import threading

from nessie_gc_core.connectors import VisitedDeduplicator
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.policies import Reach


@options
class ExactVisitedOptions(ConnectorOptions):
    """Options of the exact deduplicator."""

    capacity: int = option(
        2_000_000, help="how many commits to remember; others may be walked twice, but none is missed"
    )


class ExactVisited(VisitedDeduplicator):
    """An exact map of 16-byte commit keys to the widest reach with which they were walked."""

    name = "exact"
    Options = ExactVisitedOptions

    def __init__(self, options: ExactVisitedOptions) -> None:
        super().__init__(options)
        self._capacity = options.capacity
        self._reaches: dict[bytes, Reach] = {}
        self._lock = threading.Lock()

    def should_walk(self, commit: bytes, reach: Reach) -> bool:
        """Whether no recorded reach covers this one; records it while there is room."""
        with self._lock:
            known = self._reaches.get(commit)
            if known is None:
                if len(self._reaches) < self._capacity:
                    self._reaches[commit] = reach
                return True
            if known.covers(reach):
                return False
            self._reaches[commit] = known.merge(reach)
            return True


class NoneVisited(VisitedDeduplicator):
    """Remembers nothing: every reference is walked from its head to its cut-off."""

    name = "none"

    def should_walk(self, commit: bytes, reach: Reach) -> bool:
        """Always."""
        return True
