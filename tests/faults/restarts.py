"""A server restarts, or a process of a cluster is lost, in the middle of a collection: that costs time only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from lakes import CommittedLake, build_lake
from nessie_gc_memory.mock import MockLakeSpec

from faults.lake import Lake
from faults.runs import AGES, Ended, Runs, ended
from faults.trying import Result, deleted, is_at_work_until, is_reached, result_of, told_once
from nessie_gc_core.testing.servers import FaultProxy, Faults, MariaDbServer, NessieServer, PostgresServer
from nessie_gc_core.testing.servers.spark_cluster import SparkCluster

_SLOW = Faults(slow=1.0, slow_seconds=0.02)
"""Long enough that a collection is still at work when something restarts."""
_NESSIE_LAKE = MockLakeSpec(
    references=5,
    branches_every=1,
    commits=256,
    branch_commits=16,
    table_count=4,
    files_per_commit=3,
    overwrite_every=0,
    listed_snapshots=320,
    garbage_files=24,
    file_bytes=1000,
)
"""320 snapshots, a fifth of them on branches; metadata lists all that the table has."""
_KEEP_COMMITS = 5
_ACCESS_LOG = {"quarkus.http.access-log.enabled": "true", "quarkus.http.access-log.pattern": "request %m %U"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart:
    """What goes away in the middle of a collection, and when."""

    name: str
    what: str
    """``executor``, ``bare executor`` (with rows that no other has), ``postgres``, ``mariadb`` or ``nessie``."""
    requests: int = 0
    """After how many requests to the object store, or to Nessie."""
    deletes: int = 0
    """After how many bulk deletions instead."""
    tries: int = 1
    """How many runs it takes."""


def restarts() -> list[Restart]:
    """Where something goes away."""
    return [
        Restart(name="Spark executor lost while it reads", what="executor", requests=20),
        Restart(name="Spark executor lost after a bulk deletion", what="executor", deletes=1),
        Restart(name="Spark executor lost, no directory for checkpoints", what="bare executor", requests=20, tries=2),
        Restart(name="PostgreSQL restarted during the mark", what="postgres", requests=10),
        Restart(name="PostgreSQL restarted after a bulk deletion", what="postgres", deletes=1),
        Restart(name="MariaDB restarted during the mark", what="mariadb", requests=10),
        Restart(name="MariaDB restarted after a bulk deletion", what="mariadb", deletes=1),
        Restart(name="Nessie restarted while it is read", what="nessie", requests=5),
        Restart(name="Nessie restarted later in the mark", what="nessie", requests=12),
    ]


def restarted(lake: Lake, restart: Restart) -> Result:
    """Collects while something goes away; that run has to delete everything, or nothing and the next one everything."""
    with tempfile.TemporaryDirectory(prefix="nessie-gc-faults-") as name, ExitStack() as stack:
        folder = Path(name)
        if restart.what == "nessie":
            return _nessie_restarted(folder, restart, stack)
        lake.put_back()
        runs = Runs(lake, folder)
        options = ["--outcomes-to", str(runs.outcomes), "--files-per-step", "1000", *AGES]
        more, act = _victim(folder, restart, stack)
        proxy = stack.enter_context(FaultProxy(lake.server.properties, _SLOW))
        process = runs.begin(proxy.properties, "gc", *options, *more)
        was_there = is_at_work_until(process, lambda: is_reached(proxy, restart.requests, restart.deletes))
        if was_there:
            act()
        tries = [ended(process)]
        if restart.tries > 1:
            tries.append(runs.run(proxy.properties, "gc", *options, *more))
        problems = _problems(tries[-1], was_there=was_there) + told_once(lake, deleted(runs))
        codes = ", ".join(f"{done.exit_code}" for done in tries)
        return result_of(lake, restart.name, len(tries), f"exit {codes}", problems)


def _victim(folder: Path, restart: Restart, stack: ExitStack) -> tuple[Sequence[str], Callable[[], None]]:
    """Starts what is going to go away; the options of a collection with it, and what makes it go."""
    if restart.what.endswith("executor"):
        cluster = stack.enter_context(SparkCluster(folder))
        conf = [part for key, value in cluster.driver_conf.items() for part in ("--spark-conf", f"{key}={value}")]
        if restart.what == "executor":
            conf += ["--spark-conf", f"spark.checkpoint.dir={folder}/checkpoints"]
        return ["--engine", "spark", "--spark-master", cluster.master_uri, *conf], lambda: _kill_one(cluster)
    server: PostgresServer | MariaDbServer = PostgresServer() if restart.what == "postgres" else MariaDbServer()
    stack.enter_context(server)
    url = server.uri(server.create_database("live_sets"))
    return ["--engine", "local", "--jdbc-url", url, "--jdbc-schema", "CREATE"], server.restart


def _kill_one(cluster: SparkCluster) -> None:
    os.kill(cluster.executor_pids()[0], signal.SIGKILL)


def _problems(done: Ended, *, was_there: bool) -> list[str]:
    problems = [] if was_there else ["it ended before anything went away"]
    return problems + ([f"exit code {done.exit_code}: {done.said}"] if done.exit_code else [])


# ---- Nessie ---------------------------------------------------------------------------------------------
def _nessie_restarted(folder: Path, restart: Restart, stack: ExitStack) -> Result:
    """On a lake of its own: the one in the bucket belongs to another catalog."""
    properties = {
        "nessie.version.store.type": "ROCKSDB",
        "nessie.version.store.persist.rocks.database-path": str(folder / "store"),
        **_ACCESS_LOG,
    }
    log = folder / "nessie.log"
    server = stack.enter_context(NessieServer(properties=properties, log=log))
    lake = build_lake(replace(_NESSIE_LAKE, root=f"file://{folder}/warehouse"), server.uri)
    before = _requests(log)
    command = ["gc", "--inmemory", "--engine", "local", "--uri", server.uri, "-c", str(_KEEP_COMMITS), *AGES]
    whole = [sys.executable, "-m", "nessie_gc_core", *command, "-r", "page_size=40"]
    process = subprocess.Popen(whole, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    was_there = is_at_work_until(process, lambda: _requests(log) - before >= restart.requests)
    if was_there:
        server.restart()
    done = ended(process)
    return _of_disk(lake, restart.name, done, _problems(done, was_there=was_there))


def _requests(log: Path) -> int:
    """How many the server has answered."""
    return log.read_text(encoding="utf-8", errors="replace").count("request GET")


def _of_disk(lake: CommittedLake, name: str, done: Ended, problems: Sequence[str]) -> Result:
    stored = {str(path) for path in lake.folder.rglob("*") if path.is_file()}
    return Result(
        name=name,
        tries=1,
        outcome=f"exit {done.exit_code}",
        lost=len(lake.live_paths(_KEEP_COMMITS) - stored),
        leaked=len(lake.dead_paths(_KEEP_COMMITS) & stored),
        problems=problems,
    )
