"""Lakes that real Spark writes through a real Nessie, once for all tests that only read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from spark_lakes import write_every_format

from nessie_gc_core.demo.lake import Lake, write_lake
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.testing.servers import NessieServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def written_lake(spark: SparkSession, nessie: NessieServer, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """The demo's lake, and beside it tables of every format version."""
    warehouse = tmp_path_factory.mktemp("lake") / "warehouse"
    use_catalog(spark, nessie.uri, warehouse)
    lake = Lake(spark=spark, references=References(nessie.uri), warehouse=warehouse)
    write_lake(lake)
    write_every_format(lake)
    return lake
