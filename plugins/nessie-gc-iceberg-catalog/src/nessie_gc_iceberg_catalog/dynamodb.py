"""DynamoDB catalogs: one table that tells every Iceberg table with its metadata location."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyiceberg.catalog.dynamodb import DynamoDbCatalog

from nessie_gc_core.errors import ConfigurationError, RepositoryError
from nessie_gc_iceberg_catalog.listing import Listed

_NAMESPACE = "NAMESPACE"
_PREVIOUS = "p.previous_metadata_location"
_COLUMNS = {
    "#i": "identifier",
    "#n": "namespace",
    "#t": "p.table_type",
    "#m": "p.metadata_location",
    "#p": _PREVIOUS,
}


class ExistingDynamoDbCatalog(DynamoDbCatalog):
    """PyIceberg's, which must be there: it would make an empty one, and an empty catalog protects nothing (S20)."""

    def _ensure_catalog_table_exists_or_create(self) -> None:
        if not self._dynamodb_table_exists():
            raise ConfigurationError(
                f"the DynamoDB table {self.dynamodb_table_name!r} does not exist; correct table-name or the region"
            )


def list_dynamodb_contents(catalog: DynamoDbCatalog) -> Iterator[Listed]:
    """Reads the whole table, consistently: PyIceberg asks an index, which may not have the newest name of a table."""
    pages = catalog.dynamodb.get_paginator("scan").paginate(
        TableName=catalog.dynamodb_table_name,
        ConsistentRead=True,
        ProjectionExpression=",".join(_COLUMNS),
        ExpressionAttributeNames=_COLUMNS,
    )
    for page in pages:
        for item in page["Items"]:
            listed = _listed({name: value.get("S", "") for name, value in item.items()})
            if listed is not None:
                yield listed


def _listed(item: Mapping[str, Any]) -> Listed | None:
    """A row as a table, whatever it calls itself; ``None`` if it is a namespace, or names no metadata."""
    identifier = str(item.get("identifier", ""))
    if not identifier:
        raise RepositoryError("the DynamoDB table has a row without an identifier; repair it")
    if identifier == _NAMESPACE:
        return None
    is_table, names = str(item.get("p.table_type", "")).lower() == "iceberg", tuple(identifier.split("."))
    if item.get("p.metadata_location"):
        return Listed(identifier=names, is_table=is_table, metadata_location=str(item["p.metadata_location"]))
    if not is_table:
        return None
    problem = "it has no metadata location in the DynamoDB table; drop or repair it"
    return Listed(identifier=names, problem=problem, previous_location=item.get(_PREVIOUS) or None)
