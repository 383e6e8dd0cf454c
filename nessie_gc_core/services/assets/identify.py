"""The service that finds unreferenced assets, and writes them into a table of the catalog."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from nessie_gc_core.algorithms.assets import NumberAssets, Sighting
from nessie_gc_core.algorithms.expansion_cache import CACHED_FILES, ExpansionCache, reading_plugins
from nessie_gc_core.connectors import Service, SupportsBranches
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.lost_files import LOST_FILES
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.services.assets.directories import directory_assets, empty_directories
from nessie_gc_core.services.assets.finding import named_assets, table_locations, walked
from nessie_gc_core.services.assets.lost import LostRun, find_lost
from nessie_gc_core.services.assets.parameters import (
    AssetPageParameters,
    DeleteUnreferencedParameters,
    IdentifyParameters,
    cache_name,
    table_name,
)
from nessie_gc_core.services.assets.report import AssetsReport
from nessie_gc_core.services.assets.settings import settings_of
from nessie_gc_core.services.assets.table import AssetTable
from nessie_gc_core.services.assets.tallies import tallies_by, tally
from nessie_gc_core.services.begin import keep_known_unknowns
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.preconditions import check_one_repository
from nessie_gc_core.services.run import GoOn, Run, never_stopped
from nessie_gc_core.services.sweep import Directions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identified:
    """What one run found, before it is written anywhere."""

    assets: Dataset
    """:data:`ASSETS`, computed once; their ``runid`` is 0."""
    run: AssetRun
    """The run, as the table will record it, but with the number 0."""
    lost: Dataset
    """:data:`LOST_FILES`, computed once; nothing where no table was asked for."""
    cache: ExpansionCache | None = None
    """What is to be remembered of manifests."""


@dataclass(frozen=True, slots=True)
class IdentifyService(Service[Run]):
    """Find unreferenced files, and write them to an Iceberg table; deletes no files.

    Each run adds a row for every unreferenced asset that it sees. 'delete-unreferenced' deletes those that enough runs
    have seen, the latest included. A run that leaves out a table adds no rows for it.
    """

    name: ClassVar[str] = "identify-unreferenced"
    Parameters: ClassVar[type[ConnectorOptions]] = IdentifyParameters
    lasting_store: ClassVar[bool] = False

    parameters: IdentifyParameters

    def run(self, run: Run) -> AssetsReport:
        """Finds them, and writes them.

        Raises:
            TableError: the table cannot be written, or is something else.
            NessieGcError: something that is needed could not be read.
        """
        self.parameters.check(run.choice)
        check_one_repository(run)
        table = open_table(run, self.parameters, make_branch=not self.parameters.dry_run)
        earlier = self._earlier(table)
        if earlier is not None:
            return self.report(earlier, run)
        identified = self.find(run, table)
        if self.parameters.dry_run or table is None:
            return self.report(identified.run, run, assets=identified.assets)
        updated = self.update(table, identified, go_on=run.go_on)
        keep_known_unknowns(run)
        return self.report(updated, run, assets=identified.assets)

    def _earlier(self, table: AssetTable | None) -> AssetRun | None:
        """The run with the wanted identity, where it is complete already."""
        identity = self.parameters.identity
        return None if identity is None or table is None else self._complete(table, identity)

    @staticmethod
    def _complete(table: AssetTable, identity: str) -> AssetRun | None:
        """The complete run with an identity."""
        return next((run for run in table.runs() if run.run == identity), None) if table.exists() else None

    def find(self, run: Run, table: AssetTable | None) -> Identified:
        """Finds what is unreferenced; the files of this program's own tables are not looked at."""
        own: Sequence[str] = ()
        if table is not None:
            if table.exists():  # what is something else is refused before the work
                check_repository(run, table.runs(), str(table))
            own = table.locations(self.parameters.more_tables)
        cache = open_cache(run, table, self.parameters.expansion_cache)
        run.report.only_looks = True
        swept = GcService(self.parameters.finding, Directions(cache=cache)).swept(run)
        live_set = swept.live_set
        at = live_set.references_listed or live_set.created
        identity = self.parameters.identity or str(uuid.uuid4())
        history = walked(run, swept, self.parameters.identify_parallelism) if self.parameters.history else None
        sighting = Sighting(run=identity, runid=0, at=at)
        known = list(table_locations(swept))
        if table is not None:
            ours = frozenset(table.ours(name for _, name in known))
            own = [*own, *(location for location, name in known if name in ours)]
        assets = named_assets(run, swept, sighting, history, tables=known, left_out=own)
        if swept.located.dropped:
            assets = assets.union(directory_assets(run, empty_directories(run, swept), sighting))
        assets = assets.checkpoint()
        counted = tally(assets)
        found = AssetRun(
            runid=0,
            run=identity,
            timestamp=at,
            repository=run.repository.identity(),
            live_set=str(live_set.id),
            engine=run.engine.name,
            settings=settings_of(self.parameters, {**run.report.unknown, **run.report.unread, **run.report.refused}),
            unknown=len(run.report.unknown),
            assets=counted.files,
            size_bytes=counted.bytes,
        )
        lost = run.engine.empty(LOST_FILES)
        if self.parameters.lost_table is not None:
            lost = find_lost(run, swept, LostRun(run=identity, at=at))
        return Identified(assets=assets, run=found, lost=lost, cache=cache)

    def update(
        self,
        table: AssetTable,
        identified: Identified,
        assets: Dataset | None = None,
        *,
        go_on: GoOn = never_stopped,
    ) -> AssetRun:
        """Adds what was found to the table, which is made where it is missing; returns the run with its number.

        A run that is already there is not added again.

        Args:
            table: the table.
            identified: what was found.
            assets: the part to add; all by default.
            go_on: asked before every commit; a run that ends before it is complete does not count.
        """
        earlier = self._complete(table, identified.run.run)
        if earlier is not None:
            return earlier
        go_on()
        table.make()
        chosen = identified.assets if assets is None else assets.checkpoint()
        counted = tally(chosen)
        go_on()
        run = table.start(replace(identified.run, assets=counted.files, size_bytes=counted.bytes))
        rows = chosen.flat_map(NumberAssets(run.runid))
        rows = table.with_first_seen(rows)
        go_on()
        table.append(rows)
        if self.parameters.lost_name is not None:
            go_on()
            table.append_lost(self.parameters.lost_name, identified.lost)
        remembering = cache_name(self.parameters.expansion_cache)
        if remembering is not None and identified.cache is not None:
            go_on()
            table.remember(remembering, identified.cache)
        go_on()
        table.complete(run)
        log.info("run %d (%s) of %s: %d assets", run.runid, run.run, table, run.assets)
        return run

    def report(self, found: AssetRun, run: Run, *, assets: Dataset | None = None) -> AssetsReport:
        """What a run found."""
        parameters = self.parameters
        return AssetsReport(
            table=parameters.table or "",
            branch=parameters.branch,
            dry_run=parameters.dry_run,
            found=found,
            collection=run.report,
            by_type=() if assets is None else tallies_by(assets, "assetType"),
        )


