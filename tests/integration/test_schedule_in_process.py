"""A run in this process ends as its process would: with the same exit code, and the same report as JSON."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
import pytest
from cli_runs import go_home
from pyiceberg.catalog.sql import SqlCatalog

from nessie_gc_core import Schedule
from nessie_gc_core.api import in_process
from nessie_gc_core.api.in_process import InProcessRunner
from nessie_gc_core.api.opening import known_settings, setting_groups
from nessie_gc_core.config.file import ConfigFile, keys_of
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus
from nessie_gc_core.model.times import elapsed_seconds, utc_now
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.manifests.service import RewriteManifestsService
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.running import ProcessRunner, Runner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOBS = """
engine = "local"
jdbc-url = "sqlite:///schedule.db"
[repository]
name = "mock"
[connectors.content-to-files.mock]
[connectors.file-lister.mock]
[schedule.jobs]
collect = { service = "gc", every = "P1D", options = { dry-run = true } }
refused = { service = "gc", every = "P1D", options = { dry-run = true, min-age = "PT1M" } }
unmarked = { service = "sweep", every = "P1D", options = { dry-run = true, live-set-id = "00000000" } }
piped = { service = "gc", every = "P1D", options = { dry-run = true, outcomes-to = "-" } }
prune = { service = "prune", every = "P1D", options = { prune-older-than = "P1D" } }
looking = { service = "gc", every = "P1D", when = ["orphans"], options = { dry-run = true } }
committed = { service = "gc", every = "P1D", when-commits = 1, options = { dry-run = true } }
unknown = { service = "gone", every = "P1D" }
"""
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
ON_SPARK = """
jdbc-url = "sqlite:///schedule.db"
[repository]
name = "mock"
[schedule.jobs]
manifests = {{ service = "rewrite-manifests", every = "P1000D", options = {{ catalog = "{catalog}" }} }}
"""
VARIES = {"live_set_id", "started", "finished", "seconds", "phases", "references_listed", "traffic", "created", "at"}
"""What differs from run to run."""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = go_home(tmp_path, monkeypatch) / "nessie-gc.toml"
    file.write_text(JOBS)
    return file.absolute()


def ended(runner: Runner, definition: ScheduleDefinition, name: str) -> Outcome:
    """How a job ends."""
    job, now = definition.jobs[name], utc_now()
    run = JobRun(
        id=uuid4(),
        job=name,
        service=job.service,
        occasion=Occasion(due=now, starts=now),
        status=RunStatus.RUNNING,
        started=now,
    )
    work = runner.start(job, run, elapsed_seconds())
    while (outcome := work.wait(60)) is None:
        work.beat(elapsed_seconds())
    return outcome


def lasting(value: object) -> object:
    """What does not differ from run to run."""
    if isinstance(value, Mapping):
        return {key: lasting(inner) for key, inner in value.items() if key not in VARIES}
    return [lasting(inner) for inner in value] if isinstance(value, list) else value


def both(file: Path, name: str) -> tuple[Outcome, Outcome]:
    """How a job ends in a process of its own, and in this one."""
    known = known_settings(setting_groups(installed()))
    definition = ScheduleDefinition.read(ConfigFile.read(file, keys_of(known)), JobDigests(installed()))
    theirs = ProcessRunner(file, succeeded=lambda job: LONG_AGO)
    ours = InProcessRunner(file, succeeded=lambda job: LONG_AGO)
    return ended(theirs, definition, name), ended(ours, definition, name)


@pytest.mark.thorough(name="unmarked")
@pytest.mark.thorough(name="prune")
@pytest.mark.thorough(name="looking")
@pytest.mark.thorough(name="committed")
@pytest.mark.parametrize("name", ["collect", "refused", "unmarked", "prune", "looking", "committed"])
def test_a_run_in_this_process_reports_what_its_process_would(file: Path, name: str) -> None:
    theirs, ours = both(file, name)
    assert (theirs.exit_code, theirs.not_due) == (ours.exit_code, ours.not_due)
    assert list(theirs.body()) == list(ours.body())
    assert lasting(theirs.body()) == lasting(ours.body())
    assert theirs.body()


@pytest.mark.thorough(name="piped")
@pytest.mark.parametrize("name", ["piped", "unknown"])
def test_what_a_process_refuses_as_wrong_usage_is_refused_in_this_process(file: Path, name: str) -> None:
    theirs, ours = both(file, name)
    assert (2, 2) == (theirs.exit_code, ours.exit_code)
    assert {"format", "error", "exit_code"} == theirs.body().keys() == ours.body().keys()


@pytest.mark.spark
def test_a_run_finds_the_catalogs_of_the_session_that_it_is_given(file: Path, spark: SparkSession) -> None:
    catalog, folder = f"in_thread_{uuid4().hex}", file.parent
    with closing(SqlCatalog(catalog, uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/lake")) as lake:
        lake.create_namespace("db")
        rows = pa.table({"id": pa.array([1], pa.int64())})
        lake.create_table("db.t", schema=rows.schema).append(rows)
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        ".uri": f"jdbc:sqlite:{folder}/catalog.db",
        ".jdbc.schema-version": "V1",
        ".warehouse": f"file://{folder}/lake",
    }
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{catalog}{key}", value)
    file.write_text(ON_SPARK.format(catalog=catalog))
    with Schedule.from_toml(file, spark=spark) as schedule:
        schedule.trigger("manifests")
        (run,) = schedule.run_once()
        assert (RunStatus.SUCCEEDED, None) == (run.status, run.error)
        assert ["db.t"] == [table["table"] for table in json.loads(schedule.run(run.id).report or "")["tables"]]


@pytest.mark.spark
def test_s15_jobs_of_a_run_that_has_to_end_are_cancelled_and_others_of_the_session_are_not(
    file: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, others = file.parent / "begun", list[int]()

    def work(seconds: float) -> None:
        begun.touch()
        time.sleep(seconds)

    def run(self: RewriteManifestsService, run: object) -> None:
        spark.sparkContext.parallelize([600.0], 1).foreach(work)

    def stop() -> None:
        while not begun.exists():
            time.sleep(0.05)
        schedule.stop()
        others.append(spark.sparkContext.parallelize([3], 1).map(lambda each: each + 1).sum())

    monkeypatch.setattr(RewriteManifestsService, "run", run)
    monkeypatch.setattr(in_process, "_STEP_SECONDS", 0.2)
    file.write_text(ON_SPARK.format(catalog="any"))
    with Schedule.from_toml(file, spark=spark) as schedule:
        schedule.trigger("manifests")
        stopping = threading.Thread(target=stop)
        stopping.start()
        (ended_early,) = schedule.run_once()
        stopping.join()
    assert (RunStatus.INTERRUPTED, 143) == (ended_early.status, ended_early.exit_code)
    assert [4] == others
