"""The table catalog ``iceberg``: tables of services in any catalog that PyIceberg knows by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, cast
from urllib.parse import quote

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import OpenCatalog, TableCatalog
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import OptionValue, secret_mapping
from nessie_gc_iceberg_catalog.catalogs import CatalogAddress
from nessie_gc_iceberg_catalog.errors import translated
from nessie_gc_iceberg_catalog.options import IcebergCatalogOptions
from nessie_gc_iceberg_catalog.property_names import CATALOG_NAMES
from nessie_gc_iceberg_catalog.tables import PyIcebergTables

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_IS_NESSIE, _NESSIE_BASE = "nessie.is-nessie-catalog", "nessie.iceberg-base-uri"
"""What Nessie's REST catalog says of itself."""


@options
class TableCatalogOptions(ConnectorOptions):
    """What PyIceberg's own configuration does not say."""

    properties: Mapping[str, str] = secret_mapping(
        help="further PyIceberg catalog and FileIO properties, k=v", known=CATALOG_NAMES
    )
    retries: int = option(4, help="how often to repeat a commit after a conflict")


class IcebergTableCatalog(TableCatalog):
    """Opens catalogs by their names in PyIceberg's configuration (``.pyiceberg.yaml``, ``PYICEBERG_CATALOG__…``)."""

    name = "iceberg"
    Options = TableCatalogOptions

    @contextmanager
    def open(self, catalog: str, *, branch: str | None = None) -> Iterator[OpenCatalog]:
        """Loads the catalog; a REST catalog of Nessie is loaded once more, for the branch."""
        given = cast(TableCatalogOptions, self.options)
        address = _address(catalog_name=catalog, properties=given.properties)
        loaded = _loaded(address)
        if branch is not None:
            with closing(loaded):
                uri = _uri_of_branch(loaded, catalog, branch)
            address = _address(catalog_name=catalog, properties=given.properties, uri=uri)
            loaded = _loaded(address)
        with closing(loaded):
            yield PyIcebergTables(loaded, retries=given.retries, redact=address.redact)


def _address(**values: OptionValue) -> CatalogAddress:
    return CatalogAddress(IcebergCatalogOptions.from_mapping(values))


def _loaded(address: CatalogAddress) -> Catalog:
    try:
        return address.open(writes=True)
    except Exception as error:
        raise translated(error, f"catalog {address.name!r}", address.redact) from error


def _uri_of_branch(catalog: Catalog, name: str, branch: str) -> str:
    """The address under which Nessie's REST catalog shows a branch.

    Raises:
        ConfigurationError: the catalog is not one of Nessie.
    """
    base = catalog.properties.get(_NESSIE_BASE)
    if catalog.properties.get(_IS_NESSIE) != "true" or base is None:
        raise ConfigurationError(
            f"the catalog {name!r} is not Nessie's REST catalog, so it has no branches; use `own_branch=False` to "
            "write to the table as the catalog shows it"
        )
    warehouse = catalog.properties.get("warehouse")
    chosen = quote(branch, safe="") + ("" if warehouse is None else f"|{quote(warehouse, safe='')}")
    return f"{base.rstrip('/')}/{chosen}"
