"""Options of the connector to plain Iceberg catalogs."""

from __future__ import annotations

from collections.abc import Mapping

from nessie_gc_core import ConnectorOptions, option, options, secret
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import check_identity, secret_mapping


@options
class IcebergCatalogOptions(ConnectorOptions):
    """How to reach one Iceberg catalog, in PyIceberg's own words."""

    catalog_name: str = option("default", help="name of the catalog: as in .pyiceberg.yaml; for SQL also in the tables")
    type: str | None = option(None, help="rest, sql, hive, glue, dynamodb or bigquery; guessed from the URI if absent")
    uri: str | None = secret(help="address of the catalog: a REST endpoint, a database URL, a metastore")
    identity: str | None = option(
        None, help="name under which the store keeps this catalog's records, whatever its address; one for each catalog"
    )
    warehouse: str | None = option(None, help="the catalog's warehouse, where it wants one")
    properties: Mapping[str, str] = secret_mapping(help="more PyIceberg catalog and FileIO properties, k=v")
    keep_listed_snapshots: bool = option(
        True,
        help="keep every snapshot that a table's metadata lists, whatever the cut-off policy (expire snapshots first)",
    )
    nested_namespaces: bool = option(True, help="look for namespaces in namespaces")
    unreadable_tables: Mapping[str, str] = option(
        {}, help="NAMESPACE.TABLE=LOCATION of tables that the catalog cannot load; their locations are frozen"
    )
    parallelism: int = option(4, help="how many tables are loaded at once")
    retries: int = option(2, help="how often a call is repeated when the catalog does not answer")

    def __post_init__(self) -> None:
        if self.identity is not None:
            check_identity(self.identity)
        if self.parallelism < 1:
            raise ConfigurationError(f"option 'parallelism' must be at least 1, not {self.parallelism}")

    def catalog_properties(self) -> dict[str, str]:
        """What ``load_catalog`` is given."""
        named = {"type": self.type, "uri": self.uri, "warehouse": self.warehouse}
        return {**self.properties, **{key: value for key, value in named.items() if value is not None}}
