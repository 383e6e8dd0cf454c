"""Collects a Nessie lake with your existing Spark session: in a notebook, a job, or a shell.

Run the cells one after the other. You need ``NESSIE_GC_URI``, and the packages that docs/how-to/pyspark.md names.
"""

# %% Get the session. A notebook or a job already has one, which this returns.
from pyspark.sql import SparkSession

from nessie_gc_core import Collector

spark = SparkSession.builder.appName("nightly collection").getOrCreate()

# %% Create the collector. It reads NESSIE_GC_* variables; Collector.from_toml also reads nessie-gc.toml.
gc = Collector(spark=spark, jdbc_url="sqlite:///live-sets.db")

# %% Show what would be deleted. This deletes nothing.
plan = gc.plan(default_cutoff="10", cutoffs={"main": "P90D", "release/.*": "NONE"}, max_delete_percent=50)
plan.files.groupBy("unit", "outcome").count().show(truncate=False)

# %% Delete those files only. Every file is checked again first.
result = plan.apply(outcomes_to="deleted.parquet")
result.raise_for_status()

print(result.to_dict()["deleted"], "exit code", result.exit_code)  # noqa: T201 - a notebook shows its result

# %% Close the collector. The session stays open.
gc.close()
