"""Positions of streaming writers: what a job reads from a table's snapshots to know how far it has come.

Each writer looks for the newest snapshot with its own mark, from the head of its branch to the first snapshot that is
no longer listed: Iceberg's sink for Flink (``SinkUtil.getMaxCommittedCheckpointId``), its sink for Kafka Connect
(``Coordinator.lastCommittedOffsetsForTable``) and its streaming writes for Spark (``SparkWrite``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_FLINK_JOB, _FLINK_OPERATOR = "flink.job-id", "flink.operator-id"
_FLINK_CHECKPOINT = "flink.max-committed-checkpoint-id"
_KAFKA_OFFSETS = "kafka.connect.offsets."
_SPARK_QUERY, _SPARK_EPOCH = "spark.sql.streaming.queryId", "spark.sql.streaming.epochId"


def positions(summary: Mapping[str, object]) -> frozenset[str]:
    """The streaming writers whose position the summary of a snapshot has, each by a name that is the same every time.

    A Flink job has a position for each of its sinks, and Kafka Connect one for each control topic and consumer group.
    """
    return frozenset(_writers(summary))


def _writers(summary: Mapping[str, object]) -> Iterator[str]:
    if _FLINK_CHECKPOINT in summary:
        yield f"Flink job {summary.get(_FLINK_JOB)}, operator {summary.get(_FLINK_OPERATOR)}"
    yield from (f"Kafka Connect {name}" for name in summary if name.startswith(_KAFKA_OFFSETS))
    if _SPARK_EPOCH in summary:
        yield f"Spark query {summary.get(_SPARK_QUERY)}"
