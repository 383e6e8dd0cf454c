"""Options of the connector to plain Iceberg catalogs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from nessie_gc_core import ConnectorOptions, option, options, secret
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import responses
from nessie_gc_core.model.credentials import CredentialUse
from nessie_gc_core.model.options import check_identity, secret_mapping
from nessie_gc_core.model.table_patterns import TablePatterns, compiled
from nessie_gc_core.model.unpacking import MAX_RATIO, metadata_limit
from nessie_gc_iceberg_catalog.managers import Managers
from nessie_gc_iceberg_catalog.property_names import CATALOG_NAMES
from nessie_gc_iceberg_catalog.selection import Selection


class VendedCredentials(StrEnum):
    """What the credentials are used for that a REST catalog gives with its tables."""

    METADATA = "metadata"
    READ = "read"
    COLLECT = "collect"

    def uses(self) -> frozenset[CredentialUse]:
        """Beside reading table metadata."""
        if self is VendedCredentials.METADATA:
            return frozenset()
        return frozenset(CredentialUse) if self is VendedCredentials.COLLECT else frozenset({CredentialUse.READ})


@options
class IcebergCatalogOptions(ConnectorOptions):
    """How to reach one Iceberg catalog, in PyIceberg's own words."""

    catalog_name: str = option(
        "default", help="name of the catalog, as in .pyiceberg.yaml; SQL catalogs also store it in their tables"
    )
    type: str | None = option(
        None, help="rest, sql, hive, glue, dynamodb, in-memory or bigquery (default: guessed from the URI)"
    )
    uri: str | None = secret(help="address of the catalog: a REST endpoint, a database URL, a metastore", address=True)
    identity: str | None = option(
        None, help="name of this catalog in the store of live sets; unique, and independent of the address"
    )
    warehouse: str | None = option(None, help="the catalog's warehouse, if it needs one")
    properties: Mapping[str, str] = secret_mapping(
        help="further PyIceberg catalog and FileIO properties, k=v", known=CATALOG_NAMES
    )
    vended_credentials: VendedCredentials = option(
        VendedCredentials.METADATA,
        help="use the credentials that a REST catalog gives with a table to read its metadata file (metadata), also "
        "its manifests (read), or also to list and delete its files (collect)",
    )
    keep_listed_snapshots: bool = option(
        True,
        help="keep every snapshot that a table's metadata lists, whatever the cut-off policy (expire snapshots first)",
    )
    include: Sequence[str] = option(
        (),
        help="collect only tables whose whole name NAMESPACE.TABLE matches one of these regular expressions",
        whole=True,
    )
    exclude: Sequence[str] = option(
        (), help="do not collect tables whose whole name matches one of these regular expressions", whole=True
    )
    managed_tables: Sequence[str] = option(
        (),
        help="collect tables with matching names even if another system manages them, or gc.enabled is false",
        whole=True,
    )
    nested_namespaces: bool = option(True, help="also look for nested namespaces")
    unreadable_tables: Mapping[str, str] = option(
        {}, help="NAMESPACE.TABLE=LOCATION of tables that the catalog cannot load; nothing is deleted there"
    )
    max_metadata_bytes: int = option(
        metadata_limit().most, help="a metadata file that unpacks to more bytes is unreadable", minimum=1
    )
    max_unpack_ratio: int = option(
        MAX_RATIO,
        help="a file that unpacks to more than 16 MiB and more than so many times its stored size is unreadable",
        minimum=1,
    )
    parallelism: int = option(4, help="how many tables to load at once", per_machine=True)
    retries: int = option(
        2,
        help="how often to repeat a call if the catalog or a store does not answer; if it refuses too many requests, "
        "calls are repeated for a minute instead (0: no call is ever repeated)",
    )

    max_response_bytes: int = option(
        responses.MAX_BYTES, help="maximum size of one response of a REST catalog, decompressed"
    )
    response_timeout_seconds: float = option(
        responses.TIMEOUT_SECONDS,
        help="how long one whole response of a REST catalog may take, however slowly it arrives",
    )
    max_pages: int = option(responses.MAX_PAGES, help="maximum number of pages of one listing of a REST catalog")
    max_empty_pages: int = option(
        responses.MAX_EMPTY_PAGES, help="how many pages without an entry may follow each other in such a listing"
    )

    def __post_init__(self) -> None:
        self.limits()
        if self.identity is not None:
            check_identity(self.identity)
        if self.parallelism < 1:
            raise ConfigurationError(f"option 'parallelism' must be at least 1, not {self.parallelism}")
        self.selection(Managers())

    def limits(self) -> responses.ResponseLimits:
        """What is accepted from a REST catalog.

        Raises:
            ConfigurationError: a limit is not a positive number.
        """
        return responses.ResponseLimits(
            max_response_bytes=self.max_response_bytes,
            response_timeout_seconds=self.response_timeout_seconds,
            max_pages=self.max_pages,
            max_empty_pages=self.max_empty_pages,
        )

    def selection(self, managers: Managers) -> Selection:
        """Which tables are collected.

        Raises:
            ConfigurationError: a pattern is not a regular expression.
        """
        return Selection(
            patterns=TablePatterns.parse(self.include, self.exclude),
            managed=compiled("managed_tables", self.managed_tables),
            managers=managers,
        )

    def catalog_properties(self) -> dict[str, str]:
        """What ``load_catalog`` is given."""
        named = {"type": self.type, "uri": self.uri, "warehouse": self.warehouse}
        return {**self.properties, **{key: value for key, value in named.items() if value is not None}}
