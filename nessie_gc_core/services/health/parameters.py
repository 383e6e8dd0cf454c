"""The typed parameters of health: which tables, and from when on something is due.

What is due of files and manifests is what ``compact`` and ``rewrite-manifests`` take for due, by the same parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.compaction.limits import (
    compaction_rules,
    earlier_specs_option,
    max_delete_files_option,
    max_small_files_option,
    small_file_size_option,
    target_rewrite_size_option,
)
from nessie_gc_core.services.compaction.planning import CompactionRules
from nessie_gc_core.services.finding_parameters import DUE, TABLES, exclude_option, include_option
from nessie_gc_core.services.manifests.levels import (
    Effort,
    PartitionPriority,
    effort_option,
    parse_target,
    partition_priority_option,
    target_manifest_size_option,
)
from nessie_gc_core.services.manifests.planning import ManifestPlanner


@options
class HealthParameters(ConnectorOptions):
    """Which tables to examine, and when something is due."""

    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    reference: Sequence[str] = option(
        (),
        section=TABLES,
        metavar="NAME",
        whole=True,
        help="Examine this branch or tag (default: the default branch in Nessie, every table in a plain catalog).",
    )
    snapshot_threshold: int = option(
        20, section=DUE, minimum=1, help="Report tables with at least this many snapshots that can expire."
    )
    read_manifests: bool = option(
        False,
        section=TABLES,
        help="Also read the manifests of each current snapshot, and report what compact and rewrite-manifests would "
        "do.",
    )
    max_small_files: float = max_small_files_option()
    max_delete_files: float = max_delete_files_option()
    small_file_size: str = small_file_size_option()
    target_rewrite_size: str = target_rewrite_size_option()
    earlier_specs: bool = earlier_specs_option()
    delete_ratio_threshold: float = option(
        0.3, section=DUE, minimum=0, help="Report tables with at least this many deleted rows per record."
    )
    manifest_threshold: int = option(
        100,
        section=DUE,
        minimum=1,
        help="Without --read-manifests, report current snapshots with at least this many manifests.",
    )
    effort: Effort = effort_option()
    target_manifest_size: str | None = target_manifest_size_option()
    partition_priority: PartitionPriority = partition_priority_option()
    metadata_size_threshold: int = option(
        16 << 20, section=DUE, minimum=1, help="Report metadata files of at least this many bytes."
    )
    listed_snapshot_threshold: int = option(
        10_000, section=DUE, minimum=1, help="Report metadata files that list at least this many snapshots."
    )
    sweep_interval: timedelta = option(
        timedelta(days=7), section=DUE, minimum=0, help="Report a repository that has not been swept for this long."
    )
    commits_since: datetime | None = option(
        None,
        section=DUE,
        metavar="INSTANT",
        help="Count the commits of the examined references since this instant; in a plain catalog, the snapshots.",
    )
    max_commits: int = option(
        10_000, section=DUE, minimum=1, help="Stop counting commits (--commits-since) when there are this many."
    )

    @property
    def patterns(self) -> TablePatterns:
        """Which tables are examined."""
        return TablePatterns.parse(self.include, self.exclude)

    @property
    def rules(self) -> CompactionRules:
        """When files are due; partitions that are being written do not wait.

        Raises:
            ConfigurationError: a size is invalid, or the small one is more than half of the target.
        """
        return compaction_rules(self)

    def planner(self, table: TableMetadata) -> ManifestPlanner:
        """Decides which manifests are due.

        Raises:
            ConfigurationError: a size, or the table's own, is invalid.
        """
        return ManifestPlanner.of(table, self.effort, self.partition_priority, self.target_manifest_size)

    def check(self) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        _ = self.patterns, self.rules, parse_target(self.target_manifest_size)
