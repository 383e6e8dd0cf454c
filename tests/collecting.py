"""Runs the collector on simulated lakes, on either engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds
from nessie_gc_core.services.deferred import DeferredDeletionService
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.settings import MarkSettings, Progress, SweepSettings, no_progress
from nessie_gc_core.services.sweep import SweepService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MEMORY = (("content-to-files", "memory"), ("file-lister", "memory"), ("file-deleter", "memory"))


@dataclass(frozen=True, kw_only=True)
class Collector:
    """Everything a run needs but its settings."""

    repository: RepositoryConnector
    store: LiveSetStore
    engine: Engine
    clock: Clock
    choice: ConnectorChoice = field(default_factory=ConnectorChoice)
    elapsed: Elapsed = elapsed_seconds

    def collect(
        self,
        policy: str = "NONE",
        *cutoffs: str,
        sweep: SweepSettings | None = None,
        between: Callable[[], object] = lambda: None,
        progress: Progress = no_progress,
    ) -> GcReport:
        """One ``gc``; something may happen between mark and sweep."""
        return GcService(
            repository=self.repository,
            store=self.store,
            engine=self.engine,
            mark=self._mark_settings(policy, cutoffs),
            sweep=self._sweep_settings(sweep),
            clock=self.clock,
            progress=progress,
            on_marked=lambda id_: between() and None,
        ).run()

    def mark(self, policy: str = "NONE", *cutoffs: str) -> UUID:
        """One ``mark``."""
        return MarkService(
            repository=self.repository,
            store=self.store,
            settings=self._mark_settings(policy, cutoffs),
            clock=self.clock,
        ).run(GcReport())

    def sweep(
        self, live_set_id: UUID, sweep: SweepSettings | None = None, *, progress: Progress = no_progress
    ) -> GcReport:
        """One ``sweep``."""
        report = GcReport()
        SweepService(
            repository=self.repository,
            store=self.store,
            engine=self.engine,
            settings=self._sweep_settings(sweep),
            clock=self.clock,
            progress=progress,
            elapsed=self.elapsed,
        ).run(live_set_id, report)
        return report

    def delete_deferred(
        self, live_set_id: UUID, sweep: SweepSettings | None = None, *, progress: Progress = no_progress
    ) -> GcReport:
        """One ``deferred-deletes``."""
        report = GcReport()
        DeferredDeletionService(
            repository=self.repository,
            store=self.store,
            engine=self.engine,
            settings=self._sweep_settings(sweep),
            clock=self.clock,
            progress=progress,
            elapsed=self.elapsed,
        ).run(live_set_id, report)
        return report

    def _mark_settings(self, policy: str, cutoffs: Sequence[str]) -> MarkSettings:
        return MarkSettings(policies=ReferencePolicies.parse(policy, cutoffs, reference_time=self.clock()))

    def _sweep_settings(self, sweep: SweepSettings | None) -> SweepSettings:
        sweep = sweep if sweep is not None else SweepSettings()
        return replace(sweep, choice=self.choice if sweep.choice == ConnectorChoice() else sweep.choice)


def in_memory(lake: MemoryLake, engine: Engine | None = None) -> Collector:
    """A collector of a lake in memory, on the local engine; the lake's clock is everybody's."""
    store = MemoryLiveSetStore.from_options({})
    store.clock = lambda: lake.time
    return Collector(
        repository=MemoryRepository.from_options({"lake": lake.name}),
        store=store,
        engine=engine if engine is not None else LocalEngine(workers=2),
        clock=lambda: lake.time,
        elapsed=lambda: lake.time.timestamp(),
        choice=ConnectorChoice(options={key: {"lake": lake.name} for key in _MEMORY}),
    )


def on_disk(lake: MemoryLake, directory: Path, engine: Engine) -> Collector:
    """A collector of the same lake written to a disk."""
    history_file = lake.write_to(directory)
    return Collector(
        repository=MemoryRepository.from_options({"history_file": str(history_file)}),
        store=MemoryLiveSetStore.from_options({}),
        engine=engine,
        clock=lambda: lake.time,
    )


def spark_engine(session: SparkSession) -> Engine:
    """The Spark engine on the tests' only session."""
    from nessie_gc_core.engines.spark import SparkEngine

    return SparkEngine(session)
