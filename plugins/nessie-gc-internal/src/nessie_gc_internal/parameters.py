"""The typed parameters of the cleaning of Nessie's database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from nessie_gc_core import ConnectorOptions, option, options, secret
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import secret_mapping
from nessie_gc_internal.urls import Parameters, connection_parameters

_DATABASE = "Nessie's database"
_RECORDS = "Records"
FLOOR = timedelta(hours=1)
"""The least grace period, unless someone says that nobody writes."""


@options
class InternalGcParameters(ConnectorOptions):
    """Which Nessie database to clean, and what to keep."""

    nessie_jdbc_url: str | None = secret(
        section=_DATABASE,
        metavar="URL",
        address=True,
        help="Database of Nessie's version store JDBC2: jdbc:postgresql://HOST:PORT/DATABASE or "
        "postgresql://HOST/DATABASE.",
    )
    nessie_jdbc_user: str | None = option(None, section=_DATABASE, help="User of the database.", per_machine=True)
    nessie_jdbc_password: str | None = secret(
        section=_DATABASE,
        help="Password of the user; prefer the environment variable NESSIE_GC_NESSIE_JDBC_PASSWORD.",
    )
    nessie_jdbc_properties: Mapping[str, str] = secret_mapping(
        section=_DATABASE, metavar="KEY=VALUE,...", help="Connection parameters, such as sslmode=verify-full."
    )
    nessie_repository_id: str = option(
        "", section=_DATABASE, metavar="ID", help="Repository id, if the server is configured with one."
    )
    referenced_grace: timedelta = option(
        timedelta(days=1),
        section=_RECORDS,
        minimum=0,
        help="Keep unreferenced records that were written, or whose reference was deleted, within this time; must "
        "exceed every server's reference-cache-ttl plus its clock error.",
    )
    no_age_floor: bool = option(
        False, section=_RECORDS, help="Allow a grace period below one hour; only if nobody writes to Nessie."
    )
    purge_unstamped: bool = option(
        False,
        section=_RECORDS,
        help="Also purge unreferenced records without a timestamp, which Nessie before 0.96 wrote.",
    )
    contents: bool = option(
        False, section=_RECORDS, help="List the contents that no live commit references, such as dropped tables."
    )
    purge_batch_size: int = option(
        1000,
        section=_RECORDS,
        minimum=1,
        maximum=10_000,
        help="How many records to delete in one transaction; writers wait while it runs.",
    )
    purge_rate: int | None = option(
        None, section=_RECORDS, minimum=1, metavar="N", help="Delete at most this many records per second."
    )
    dry_run: bool = option(False, section=_RECORDS, help="Do everything except the deletion itself.")

    def connection(self) -> Parameters:
        """The parameters of the connection.

        Raises:
            ConfigurationError: the URL is missing, is none of PostgreSQL, or cannot be read.
        """
        return connection_parameters(
            self.nessie_jdbc_url,
            user=self.nessie_jdbc_user,
            password=self.nessie_jdbc_password,
            properties=self.nessie_jdbc_properties,
        )

    def check(self) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        self.connection()
        if self.referenced_grace < FLOOR and not self.no_age_floor:
            raise ConfigurationError(
                "`referenced_grace` is below one hour: a running commit could lose its records; use `no_age_floor` "
                "if nobody writes"
            )
