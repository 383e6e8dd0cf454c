"""A program that ends while its Spark session starts: it ends at once, and takes Spark with it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SECONDS = 60
LAKE = """
import sys, time
import psutil
from nessie_gc_memory import MemoryLake, put
from nessie_gc_core import Collector
from nessie_gc_core.errors import RepositoryError

lake = MemoryLake.named("interrupted")
lake.commit("main", put(lake.table("db.t", location="memory://wh/db/t").append("a.parquet").version))
settings = {"repository": "memory", "repository_option": {"lake": lake.name}, "jdbc_url": sys.argv[1]}

def wait_for_spark():
    while not psutil.Process().children():
        time.sleep(0.01)
"""
PROGRAM = """
def tell(phase, done, total):
    wait_for_spark()
    print("Spark starts", flush=True)
    if sys.argv[2] == "fault":
        raise RepositoryError("the log is broken")
    time.sleep(60)

try:
    with Collector(engine="spark", progress=tell, **settings) as gc:
        gc.collect(delete=False)
finally:
    print(list(gc.live_sets.all())[0].status, flush=True)
"""


@pytest.mark.parametrize("cause", ["fault", "interrupt"])
def test_a_program_that_ends_while_spark_starts_leaves_no_process(
    spark: SparkSession, tmp_path: Path, cause: str
) -> None:
    command = [sys.executable, "-c", LAKE + PROGRAM, f"sqlite:///{tmp_path}/live-sets.db", cause]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "Spark starts\n" == process.stdout.readline()
        starting = psutil.Process(process.pid).children(recursive=True)
        if cause == "interrupt":
            process.send_signal(signal.SIGINT)
        said, problems = process.communicate(timeout=SECONDS)  # returns when all have closed what they write to
    assert "IDENTIFY_FAILED\n" == said, problems
    assert ("the log is broken" if cause == "fault" else "KeyboardInterrupt") in problems
    _, alive = psutil.wait_procs(starting, timeout=SECONDS)
    assert [] == alive


RETRY = """
def tell(phase, done, total):
    wait_for_spark()
    raise RepositoryError("the log is broken")

try:
    with Collector(engine="spark", progress=tell, **settings) as gc:
        gc.collect(delete=False)
except RepositoryError as error:
    print(error, flush=True)
from pyspark.sql import SparkSession

session = SparkSession.builder.master("local[1]").getOrCreate()
time.sleep(10)  # whoever was left behind has ended by now
print(session.range(3).count())
session.stop()
"""


def test_a_session_that_is_opened_after_a_failed_run_is_not_stopped_by_it(spark: SparkSession, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAKE + RETRY, f"sqlite:///{tmp_path}/live-sets.db"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=2 * SECONDS, check=False)
    assert "the log is broken\n3\n" == ended.stdout, ended.stderr
