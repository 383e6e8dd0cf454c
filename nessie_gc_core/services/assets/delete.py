"""The service that deletes unreferenced assets on which enough runs agree, if nothing needs them now."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import ClassVar

import pyarrow as pa

from nessie_gc_core.algorithms.assets import ApprovedAssets
from nessie_gc_core.algorithms.handled_assets import Purge, handled, not_met
from nessie_gc_core.connectors import Service
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.assets import ASSETS, AssetType
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.verdicts import GONE, Outcome
from nessie_gc_core.services.assets.agreed import enough, latest_rows, times_seen
from nessie_gc_core.services.assets.directories import ON_REQUEST, remove_directories
from nessie_gc_core.services.assets.identify import check_repository, existing_table, open_cache
from nessie_gc_core.services.assets.parameters import DeleteUnreferencedParameters, own_name
from nessie_gc_core.services.assets.report import PurgeReport
from nessie_gc_core.services.assets.settings import Settings, parameters_of, text_of
from nessie_gc_core.services.assets.table import AssetTable
from nessie_gc_core.services.assets.tallies import tallies_by, tally
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.parameters import DeletionParameters, GcParameters
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.sweep import Directions
from nessie_gc_core.services.swept import Swept

log = logging.getLogger(__name__)

_ASSET = pa.schema([ASSETS.field("asset")])
_TRIED = (*GONE, Outcome.FAILED.value)


@dataclass(frozen=True, slots=True)
class DeleteUnreferencedService(Service[Run]):
    """Delete the unreferenced assets that enough runs have seen, including the latest run.

    The references are read and every file is checked again, with the policies of the latest run: files that are needed
    by now stay, and so do files of tables that the latest run left out. The row of a deleted file is removed from the
    table.
    """

    name: ClassVar[str] = "delete-unreferenced"
    Parameters: ClassVar[type[ConnectorOptions]] = DeleteUnreferencedParameters

    parameters: DeleteUnreferencedParameters

    def run(self, run: Run) -> PurgeReport:
        """Deletes.

        Raises:
            TableError: there is no such table, no run of it is complete, or it cannot be written.
            NessieGcError: something needed for the decision could not be read.
        """
        self.parameters.check(run.choice)
        run.choice.check_plugins(deletes=not self.parameters.dry_run)
        table = existing_table(run, self.parameters)
        runs = table.runs()
        purge = _Purging(run, self.parameters, table, runs)
        purge.run()
        return purge.report


class _Purging:
    """One deletion under way."""

    def __init__(
        self, run: Run, parameters: DeleteUnreferencedParameters, table: AssetTable, runs: Sequence[AssetRun]
    ) -> None:
        self._run = run
        self._parameters = parameters
        self._table = table
        self._runs = runs
        self._purge = Purge(id=str(uuid.uuid4()), at=run.clock())
        self.report = PurgeReport(
            table=parameters.table or "",
            branch=parameters.branch,
            dry_run=parameters.dry_run,
            runs=len(runs),
            latest=runs[-1] if runs else None,
            collection=run.report,
        )

    def run(self) -> None:
        """Finds who is agreed upon, judges them again, and deletes."""
        if not self._runs:
            self._run.report.warn("no run of the table is complete yet, so no asset can be deleted")
            return
        check_repository(self._run, self._runs, str(self._table))
        self._runs = [each for each in self._runs if each.repository == self._runs[-1].repository]
        approved = self._approved().checkpoint()
        self.report.agreed = tally(approved)
        if self.report.agreed.files:
            self._delete(approved)
        if self._parameters.drop_gc_table and not self._parameters.dry_run:
            self._run.go_on()
            self._table.drop()

    def _approved(self) -> Dataset:
        """The rows of the latest run whose assets enough runs have seen, and that the predicate lets through."""
        parameters = self._parameters
        seen = times_seen(self._table, self._runs, parameters.seen_apart, self._run.choice.rules())
        latest = latest_rows(self._table, self._runs, where=parameters.where)
        return latest.semi_join(enough(seen, parameters.seen_count), ["asset"])

    def _delete(self, approved: Dataset) -> None:
        """Judges everything again, and deletes what is agreed upon and still unreferenced; directories come last."""
        run, rules, given = self._run, self._run.choice.rules(), self._parameters
        directories = approved.where("assetType", [AssetType.TABLE.value])
        approved = approved.where("assetType", [AssetType.TABLE.value], negate=True)

        def handle(outcomes: Dataset) -> None:
            self._settle(handled(outcomes, approved, rules, self._purge).checkpoint())

        cache = open_cache(run, self._table, given.expansion_cache)
        directions = Directions(
            only=ApprovedAssets(approved, rules),
            on_outcomes=handle,
            cache=cache,
            service=DeleteUnreferencedService.name,  # the table of assets says what may go, not the live set (S21)
        )
        swept = GcService(self._collection(), directions).swept(run)
        met = self.report.assets.select(_ASSET) if self.report.assets is not None else run.engine.empty(_ASSET)
        plan, index = swept.scope.plan, swept.scope.index
        rest = not_met(approved, met, swept.stored, index=index, units=plan.units, purge=self._purge)
        rest = rest.checkpoint()
        run.go_on()
        self._settle(rest, tried=False)
        if directories.count():
            self._settle(self._remove(directories, swept).checkpoint())

    def _remove(self, directories: Dataset, swept: Swept) -> Dataset:
        """The outcome of directories (:data:`HANDLED_ASSETS`); nobody else collects while they are removed (S35)."""
        run, given = self._run, self._parameters
        removing = partial(remove_directories, run, directories, swept, self._purge)
        if given.dry_run or not given.remove_directories:
            return removing(None, refused=None if given.remove_directories else ON_REQUEST)
        names = {swept.live_set.repository, *(each.repository for each in run.report.repositories)}
        again = "run the command again"
        leases = hold_lease(run.store, sorted(names), given.lease, elapsed=run.elapsed, go_on=run.go_on, then=again)
        try:
            with leases as lease:
                return removing(lease, refused=None)
        except LeaseHeldError as error:
            return removing(None, refused=str(error))

    def _settle(self, found: Dataset, *, tried: bool = True) -> None:
        """Reports the outcome of some assets (:data:`HANDLED_ASSETS`), and takes the rows of those that are gone."""
        self.report.assets = found if self.report.assets is None else self.report.assets.union(found)
        for outcome, counted in tallies_by(found, "outcome"):
            self.report.outcomes[Outcome(outcome)].add(counted.files, counted.bytes)
            self.report.tried += counted.files if tried and outcome in _TRIED else 0
        if self._parameters.dry_run:
            return
        if self._parameters.report_table is not None:
            self._table.append_report(own_name(self._parameters.report_table, "report_table"), found)
        if self._parameters.delete_on_purge:
            self._table.forget(found.where("outcome", GONE))

    def _collection(self) -> GcParameters:
        """The collection that judges them: with the settings of the latest run, and the limits of this deletion."""
        latest, said = self._runs[-1].settings, self._parameters.settings
        for name in ("default_cutoff", "cutoff", "min_age"):
            if name in said and text_of(said[name]) != latest.get(name):
                self._run.report.warn(
                    f"`{name}` differs from the latest run ({latest.get(name)}): the value given here decides what "
                    "is unreferenced"
                )
        names = {field.name for field in fields(DeletionParameters)} - set(said) - set(latest) - {"include", "exclude"}
        own = {name: getattr(self._parameters, name) for name in names}
        return parameters_of(latest, said, **own, **self._patterns(latest))

    def _patterns(self, latest: Settings) -> dict[str, Sequence[str]]:
        """The tables to delete from: those that the latest run included, limited to those chosen for this run."""
        given = self._parameters
        include = given.include or latest.get("include") or ()
        return {"include": include, "exclude": (*(latest.get("exclude") or ()), *given.exclude)}
