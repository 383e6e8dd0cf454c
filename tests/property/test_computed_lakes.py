"""The collector against the oracle of computed lakes, which both engines rebuild from options alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from collecting import LakeServices, spark_engine
from nessie_gc_memory import MemoryLiveSetStore
from nessie_gc_memory.mock import MockChanges, MockFileLister, MockLakeSpec, MockOracle, MockRepository
from thoroughness import examples

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.times import utc_now

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = ("content-to-files", "file-lister", "file-deleter")
ROOT = "mock://lake/warehouse/"
CUTOFFS = ("NONE", "1", "3", "20", "2024-12-31T20:00:00Z")


def random_lake(seed: int, folder: Path) -> tuple[MockLakeSpec, str]:
    """A lake and a cut-off policy, by a seed."""
    of = random.Random(seed)
    spec = MockLakeSpec(
        lake=f"computed-{seed}",
        seed=seed,
        references=of.choice([1, 2, 5, 9]),
        commits=of.choice([1, 7, 40, 120]),
        branch_commits=of.choice([0, 1, 6]),
        table_count=of.choice([1, 3, 8]),
        files_per_commit=of.choice([1, 4]),
        overwrite_every=of.choice([0, 1, 3]),
        listed_snapshots=of.choice([1, 4]),
        format_versions=of.choice([("1",), ("2",), ("3",), ("1", "2", "3")]),
        deletes_every=of.choice([0, 2]),
        deletes_per_commit=of.choice([1, 3]),
        statistics_every=of.choice([0, 1, 2]),
        garbage_files=of.choice([0, 5]),
        missing_share=of.choice([0.0, 0.1]),
        broken_share=of.choice([0.0, 0.0, 0.02]),
        changes=str(folder / f"changes-{seed}.jsonl"),
    )
    return spec, of.choice(CUTOFFS)


def services(spec: MockLakeSpec, engine: Engine) -> LakeServices:
    """What collects a computed lake."""
    options = spec.as_options()
    return LakeServices(
        repository=MockRepository.from_options(options),
        store=MemoryLiveSetStore.from_options({}),
        engine=engine,
        clock=utc_now,
        choice=ConnectorChoice(options={(kind, "mock"): options for kind in KINDS}),
    )


def stored(spec: MockLakeSpec) -> set[str]:
    """Every path in the store."""
    with MockFileLister(spec) as lister:
        return {ROOT + file.path for file in lister.list_files(ROOT)}


def check(seed: int, engine: Engine, folder: Path) -> None:
    """Collects one lake, and compares what is left with the oracle."""
    spec, cutoff = random_lake(seed, folder)
    oracle, before = MockOracle(spec, cutoff), stored(spec)
    counts, garbage = oracle.counts(), set(oracle.garbage())

    report = services(spec, engine).collect(cutoff)

    assert garbage == before - stored(spec)
    assert MockChanges(Path(str(spec.changes))).deleted() == garbage
    deleted = report.outcomes[Outcome.DELETED]
    assert (counts.garbage, counts.garbage_bytes) == (deleted.files, deleted.bytes)
    assert (counts.lost, len(oracle.frozen_tables)) == (report.lost.files, len(report.unknown))


@pytest.fixture
def local() -> Iterator[Engine]:
    with LocalEngine(workers=2) as engine:
        yield engine


@pytest.mark.parametrize("seed", range(4, 4 + examples(2)))
def test_exactly_what_the_oracle_of_a_computed_lake_allows_is_deleted(local: Engine, tmp_path: Path, seed: int) -> None:
    check(seed, local, tmp_path)


@pytest.mark.spark
def test_executors_compute_the_lake_from_its_options(spark: SparkSession, tmp_path: Path) -> None:
    check(5, spark_engine(spark), tmp_path)


@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6, 26))
def test_spark_too_deletes_exactly_what_the_oracle_of_a_computed_lake_allows(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    check(seed, spark_engine(spark), tmp_path)
