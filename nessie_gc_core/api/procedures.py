"""Functions like Iceberg's procedures: they take a session and named arguments, and return a DataFrame for SQL.

``CALL`` in SQL needs Spark extensions that run in the JVM, which a Python program cannot provide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from nessie_gc_core.api.assets import renamed
from nessie_gc_core.api.collector import Collector
from nessie_gc_core.model.assets import HANDLED_ASSETS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def identify_unreferenced_assets(
    spark: SparkSession, *, table: str, view: str = "unreferenced_assets", **settings: Any
) -> DataFrame:
    """Finds unreferenced assets, adds them to the table, and returns them.

    Args:
        spark: the session; the table is in one of its catalogs.
        table: ``CATALOG.NAMESPACE.TABLE``.
        view: the name of a temporary view of the rows, for SQL.
        settings: those of the collector, such as ``uri``, ``jdbc_url`` or ``default_cutoff``.
    """
    assets = Collector(spark=spark, **renamed(settings)).unreferenced_assets(table)
    found = cast("DataFrame", assets.identify_unreferenced_assets())
    assets.update_unreferenced_asset_table(found)
    found.createOrReplaceTempView(view)
    return found


def delete_unreferenced_assets(
    spark: SparkSession, *, table: str, delete: bool, view: str = "deleted_assets", **settings: Any
) -> DataFrame:
    """Deletes the assets that enough runs have seen, and returns each with its outcome.

    Args:
        spark: the session; the table is in one of its catalogs.
        table: ``CATALOG.NAMESPACE.TABLE``.
        delete: whether to delete files; if false, it is a dry run.
        view: the name of a temporary view of the rows, for SQL.
        settings: those of the collector, such as ``uri``, ``jdbc_url`` or ``seen_count``.
    """
    collector = Collector(spark=spark, **renamed(settings))
    report = collector.unreferenced_assets(table).delete_unreferenced_assets(delete=delete)
    rows = report.assets if report.assets is not None else collector.new_run().engine.empty(HANDLED_ASSETS)
    found = cast("DataFrame", rows.to_frame())
    found.createOrReplaceTempView(view)
    return found
