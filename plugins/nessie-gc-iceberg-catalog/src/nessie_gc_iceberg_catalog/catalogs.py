"""Opens a catalog through PyIceberg, reads only, and says who it is."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_iceberg_catalog.errors import Redactor
from nessie_gc_iceberg_catalog.options import IcebergCatalogOptions

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_TYPES = ("rest", "hive", "glue", "dynamodb", "sql", "bigquery")
_SECRET_KEY = re.compile(r"credential|token|secret|passw|key|auth|header|sas|sign|connection-string", re.I)
_SQL_SCHEMES = ("sqlite", "postgresql", "mysql", "mariadb")
_FORCED = {
    "init_catalog_tables": "false",  # an SQL catalog that is not there must not be created empty
    "snapshot-loading-mode": "all",  # a REST catalog must name every snapshot
}


class CatalogAddress:
    """The merged properties of a catalog: ours, and what PyIceberg's own configuration has for its name."""

    def __init__(self, options: IcebergCatalogOptions) -> None:
        self.name = options.catalog_name
        from pyiceberg.utils.config import Config  # slow to import, and most runs use another repository

        configured = Config().get_catalog_config(self.name) or {}
        plain = {key: str(value) for key, value in configured.items() if not isinstance(value, dict)}
        self.properties: Mapping[str, str] = {**plain, **options.catalog_properties(), **_FORCED}
        self.redact = Redactor(self._secrets())
        self.type = self._type()
        if self.type == "sql":
            _require_sqlite_file(self.uri)

    @property
    def uri(self) -> str:
        """The raw URI, credentials and all; empty where there is none."""
        return self.properties.get("uri", "")

    def identity(self) -> str:
        """What tells this catalog from any other, without credentials."""
        address = re.sub(r"(?<=://)[^/]*@|[?#].*", "", self.uri).rstrip("/")
        scope = [self.properties.get(key, "") for key in ("warehouse", "prefix", "glue.id", "glue.region")]
        if self.type != "rest":
            scope.append(self.name)
        return ":".join(["iceberg-catalog", self.type, address, *(part for part in scope if part)])

    def open(self) -> Catalog:
        """Opens the catalog. Reads its configuration at most."""
        with warnings.catch_warnings():
            # Drivers warn of their own deprecations while they are imported; nobody here can act on them.
            warnings.simplefilter("ignore", DeprecationWarning)
            from pyiceberg.catalog import load_catalog

            from nessie_gc_iceberg_catalog.guarded_io import guard

            catalog = load_catalog(self.name, **self.properties)
        guard(catalog, self.properties)
        return catalog

    def _type(self) -> str:
        given = self.properties.get("type")
        if given is None and "py-catalog-impl" in self.properties:
            return self.properties["py-catalog-impl"]
        if given is None:
            scheme = self.uri.partition(":")[0].partition("+")[0].lower()
            given = {"http": "rest", "https": "rest", "thrift": "hive"}.get(scheme, "")
            given = "sql" if scheme in _SQL_SCHEMES else given
        if given.lower() not in _TYPES:
            found = f"type {given!r} is not known" if given else "no type is given, and the uri does not tell it"
            raise ConfigurationError(f"catalog {self.name!r}: {found}; give one of {', '.join(_TYPES)}")
        if not self.uri and given.lower() in ("rest", "hive", "sql"):
            raise ConfigurationError(f"catalog {self.name!r}: a catalog of type {given} needs a uri")
        self.properties = {**self.properties, "type": given.lower()}
        return given.lower()

    def _secrets(self) -> list[str]:
        password = urlsplit(self.properties.get("uri", "")).password
        hidden = [value for key, value in self.properties.items() if _SECRET_KEY.search(key)]
        parts = [part for value in hidden if ":" in value for part in value.split(":")[1:]]
        return [*hidden, *parts, *([password] if password else [])]


def _require_sqlite_file(uri: str) -> None:
    """SQLite makes an empty database of a wrong path, and an empty catalog protects nothing."""
    scheme, _, rest = uri.partition("://")
    path = rest.removeprefix("/").partition("?")[0]
    if scheme.partition("+")[0] != "sqlite" or path.startswith("file:"):
        return
    if path in ("", ":memory:"):
        raise ConfigurationError("an SQLite catalog in memory has no tables; give the path of its file in the uri")
    if not Path(path).is_file():
        raise ConfigurationError(f"there is no SQLite catalog at {path}; correct the uri")
