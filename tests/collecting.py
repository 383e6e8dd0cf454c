"""Runs services on simulated lakes, on either engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository

from nessie_gc_core.algorithms.storable import storable
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.live_sets import ReachedPlace
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds
from nessie_gc_core.services.deferred import DeferredDeletionService
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.parameters import DeferredDeletionParameters, GcParameters, SweepParameters, part_of
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.resources import Resources
from nessie_gc_core.services.run import Progress, Run, no_progress
from nessie_gc_core.services.sweep import SweepService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from nessie_gc_core.engines.spark import SparkEngine

_MEMORY = (("content-to-files", "memory"), ("file-lister", "memory"), ("file-deleter", "memory"))


@dataclass(frozen=True, kw_only=True)
class LakeServices:
    """The services of one lake: everything a run needs but its settings."""

    repository: RepositoryConnector
    store: LiveSetStore
    engine: Engine
    clock: Clock
    choice: ConnectorChoice = field(default_factory=ConnectorChoice)
    elapsed: Elapsed = elapsed_seconds
    others: tuple[RepositoryConnector, ...] = ()
    """More repositories over the same storage."""
    chosen: bool = False
    """Whether only the first is worked on."""

    def __enter__(self) -> Self:
        self.engine.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self.engine.__exit__(*error)

    def choosing(self, **changes: Any) -> LakeServices:
        """The same with changes to the choice of connectors."""
        return replace(self, choice=replace(self.choice, **changes))

    def together_with(self, *others: MemoryLake, chosen: bool = False) -> LakeServices:
        """The same, and more lakes over the same objects."""
        repositories = tuple(MemoryRepository.from_options({"lake": lake.name}) for lake in others)
        return replace(self, others=repositories, chosen=chosen)

    def run(self, report: GcReport | None = None, progress: Progress = no_progress) -> Run:
        """What a service works with."""
        resources = Resources.borrowed(
            repository=self.repository,
            store=self.store,
            engine=self.engine,
            others=self.others,
            chosen=self.chosen or not self.others,
        )
        return Run(
            resources=resources,
            choice=self.choice,
            report=report or GcReport(),
            clock=self.clock,
            elapsed=self.elapsed,
            progress=progress,
        )

    def read_before(self) -> Self:
        """The same, as if an earlier run had read every content that the repositories ever had (S31)."""
        for repository in (self.repository, *self.others):
            entries = (entry for reference in repository.references() for entry in repository.commit_log(reference))
            found = (each.content for entry in entries for each in entry.operations or () if each.content)
            put = {storable(content).content_id for content in found}
            self.store.register_reached(repository.identity(), [ReachedPlace(content_id=each) for each in put])
        return self

    def collect(
        self,
        policy: str = "NONE",
        *cutoffs: str,
        sweep: SweepParameters | None = None,
        between: Callable[[], object] = lambda: None,
        progress: Progress = no_progress,
    ) -> GcReport:
        """One ``gc``; something may happen between mark and sweep, once."""
        waiting = [between]

        def happen(phase: str, done: int, total: int | None) -> None:
            if phase == "expand" and waiting:
                waiting.pop()()
            progress(phase, done, total)

        marking = {"default_cutoff": policy, "cutoff": cutoffs}
        parameters = part_of(sweep or SweepParameters(), GcParameters, **marking)
        return GcService(parameters).run(self.run(progress=happen))

    def mark(self, policy: str = "NONE", *cutoffs: str, **more: Any) -> UUID:
        """One ``mark``."""
        report = MarkService(MarkParameters(default_cutoff=policy, cutoff=cutoffs, **more)).run(self.run())
        return UUID(report.live_set_id)

    def sweep(
        self, live_set_id: UUID, sweep: SweepParameters | None = None, *, progress: Progress = no_progress
    ) -> GcReport:
        """One ``sweep``."""
        parameters = replace(sweep or SweepParameters(), live_set_id=str(live_set_id))
        return SweepService(parameters).run(self.run(progress=progress))

    def delete_deferred(
        self, live_set_id: UUID, sweep: SweepParameters | None = None, *, progress: Progress = no_progress
    ) -> GcReport:
        """One ``deferred-deletes``."""
        parameters = part_of(sweep or SweepParameters(), DeferredDeletionParameters)
        parameters = replace(parameters, live_set_id=str(live_set_id))
        return DeferredDeletionService(parameters).run(self.run(progress=progress))


def in_memory(lake: MemoryLake, engine: Engine | None = None) -> LakeServices:
    """What collects a lake in memory, on the local engine; the lake's clock is everybody's."""
    store = MemoryLiveSetStore.from_options({})
    store.clock = lambda: lake.time
    return LakeServices(
        repository=MemoryRepository.from_options({"lake": lake.name}),
        store=store,
        engine=engine if engine is not None else LocalEngine(workers=2),
        clock=lambda: lake.time,
        elapsed=lambda: lake.time.timestamp(),
        choice=ConnectorChoice(options={key: {"lake": lake.name} for key in _MEMORY}),
    )


def on_disk(lake: MemoryLake, directory: Path, engine: Engine) -> LakeServices:
    """What collects the same lake written to a disk."""
    history_file = lake.write_to(directory)
    return LakeServices(
        repository=MemoryRepository.from_options({"history_file": str(history_file)}),
        store=MemoryLiveSetStore.from_options({}),
        engine=engine,
        clock=lambda: lake.time,
    )


def spark_engine(session: SparkSession) -> SparkEngine:
    """The Spark engine on the tests' only session."""
    from nessie_gc_core.engines.spark import SparkEngine

    return SparkEngine(session)
