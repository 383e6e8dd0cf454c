"""The contract of deduplicators of visited commits."""

from __future__ import annotations

from abc import abstractmethod

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.policies import Reach


class VisitedDeduplicator(Connector):
    """Remembers with which reach each commit was walked, so that references that share history cost once.

    It changes nothing but the cost (S16): in doubt it answers yes. It is used from several threads at once.
    """

    @abstractmethod
    def should_walk(self, commit: bytes, reach: Reach) -> bool:
        """Whether a live commit has to be walked with this reach; asking records it, in one step.

        False only where some recorded reach of the same commit covers this one. ``commit`` is a 16-byte key.
        """
