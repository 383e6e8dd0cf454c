"""The typed parameters of the import from the Java tool's tables."""

from __future__ import annotations

from datetime import timedelta
from zoneinfo import ZoneInfo

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.limits import DEFAULT_MIN_AGE, MIN_AGE_FLOOR
from nessie_gc_core.model.options import ConnectorOptions, option, options, secret
from nessie_gc_core.services.finding_parameters import lease_option

_TABLES = "Tables of the Java tool"


@options
class ImportJavaParameters(ConnectorOptions):
    """Which tables are read, and how."""

    java_url: str | None = secret(
        section=_TABLES,
        metavar="URL",
        address=True,
        help="Database with the tables of the Java tool (default: the database of the live-set store).",
    )
    java_user: str | None = option(
        None, section=_TABLES, metavar="USER", help="User of that database.", per_machine=True
    )
    java_password: str | None = secret(
        section=_TABLES, metavar="PASSWORD", help="Password of that user; prefer NESSIE_GC_JAVA_PASSWORD."
    )
    java_time_zone: str | None = option(
        None,
        section=_TABLES,
        metavar="ZONE",
        help="Time zone of the machine on which the Java tool ran, such as UTC or Europe/Berlin: its tables have times "
        "without a zone (required).",
    )
    java_live_set: str | None = option(
        None, section=_TABLES, metavar="ID", help="Import only the live set with this id (default: all)."
    )
    min_deferred_age: timedelta = option(
        DEFAULT_MIN_AGE,
        section=_TABLES,
        metavar="DURATION",
        minimum=MIN_AGE_FLOOR.total_seconds(),
        help="Import only deferred deletions of files that were older than this when their mark began: the Java tool "
        "has no grace period. At least an hour.",
    )
    dry_run: bool = option(False, section=_TABLES, help="Show what would be imported, and change nothing.")
    lease: timedelta = lease_option()

    def zone(self) -> ZoneInfo:
        """The time zone of the tables.

        Raises:
            ConfigurationError: it is missing or unknown.
        """
        if self.java_time_zone is None:
            raise ConfigurationError(
                "`java_time_zone` is missing: give the time zone of the machine on which the Java tool ran, such as "
                "UTC or Europe/Berlin"
            )
        try:
            return ZoneInfo(self.java_time_zone)
        except (KeyError, ValueError, OSError) as error:
            raise ConfigurationError(
                f"`java_time_zone` {self.java_time_zone!r} is not a time zone; give a name such as UTC or Europe/Berlin"
            ) from error

    def check(self) -> None:
        """Rejects parameters that mean nothing together.

        Raises:
            ConfigurationError: a user or a password is given without a database.
        """
        self.zone()
        if self.java_url is None and (self.java_user is not None or self.java_password is not None):
            raise ConfigurationError("`java_user` and `java_password` need `java_url`")
