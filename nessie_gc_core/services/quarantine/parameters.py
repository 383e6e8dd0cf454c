"""The typed parameters of restore and purge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from nessie_gc_core.errors import ConfigurationError, UnknownLocationError
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.finding_parameters import (
    SWEEP,
    allow_option,
    by_table_option,
    exclude_option,
    include_option,
    lease_option,
    max_live_set_age_option,
    min_depth_option,
    outcomes_option,
    set_aside_option,
    strict_unknown_option,
)
from nessie_gc_core.services.output_files import check_output
from nessie_gc_core.services.parameters import DeferredDeletionParameters, live_set_id_option
from nessie_gc_core.services.run import Run

_FILES = "Files to choose"


@options
class ReleaseParameters(ConnectorOptions):
    """Which files in quarantine; all conditions must hold."""

    live_set_id: str | None = live_set_id_option()
    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    under: Sequence[str] = option(
        (),
        section=_FILES,
        metavar="PREFIX",
        help="Only files that were below this location; may be repeated.",
    )
    matching: str | None = option(
        None,
        section=_FILES,
        metavar="PATTERN",
        help="Only files whose whole former path matches this regular expression.",
    )
    forget_missing: bool = option(
        False, section=_FILES, help="Remove the records of files that are not in quarantine any more."
    )
    dry_run: bool = option(False, section=SWEEP, help="Show which files are meant, and change nothing.")
    files_per_step: int = option(25_000, section=SWEEP, minimum=1, help="Process about this many files in one step.")
    outcomes_to: str | None = outcomes_option()
    lease: timedelta = lease_option()

    def check(self) -> None:
        """Refuses parameters.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        if self.outcomes_to is not None:
            check_output("outcomes_to", self.outcomes_to)

    @property
    def chooses(self) -> bool:
        """Whether some files are meant, and not all."""
        return any((self.live_set_id, self.include, self.exclude, self.under, self.matching))

    @property
    def tables(self) -> TablePatterns:
        """The tables.

        Raises:
            ConfigurationError: a pattern is not a regular expression.
        """
        return TablePatterns.parse(self.include, self.exclude)

    def pattern(self) -> re.Pattern[str] | None:
        """The pattern of former paths.

        Raises:
            ConfigurationError: it is not a regular expression.
        """
        try:
            return None if self.matching is None else re.compile(self.matching)
        except re.error as error:
            raise ConfigurationError(f"`matching` {self.matching!r} is not a regular expression: {error}") from error

    def prefixes(self, rules: LocationRules) -> tuple[str, ...]:
        """The locations in canonical form.

        Raises:
            ConfigurationError: one is relative, or its scheme is not known.
        """
        try:
            return tuple(map(rules.place_prefix, self.under))
        except UnknownLocationError as error:
            raise ConfigurationError(f"`under`: {error}") from error


@options
class RestoreParameters(ReleaseParameters):
    """Which files are moved back."""

    everything: bool = option(False, section=_FILES, help="Restore everything that is in quarantine.")

    def check(self) -> None:
        """Refuses to restore everything by mistake.

        Raises:
            ConfigurationError: nothing says which files are meant, or the outcome file cannot be written.
        """
        ReleaseParameters.check(self)
        if not self.everything and not self.chooses:
            raise ConfigurationError(
                "say which files to restore: with `live_set_id`, `include`, `under` or `matching`, or `everything`"
            )


@options
class PurgeParameters(ReleaseParameters):
    """Which files are deleted for good: of those that are chosen the ones whose time is over.

    The limits of a sweep on places are those of tagged files, which are deleted at their own paths.
    """

    by_table: bool = by_table_option()
    allow: Sequence[str] = allow_option()
    min_depth: int | None = min_depth_option()
    strict_unknown: bool = strict_unknown_option()
    set_aside: Sequence[str] = set_aside_option()
    max_live_set_age: timedelta = max_live_set_age_option()

    def limits(self, run: Run) -> DeferredDeletionParameters:
        """The limits of a purge, as those of a deletion.

        Raises:
            ConfigurationError: one of them is invalid.
        """
        found = DeferredDeletionParameters(
            allow=self.allow,
            min_depth=self.min_depth,
            strict_unknown=self.strict_unknown,
            set_aside=self.set_aside,
            max_live_set_age=self.max_live_set_age,
        )
        found.check(run.choice)
        return found
