"""The reader, lister and deleter of real Iceberg tables over S3, against the oracle of computed lakes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from collecting import LakeServices, spark_engine
from nessie_gc_memory import MemoryLiveSetStore
from nessie_gc_memory.mock import MockLake, MockLakeSpec, MockOracle, MockRepository
from nessie_gc_memory.mock.s3_server import ComputedS3Server

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import ICEBERG_TABLE, Outcome
from nessie_gc_core.model.times import utc_now

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = "s3://lake/warehouse"
LAKE = MockLakeSpec(
    lake="served",
    root=ROOT,
    content_type=ICEBERG_TABLE,
    references=4,
    commits=36,
    table_count=3,
    branch_commits=3,
    files_per_commit=4,
    overwrite_every=3,
    format_versions=("1", "2", "3"),
    deletes_every=2,
    deletes_per_commit=2,
    statistics_every=2,
    missing_share=0.05,
    garbage_files=6,
)


@contextmanager
def served(spec: MockLakeSpec, engine: Engine) -> Iterator[LakeServices]:
    """What collects a lake behind an S3 endpoint."""
    with ComputedS3Server(spec) as server:
        yield LakeServices(
            repository=MockRepository(spec),
            store=MemoryLiveSetStore.from_options({}),
            engine=engine,
            clock=utc_now,
            choice=ConnectorChoice(properties=server.properties),
        )


def stored(spec: MockLakeSpec) -> set[str]:
    return {f"{ROOT}/{path}" for each in MockLake(spec).listing(f"{ROOT}/") for path in each.paths}


def check(spec: MockLakeSpec, engine: Engine, cutoff: str) -> None:
    """Collects a lake, and compares what is left with the oracle."""
    oracle, before = MockOracle(spec, cutoff), stored(spec)
    counts, garbage = oracle.counts(), set(oracle.garbage())

    with served(spec, engine) as services:
        report = services.collect(cutoff)

    assert garbage == before - stored(spec)
    deleted = report.outcomes[Outcome.DELETED]
    assert (counts.garbage, counts.garbage_bytes) == (deleted.files, deleted.bytes)
    assert (counts.lost, len(oracle.frozen_tables)) == (report.lost.files, len(report.unknown))


@pytest.fixture
def local() -> Iterator[Engine]:
    with LocalEngine(workers=2) as engine:
        yield engine


@pytest.mark.parametrize("cutoff", ["1", "NONE"])
def test_iceberg_tables_of_every_version_are_read_from_a_computed_store(
    local: Engine, tmp_path: Path, cutoff: str
) -> None:
    check(replace(LAKE, changes=str(tmp_path / "changes.jsonl")), local, cutoff)


def test_s06_a_table_with_a_manifest_that_is_missing_or_truncated_is_left_alone(local: Engine, tmp_path: Path) -> None:
    spec = replace(LAKE, table_count=6, commits=60, broken_share=0.03, changes=str(tmp_path / "changes.jsonl"))
    assert 0 < len(MockOracle(spec, "1").frozen_tables) < spec.table_count
    check(spec, local, "1")


def test_a_store_that_is_slow_and_refuses_requests_changes_no_decision(local: Engine, tmp_path: Path) -> None:
    spec = replace(LAKE, latency=timedelta(milliseconds=2), throttled_share=0.1, changes=str(tmp_path / "c.jsonl"))
    check(spec, local, "1")


@pytest.mark.spark
@pytest.mark.thorough
def test_executors_read_a_computed_store(spark: SparkSession, tmp_path: Path) -> None:
    check(replace(LAKE, changes=str(tmp_path / "changes.jsonl")), spark_engine(spark), "1")
