"""Collects a Nessie lake with the Spark session that is there anyway: in a notebook, a job, or a shell.

The cells can be run one after the other. Needed: ``NESSIE_GC_URI``, and the packages that docs/how-to/pyspark.md names.
"""

# %% What is used.
import os
from pathlib import Path

from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_nessie import NessieConnector
from pyspark.sql import SparkSession

from nessie_gc_core.engines.spark import SparkEngine
from nessie_gc_core.model import ReferencePolicies
from nessie_gc_core.model.limits import DeletionCaps
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.settings import MarkSettings, SweepSettings

# %% A session. In a notebook or a job there is one, and this gives you that one.
spark = SparkSession.builder.appName("nightly collection").getOrCreate()

# %% Where the references come from, and where the live sets are kept.
repository = NessieConnector.from_options({"uri": os.environ["NESSIE_GC_URI"]})
store = JdbcLiveSetStore.from_options({"url": "sqlite:///live-sets.db"})

# %% What is to be kept, and that nothing is deleted yet (DeleteMode.DELETE does).
mark = MarkSettings(
    policies=ReferencePolicies.parse("10", ["main=P90D", "release/.*=NONE"], reference_time=utc_now()),
)
sweep = SweepSettings(
    mode=DeleteMode.DRY_RUN,
    caps=DeletionCaps(max_percent_per_unit=50.0),
    outcomes_to="would.parquet",
)

# %% The run. The session stays open.
with repository, store, SparkEngine(spark) as engine:
    report = GcService(repository=repository, store=store, engine=engine, mark=mark, sweep=sweep).run()

print(report.to_dict()["would_delete"], "exit code", report.exit_code)  # noqa: T201 - a notebook shows its result

# %% The files, as a DataFrame.
files = spark.read.parquet(f"{Path.cwd().as_uri()}/would.parquet")
files.groupBy("unit", "outcome").count().show(truncate=False)
