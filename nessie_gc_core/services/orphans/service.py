"""The service that removes orphan files of one table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar
from uuid import UUID

from nessie_gc_core.connectors import Service
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import OUTCOMES
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.members import delete_together
from nessie_gc_core.services.orphans.one_table import OneTable
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.preconditions import check_one_repository
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.sweep import Directions


@dataclass(frozen=True, slots=True)
class RemoveOrphanFilesService(Service[Run]):
    """Remove files from the location of one table that nothing in the repository needs.

    Takes the arguments of Iceberg's procedure with this name, and covers the same files: hidden files and files of the
    last three days stay. Live files are found as by 'gc': every other table of the repository keeps its files, wherever
    they are.
    """

    name: ClassVar[str] = "remove-orphan-files"
    Parameters: ClassVar[type[ConnectorOptions]] = RemoveOrphanFilesParameters
    lasting_store: ClassVar[bool] = False

    parameters: RemoveOrphanFilesParameters

    def run(self, run: Run) -> GcReport:
        """Removes them.

        Raises:
            ConfigurationError: a parameter is invalid, or the table does not exist.
            SafetyError: metadata names the path of such a file with another scheme or authority.
            NessieGcError: something needed for the decision could not be read.
        """
        self.outcomes(run)
        return run.report

    def outcomes(self, run: Run) -> Dataset:
        """Removes them, and returns the outcomes (:data:`OUTCOMES`) of all steps."""
        parameters = self.parameters
        parameters.check(run.choice)
        check_one_repository(run)
        run = replace(run, choice=parameters.aliases(run.choice))
        found: list[Dataset] = []
        directions = Directions(purpose=OneTable(run, parameters), on_outcomes=found.append, service=self.name)
        try:
            GcService(parameters.collection(min(times_now(run))), directions).run(run)
        except BaseException:
            if run.report.live_set_id is not None:  # to resume it would be to sweep the whole repository
                delete_together(run.store, UUID(run.report.live_set_id))
            raise
        outcomes = run.engine.empty(OUTCOMES)
        for each in found:
            outcomes = outcomes.union(each)
        return outcomes