def open_table(
    run: Run,
    parameters: IdentifyParameters | DeleteUnreferencedParameters | AssetPageParameters,
    *,
    make_branch: bool,
) -> AssetTable | None:
    """The table of assets, on its branch if the repository has branches; ``None`` while there is no such branch.

    Raises:
        ConfigurationError: the name is invalid, or there is no such catalog.
    """
    catalog, table = table_name(parameters.table)
    branch = None
    if parameters.own_branch and isinstance(run.repository, SupportsBranches):
        branch = parameters.branch
        if make_branch:
            run.resources.tables(catalog)  # a catalog that is not there is refused before anything is made
            run.repository.make_branch(branch)
        elif all(reference.name != branch for reference in run.repository.references()):
            return None
    return AssetTable(run.resources.tables(catalog, branch=branch), table, run.engine)


def open_cache(run: Run, table: AssetTable | None, name: str | None) -> ExpansionCache | None:
    """The expansion cache of this name, which may be empty yet; ``None`` if none is asked for."""
    found = cache_name(name)
    if found is None:
        return None
    entries = run.engine.empty(CACHED_FILES) if table is None else table.remembered(found)
    return ExpansionCache(entries, reader=reading_plugins(run.choice))


def check_repository(run: Run, runs: Sequence[AssetRun], table: str) -> None:
    """Refuses a table that was filled from another repository, whose runs would count for this one.

    Raises:
        ConfigurationError: it was.
    """
    identity = run.repository.identity()
    if runs and runs[-1].repository != identity:
        raise ConfigurationError(
            f"the table {table} belongs to the repository {runs[-1].repository}, not to {identity}; use that "
            "repository or another table"
        )


def existing_table(run: Run, parameters: DeleteUnreferencedParameters | AssetPageParameters) -> AssetTable:
    """The table of assets, which is there.

    Raises:
        ConfigurationError: there is no table of this name, or the name is invalid.
        TableError: it is something else.
    """
    table = open_table(run, parameters, make_branch=False)
    if table is None or not table.exists():
        raise ConfigurationError(
            f"the table of unreferenced assets {parameters.table} does not exist; run "
            f"{next_call('identify-unreferenced')} first, which deletes no file, or check `table` and `branch`"
        )
    return table
