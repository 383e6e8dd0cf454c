"""Looks at tables: their metadata file, and each manifest of the current snapshot once, many tables at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsManifests
from nessie_gc_core.model.compaction import Partition, PartitionSet
from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.model.manifests import FileEntry, Manifest
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.tables import CurrentTable, TableName
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.compaction.estimating import nothing_due
from nessie_gc_core.services.compaction.planning import (
    CompactionRules,
    PartitionPlan,
    separated,
)
from nessie_gc_core.services.compaction.report import Compacted, CompactedPartition, CompactedTable, TableFiles
from nessie_gc_core.services.compaction.separating import Specs, name_of
from nessie_gc_core.services.compaction.tallies import Tally, tallied
from nessie_gc_core.services.current_tables import Left, left_to_others, looked_at, table_of, version_of
from nessie_gc_core.tables import Maintenance

_NOT_DUE = "no partition has too many small files or delete files"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table, and what would be rewritten of it."""

    report: CompactedTable
    """What is said of it."""
    current: CurrentTable | None = None
    """The state that was looked at."""
    plans: Sequence[PartitionPlan] = field(default=(), repr=False)
    """The partitions that are due."""
    tallies: Mapping[Partition, Tally] = field(default_factory=dict, repr=False)
    """Those of all partitions, while there is something to plan."""
    specs: Specs = field(default_factory=dict, repr=False)
    """The partition specs."""
    default_spec: int | None = None
    """Id of the partition spec for new files."""

    @property
    def sets(self) -> list[PartitionSet]:
        """The partitions that are rewritten, grouped by whether their delete files are rewritten too."""
        return [found for found in (self._set(with_deletes=each) for each in (False, True)) if found.partitions]

    def _set(self, *, with_deletes: bool) -> PartitionSet:
        chosen = [plan for plan in self.plans if plan.reason is None and plan.deletes_due is with_deletes]
        partitions = {plan.partition for plan in chosen}
        specs = {each.spec_id for each in self.tallies}
        taken_in = [plan.tally for plan in chosen] if len(specs) == 1 else list(self.tallies.values())
        return PartitionSet(
            partitions=partitions,
            is_all=partitions >= self.tallies.keys(),
            with_deletes=with_deletes,
            largest_bytes=max((tally.largest for tally in taken_in if chosen), default=0),
        )

    def with_plans(self, plans: Sequence[PartitionPlan]) -> PlannedTable:
        """The same with other verdicts upon its partitions, and what follows from them."""
        plans = separated(plans, self.tallies, self.specs, self.default_spec)
        rows = tuple(_row(plan, self.specs) for plan in plans)
        chosen = [plan for plan in plans if plan.reason is None]
        report = replace(self.report, partitions=rows)
        if not chosen:
            reason = reason_of(plans[0]) if plans else _NOT_DUE
            report = replace(report, outcome=Compacted.NOT_WORTH_IT, reason=reason)
        else:
            report = replace(report, outcome=Compacted.REWRITTEN, reason=None)
        return replace(self, report=report, plans=plans)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """Looks at one table after the other, in several threads."""

    maintenance: Maintenance
    connectors: OpenConnectors
    rules: CompactionRules
    branch: str | None
    """The branch of Nessie that was named."""

    def looked(self, name: TableName) -> PlannedTable:
        """One table, whatever is wrong with it."""

        def left(why: Left) -> PlannedTable:
            report = CompactedTable(
                table=".".join(name),
                reference=self.branch,
                outcome=Compacted(why.outcome),
                reason=why.reason,
                format_version=why.format_version,
            )
            return PlannedTable(report=report)

        return looked_at(self.maintenance, name, lambda current: self._planned(current, left), left)

    def _planned(self, current: CurrentTable, left: Callable[[Left], PlannedTable]) -> PlannedTable:
        version = version_of(current)
        with self.connectors.reader(version.content_type) as reader, reader.remembering():
            assert isinstance(reader, SupportsManifests)
            table = table_of(reader, version, self.branch)
            why = left_to_others(table, current) or self._against(table, current)
            if why is not None:
                return left(why)
            tallies = self._tallied(reader, version, table)
        report = CompactedTable(
            table=".".join(current.name),
            reference=self.branch,
            outcome=Compacted.NOT_WORTH_IT,
            reason=_NOT_DUE,
            format_version=current.format_version,
            before=files_of(tallies),
            location=table.location,
        )
        specs, default = table.spec_fields, table.default_spec
        plans = self.rules.due(tallies, specs, columns=table.columns, default_spec=default)
        if not plans:  # the tallies of many such tables would take memory for nothing
            return PlannedTable(report=report, current=current)
        planned = PlannedTable(report=report, current=current, tallies=tallies, specs=specs, default_spec=default)
        return planned.with_plans(plans)

    def _against(self, table: TableMetadata, current: CurrentTable) -> Left | None:
        """Why the manifests need not be opened."""
        counts = FileCounts.of(table.summary)
        if nothing_due(counts, self.rules, specs=len(table.spec_fields)):
            reason = f"it has {plural(counts.data_files, 'data file')} and {plural(counts.delete_files, 'delete file')}"
            return Left(outcome="not worth it", reason=reason, format_version=current.format_version)
        return None

    def _tallied(
        self, reader: SupportsManifests, version: ContentVersion, table: TableMetadata
    ) -> dict[Partition, Tally]:
        others = (snapshot for snapshot in table.snapshots if snapshot.service is None)
        times = {snapshot.snapshot_id: snapshot.timestamp_ms for snapshot in others}
        entries = entries_of(reader, reader.manifests(version))
        return tallied(entries, small_bytes=self.rules.small_bytes, added_ms=times)

    def tallies(self, current: CurrentTable) -> dict[Partition, Tally]:
        """The files of a state, by partition."""
        version = version_of(current)
        with self.connectors.reader(version.content_type) as reader:
            assert isinstance(reader, SupportsManifests)
            entries = entries_of(reader, reader.manifests(version))
            return tallied(entries, small_bytes=self.rules.small_bytes, added_ms={})


def entries_of(reader: SupportsManifests, manifests: Iterable[Manifest]) -> Iterator[FileEntry]:
    """The live files of some manifests, which are read one after the other."""
    for manifest in manifests:
        yield from reader.entries(manifest)


def files_of(tallies: Mapping[Partition, Tally], only: Set[Partition] | None = None) -> TableFiles:
    """The files of all partitions, or of some."""
    found = [tally for each, tally in tallies.items() if only is None or each in only]
    return TableFiles(
        partitions=len(found),
        data_files=sum(tally.data_files for tally in found),
        bytes=sum(tally.bytes for tally in found),
        small_files=sum(tally.small for tally in found),
        delete_files=sum(tally.delete_files for tally in found),
        delete_bytes=sum(tally.delete_bytes for tally in found),
    )


def reason_of(plan: PartitionPlan) -> str | None:
    """Why a partition is left as it is, and what to do about that."""
    return plan.reason if plan.remedy is None else f"{plan.reason}; {plan.remedy}"


def _row(plan: PartitionPlan, specs: Specs) -> CompactedPartition:
    return CompactedPartition(
        spec_id=plan.partition.spec_id,
        partition=name_of(plan.partition, specs),
        before=files_of({plan.partition: plan.tally}),
        small_due=plan.small_due,
        deletes_due=plan.deletes_due,
        rewritten=plan.reason is None,
        input_files=plan.input_files,
        input_bytes=plan.input_bytes,
        output_files=plan.output_files,
        reason=reason_of(plan),
    )
