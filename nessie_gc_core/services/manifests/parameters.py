"""The typed parameters of the reorganization of manifests, and what each level of them means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.sizes import parse_size
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.finding_parameters import (
    exclude_option,
    include_option,
    session_branch_option,
    session_catalog_option,
)

MANIFESTS = "Manifests"
_LEAST_TARGET = 1024


class Effort(StrEnum):
    """How much rewriting is allowed to reach the goals."""

    LOW = "low"
    """The smallest manifests only, and at most a quarter of the bytes."""
    MEDIUM = "medium"
    """What helps, and at most half of the bytes."""
    HIGH = "high"
    """All manifests of a partition spec, wherever that helps at all."""


class PartitionPriority(StrEnum):
    """How important it is that manifests follow partitions."""

    LOW = "low"
    """Sizes alone decide which manifests are rewritten."""
    MEDIUM = "medium"
    """Manifests are rewritten, too, where a query for one partition opens more than three times as many as needed."""
    HIGH = "high"
    """The same from twice as many on, and manifests whose ranges meet are rewritten together or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffortRules:
    """What a level of effort allows."""

    small: float
    """Manifests below this share of the target size are small."""
    large: float | None
    """Those above so many times the target are large; ``None``: none is."""
    share: float
    """At most this share of the bytes of a table's manifests is rewritten,"""
    least_targets: float
    """or so many times the target size, where that is more."""
    fewer: int
    """It is worth it only where at least so many manifests less remain,"""
    fewer_share: float
    """and at least this share less of those of the same spec and content."""
    only_small: bool = False
    """Whether small manifests alone are rewritten, whatever the ranges of others."""
    whole: bool = False
    """Whether all manifests of a spec and content are rewritten together."""


EFFORTS: Mapping[Effort, EffortRules] = {
    Effort.LOW: EffortRules(
        small=0.25, large=None, share=0.25, least_targets=1, fewer=4, fewer_share=0.1, only_small=True
    ),
    Effort.MEDIUM: EffortRules(small=0.5, large=2.0, share=0.5, least_targets=8, fewer=2, fewer_share=0.05),
    Effort.HIGH: EffortRules(small=1.0, large=1.5, share=1.0, least_targets=0, fewer=1, fewer_share=0, whole=True),
}
"""What each level of effort allows."""
OVERLAPS: Mapping[PartitionPriority, float | None] = {
    PartitionPriority.LOW: None,
    PartitionPriority.MEDIUM: 3.0,
    PartitionPriority.HIGH: 2.0,
}
"""How many times more manifests than needed a query for one partition may open; ``None``: any number."""


@options
class RewriteManifestsParameters(ConnectorOptions):
    """Which manifests are rewritten, of which tables."""

    catalog: str | None = session_catalog_option()
    branch: str | None = session_branch_option()
    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    effort: Effort = option(Effort.MEDIUM, section=MANIFESTS, help="How much may be rewritten to reach the goals.")
    target_manifest_size: str | None = option(
        None,
        section=MANIFESTS,
        metavar="SIZE",
        help="Size of new manifests, such as 8MB (default: commit.manifest.target-size-bytes of the table, or 8MB).",
    )
    partition_priority: PartitionPriority = option(
        PartitionPriority.MEDIUM, section=MANIFESTS, help="How important it is that manifests follow partitions."
    )
    commit_retries: int = option(
        4, section=MANIFESTS, minimum=0, help="How often a table is planned and committed again that others changed."
    )
    dry_run: bool = option(False, section=MANIFESTS, help="Say what would be rewritten; write and commit nothing.")

    @property
    def patterns(self) -> TablePatterns:
        """Which tables are meant."""
        return TablePatterns.parse(self.include, self.exclude)

    @property
    def target_bytes(self) -> int | None:
        """The target size in bytes; ``None``: what each table says.

        Raises:
            ConfigurationError: it is no size.
        """
        if self.target_manifest_size is None:
            return None
        size = parse_size(self.target_manifest_size, "target_manifest_size")
        if size < _LEAST_TARGET:
            raise ConfigurationError(f"`target_manifest_size` {self.target_manifest_size!r} is less than 1KB")
        return size

    def check(self) -> str:
        """Refuses parameters that make no sense, before anything is opened; gives the name of the catalog.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        _ = self.patterns, self.target_bytes
        if not self.catalog:
            raise ConfigurationError("`catalog` is missing: name the catalog of the Spark session that has the tables")
        return self.catalog
