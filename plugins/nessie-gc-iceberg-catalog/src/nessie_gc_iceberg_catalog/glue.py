"""Glue: every row of its databases, of which PyIceberg would leave out views, and what they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nessie_gc_iceberg_catalog.listing import Caller, Listed
from nessie_gc_iceberg_catalog.metastore import Metastore

if TYPE_CHECKING:
    from pyiceberg.catalog.glue import GlueCatalog


def list_glue_contents(catalog: GlueCatalog, call: Caller) -> Iterator[Listed]:
    """Lists database by database; one that goes while it is listed has nothing left to list."""
    metastore = Metastore("Glue")
    for (database,) in call(lambda: list(catalog.list_namespaces()), "listing the databases"):
        yield from call(lambda database=database: _in(catalog, database, metastore), f"listing database {database}")  # type: ignore[misc]  # mypy knows no lambda with a default
    yield from metastore.in_folders_of_iceberg()


def _in(catalog: GlueCatalog, database: str, metastore: Metastore) -> list[Listed]:
    found: list[Listed] = []
    try:
        for page in catalog.glue.get_paginator("get_tables").paginate(DatabaseName=database):
            for row in page["TableList"]:
                location = row.get("StorageDescriptor", {}).get("Location")
                parameters = row.get("Parameters", {})
                found.extend(metastore.listed((database, row["Name"]), parameters, row.get("TableType"), location))
    except catalog.glue.exceptions.EntityNotFoundException:
        return []
    return found
