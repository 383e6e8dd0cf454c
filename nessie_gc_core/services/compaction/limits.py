"""From when on files are due, as every service takes it that says so: compaction itself, and health."""

from __future__ import annotations

from typing import Protocol

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import option
from nessie_gc_core.model.sizes import parse_size
from nessie_gc_core.services.compaction.planning import CompactionRules
from nessie_gc_core.services.finding_parameters import DUE


class FileLimits(Protocol):
    """Parameters of a service that say from when on files are due."""

    @property
    def max_small_files(self) -> float:
        """Maximum number of small data files for each large one in a partition."""

    @property
    def max_delete_files(self) -> float:
        """Maximum number of delete files for each data file in a partition."""

    @property
    def small_file_size(self) -> str:
        """Data files below this size are small."""

    @property
    def target_rewrite_size(self) -> str:
        """Target size of new data files."""

    @property
    def earlier_specs(self) -> bool:
        """Whether all small files of earlier partition specs are due."""


def max_small_files_option() -> float:
    """Declares how many small data files a partition may have."""
    return option(
        10.0, section=DUE, minimum=0, help="Maximum number of small data files for each large one in a partition."
    )


def max_delete_files_option() -> float:
    """Declares how many delete files a partition may have."""
    return option(
        10.0, section=DUE, minimum=0, help="Maximum number of delete files for each data file in a partition."
    )


def small_file_size_option() -> str:
    """Declares below which size data files are small."""
    return option("100MiB", section=DUE, metavar="SIZE", help="Data files below this size are small.")


def target_rewrite_size_option() -> str:
    """Declares the size of new data files."""
    return option("256MiB", section=DUE, metavar="SIZE", help="Target size of new data files.")


def earlier_specs_option() -> bool:
    """Declares whether all small files of earlier partition specs are due."""
    return option(
        False,
        section=DUE,
        help="Rewrite all small files of earlier partition specs into the current spec, even if that makes more files.",
    )


def compaction_rules(given: FileLimits, *, written_since_ms: int | None = None) -> CompactionRules:
    """What is due.

    Args:
        given: the parameters.
        written_since_ms: partitions to which a file was added then or later wait, in milliseconds since the epoch;
            ``None``: none waits.

    Raises:
        ConfigurationError: a size is invalid, or the small one is more than half of the target.
    """
    small = parse_size(given.small_file_size, "small_file_size")
    target = parse_size(given.target_rewrite_size, "target_rewrite_size")
    if not 0 < small <= target / 2:
        raise ConfigurationError(
            f"`small_file_size` {given.small_file_size!r} must be above 0 and at most half of `target_rewrite_size` "
            f"{given.target_rewrite_size!r}, so that two small files fit into a new one"
        )
    return CompactionRules(
        max_small_files=given.max_small_files,
        max_delete_files=given.max_delete_files,
        small_bytes=small,
        target_bytes=target,
        written_since_ms=written_since_ms,
        earlier_specs=given.earlier_specs,
    )
