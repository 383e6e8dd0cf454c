"""Collects a lake as a job of Spark: ``spark-submit collect.py --delete``. Without ``--delete`` it is a dry run.

Settings come from a file (``--config``) or from ``NESSIE_GC_*`` variables of the driver. The last line that it prints
is the report, as one JSON object, and the exit code is that of ``nessie-gc gc``.
"""

from __future__ import annotations

import argparse
import json
import sys

from pyspark.sql import SparkSession

from nessie_gc_core import Collector


def main() -> int:
    """Runs the job on the session that spark-submit configures."""
    parser = argparse.ArgumentParser(description="Delete the files of a lake that nothing needs.")
    parser.add_argument("--config", metavar="FILE", help="configuration file in TOML")
    parser.add_argument("--delete", action="store_true", help="delete the files (default: a dry run)")
    arguments = parser.parse_args()
    spark = SparkSession.builder.appName("nessie-gc").getOrCreate()
    try:
        with Collector(config=arguments.config, spark=spark) as gc:
            gc.check()
            report = gc.collect(delete=arguments.delete)
    finally:
        spark.stop()
    print(json.dumps(report.to_dict()))  # noqa: T201 - the report is what it prints
    return report.exit_code


if __name__ == "__main__":
    sys.exit(main())
