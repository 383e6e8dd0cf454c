"""The contract of deduplicators of visited commits."""

from __future__ import annotations

from abc import abstractmethod
from typing import Protocol, runtime_checkable

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.policies import Reach


class VisitedDeduplicator(Connector):
    """Records with which reach each commit was walked, so that shared history is walked only once.

    Example of a whole plugin::

        import threading
        from nessie_gc_core import hookimpl
        from nessie_gc_core.connectors import VisitedDeduplicator
        from nessie_gc_core.model import Reach

        class DictVisited(VisitedDeduplicator):
            name = "dict"

            def __init__(self, options):
                super().__init__(options)
                self.lock, self.known = threading.Lock(), {}

            def should_walk(self, commit, reach):
                with self.lock:
                    known = self.known.get(commit)
                    self.known[commit] = (known or Reach()).merge(reach)
                    return known is None or not known.covers(reach)

        @hookimpl
        def nessie_gc_register_visited_deduplicator():
            return DictVisited

    It changes nothing but the cost (S16): in case of doubt it returns true. It is used from several threads at once.
    """

    @abstractmethod
    def should_walk(self, commit: bytes, reach: Reach) -> bool:
        """Whether a live commit must be walked with this reach; the call also records the reach, in one step.

        False only if a recorded reach of the same commit covers this one. ``commit`` is a 16-byte key.
        """


@runtime_checkable
class SupportsCapacity(Protocol):
    """A deduplicator that limits the memory of the walk, because it remembers a limited number of commits.

    Without this ability, the walk remembers the parents of up to 20,000,000 commits.
    """

    def capacity(self) -> int:
        """How many commits it remembers; the walk remembers the parents of as many. Others may be walked twice."""
