"""Runs the collector on simulated lakes, on either engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.settings import Clock, MarkSettings, SweepSettings

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

    def collect(self, policy: str = "NONE", *cutoffs: str, sweep: SweepSettings | None = None) -> GcReport:
        """One ``gc``."""
        policies = ReferencePolicies.parse(policy, cutoffs, reference_time=self.clock())
        return GcService(
            repository=self.repository,
            store=self.store,
            engine=self.engine,
            mark=MarkSettings(policies=policies),
            sweep=replace(sweep if sweep is not None else SweepSettings(), choice=self.choice),
            clock=self.clock,
        ).run()


def in_memory(lake: MemoryLake, engine: Engine | None = None) -> Collector:
    """A collector of a lake in memory, on the local engine."""
    return Collector(
        repository=MemoryRepository.from_options({"lake": lake.name}),
        store=MemoryLiveSetStore.from_options({}),
        engine=engine if engine is not None else LocalEngine(workers=2),
        clock=lambda: lake.time,
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
