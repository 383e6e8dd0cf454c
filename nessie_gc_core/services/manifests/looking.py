"""Looks at tables: their metadata file and their manifest list, once each, many tables at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsManifests
from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.model.manifests import Manifest, ManifestContent
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.tables import CurrentTable, TableName
from nessie_gc_core.services.current_tables import Left, each_table, left_to_others, looked_at, table_of, version_of
from nessie_gc_core.services.manifests.parameters import RewriteManifestsParameters
from nessie_gc_core.services.manifests.placing import MOST_FILES, can_be_placed, placed
from nessie_gc_core.services.manifests.planning import ManifestGroup, ManifestPlanner, overlap_of, total
from nessie_gc_core.services.manifests.report import ManifestFigures, Reorganized, ReorganizedTable
from nessie_gc_core.services.run import Run
from nessie_gc_core.tables import Maintenance

_ROW_LINEAGE = 3
_FEW = "its snapshot has at most one manifest"
_NEW_IDS = (
    f"more than {MOST_FILES:,} files of format version 3, whose row ids the session's Iceberg would change; use "
    "Iceberg 1.11.1 or later"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table, and its manifests that would be rewritten."""

    report: ReorganizedTable
    """What the report says about it."""
    current: CurrentTable | None = None
    """The state that was looked at."""
    groups: Sequence[ManifestGroup] = field(default=(), repr=False)
    """What would be rewritten of each partition spec and content; groups with nothing to rewrite may be left out."""

    @property
    def paths(self) -> dict[int, frozenset[str]]:
        """Partition spec ids with the manifests that would be rewritten."""
        found: dict[int, frozenset[str]] = {}
        for group in self.groups:
            paths = frozenset(manifest.path for manifest in group.chosen)
            if paths:
                found[group.spec_id] = found.get(group.spec_id, frozenset()) | paths
        return found


def planned_tables(
    run: Run, maintenance: Maintenance, parameters: RewriteManifestsParameters
) -> Iterator[PlannedTable]:
    """Looks at every selected table. One that cannot be read does not stop the others (S18).

    Raises:
        ConfigurationError: no plugin reads manifest lists.
        TableError: the catalog cannot be listed.
    """
    with OpenConnectors(run.choice) as connectors:
        look = TableLook(maintenance=maintenance, parameters=parameters, connectors=connectors)
        for table in each_table(run, maintenance, parameters.patterns, look.looked):
            yield _slim(table)


def _slim(table: PlannedTable) -> PlannedTable:
    """The same without manifests that stay: those of very many tables would fill the memory."""
    return replace(table, groups=[replace(group, manifests=group.chosen) for group in table.groups if group.chosen])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """Looks at one table after the other, in several threads."""

    maintenance: Maintenance
    parameters: RewriteManifestsParameters
    connectors: OpenConnectors

    def looked(self, name: TableName) -> PlannedTable:
        """One table, whatever is wrong with it."""
        nothing = ReorganizedTable(
            table=".".join(name), reference=self.parameters.table_branch, outcome=Reorganized.NOT_WORTH_IT
        )

        def left(why: Left) -> PlannedTable:
            outcome = Reorganized(why.outcome)
            report = replace(nothing, outcome=outcome, reason=why.reason, format_version=why.format_version)
            return PlannedTable(report=report)

        def planned(current: CurrentTable) -> PlannedTable:
            table, manifests = self._read(current)
            why = left_to_others(table, current)
            if why is not None:
                return left(why)
            report = replace(nothing, format_version=current.format_version, location=table.location)
            if manifests is None:
                return PlannedTable(report=replace(report, reason=_FEW))
            return self.planned(current, table, manifests, report)

        return looked_at(self.maintenance, name, planned, left)

    def _read(self, current: CurrentTable) -> tuple[TableMetadata, list[Manifest] | None]:
        """What the metadata lists, and the manifests; ``None`` if the metadata says that there is one at most."""
        version = version_of(current)
        with self.connectors.reader(version.content_type) as reader, reader.remembering():
            assert isinstance(reader, SupportsManifests)
            table = table_of(reader, version, self.parameters.table_branch)
            said = FileCounts.of(table.summary).manifests
            return table, None if said is not None and said <= 1 else list(reader.manifests(version))

    def manifests(self, current: CurrentTable) -> list[Manifest]:
        """The manifests of a state."""
        version = version_of(current)
        with self.connectors.reader(version.content_type) as reader:
            assert isinstance(reader, SupportsManifests)
            return list(reader.manifests(version))

    def placed(self, planned: PlannedTable) -> dict[str, int] | None:
        """How the data files are distributed, where Iceberg's Spark action would give their rows new ids; else nothing.

        Raises:
            UnreadableFileError: a manifest cannot be read.
        """
        current = planned.current
        if current is None or current.format_version < _ROW_LINEAGE or not self.maintenance.loses_row_ids:
            return None
        with self.connectors.reader(ICEBERG_TABLE) as reader:
            assert isinstance(reader, SupportsManifests)
            return placed(planned.groups, reader.entries)

    def planned(
        self, current: CurrentTable, table: TableMetadata, manifests: Sequence[Manifest], nothing: ReorganizedTable
    ) -> PlannedTable:
        """What would be rewritten of a table whose manifests are known."""
        given = self.parameters
        planner = ManifestPlanner.of(table, given.effort, given.partition_priority, given.target_manifest_size)
        groups = planner.plan(manifests)
        if current.format_version >= _ROW_LINEAGE and self.maintenance.loses_row_ids:
            groups = groups if can_be_placed(groups) else [_without_data(group) for group in groups]
        report = replace(
            nothing,
            target_bytes=planner.target_bytes,
            manifests=len(manifests),
            bytes=total(manifests),
            overlap=overlap_of(manifests),
            groups=tuple(map(figures_of, groups)),
        )
        return PlannedTable(report=with_verdict(report, groups), current=current, groups=groups)


def with_verdict(report: ReorganizedTable, groups: Sequence[ManifestGroup]) -> ReorganizedTable:
    """What is said of a table of which this would be rewritten."""
    chosen = [group for group in groups if group.chosen]
    if not chosen:
        reasons = [group.reason for group in groups]  # those with the most manifests first
        if _NEW_IDS in reasons:
            return replace(report, outcome=Reorganized.LEFT_ALONE, reason=_NEW_IDS)
        return replace(report, outcome=Reorganized.NOT_WORTH_IT, reason=next(iter(reasons), _FEW))
    rewritten = sum(len(group.chosen) for group in chosen)
    kept = (report.manifests or 0) - rewritten
    return replace(
        report,
        outcome=Reorganized.REWRITTEN,
        reason=None,
        rewritten=rewritten,
        rewritten_bytes=sum(group.chosen_bytes for group in chosen),
        expected=kept + sum(group.expected for group in chosen),
    )


def figures_of(group: ManifestGroup) -> ManifestFigures:
    """A group as the report shows it."""
    return ManifestFigures(
        spec_id=group.spec_id,
        content=group.content,
        manifests=len(group.manifests),
        bytes=group.bytes,
        small=group.small,
        large=group.large,
        crowded=group.crowded,
        overlap=group.overlap,
        rewritten=len(group.chosen),
        rewritten_bytes=group.chosen_bytes,
        expected=group.expected,
        reason=group.reason,
    )


def _without_data(group: ManifestGroup) -> ManifestGroup:
    if group.content is ManifestContent.DELETES or not group.chosen:
        return group
    return replace(group, chosen=(), reason=_NEW_IDS)
