"""The garbage-collection service: mark, then sweep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.times import Clock, utc_now
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.settings import MarkSettings, Progress, SweepSettings, no_progress
from nessie_gc_core.services.sweep import SweepService


@dataclass(frozen=True, slots=True, kw_only=True)
class GcService:
    """Marks and sweeps in one go.

    Example::

        report = GcService(
            repository=repository, store=store, engine=LocalEngine(),
            mark=MarkSettings(policies=ReferencePolicies.parse("P30D", reference_time=utc_now())),
            sweep=SweepSettings(mode=DeleteMode.DRY_RUN),
        ).run()
    """

    repository: RepositoryConnector
    store: LiveSetStore
    engine: Engine
    mark: MarkSettings
    sweep: SweepSettings
    clock: Clock = utc_now
    progress: Progress = no_progress
    on_marked: Callable[[UUID], None] = lambda id_: None
    """Told the live set's id between mark and sweep."""

    def run(self, report: GcReport | None = None) -> GcReport:
        """Both phases; the report of both, which is the given one where one is given.

        Raises:
            NessieGcError: one of them failed; the live set says which.
        """
        self.sweep.check()
        report = report if report is not None else GcReport()
        live_set_id = MarkService(
            repository=self.repository, store=self.store, settings=self.mark, clock=self.clock, progress=self.progress
        ).run(report)
        self.on_marked(live_set_id)
        SweepService(
            repository=self.repository,
            store=self.store,
            engine=self.engine,
            settings=self.sweep,
            clock=self.clock,
            progress=self.progress,
        ).run(live_set_id, report)
        return report
