"""The typed parameters of the reorganization of manifests."""

from __future__ import annotations

from collections.abc import Sequence

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.finding_parameters import (
    exclude_option,
    include_option,
    session_branch_option,
    session_catalog_option,
)
from nessie_gc_core.services.manifests.levels import (
    Effort,
    PartitionPriority,
    effort_option,
    parse_target,
    partition_priority_option,
    target_manifest_size_option,
)

MANIFESTS = "Manifests"


@options
class RewriteManifestsParameters(ConnectorOptions):
    """Which manifests to rewrite, in which tables."""

    catalog: str | None = session_catalog_option()
    table_branch: str | None = session_branch_option()
    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    effort: Effort = effort_option()
    target_manifest_size: str | None = target_manifest_size_option()
    partition_priority: PartitionPriority = partition_priority_option()
    commit_retries: int = option(
        4, section=MANIFESTS, minimum=0, help="How often to plan and commit a table again after a conflict."
    )
    dry_run: bool = option(False, section=MANIFESTS, help="Report what would be rewritten; write and commit nothing.")

    @property
    def patterns(self) -> TablePatterns:
        """Which tables are selected."""
        return TablePatterns.parse(self.include, self.exclude)

    @property
    def target_bytes(self) -> int | None:
        """The target size in bytes; ``None``: what each table says.

        Raises:
            ConfigurationError: it is not a size.
        """
        return parse_target(self.target_manifest_size)

    def check(self) -> str:
        """Rejects invalid parameters before anything is opened; returns the name of the catalog.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        _ = self.patterns, self.target_bytes
        if not self.catalog:
            raise ConfigurationError("`catalog` is missing: name the catalog of the Spark session that has the tables")
        return self.catalog
