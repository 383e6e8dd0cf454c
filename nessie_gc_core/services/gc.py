"""The garbage-collection service: mark, then sweep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from nessie_gc_core.connectors import Service
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.services.lease import check_free
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.meanwhile import mark_meanwhile
from nessie_gc_core.services.members import identified
from nessie_gc_core.services.parameters import GcParameters, SweepParameters, part_of
from nessie_gc_core.services.preconditions import check_answers
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.sweep import Directions, SweepService
from nessie_gc_core.services.swept import Swept


@dataclass(frozen=True, slots=True)
class GcService(Service[Run]):
    """Delete the files that no live branch, tag or snapshot needs: a mark and a sweep in one run.

    Make a dry run first. Before anything is deleted, references that have moved are checked again.
    """

    name: ClassVar[str] = "gc"
    Parameters: ClassVar[type[ConnectorOptions]] = GcParameters
    lasting_store: ClassVar[bool] = False
    examples: ClassVar[tuple[str, ...]] = (
        "gc --uri http://nessie:19120/api/v2 --default-cutoff P30D --allow s3://lake/ --dry-run",
        "gc --repository iceberg-catalog --uri http://catalog:8181 --allow s3://lake/ --quarantine s3://lake/held/",
    )

    parameters: GcParameters
    directions: Directions = field(default_factory=Directions)

    def run(self, run: Run) -> GcReport:
        """Both phases; one report of both.

        Raises:
            NessieGcError: one of them failed; the live set says which. An engine that cannot start leaves a live set
                only where the mark was done.
        """
        self.outcomes(run)
        return run.report

    def outcomes(self, run: Run) -> Dataset | None:
        """Both phases; returns the outcomes (:data:`OUTCOMES`) of the last step, which is the only one of a dry run."""
        return self.swept(run).outcomes

    def swept(self, run: Run) -> Swept:
        """Both phases; returns what the sweep found on the way."""
        run.choice.check_plugins(deletes=self.parameters.mode.removes)
        self.parameters.check(run.choice)
        self.parameters.policies(run.clock())
        check_answers(run)
        if self.directions.alone:  # else the mark would be for nothing
            check_free(run.store, identified(run))
        mark_meanwhile(run, part_of(self.parameters, MarkParameters), swept_only_by=self.directions.service)
        sweep = part_of(self.parameters, SweepParameters, live_set_id=run.report.live_set_id)
        return SweepService(sweep, self.directions).swept(run)
