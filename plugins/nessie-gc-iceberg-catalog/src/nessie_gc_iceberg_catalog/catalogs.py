"""Opens a catalog through PyIceberg, reads only, and says who it is."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.urls import TWO_READINGS, check_endpoints, comparable, passwords_in, split_credentials
from nessie_gc_iceberg_catalog.errors import Redactor
from nessie_gc_iceberg_catalog.options import IcebergCatalogOptions

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from nessie_gc_iceberg_catalog.rest import LimitedRestCatalog

_TYPES = ("rest", "hive", "glue", "dynamodb", "sql", "in-memory", "bigquery")
_WITH_URI = ("rest", "hive", "sql", "in-memory")
_SECRET_KEY = re.compile(r"credential|token|secret|passw|key|auth|header|sas|sign|connection-string", re.IGNORECASE)
_SQL_SCHEMES = ("sqlite", "postgresql", "mysql", "mariadb")
_PLACE_PARAMETERS = ("host", "hostaddr", "port", "dbname", "service", "unix_socket", "options")
_PLACES = {"dynamodb": ("dynamodb.region", "client.region", "table-name")}
"""Properties that tell one catalog of a type from another, beside those of all types."""
_FORCED = {
    "init_catalog_tables": "false",  # an SQL catalog that is not there must not be created empty
    "snapshot-loading-mode": "all",  # a REST catalog must name every snapshot
}

_FOR_CREDENTIALS = {
    "snapshot-loading-mode": "refs",
    "header.X-Iceberg-Access-Delegation": "vended-credentials",
}


class CatalogAddress:
    """The merged properties of a catalog: ours, and what PyIceberg's own configuration has for its name."""

    def __init__(self, options: IcebergCatalogOptions) -> None:
        self.name = options.catalog_name
        from pyiceberg.utils.config import Config  # slow to import, and most runs use another repository

        configured = Config().get_catalog_config(self.name) or {}
        plain = {key: str(value) for key, value in configured.items() if not isinstance(value, dict)}
        self.properties: Mapping[str, str] = {**plain, **options.catalog_properties(), **_FORCED}
        self._configured = options.identity
        self._vended = options.vended_credentials
        self._limits = options.limits()
        check_endpoints(self.properties)
        self._user_infos = list(self._checked_credentials())
        self.redact = Redactor(self._secrets())
        self.type = self._type()
        self.check_vended()
        if self.type == "sql":
            _require_sqlite_file(self.uri)

    @property
    def uri(self) -> str:
        """The raw URI, credentials and all; empty if there is none."""
        return self.properties.get("uri", "")

    def identity(self) -> str:
        """The configured name; otherwise a text that identifies this catalog, without credentials."""
        return self._configured or self.described()

    def described(self) -> str:
        """A text that identifies this catalog by its address, in one spelling."""
        return self._identity(comparable_uri(self.type, self.uri))

    def former_identities(self) -> list[str]:
        """What this catalog is called without its name, and what earlier releases called it: its address as spelled."""
        spelled = (re.sub(r"[?#].*", "", "".join(split_credentials(part)[::2])) for part in _addresses(self.uri))
        found = [self.described(), self._identity(",".join(spelled).rstrip("/"))]
        return [each for each in dict.fromkeys(found) if each != self.identity()]

    def _identity(self, address: str) -> str:
        keys = ("warehouse", "prefix", "glue.id", "glue.region", *_PLACES.get(self.type, ()))
        scope = [self.properties.get(key, "") for key in keys]
        if self.type != "rest":
            scope.append(self.name)
        return ":".join(["iceberg-catalog", self.type, address, *(part for part in scope if part)])

    def check_vended(self) -> None:
        """Refuses to ask a catalog for credentials that none but REST catalogs give.

        Raises:
            ConfigurationError: it is of another type.
        """
        if self._vended.uses() and self.type != "rest":
            raise ConfigurationError(
                f"catalog {self.name!r}: only REST catalogs give credentials, and its type is {self.type}; remove "
                f"vended_credentials={self._vended}"
            )

    def open_for_credentials(self) -> LimitedRestCatalog:
        """Opens the catalog once more, to load tables without most of their snapshots."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # as for the catalog itself
            return self._rest(_FOR_CREDENTIALS)

    def _rest(self, more: Mapping[str, str]) -> LimitedRestCatalog:
        """With what PyIceberg's configuration has for it, which may be more than texts (how to authenticate)."""
        from pyiceberg.utils.config import Config, merge_config

        from nessie_gc_iceberg_catalog.rest import LimitedRestCatalog

        configured = Config().get_catalog_config(self.name) or {}
        merged = merge_config(configured, {**self.properties, **more})
        return LimitedRestCatalog(self.name, self._limits, **merged)

    def open(self, *, writes: bool = False) -> Catalog:
        """Opens the catalog, to read or to write its files. Reads its configuration at most."""
        with warnings.catch_warnings():
            # Drivers warn of their own deprecations while they are imported; nobody here can act on them.
            warnings.simplefilter("ignore", DeprecationWarning)
            from pyiceberg.catalog import load_catalog

            from nessie_gc_iceberg_catalog.guarded_io import guard

            if self.type == "rest":
                catalog: Catalog = self._rest({})
            elif self.type == "dynamodb" and not writes:
                from nessie_gc_iceberg_catalog.dynamodb import ExistingDynamoDbCatalog

                catalog = ExistingDynamoDbCatalog(self.name, **self.properties)
            else:
                catalog = load_catalog(self.name, **self.properties)
        guard(catalog, self.properties, writes=writes)
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
            found = f"unknown type {given!r}" if given else "no type is given, and it cannot be guessed from the uri"
            raise ConfigurationError(f"catalog {self.name!r}: {found}; give one of {', '.join(_TYPES)}")
        if not self.uri and given.lower() in _WITH_URI:
            raise ConfigurationError(f"catalog {self.name!r}: a catalog of type {given} needs a uri")
        type_ = "sql" if given.lower() == "in-memory" else given.lower()  # SQLite, which must not be a new one
        self.properties = {**self.properties, "type": type_}
        return type_

    def _checked_credentials(self) -> Iterator[str]:
        """The raw credentials in the URI, once what opens the catalog reads them as we do.

        Raises:
            ConfigurationError: a part of the password would be taken for host or path, and shown.
        """
        for part in _addresses(self.uri):
            try:
                prefix, user_info, _ = split_credentials(part)
            except ValueError as error:
                raise ConfigurationError(f"catalog {self.name!r}: in its uri {error}") from None
            if user_info is None:
                continue
            server = prefix.partition("://")[0].partition("+")[0].lower()
            if "@" in user_info or (server not in _SQL_SCHEMES and re.search(r"[/?#]", user_info)):
                raise ConfigurationError(f"catalog {self.name!r}: in its uri {TWO_READINGS}")
            yield user_info

    def _secrets(self) -> list[str]:
        raw = [user_info.partition(":")[2] for user_info in self._user_infos]
        passwords = [form for password in raw if password for form in (password, unquote(password))]
        hidden = [value for key, value in self.properties.items() if _SECRET_KEY.search(key)]
        parts = [part for value in hidden if ":" in value for part in value.split(":")[1:]]
        in_urls = [secret for value in self.properties.values() if "@" in value for secret in passwords_in(value)]
        return [*hidden, *parts, *passwords, *in_urls]


