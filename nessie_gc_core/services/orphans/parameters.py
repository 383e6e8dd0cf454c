"""The typed parameters of the removal of orphan files: those of Iceberg's procedure, by their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import option, options
from nessie_gc_core.model.policies import time_before
from nessie_gc_core.services.finding_parameters import (
    file_list_max_age_option,
    file_list_option,
    file_list_time_option,
    max_delete_percent_option,
    no_age_floor_option,
)
from nessie_gc_core.services.parameters import DeletionParameters, GcParameters, part_of

ORPHANS = "Orphan files"
DEFAULT_AGE = "P3D"
FLOOR = timedelta(hours=24)
"""The minimum that Iceberg's procedure accepts."""


class PrefixMismatchMode(StrEnum):
    """What becomes of a file that metadata names with another scheme or authority, and the same path."""

    ERROR = "ERROR"
    """Nothing is deleted."""
    IGNORE = "IGNORE"
    """It stays."""
    DELETE = "DELETE"
    """Refused: files that cannot be told apart stay (S3)."""


@options
class RemoveOrphanFilesParameters(DeletionParameters):
    """Where to look for orphan files of a table, and which to delete."""

    table: str | None = option(None, section=ORPHANS, metavar="NAMESPACE.TABLE", help="The table (required).")
    older_than: str = option(
        DEFAULT_AGE,
        section=ORPHANS,
        metavar="TIME",
        help="Remove files modified before this instant or duration; at least one day ago.",
    )
    location: str | None = option(
        None,
        section=ORPHANS,
        metavar="PREFIX",
        help="Look only below this location, which must be inside the table's (default: the whole table).",
    )
    file_list: Sequence[str] = file_list_option()
    file_list_time: datetime | None = file_list_time_option()
    file_list_max_age: timedelta = file_list_max_age_option()
    equal_schemes: Mapping[str, str] = option(
        {}, section=ORPHANS, help="Schemes that mean the same, as alias=scheme; s3a, s3n and similar ones are built in."
    )
    equal_authorities: Mapping[str, str] = option(
        {}, section=ORPHANS, help="Authorities that mean the same, as alias=authority."
    )
    prefix_mismatch_mode: PrefixMismatchMode = option(
        PrefixMismatchMode.ERROR,
        section=ORPHANS,
        help="If metadata names the same path with another scheme or authority: ERROR stops, IGNORE keeps the file.",
    )
    max_concurrent_deletes: int | None = option(
        None,
        section=ORPHANS,
        minimum=1,
        help="For compatibility with Iceberg's procedure; ignored. Use --expiry-parallelism.",
    )
    prefix_listing: bool = option(True, section=ORPHANS, help="For compatibility with Iceberg's procedure; ignored.")
    stream_results: bool = option(False, section=ORPHANS, help="For compatibility with Iceberg's procedure; ignored.")
    no_age_floor: bool = no_age_floor_option()
    max_delete_percent: float | None = max_delete_percent_option()

    def collection(self, now: datetime) -> GcParameters:
        """The mark and the sweep that find them: every listed snapshot is live."""
        instant = self._instant(now)
        more = {"default_cutoff": "NONE", "cutoff": (), "max_file_modification": instant}
        age = max(timedelta(0), now - instant)  # by the clock of each store, too: ours may be wrong (S8)
        return part_of(self, GcParameters, min_age=age, no_age_floor=True, **more)

    def aliases(self, choice: ConnectorChoice) -> ConnectorChoice:
        """The connectors with the schemes and authorities that are declared equal."""
        return choice.with_aliases(schemes=self.equal_schemes, authorities=self.equal_authorities)

    def _instant(self, now: datetime) -> datetime:
        instant = time_before(self.older_than, now, "older_than")
        if now - instant < FLOOR and not self.no_age_floor:
            raise ConfigurationError(
                f"`older_than` {self.older_than!r} is less than 24 hours ago, so files that are being written could "
                "be deleted; use `no_age_floor` if nobody writes to the table"
            )
        return instant

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        DeletionParameters.check(self, choice)
        if not self.table:
            raise ConfigurationError("`table` is missing: name the table whose orphan files to remove")
        if self.prefix_mismatch_mode is PrefixMismatchMode.DELETE:
            raise ConfigurationError(
                "`prefix_mismatch_mode` DELETE is refused, because the file may be the one that metadata names; "
                "declare equal ones with `equal_schemes` and `equal_authorities`, or use IGNORE"
            )
        self.aliases(choice).rules()
        self.collection(datetime.fromisoformat("9999-01-01T00:00:00+00:00")).check(choice)
