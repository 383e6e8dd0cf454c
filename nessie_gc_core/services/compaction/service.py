"""The service that compacts data files and delete files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import Service
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.tables import CurrentTable
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.compaction.applying import Compactor
from nessie_gc_core.services.compaction.looking import PlannedTable, TableLook
from nessie_gc_core.services.compaction.parameters import CompactParameters
from nessie_gc_core.services.compaction.planning import within_budget
from nessie_gc_core.services.compaction.report import Compacted, CompactedTable, CompactionReport
from nessie_gc_core.services.current_tables import each_table, maintenance_of, reported_location
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.work_branch import WorkBranch, check_work_branch
from nessie_gc_core.tables import Maintenance


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCompaction:
    """What would be compacted."""

    report: CompactionReport
    """What a dry run says."""
    tables: Sequence[PlannedTable] = field(repr=False)
    """Every table that was meant."""


@dataclass(frozen=True, slots=True)
class CompactService(Service[Run]):
    """Compact Iceberg tables: combine small data files, and merge delete files.

    Metadata alone decides which partitions are due. Iceberg's own Spark actions do the rewriting; every query returns
    the same rows, and no files are deleted.
    """

    name: ClassVar[str] = "compact"
    Parameters: ClassVar[type[ConnectorOptions]] = CompactParameters
    lasting_store: ClassVar[bool] = False

    parameters: CompactParameters

    def run(self, run: Run) -> CompactionReport:
        """Plans, and rewrites what is planned.

        Raises:
            ConfigurationError: a parameter is invalid, or the engine is not Spark.
            NessieGcError: the catalog cannot be listed.
        """
        planned = self.plan(run)
        return planned.report if self.parameters.dry_run else self._apply(run, planned, reviewed=False)

    def plan(self, run: Run) -> PlannedCompaction:
        """Says what would be compacted; writes nothing."""
        name, base = self.parameters.work_branch, self.parameters.table_branch
        maintenance = self._maintenance(run, base)
        if name is not None and base is not None:
            check_work_branch(run.repository, name, base)
        started = run.elapsed()  # a session that has to start first does not count
        with OpenConnectors(run.choice) as connectors:
            look = self._look(run, maintenance, connectors)
            found = list(each_table(run, maintenance, self.parameters.patterns, look.looked))
        tables = self._within_budget(sorted(found, key=lambda table: table.report.table))
        reports = [table.report for table in tables]
        return PlannedCompaction(
            report=self._report(run, reports, run.elapsed() - started, dry_run=True), tables=tables
        )

    def apply(self, run: Run, planned: PlannedCompaction) -> CompactionReport:
        """Compacts only what was planned and is still due.

        Raises:
            ConfigurationError: the branch to work on is there already, or the repository has none.
            NessieGcError: it could not be made.
        """
        return self._apply(run, planned, reviewed=True)

    def _apply(self, run: Run, planned: PlannedCompaction, *, reviewed: bool) -> CompactionReport:
        name, base = self.parameters.work_branch, self.parameters.table_branch
        if name is None or base is None or not planned.report.rewritten:
            return self._applied(run, planned, self._maintenance(run, base), reviewed=reviewed)
        with WorkBranch.made(run.repository, name, base) as work:
            maintenance = self._maintenance(run, name)
            work.check_catalog(_locations(planned, maintenance))
            report = self._applied(run, planned, maintenance, reviewed=reviewed)
            run.go_on()
        done = [table for table in report.tables if _is_meant(table, planned)]
        rows = [replace(table, reference=name) if table.snapshot_ids else table for table in report.tables]
        merge = work.ended(
            merge=self.parameters.merge,
            committed=any(table.snapshot_ids for table in done),
            problem="some tables could not be compacted" if any(table.is_failed for table in done) else None,
            message=f"nessie-gc {self.name}: files of {plural(report.rewritten, 'table')}",
        )
        return replace(report, tables=rows, work_branch=merge)

    def _applied(
        self, run: Run, planned: PlannedCompaction, maintenance: Maintenance, *, reviewed: bool
    ) -> CompactionReport:
        started = run.elapsed()
        tables: list[CompactedTable] = []
        with OpenConnectors(run.choice) as connectors:
            compactor = Compactor(
                maintenance=maintenance,
                look=self._look(run, maintenance, connectors),
                rewrite=self.parameters.rewrite(self.name),
                commit_retries=self.parameters.commit_retries,
                reviewed=reviewed or self.parameters.budget is not None,
                go_on=run.go_on,
            )
            for number, table in enumerate(planned.tables, start=1):
                tables.append(compactor.compacted(table))
                run.tell("compact", number, len(planned.tables))
        return self._report(run, tables, planned.report.seconds + run.elapsed() - started, dry_run=False)

    def _within_budget(self, tables: Sequence[PlannedTable]) -> list[PlannedTable]:
        """The same, of which the partitions with the most gain come first until the budget is used up."""
        budget = self.parameters.budget
        if budget is None:
            return list(tables)
        verdicts = within_budget([table.plans for table in tables], budget)
        return [table.with_plans(plans) if plans else table for table, plans in zip(tables, verdicts, strict=True)]

    def _look(self, run: Run, maintenance: Maintenance, connectors: OpenConnectors) -> TableLook:
        rules = self.parameters.rules(run.clock())
        return TableLook(
            maintenance=maintenance, connectors=connectors, rules=rules, branch=self.parameters.table_branch
        )

    def _maintenance(self, run: Run, branch: str | None) -> Maintenance:
        return maintenance_of(run, self.name, self.parameters.check(run.clock()), branch)

    def _report(self, run: Run, tables: Sequence[CompactedTable], seconds: float, *, dry_run: bool) -> CompactionReport:
        catalog = self.parameters.check(run.clock())
        rows = tuple(replace(table, location=reported_location(table.location, run)) for table in tables)
        return CompactionReport(catalog=catalog, dry_run=dry_run, tables=rows, seconds=seconds)


def _planned_tables(planned: PlannedCompaction) -> Iterator[CurrentTable]:
    """The tables with files to rewrite."""
    for table in planned.tables:
        if table.current is not None and table.report.outcome is Compacted.REWRITTEN:
            yield table.current


def _locations(planned: PlannedCompaction, maintenance: Maintenance) -> dict[str, str]:
    """Their names and metadata files, as the catalog has them now; those that are gone are left out."""
    found = (maintenance.current(table.name) for table in _planned_tables(planned))
    return {".".join(table.name): table.metadata_location for table in found if table is not None}


def _is_meant(table: CompactedTable, planned: PlannedCompaction) -> bool:
    """Whether something of a table was to be rewritten."""
    return table.table in {".".join(each.name) for each in _planned_tables(planned)}