def _addresses(uri: str) -> list[str]:
    """The addresses of a metastore with several, else the one."""
    return re.split(r"\s*,\s*(?=\w+://)", uri)


def _places(rest: str) -> Iterator[tuple[str, str]]:
    """Parameters that choose the database itself."""
    return (pair for pair in parse_qsl(rest.partition("?")[2]) if pair[0] in _PLACE_PARAMETERS)


def comparable_uri(type_: str, uri: str) -> str:
    """An address in the one spelling that all spellings of it have; SQL: whatever the driver, SQLite by its real file.

    Raises:
        ConfigurationError: it names no host and port.
    """
    scheme, _, rest = uri.partition("://")
    database = scheme.partition("+")[0].lower()
    if type_ == "sql" and database == "sqlite":
        path = rest.removeprefix("/").partition("?")[0]
        return f"sqlite:///{path if path.startswith('file:') else os.path.realpath(path)}"
    try:
        if type_ == "sql":
            server = comparable(f"{'postgresql' if database == 'postgres' else database}://{rest}")
            return "".join([server, *(f"?{name}={value}" for name, value in sorted(_places(rest)))])
        return ",".join(sorted(comparable(part) for part in _addresses(uri))) if uri else ""
    except ValueError as error:
        raise ConfigurationError(f"the uri of the catalog is invalid: {error}") from None


def _require_sqlite_file(uri: str) -> None:
    """SQLite makes an empty database of a wrong path, and an empty catalog protects nothing."""
    scheme, _, rest = uri.partition("://")
    path = rest.removeprefix("/").partition("?")[0]
    if scheme.partition("+")[0] != "sqlite" or path.startswith("file:"):
        return
    if path in ("", ":memory:"):
        raise ConfigurationError("an in-memory SQLite catalog is always empty; give the path of its file in the uri")
    if not Path(path).is_file():
        raise ConfigurationError(f"{path} does not exist; correct the uri of the SQLite catalog")
