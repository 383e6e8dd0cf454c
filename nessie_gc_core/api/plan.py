"""What a run would delete, to review and then apply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from nessie_gc_core.algorithms.planned import PlannedOutcomes
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.sweep import Directions, SweepService
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

    def __repr__(self) -> str:
        return f"Plan(live set {self.report.live_set_id}, would delete: {self.would_delete})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return self.report._repr_html_()


def refuse_dry_run(parameters: ConnectorOptions) -> None:
    """Refuses to delete where the settings say that nothing is deleted.

    Raises:
        ConfigurationError: they do.
    """
    if getattr(parameters, "dry_run", False):
        raise ConfigurationError("the settings contain `dry_run`, so nothing is deleted; remove it to delete")
