"""Typed parameters of the garbage-collection services; the same words as on the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.limits import AgeLimit, AllowedLocations, DeletionCaps
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.verdicts import DeleteMode


class Membership(StrEnum):
    """How stored files are compared with reachable ones."""

    EXACT = "exact"
    BLOOM = "bloom"


def no_progress(phase: str, done: int, total: int | None) -> None:
    """Shows nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkSettings:
    """Parameters of a mark."""

    policies: ReferencePolicies
    parallelism: int = 4
    """How many references are walked at once (``--identify-parallelism``)."""
    deduplicator: ConnectorSpec = field(
        default_factory=lambda: ConnectorSpec(kind="visited-deduplicator", name="exact")
    )
    choice: ConnectorChoice = field(default_factory=ConnectorChoice)
    """Which plugins are disabled and required; a mark opens no reader, lister or deleter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepSettings:
    """Parameters of a sweep."""

    choice: ConnectorChoice = field(default_factory=ConnectorChoice)
    """Readers, listers and deleters with their options."""
    allowed: AllowedLocations = field(default_factory=AllowedLocations)
    age: AgeLimit = field(default_factory=AgeLimit)
    age_floor: bool = True
    """Refuse a least age below one hour."""
    caps: DeletionCaps = field(default_factory=DeletionCaps)
    mode: DeleteMode = DeleteMode.DELETE
    membership: Membership = Membership.EXACT
    expected_file_count: int = 1_000_000
    """Capacity of the Bloom filter; it is made larger where more is reachable."""
    false_positive_rate: float = 1e-5
    strict_unknown: bool = False
    """Freeze everything where anything is unknown."""
    max_live_set_age: timedelta = timedelta(days=7)
    recheck_interval: timedelta = timedelta(minutes=5)
    files_per_step: int = 25_000
    """A step deletes about this many files; between steps the references may be checked again."""
    lease: timedelta = timedelta(minutes=2)
    """How long the lease on the repository holds without a sign of life."""
    resume: bool = False
    """Take up a sweep that was killed or failed."""
    outcomes_to: str | None = None
    """File that receives one line (``.jsonl``) or row (``.parquet``) per file with its outcome."""
    parallelism: int = 4
    """How many references a re-check walks at once."""
    deduplicator: ConnectorSpec = field(
        default_factory=lambda: ConnectorSpec(kind="visited-deduplicator", name="exact")
    )

    def check_plugins(self) -> None:
        """Refuses to delete with a plugin that cannot be loaded, and names of plugins that are not installed (S26).

        Raises:
            PluginError: the message names the plugin and says what to do.
        """
        self.choice.check_plugins(deletes=self.mode is DeleteMode.DELETE)

    def check(self) -> None:
        """Refuses parameters that make no sense, before anything is touched.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        self.check_plugins()
        self.age.check(floor=self.age_floor)
        if not 0 < self.false_positive_rate < 1:
            raise ConfigurationError(f"--fpp must lie between 0 and 1, not {self.false_positive_rate}")
        if self.expected_file_count < 1:
            raise ConfigurationError(f"--expected-file-count must be at least 1, not {self.expected_file_count}")
        self.check_outcomes_to()

    def check_outcomes_to(self) -> None:
        """Refuses a file for the outcomes that cannot be made, before a long run is in vain.

        Raises:
            ConfigurationError: its ending is another one, it is a folder, or its folder does not exist.
        """
        path = self.outcomes_to
        if path is None:
            return
        if not path.endswith((".jsonl", ".parquet")):
            raise ConfigurationError(f"--outcomes-to {path!r} must end in .jsonl or .parquet")
        if Path(path).is_dir():
            raise ConfigurationError(f"--outcomes-to {path!r} is a folder; name a file in it")
        folder = Path(path).parent
        if not folder.is_dir():
            raise ConfigurationError(
                f"--outcomes-to {path!r}: the folder {str(folder)!r} does not exist; make it first"
            )


Progress = Callable[[str, int, "int | None"], None]
"""Told the phase, how much of it is done, and of how much, where that is known."""
