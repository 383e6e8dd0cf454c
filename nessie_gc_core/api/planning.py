"""The calls that show what a run would delete, before it does."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from uuid import UUID

from nessie_gc_core.api.calls import refuse_marking, told
from nessie_gc_core.api.plan import Plan, SavedPlan, refuse_dry_run
from nessie_gc_core.config.given import Given
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import OUTCOMES
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.parameters import GcParameters, SweepParameters, part_of
from nessie_gc_core.services.plans.file import PlanFile
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.sweep import SweepService

P = TypeVar("P", bound=ConnectorOptions)


class Planning(ABC):
    """Calls of a collector."""

    _given: Given

    def plan(
        self, *, live_set: UUID | str | None = None, cutoffs: Mapping[str, str] | None = None, **parameters: Any
    ) -> Plan:
        """Finds what would be deleted, but deletes nothing.

        Args:
            live_set: the id of an earlier live set (default: a new one is marked).
            cutoffs: patterns of reference names, each with its cut-off policy; they replace those of the settings.
            parameters: those of ``nessie-gc gc`` (or ``sweep``), such as ``default_cutoff``, ``allow``, ``min_age``.

        Raises:
            NessieGcError: a parameter is invalid, or something could not be read; the message says what to do.
        """
        run = self.new_run()
        given = {**told(parameters, cutoffs), "dry_run": True}
        if live_set is not None:
            refuse_marking(given)
            sweep = self.parameters_of(SweepParameters, {**given, "live_set_id": str(live_set)})
            swept = SweepService(sweep).swept(run)
        else:
            gc = self.parameters_of(GcParameters, given)
            swept = GcService(gc).swept(run)
            sweep = part_of(gc, SweepParameters, live_set_id=run.report.live_set_id)
        outcomes = swept.outcomes if swept.outcomes is not None else run.engine.empty(OUTCOMES)
        said = bool(self._given.values.get("dry_run"))
        whole_id = run.report.live_set_id or sweep.live_set_id  # it may be the beginning of one
        kept = replace(sweep, dry_run=said, outcomes_to=None, plan=None, apply=None, live_set_id=whole_id)
        new_run = self.later_run()
        return Plan(report=run.report, outcomes=outcomes, swept=swept, parameters=kept, new_run=new_run)

    def read_plan(self, path: str | os.PathLike[str]) -> SavedPlan:
        """A plan that ``plan().save(path)`` or ``nessie-gc gc --plan`` wrote to a file.

        Raises:
            ConfigurationError: the file is missing or incomplete, or is not a plan.
        """
        PlanFile.open(os.fspath(path))
        new_run = self.later_run()

        def sweep(parameters: dict[str, object]) -> GcReport:
            run = new_run()
            refuse_dry_run(self.parameters_of(SweepParameters, parameters))
            return SweepService(self.parameters_of(SweepParameters, parameters)).run(run)

        return SavedPlan(path=os.fspath(path), sweep=sweep)

    @abstractmethod
    def new_run(self) -> Run:
        """A run of its own for each call."""

    @abstractmethod
    def later_run(self) -> Callable[[], Run]:
        """Returns a factory of the runs in which plans are applied."""

    @abstractmethod
    def parameters_of(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of one call."""
