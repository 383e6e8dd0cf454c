"""What one run of a service works with."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds, utc_now
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.parameters import DeletionParameters
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.resources import Resources

Progress = Callable[[str, int, "int | None"], None]
"""Told the phase, how much of it is done, and of how much, where that is known."""


def no_progress(phase: str, done: int, total: int | None) -> None:
    """Shows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what it works on, by which clocks, and where it says what it found."""

    resources: Resources
    """The repository, the live-set store and the engine; each is opened when a service first asks for it."""
    choice: ConnectorChoice
    """Readers, listers and deleters with their options, and the plugins that bring them."""
    report: GcReport = field(default_factory=GcReport)
    clock: Clock = utc_now
    elapsed: Elapsed = elapsed_seconds
    """Says how much time passed; a clock that somebody sets would make a lease last too long."""
    progress: Progress = no_progress

    telling: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held while progress is told, for there may be several threads."""

    def tell(self, phase: str, done: int, total: int | None) -> None:
        """Tells progress, one thread at a time."""
        with self.telling:
            self.progress(phase, done, total)

    @property
    def repository(self) -> RepositoryConnector:
        """The repository."""
        return self.resources.repository

    @property
    def store(self) -> LiveSetStore:
        """The live-set store."""
        return self.resources.store

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.resources.engine

    @property
    def registry(self) -> PluginRegistry:
        """The plugins of this run."""
        return self.choice.registry()

    def seeing(self, repository: RepositoryConnector) -> Run:
        """The same run over another view of its repository."""
        resources = Resources.borrowed(repository=repository, store=self.store, engine=self.engine)
        return replace(self, resources=resources)

    def of(self, live_set: LiveSet, lease: Lease, parameters: DeletionParameters) -> SweepRun:
        """The same run, at work on a live set."""
        mine = {field.name: getattr(self, field.name) for field in fields(Run)}
        return SweepRun(**mine, live_set=live_set, lease=lease, parameters=parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRun(Run):
    """A run that deletes what a live set does not need."""

    live_set: LiveSet
    lease: Lease
    """Held; asked before every step that deletes."""
    parameters: DeletionParameters
