"""The service that rewrites manifests so that they follow the partitions of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import Service
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.services.current_tables import maintenance_of, reported_location
from nessie_gc_core.services.manifests.applying import ManifestRewriter
from nessie_gc_core.services.manifests.looking import PlannedTable, TableLook, planned_tables
from nessie_gc_core.services.manifests.parameters import RewriteManifestsParameters
from nessie_gc_core.services.manifests.report import ManifestsReport, ReorganizedTable
from nessie_gc_core.services.run import Run
from nessie_gc_core.tables import Maintenance


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedManifests:
    """What would be rewritten."""

    report: ManifestsReport
    """What a dry run says."""
    tables: Sequence[PlannedTable] = field(repr=False)
    """Every table that was meant."""


@dataclass(frozen=True, slots=True)
class RewriteManifestsService(Service[Run]):
    """Rewrite manifests of Iceberg tables to the right size, grouped by partition.

    Metadata alone decides whether it is worth it. Iceberg's own Spark action does the rewriting, in one commit for each
    table; data files are not touched, and every query returns the same rows.
    """

    name: ClassVar[str] = "rewrite-manifests"
    Parameters: ClassVar[type[ConnectorOptions]] = RewriteManifestsParameters
    lasting_store: ClassVar[bool] = False

    parameters: RewriteManifestsParameters

    def run(self, run: Run) -> ManifestsReport:
        """Plans, and rewrites what is planned.

        Raises:
            ConfigurationError: a parameter is invalid, or the engine is not Spark.
            NessieGcError: the catalog cannot be listed.
        """
        planned = self.plan(run)
        return planned.report if self.parameters.dry_run else self.apply(run, planned)

    def plan(self, run: Run) -> PlannedManifests:
        """Says what would be rewritten; writes nothing."""
        maintenance, started = self._maintenance(run), run.elapsed()  # a session that has to start first does not count
        tables = sorted(planned_tables(run, maintenance, self.parameters), key=lambda table: table.report.table)
        reports = [table.report for table in tables]
        return PlannedManifests(report=self._report(run, reports, run.elapsed() - started, dry_run=True), tables=tables)

    def apply(self, run: Run, planned: PlannedManifests) -> ManifestsReport:
        """Rewrites only what was planned and still exists."""
        maintenance, started = self._maintenance(run), run.elapsed()
        tables: list[ReorganizedTable] = []
        with OpenConnectors(run.choice) as connectors:
            look = TableLook(maintenance=maintenance, parameters=self.parameters, connectors=connectors)
            rewriter = ManifestRewriter(maintenance=maintenance, look=look, service=self.name, go_on=run.go_on)
            for number, table in enumerate(planned.tables, start=1):
                tables.append(rewriter.rewritten(table))
                run.tell("rewrite", number, len(planned.tables))
        return self._report(run, tables, planned.report.seconds + run.elapsed() - started, dry_run=False)

    def _maintenance(self, run: Run) -> Maintenance:
        return maintenance_of(run, self.name, self.parameters.check(), self.parameters.table_branch)

    def _report(
        self, run: Run, tables: Sequence[ReorganizedTable], seconds: float, *, dry_run: bool
    ) -> ManifestsReport:
        rows = tuple(replace(table, location=reported_location(table.location, run)) for table in tables)
        return ManifestsReport(catalog=self.parameters.check(), dry_run=dry_run, tables=rows, seconds=seconds)
