"""The levels of effort and of partition priority: which manifests are due, for every service that says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import option
from nessie_gc_core.model.sizes import parse_size
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.table_properties import DEFAULT_MANIFEST_TARGET_SIZE, MANIFEST_TARGET_SIZE
from nessie_gc_core.services.finding_parameters import DUE

_LEAST_TARGET = 1024


class Effort(StrEnum):
    """How much rewriting is allowed to reach the goals."""

    LOW = "low"
    """Small manifests only, and at most a quarter of the bytes."""
    MEDIUM = "medium"
    """What helps, and at most half of the bytes."""
    HIGH = "high"
    """All manifests of a partition spec, wherever that helps at all."""


class PartitionPriority(StrEnum):
    """How important it is that manifests group files by partition."""

    LOW = "low"
    """Sizes alone decide which manifests are rewritten."""
    MEDIUM = "medium"
    """Manifests are rewritten, too, where a query for one partition opens more than three times as many as needed."""
    HIGH = "high"
    """The same from twice as many on; manifests whose ranges meet are rewritten together, if the effort allows that."""


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


def effort_option() -> Effort:
    """Declares how much may be rewritten."""
    return option(Effort.MEDIUM, section=DUE, help="How much may be rewritten.")


def partition_priority_option() -> PartitionPriority:
    """Declares how important partitions are."""
    return option(
        PartitionPriority.MEDIUM, section=DUE, help="How important it is that manifests group files by partition."
    )


def target_manifest_size_option() -> str | None:
    """Declares the size of new manifests."""
    return option(
        None,
        section=DUE,
        metavar="SIZE",
        help="Target size of new manifests, such as 8MiB (default: the table's commit.manifest.target-size-bytes, or "
        "8MiB).",
    )


def parse_target(target_manifest_size: str | None) -> int | None:
    """The size of new manifests in bytes; ``None``: what each table says.

    Raises:
        ConfigurationError: it is not a size, or is too small.
    """
    if target_manifest_size is None:
        return None
    size = parse_size(target_manifest_size, "target_manifest_size")
    if size < _LEAST_TARGET:
        raise ConfigurationError(f"`target_manifest_size` {target_manifest_size!r} is less than 1KiB")
    return size


def target_of(table: TableMetadata) -> int:
    """The size of manifests that a table's property says, in bytes.

    Raises:
        ConfigurationError: it is not a number.
    """
    name = MANIFEST_TARGET_SIZE
    text = table.properties.get(name, str(DEFAULT_MANIFEST_TARGET_SIZE))
    if not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(f"the property {name} of {table.content_key} is {text!r}: set a number of bytes")
    return int(text)
