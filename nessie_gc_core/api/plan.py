"""What a run would delete, to review and then apply."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from nessie_gc_core.algorithms.planned import PlannedOutcomes
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.plans.file import PlanFile
from nessie_gc_core.services.plans.making import save_plan
from nessie_gc_core.services.plans.summary import PlanSummary, summed_up
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.sweep import Directions, SweepService
from nessie_gc_core.services.swept import Swept
from nessie_gc_core.services.tally import Tally

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from nessie_gc_core.engines.local.frame import LocalFrame


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan:
    """The outcome of a dry run. It is valid as long as its collector is open."""

    report: GcReport
    """What was found."""
    outcomes: Dataset
    """All unreferenced files (:data:`nessie_gc_core.model.relations.OUTCOMES`)."""
    swept: Swept
    """What the dry run found, on its engine."""
    parameters: SweepParameters
    """The parameters of the sweep that would follow."""
    new_run: Callable[[], Run]
    """Creates the run in which the plan is applied, or says that the collector is closed."""

    @property
    def files(self) -> DataFrame | LocalFrame:
        """Every unreferenced file with its outcome and reason, one row each.

        A Spark DataFrame, or on the local engine a frame with ``to_arrow()``, ``to_pandas()`` and ``sql()``. The
        columns are ``unit``, ``location``, ``path``, ``size`` (bytes), ``modified`` (microseconds since the epoch,
        UTC), ``sidecar``, ``outcome`` and ``reason``; files that would be deleted have the outcome ``would_delete``.
        """
        self.new_run()
        return cast("DataFrame | LocalFrame", self.outcomes.to_frame())

    @property
    def would_delete(self) -> Tally:
        """How many files would be deleted, and their bytes."""
        return self.report.outcomes[Outcome.WOULD_DELETE]

    def apply(self, *, outcomes_to: str | None = None, resume: bool = False) -> GcReport:
        """Deletes only the planned files that are still unreferenced. With ``defer_deletes``, records them.

        The live set's locations are listed and every file is checked again; files that are not in the plan, or that
        changed since, stay.

        Args:
            outcomes_to: file that receives every file with its outcome (``.jsonl`` or ``.parquet``).
            resume: whether to resume an earlier attempt that failed.

        Raises:
            ConfigurationError: the collector is closed, or its settings contain ``dry_run``.
            SafetyError: the live set has become too old.
            LiveSetStateError: the plan was applied before.
            NessieGcError: it failed; what was deleted by then is recorded.
        """
        run = self.new_run()
        refuse_dry_run(self.parameters)
        planned = self.outcomes.where("outcome", [Outcome.WOULD_DELETE.value])
        parameters = replace(self.parameters, outcomes_to=outcomes_to, resume=resume)
        return SweepService(parameters, Directions(only=PlannedOutcomes(planned))).run(run)

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the plan to a new file, to review, and to apply with :meth:`Collector.read_plan` or the command line.

        Args:
            path: a file that ends in ``.jsonl`` or ``.parquet``, and does not exist yet.

        Returns:
            The digest of the plan (SHA-256, hexadecimal), which shows later changes to the file.

        Raises:
            ConfigurationError: the collector is closed, or the file cannot be a plan, or exists.
            NessieGcError: it cannot be written.
        """
        run = self.new_run()
        return save_plan(os.fspath(path), self.swept, replace(run, report=self.report), self.parameters).sha256

    def __repr__(self) -> str:
        return f"Plan(live set {self.report.live_set_id}, would delete: {self.would_delete})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.report._repr_html_()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SavedPlan:
    """A plan in a file. It is valid as long as its collector is open."""

    path: str
    """The file."""
    sweep: Callable[[dict[str, object]], GcReport]
    """Sweeps with some parameters."""

    @property
    def summary(self) -> PlanSummary:
        """The planned files by table, kind, age and reason; reads the whole file, and checks its digest.

        Raises:
            ConfigurationError: the file is missing or incomplete, or was changed.
        """
        return summed_up(PlanFile.open(self.path))

    def apply(self, *, outcomes_to: str | None = None, resume: bool = False, **parameters: object) -> GcReport:
        """Deletes only the planned files that are still unreferenced; all is listed and checked again.

        Args:
            outcomes_to: file that receives every file with its outcome (``.jsonl`` or ``.parquet``).
            resume: whether to resume an earlier attempt that failed.
            parameters: those of ``nessie-gc sweep``, such as ``outcomes_to``. Those that decide which files are
                deleted, such as ``allow`` or ``min_age``, come from the plan; others are refused.

        Raises:
            ConfigurationError: the file is missing or incomplete, or was changed; the collector is closed, or its
                settings contain ``dry_run``.
            SafetyError: the live set has become too old, or the plan is of another lake.
            LiveSetStateError: the plan was applied before, completely.
            NessieGcError: it failed; what was deleted by then is recorded.
        """
        return self.sweep({**parameters, "apply": self.path, "outcomes_to": outcomes_to, "resume": resume})

    def __repr__(self) -> str:
        return f"SavedPlan({self.path})"


def refuse_dry_run(parameters: ConnectorOptions) -> None:
    """Refuses to delete where the settings say that nothing is deleted.

    Raises:
        ConfigurationError: they do.
    """
    for name in ("dry_run", "plan"):
        if getattr(parameters, name, None):
            raise ConfigurationError(f"the settings contain `{name}`, so nothing is deleted; remove it to delete")
