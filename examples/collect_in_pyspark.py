"""Collects a Nessie lake with the Spark session that is there anyway: in a notebook, a job, or a shell.

The cells can be run one after the other. Needed: ``NESSIE_GC_URI``, and the packages that docs/how-to/pyspark.md names.
"""

# %% A session. In a notebook or a job there is one, and this gives you that one.
from pyspark.sql import SparkSession

from nessie_gc_core import Collector

spark = SparkSession.builder.appName("nightly collection").getOrCreate()

# %% The collector. It reads NESSIE_GC_* in the environment; Collector.from_toml reads nessie-gc.toml as well.
gc = Collector(spark=spark, jdbc_url="sqlite:///live-sets.db")

# %% What would go. This deletes nothing.
plan = gc.plan(default_cutoff="10", cutoffs={"main": "P90D", "release/.*": "NONE"}, max_delete_percent=50)
plan.files.groupBy("unit", "outcome").count().show(truncate=False)

# %% Delete that, and nothing else. Everything is checked again first.
result = plan.apply(outcomes_to="deleted.parquet")
result.raise_for_status()

print(result.to_dict()["deleted"], "exit code", result.exit_code)  # noqa: T201 - a notebook shows its result

# %% The session stays open.
gc.close()
