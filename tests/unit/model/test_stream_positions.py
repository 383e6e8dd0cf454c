from __future__ import annotations

import pytest

from nessie_gc_core.model.stream_positions import positions

FLINK = {"flink.job-id": "j", "flink.operator-id": "o", "flink.max-committed-checkpoint-id": "7"}
CONNECT = {"kafka.connect.offsets.control.sink": '{"0":42}', "kafka.connect.commit-id": "c"}
SPARK = {"spark.sql.streaming.queryId": "q", "spark.sql.streaming.epochId": "9"}


def test_each_writer_is_known_by_what_it_looks_for() -> None:
    assert {"Flink job j, operator o"} == positions(FLINK)
    assert {"Kafka Connect kafka.connect.offsets.control.sink"} == positions(CONNECT)
    assert {"Spark query q"} == positions(SPARK)
    assert 3 == len(positions({**FLINK, **CONNECT, **SPARK}))


@pytest.mark.parametrize("changed", [{"flink.job-id": "k"}, {"flink.operator-id": "p"}])
def test_another_job_or_operator_of_flink_is_another_writer(changed: dict[str, str]) -> None:
    assert positions(FLINK) != positions({**FLINK, **changed})


def test_a_later_position_is_of_the_same_writer() -> None:
    assert positions(FLINK) == positions({**FLINK, "flink.max-committed-checkpoint-id": "8"})
    assert positions(SPARK) == positions({**SPARK, "spark.sql.streaming.epochId": "10"})


def test_what_other_writers_say_is_no_position() -> None:
    summary = {"operation": "append", "flink.job-id": "j", "spark.app.id": "a", "kafka.connect.commit-id": "c"}
    assert frozenset() == positions(summary)
