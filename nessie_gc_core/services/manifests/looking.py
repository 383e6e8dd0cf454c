"""Looks at tables: their metadata file and their manifest list, once each, many tables at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsManifests, SupportsTableMetadata
from nessie_gc_core.errors import ConfigurationError, ForeignTableError, UnreadableFileError
from nessie_gc_core.model.manifests import Manifest, ManifestContent
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.table_properties import DEFAULT_MANIFEST_TARGET_SIZE, MANIFEST_TARGET_SIZE, product_of
from nessie_gc_core.model.tables import CurrentTable, TableName
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.health.examination import manifests_of
from nessie_gc_core.services.manifests.parameters import RewriteManifestsParameters
from nessie_gc_core.services.manifests.placing import MOST_FILES, can_be_placed, placed
from nessie_gc_core.services.manifests.planning import ManifestGroup, ManifestPlanner, overlap_of, total
from nessie_gc_core.services.manifests.report import ManifestFigures, Reorganized, ReorganizedTable
from nessie_gc_core.services.run import Run
from nessie_gc_core.tables import Maintenance

AT_ONCE = 8
"""So many tables are asked of the catalog at the same time."""
_ROW_LINEAGE = 3
_FEW = "its snapshot has no more than one manifest"
_NEW_IDS = (
    f"more than {MOST_FILES:,} files of format version 3, whose rows the session's Iceberg would give new ids; "
    "use Iceberg 1.11.1 or later"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTable:
    """A table, and what would be rewritten of it."""

    report: ReorganizedTable
    """What is said of it."""
    current: CurrentTable | None = None
    """The state that was looked at."""
    groups: Sequence[ManifestGroup] = field(default=(), repr=False)
    """What would be rewritten of each partition spec and content, those of which nothing is left out."""

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
    """Looks at every table that is meant. One that cannot be read stops no other (S18).

    Raises:
        ConfigurationError: no plugin reads manifest lists.
        TableError: the catalog cannot be listed.
    """
    reader = run.registry.reader_of(ICEBERG_TABLE)
    if reader is None or not (issubclass(reader, SupportsManifests) and issubclass(reader, SupportsTableMetadata)):
        raise ConfigurationError("no installed plugin reads manifest lists; install nessie-gc-iceberg-files")
    patterns = parameters.patterns
    meant = (name for name in maintenance.names() if patterns.matches(".".join(name)))
    with OpenConnectors(run.choice) as connectors:
        look = TableLook(maintenance=maintenance, parameters=parameters, connectors=connectors)
        with closing(read_ahead(meant, look.looked, at_once=lambda _: AT_ONCE, kind="tables")) as found:
            for number, table in enumerate(found, start=1):
                run.tell("plan", number, None)
                yield _slim(table)


def _slim(table: PlannedTable) -> PlannedTable:
    """The same without manifests that stay: of very many tables they fill the memory."""
    return replace(table, groups=[replace(group, manifests=group.chosen) for group in table.groups if group.chosen])


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """Looks at one table after the other, in several threads."""

    maintenance: Maintenance
    parameters: RewriteManifestsParameters
    connectors: OpenConnectors

    def looked(self, name: TableName) -> Iterable[PlannedTable]:
        """One table, whatever is wrong with it."""
        nothing = ReorganizedTable(
            table=".".join(name), reference=self.parameters.branch, outcome=Reorganized.UNREADABLE
        )
        try:
            return [self._planned(name, nothing)]
        except ForeignTableError as error:
            return [PlannedTable(report=replace(nothing, outcome=Reorganized.LEFT_ALONE, reason=one_line(error)))]
        except Exception as error:  # noqa: BLE001 - whatever a reader raises is about this table alone (S18)
            return [PlannedTable(report=replace(nothing, reason=one_line(error)))]

    def _planned(self, name: TableName, nothing: ReorganizedTable) -> PlannedTable:
        current = self.maintenance.current(name)
        if current is None:
            reason = "it is no longer there"
            return PlannedTable(report=replace(nothing, outcome=Reorganized.GONE, reason=reason))
        nothing = replace(nothing, outcome=Reorganized.NOT_WORTH_IT, format_version=current.format_version)
        if current.snapshot_id is None:
            return PlannedTable(report=replace(nothing, reason="it has no snapshot"))
        table, manifests = self._read(current)
        product = product_of(table.location, table.properties)
        if product is not None:
            reason = f"{product} maintains it"
            return PlannedTable(report=replace(nothing, outcome=Reorganized.LEFT_ALONE, reason=reason))
        if manifests is None:
            return PlannedTable(report=replace(nothing, reason=_FEW))
        return self.planned(current, table, manifests, nothing)

    def _read(self, current: CurrentTable) -> tuple[TableMetadata, list[Manifest] | None]:
        """What the metadata lists, and the manifests; ``None`` where the metadata says that there is one at most."""
        version = version_of(current)
        with self.connectors.reader(version.content_type) as reader, reader.remembering():
            assert isinstance(reader, SupportsTableMetadata)
            assert isinstance(reader, SupportsManifests)
            table = reader.table_metadata(version, reference=self.parameters.branch or "")
            if table is None:
                raise UnreadableFileError(current.metadata_location, "it is no metadata of a table")
            said = manifests_of(table)
            return table, None if said is not None and said <= 1 else list(reader.manifests(version))

    def manifests(self, current: CurrentTable) -> list[Manifest]:
        """The manifests of a state."""
        version = version_of(current)
        with self.connectors.reader(version.content_type) as reader:
            assert isinstance(reader, SupportsManifests)
            return list(reader.manifests(version))

    def placed(self, planned: PlannedTable) -> dict[str, int] | None:
        """How the data files are dealt out, where Iceberg's Spark action would give their rows new ids; else nothing.

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
        target = given.target_bytes or target_of(table)
        planner = ManifestPlanner(effort=given.effort, priority=given.partition_priority, target_bytes=target)
        groups = planner.plan(manifests)
        if current.format_version >= _ROW_LINEAGE and self.maintenance.loses_row_ids:
            groups = groups if can_be_placed(groups) else [_without_data(group) for group in groups]
        report = replace(
            nothing,
            target_bytes=target,
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


def target_of(table: TableMetadata) -> int:
    """The size of manifests that a table's property says, in bytes.

    Raises:
        ConfigurationError: it is no number.
    """
    name = MANIFEST_TARGET_SIZE
    text = table.properties.get(name, str(DEFAULT_MANIFEST_TARGET_SIZE))
    if not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(f"the property {name} of {table.content_key} is {text!r}: set a number of bytes")
    return int(text)


def version_of(current: CurrentTable) -> ContentVersion:
    """A state of a table as readers take it."""
    return ContentVersion(
        content_id=current.uuid,
        content_type=ICEBERG_TABLE,
        metadata_location=current.metadata_location,
        snapshot_id=current.snapshot_id,
        content_key=".".join(current.name),
        commit_id="",
    )


def _without_data(group: ManifestGroup) -> ManifestGroup:
    if group.content is ManifestContent.DELETES or not group.chosen:
        return group
    return replace(group, chosen=(), reason=_NEW_IDS)
