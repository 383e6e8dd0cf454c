"""What the manifests of one table say: its files, and what compaction and reorganization would rewrite of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nessie_gc_core.connectors import SupportsManifests
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.services.compaction.estimating import nothing_due
from nessie_gc_core.services.compaction.looking import entries_of, files_of
from nessie_gc_core.services.compaction.planning import PartitionPlan
from nessie_gc_core.services.compaction.report import TableFiles
from nessie_gc_core.services.compaction.tallies import tallied
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.manifests.planning import ManifestGroup, overlap_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestsRead:
    """What the manifests of the current snapshot say."""

    manifests: int = 0
    """How many there are."""
    overlap: float | None = None
    """How many of them a query for one partition opens on average; ``None``: not known, or unpartitioned."""
    groups: Sequence[ManifestGroup] = field(default=(), repr=False)
    """Those with something to rewrite."""
    files: TableFiles | None = None
    """The files that they name; ``None``: so few that they were not opened."""
    due: Sequence[PartitionPlan] = field(default=(), repr=False)
    """The partitions that are due."""

    @property
    def chosen(self) -> list[PartitionPlan]:
        """The partitions that would be compacted."""
        return [plan for plan in self.due if plan.reason is None]

    @property
    def held(self) -> list[PartitionPlan]:
        """The partitions that are due, and would be left as they are."""
        return [plan for plan in self.due if plan.reason is not None]


def read_manifests(
    reader: SupportsManifests, version: ContentVersion, table: TableMetadata, parameters: HealthParameters
) -> ManifestsRead:
    """Reads the manifest list of a table, and each manifest once, where one of its partitions can be due.

    Raises:
        MissingFileError, UnreadableFileError: the list or a manifest cannot be read.
    """
    manifests = list(reader.manifests(version))
    try:
        groups = [group for group in parameters.planner(table).plan(manifests) if group.chosen]
    except ConfigurationError:  # the table's own target size; the examination says so
        groups = []
    found = ManifestsRead(manifests=len(manifests), overlap=overlap_of(manifests), groups=groups)
    rules = parameters.rules
    if nothing_due(FileCounts.of(table.summary), rules, specs=len(table.spec_fields)):
        return found
    tallies = tallied(entries_of(reader, manifests), small_bytes=rules.small_bytes, added_ms={})
    due = rules.due(tallies, table.spec_fields, columns=table.columns, default_spec=table.default_spec)
    return replace(found, files=files_of(tallies), due=due)
