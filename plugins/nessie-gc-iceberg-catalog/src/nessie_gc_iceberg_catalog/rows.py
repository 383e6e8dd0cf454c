"""Every table and view of a catalog of any type, by what its rows say, or else by what PyIceberg lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from nessie_gc_iceberg_catalog.glue import list_glue_contents
from nessie_gc_iceberg_catalog.hive import list_hive_contents
from nessie_gc_iceberg_catalog.listing import Caller, Listed, list_contents
from nessie_gc_iceberg_catalog.sql import list_sql_contents

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.catalog.dynamodb import DynamoDbCatalog
    from pyiceberg.catalog.glue import GlueCatalog
    from pyiceberg.catalog.hive import HiveCatalog
    from pyiceberg.catalog.sql import SqlCatalog

TELL_METADATA = ("sql", "dynamodb", "hive", "glue")
"""Types of catalogs whose listing tells metadata locations."""


def list_rows(catalog: Catalog, type_: str, call: Caller, *, nested: bool) -> Iterator[Listed]:
    """All of them.

    Args:
        catalog: the catalog.
        type_: its type.
        call: calls it.
        nested: whether its namespaces may have others inside.
    """
    what = "listing the tables"
    if type_ == "sql":
        return iter(call(lambda: list_sql_contents(cast("SqlCatalog", catalog)), what))
    if type_ == "dynamodb":
        from nessie_gc_iceberg_catalog.dynamodb import list_dynamodb_contents  # botocore need not be there

        return iter(call(lambda: list(list_dynamodb_contents(cast("DynamoDbCatalog", catalog))), what))
    if type_ == "hive":
        return list_hive_contents(cast("HiveCatalog", catalog), call)
    if type_ == "glue":
        return list_glue_contents(cast("GlueCatalog", catalog), call)
    return list_contents(catalog, call, nested=nested)
