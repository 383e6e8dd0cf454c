"""The collector against the oracle of random computed lakes, which workers of both engines rebuild from options alone.

Of a lake that fails, Hypothesis prints the options; :class:`MockLakeSpec` makes it again anywhere.
"""

from __future__ import annotations

import itertools
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from collecting import LakeServices, spark_engine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nessie_gc_memory import MemoryLiveSetStore
from nessie_gc_memory.mock import MockChanges, MockLake, MockLakeSpec, MockOracle, MockRepository
from nessie_gc_memory.mock.s3_server import ComputedS3Server
from thoroughness import examples

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import ICEBERG_TABLE, Outcome
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.parameters import SweepParameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

KINDS = ("content-to-files", "file-lister", "file-deleter")
shares = st.sampled_from([0.0, 0.0, 0.02, 0.2])
lakes = st.builds(
    lambda tables, at_once, **options: MockLakeSpec(
        table_count=tables, tables_per_commit=min(at_once, tables), **options
    ),
    lake=st.builds("computed-{}".format, st.builds(next, st.just(itertools.count()))),
    seed=st.integers(0, 2**32),
    references=st.integers(1, 9),
    commits=st.integers(1, 60),
    branch_commits=st.integers(0, 6),
    branches_every=st.integers(0, 3),
    tables=st.integers(1, 8),
    at_once=st.integers(1, 3),
    files_per_commit=st.integers(1, 4),
    overwrite_every=st.integers(0, 4),
    partitions=st.integers(0, 3),
    columns=st.integers(0, 2),
    compressed=st.booleans(),
    listed_snapshots=st.integers(1, 5),
    logged_metadata=st.integers(0, 2),
    format_versions=st.lists(st.sampled_from(["1", "2", "3"]), min_size=1, max_size=3).map(tuple),
    deletes_every=st.integers(0, 3),
    deletes_per_commit=st.integers(1, 3),
    statistics_every=st.integers(0, 3),
    garbage_files=st.integers(0, 5),
    missing_share=shares,
    broken_share=shares,
)
cutoffs = st.sampled_from(["NONE", "1", "2", "3", "20", "2024-12-31T20:00:00Z", "2025-01-01T00:00:00Z"])


def fuzz(number: int) -> settings:
    """So many random lakes."""
    return settings(max_examples=number, suppress_health_check=[HealthCheck.too_slow])


@contextmanager
def recorded(spec: MockLakeSpec) -> Iterator[MockLakeSpec]:
    """The lake with a file in which all processes find what was deleted."""
    with tempfile.TemporaryDirectory() as folder:
        yield replace(spec, changes=str(Path(folder, "changes.jsonl")))


def services(spec: MockLakeSpec, engine: Engine) -> LakeServices:
    """What collects a computed lake, by the connectors ``mock`` alone."""
    options = spec.as_options()
    choice = ConnectorChoice(options={(kind, "mock"): options for kind in KINDS})
    return _services(MockRepository.from_options(options), engine, choice)


def _services(repository: MockRepository, engine: Engine, choice: ConnectorChoice) -> LakeServices:
    store = MemoryLiveSetStore.from_options({})
    return LakeServices(repository=repository, store=store, engine=engine, clock=utc_now, choice=choice)


def stored(spec: MockLakeSpec) -> set[str]:
    """Every path in the store."""
    root = f"{spec.root}/"
    return {root + path for listed in MockLake(spec).listing(root) for path in listed.paths}


def check(spec: MockLakeSpec, cutoff: str, collecting: LakeServices) -> None:
    """Collects a lake whose tables were read before (S31), and compares what is left with the oracle."""
    oracle, before = MockOracle(spec, cutoff), stored(spec)
    counts, garbage = oracle.counts(), set(oracle.garbage())

    report = collecting.read_before().collect(cutoff)

    after = stored(spec)
    assert garbage == before - after
    assert before & set(oracle.live_files()) <= after
    assert MockChanges.of(spec).deleted() == garbage
    deleted = report.outcomes[Outcome.DELETED]
    assert (counts.garbage, counts.garbage_bytes) == (deleted.files, deleted.bytes)
    assert (counts.lost, len(oracle.frozen_tables)) == (report.lost.files, len(report.unknown))


@given(lakes, cutoffs)
@fuzz(examples(8))
def test_exactly_what_the_oracle_of_a_computed_lake_allows_is_deleted(spec: MockLakeSpec, cutoff: str) -> None:
    with recorded(spec) as lake, LocalEngine(workers=2) as engine:
        check(lake, cutoff, services(lake, engine))


@given(lakes, cutoffs)
@fuzz(examples(2))
def test_s21_a_dry_run_over_a_computed_lake_counts_what_the_oracle_allows(spec: MockLakeSpec, cutoff: str) -> None:
    before = stored(spec)
    with LocalEngine(workers=2) as engine:
        report = services(spec, engine).collect(cutoff, sweep=SweepParameters(dry_run=True))
    counts, found = MockOracle(spec, cutoff).counts(), report.outcomes[Outcome.WOULD_DELETE]
    assert (counts.garbage, counts.garbage_bytes) == (found.files, found.bytes)
    assert before == stored(spec)


@given(lakes, cutoffs)
@fuzz(examples(2))
def test_iceberg_tables_of_a_computed_store_lose_exactly_what_the_oracle_allows(
    spec: MockLakeSpec, cutoff: str
) -> None:
    served = replace(spec, root="s3://lake/warehouse", content_type=ICEBERG_TABLE)
    with recorded(served) as lake, ComputedS3Server(lake) as server, LocalEngine(workers=2) as engine:
        choice = ConnectorChoice(properties=server.properties)
        check(lake, cutoff, _services(MockRepository(lake), engine, choice))


SMALL = MockLakeSpec(lake="executors", references=4, commits=20, table_count=3, files_per_commit=2, missing_share=0.1)


@pytest.mark.spark
def test_executors_compute_the_lake_from_its_options(spark: SparkSession) -> None:
    with recorded(SMALL) as lake:
        check(lake, "3", services(lake, spark_engine(spark)))


@pytest.mark.spark
@pytest.mark.thorough
@given(spec=lakes, cutoff=cutoffs)
@fuzz(10)
def test_spark_too_deletes_exactly_what_the_oracle_of_a_computed_lake_allows(
    spark: SparkSession, spec: MockLakeSpec, cutoff: str
) -> None:
    with recorded(spec) as lake:
        check(lake, cutoff, services(lake, spark_engine(spark)))
