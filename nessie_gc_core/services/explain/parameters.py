"""The typed parameters of an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError, UnknownLocationError
from nessie_gc_core.model.limits import DeletionCaps
from nessie_gc_core.model.options import option, options
from nessie_gc_core.services.assets.parameters import FindParameters
from nessie_gc_core.services.finding_parameters import (
    Membership,
    file_list_max_age_option,
    file_list_option,
    file_list_time_option,
    max_delete_percent_option,
    max_deletes_option,
    max_deletes_per_location_option,
)
from nessie_gc_core.services.parameters import GcParameters, part_of

MAX_FILES = 1_000


@options
class ExplainParameters(FindParameters):
    """Which files are explained, and what a run would be told."""

    file: Sequence[str] = option((), metavar="FILE", positional=True, help="The whole path of a file, with its scheme.")
    file_list: Sequence[str] = file_list_option()
    file_list_time: datetime | None = file_list_time_option()
    file_list_max_age: timedelta = file_list_max_age_option()
    max_deletes: int | None = max_deletes_option()
    max_deletes_per_location: int | None = max_deletes_per_location_option()
    max_delete_percent: float | None = max_delete_percent_option()

    @property
    def finding(self) -> GcParameters:
        """The collection whose verdicts are explained; it deletes nothing, so that no cap applies to it."""
        uncapped = {"max_deletes": None, "max_deletes_per_location": None, "max_delete_percent": None}
        return part_of(self, GcParameters, dry_run=True, membership=Membership.EXACT, **uncapped)

    @property
    def caps(self) -> DeletionCaps:
        """Limits on how much the explained run may delete."""
        return part_of(self, GcParameters, dry_run=True).caps

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        FindParameters.check(self, choice)
        if not self.file:
            raise ConfigurationError("`file` is missing: give the full path of at least one file")
        if len(self.file) > MAX_FILES:
            raise ConfigurationError(
                f"`file`: at most {MAX_FILES:,} files are explained at once, not {len(self.file):,}"
            )
        rules = choice.rules()
        for path in self.file:
            try:
                rules.canonical(path)
            except UnknownLocationError as error:
                raise ConfigurationError(f"`file`: {error}; give the full path, with its scheme") from error
            if path.endswith("/"):
                raise ConfigurationError(f"`file` {path!r} is a folder; name a file in it")
