"""The Spark engine: DataFrames, and functions on the executors in ``mapInArrow``."""

from nessie_gc_core.engines.spark.engine import SparkEngine

__all__ = ["SparkEngine"]
