"""Functions in the shape of Iceberg's procedures: a session, named arguments, and a DataFrame that SQL can go on from.

``CALL`` in SQL itself needs extensions of Spark that run in the JVM, which no Python program can bring along.
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
    """Finds what nothing needs, adds it to the table, and gives what the run found.

    Args:
        spark: the session, whose catalogs the table is in.
        table: ``CATALOG.NAMESPACE.TABLE``.
        view: the temporary view as which the rows are registered, so that SQL goes on from them.
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
    """Deletes the assets of which enough runs agree, and gives each of them with what became of it.

    Args:
        spark: the session, whose catalogs the table is in.
        table: ``CATALOG.NAMESPACE.TABLE``.
        delete: whether files are deleted; else it is a dry run.
        view: the temporary view as which the rows are registered, so that SQL goes on from them.
        settings: those of the collector, such as ``uri``, ``jdbc_url`` or ``seen_count``.
    """
    collector = Collector(spark=spark, **renamed(settings))
    report = collector.unreferenced_assets(table).delete_unreferenced_assets(delete=delete)
    rows = report.assets if report.assets is not None else collector.new_run().engine.empty(HANDLED_ASSETS)
    found = cast("DataFrame", rows.to_frame())
    found.createOrReplaceTempView(view)
    return found
