"""Who else collects a table: products that delete the files of their tables themselves, by where they serve them.

Sources: the user guide of Amazon S3 on tables in table buckets and its endpoints; the REST endpoints that the
documentation of Databricks and Snowflake names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from nessie_gc_core.model.table_properties import gc_enabled, product_of

NOBODY_IN_PARTICULAR = "another tool"
"""Who manages a table that says only ``gc.enabled=false``."""
_NESSIE = "Nessie"
_HOSTS: Mapping[str, re.Pattern[str]] = {
    "AWS S3 Tables": re.compile(r"s3tables\.[a-z0-9-]+\.(amazonaws\.com(\.cn)?|api\.aws)"),
    "Databricks": re.compile(r".*\.(azuredatabricks\.(net|us|cn)|(cloud|gcp)\.databricks\.com|databricks\.(us|mil))"),
    "Snowflake": re.compile(r".*\.snowflakecomputing\.(com|cn)"),
}
"""Hosts of REST catalogs that manage every table they have."""
_PATHS: Mapping[str, re.Pattern[str]] = {"Databricks": re.compile(r"/api/2\.1/unity-catalog(/.*)?")}
_S3_TABLES = re.compile(r".*:s3tablescatalog/.+|arn:aws[a-z-]*:s3tables:.+")
"""The warehouse, or the Glue catalog, through which table buckets are reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Managers:
    """Tells who manages the tables of one catalog."""

    catalog: str | None = None
    """Who manages every table of the catalog; ``None``: nobody that is known."""
    whole: bool = False
    """Whether the catalog shows a part of what uses the files, so that no table of it may be collected."""

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Managers:
        """By the properties of an opened catalog, the server's own among them."""
        if properties.get("nessie.is-nessie-catalog") == "true":
            return cls(catalog=_NESSIE, whole=True)
        address = urlsplit(properties.get("uri", ""))
        places = (properties.get("warehouse", ""), properties.get("glue.id", ""))
        if any(_S3_TABLES.fullmatch(place) for place in places):
            return cls(catalog="AWS S3 Tables")
        by_host = (name for name, host in _HOSTS.items() if host.fullmatch(address.hostname or ""))
        by_path = (name for name, path in _PATHS.items() if path.fullmatch(address.path))
        return cls(catalog=next(by_host, None) or next(by_path, None))

    def of_table(self, location: str, properties: Mapping[str, object]) -> str | None:
        """Who manages a table; ``None`` if nothing says that anybody does."""
        if self.catalog is not None:
            return self.catalog
        known = product_of(location, properties)
        return known or (None if gc_enabled(properties) else NOBODY_IN_PARTICULAR)
