from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import cast
from uuid import UUID

import psutil
import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, Context
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import LazyDeserializedDAG
from dags import log_of, mark_failed, meanwhile, run_in_worker, run_task
from lake import Lake
from nessie_gc_airflow import NessieGcOperator
from nessie_gc_airflow.operators import SWEEPS

from nessie_gc_core import Collector
from nessie_gc_core.services.sweep import SweepService

EXECUTABLE = str(Path(sys.executable).with_name("nessie-gc"))
PLACES = pytest.mark.parametrize("place", [{}, {"executable": EXECUTABLE}], ids=["worker", "executable"])
"""Where a service runs."""


@PLACES
def test_s21_without_a_word_about_deletion_xcom_has_the_report_of_a_dry_run(lake: Lake, place: dict[str, str]) -> None:
    before = lake.files
    ended = run_task("dry", service="gc", config=str(lake.config), **place)
    assert "success" == ended.state
    assert (True, {"files": 1, "bytes": 1}) == (ended.report["dry_run"], ended.report["would_delete"])
    assert before == lake.files


def test_s21_a_wrapper_that_drops_variables_makes_a_dry_run_too(lake: Lake) -> None:
    wrapper = ["env", "-i", f"HOME={lake.folder}", EXECUTABLE]
    ended = run_task("wrapped", service="gc", config=str(lake.config), executable=wrapper)
    assert ("success", True, True) == (ended.state, ended.report["dry_run"], lake.garbage.exists())


@PLACES
def test_explicit_deletion_deletes(lake: Lake, place: dict[str, str]) -> None:
    before = lake.files
    ended = run_task("deletion", service="gc", config=str(lake.config), parameters={"dry_run": False}, **place)
    assert ("success", {"files": 1, "bytes": 1}) == (ended.state, ended.report["deleted"])
    assert before - {lake.garbage} == lake.files


@PLACES
def test_s21_a_deletion_that_the_settings_forbid_fails(lake: Lake, place: dict[str, str]) -> None:
    lake.config.write_text(f"dry-run = true\n{lake.config.read_text()}")
    ended = run_task("forbidden", service="gc", config=str(lake.config), parameters={"dry_run": False}, **place)
    assert ("failed", True) == (ended.state, lake.garbage.exists())


@PLACES
@pytest.mark.usefixtures("api_server")
def test_a_wrong_call_fails_once_with_one_line(lake: Lake, place: dict[str, str]) -> None:
    parameters = {"min_agee": "P1D"}
    ended = run_in_worker("wrong", service="gc", config=str(lake.config), parameters=parameters, retries=2, **place)
    assert ("failed", 1) == (ended.state, ended.tries)
    assert ended.failure is not None
    assert ended.failure.startswith("AirflowFailException: gc: ")
    assert "min_agee" in ended.failure.replace("-", "_")
    assert "\n" not in ended.failure


@PLACES
def test_a_run_that_leaves_something_unknown_fails_and_xcom_has_its_report(lake: Lake, place: dict[str, str]) -> None:
    lake.break_the_table()
    ended = run_task("incomplete", service="gc", config=str(lake.config), parameters={"dry_run": False}, **place)
    assert ("failed", 1) == (ended.state, ended.report["exit_code"])
    assert lake.garbage.exists()


def test_such_a_run_can_be_accepted(lake: Lake) -> None:
    lake.break_the_table()
    ended = run_task("accepted", service="gc", config=str(lake.config), fail_on_incomplete=False)
    assert ("success", 1) == (ended.state, ended.report["exit_code"])


@PLACES
def test_s15_a_retry_of_a_sweep_resumes_it(lake: Lake, place: dict[str, str]) -> None:
    live_set = _killed_in_its_sweep(lake)
    parameters = {"live_set_id": live_set, "dry_run": False}
    ended = run_task("resumed", service="sweep", config=str(lake.config), parameters=parameters, retries=1, **place)
    assert ("success", 2) == (ended.state, ended.tries)
    assert not lake.garbage.exists()


def test_a_sweep_that_ended_is_not_tried_again_because_it_could_not_be_resumed(lake: Lake) -> None:
    lake.break_the_table()
    with Collector(config=lake.config) as collector:
        live_set = str(collector.mark().live_set_id)
    parameters = {"live_set_id": live_set, "dry_run": False}
    ended = run_task("left", service="sweep", config=str(lake.config), parameters=parameters, retries=2)
    assert ("failed", 1, live_set) == (ended.state, ended.tries, ended.report["live_set_id"])


def test_the_sweep_is_known_by_all_its_names() -> None:
    assert SWEEPS == {SweepService.name, *SweepService.aliases}


def _killed_in_its_sweep(lake: Lake) -> str:
    """A live set whose sweep was killed when it had begun."""
    with Collector(config=lake.config) as collector:
        live_set = str(collector.mark().live_set_id)
        collector.live_sets.store.start_expire(UUID(live_set), at=datetime.now(UTC), resume=False)
        return live_set


@pytest.mark.usefixtures("api_server")
def test_s28_what_airflow_keeps_and_logs_has_no_secret(tmp_path: Path) -> None:
    secrets = {"NESSIE_GC_REPOSITORY_TOKEN": "{{ 'open' + 'sesame' }}"}
    settings = {"jdbc_url": "{{ 'sqlite:///' + 'abracadabra' }}"}
    ended = run_in_worker("secret", service="gc", executable=_telltale(tmp_path), env=secrets, settings=settings)
    assert ("success", {"arrived": True}) == (ended.state, ended.report)
    assert "I was told *** ***" in ended.log
    assert [] == [word for word in ("opensesame", "abracadabra") if word in ended.kept + ended.log]


def _telltale(folder: Path) -> str:
    """A program that logs its secrets."""
    path = folder / "telltale"
    names = ("NESSIE_GC_REPOSITORY_TOKEN", "NESSIE_GC_JDBC_URL")
    values = " + ".join(f"os.environ[{name!r}]" for name in names)
    says = f"print('I was told', *(os.environ[name] for name in {names!r}), file=sys.stderr)"
    arrived = f'print(json.dumps({{"arrived": {values} == "opensesamesqlite:///abracadabra"}}))'
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{says}\n{arrived}\n")
    path.chmod(0o700)
    return str(path)


def _with_default_args(secret: str) -> DAG:
    arguments = {"env": {"NESSIE_GC_TOKEN": secret}, "settings": {"jdbc_url": secret}}
    with DAG("stored", schedule=None, default_args=arguments) as dag:
        NessieGcOperator(task_id="task", service="gc")
    return dag


def _with_partial(secret: str) -> DAG:
    with DAG("stored", schedule=None) as dag:
        task = NessieGcOperator.partial(task_id="task", env={"NESSIE_GC_TOKEN": secret}, settings={"jdbc_url": secret})
        task.expand(service=["gc", "health"])
    return dag


def _with_arguments(secret: str) -> DAG:
    with DAG("stored", schedule=None) as dag:
        NessieGcOperator(task_id="task", service="gc", env={"NESSIE_GC_TOKEN": secret}, settings={"jdbc_url": secret})
    return dag


def _stored(dag: DAG) -> str:
    """What Airflow writes to its database when it has read the file of a DAG."""
    return json.dumps(LazyDeserializedDAG.from_dag(dag).data)


def test_s28_a_stored_dag_has_no_secrets_of_an_operator() -> None:
    assert "opensesame" not in _stored(_with_arguments("opensesame"))


@pytest.mark.parametrize("make", [_with_default_args, _with_partial])
def test_s28_a_stored_dag_has_what_is_written_in_default_args_and_partial(make: Callable[[str], DAG]) -> None:
    """Airflow does that before any code of the operator runs; so a secret there must be a template."""
    assert "opensesame" in _stored(make("opensesame"))
    assert "opensesame" not in _stored(make("{{ 'open' + 'sesame' }}"))


def test_a_variable_that_is_not_text_fails_once_with_its_name_and_without_its_value(lake: Lake) -> None:
    context = cast("Context", {})
    operator = NessieGcOperator(task_id="task", service="gc", config=str(lake.config), env={"NESSIE_GC_TOKEN": 4711})  # type: ignore[dict-item]  # what is tested
    with pytest.raises(AirflowFailException) as caught:
        operator.execute(context)
    assert "the variable NESSIE_GC_TOKEN in `env` must be text, not int: put it in quotes" == str(caught.value)


def test_s28_a_parameter_that_may_hold_a_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="'nessie_jdbc_url' may hold a secret"):
        NessieGcOperator(task_id="purge", service="internal-gc", parameters={"nessie_jdbc_url": "postgresql://…"})


@pytest.mark.usefixtures("api_server")
def test_a_task_that_is_marked_as_failed_takes_its_child_along(tmp_path: Path) -> None:
    started, told = tmp_path / "started", tmp_path / "told"
    with meanwhile(partial(mark_failed, "killed", started)):
        ended = run_in_worker("killed", service="gc", executable=_sleeper(tmp_path, started, told))
    assert ("failed", "SIGTERM") == (ended.state, told.read_text())
    assert not psutil.pid_exists(int(started.read_text()))


def _sleeper(folder: Path, started: Path, told: Path) -> str:
    """A program that runs until it is asked to end."""
    path = folder / "sleeper"
    path.write_text(f"""#!{sys.executable}
import os, pathlib, signal, sys

def end(number, frame):
    pathlib.Path({str(told)!r}).write_text(signal.Signals(number).name)
    sys.exit(143)

signal.signal(signal.SIGTERM, end)
pathlib.Path({str(folder)!r}, "new").write_text(str(os.getpid()))
os.rename({str(folder / "new")!r}, {str(started)!r})
while True:
    signal.pause()
""")
    path.chmod(0o700)
    return str(path)


def test_airflow_lists_the_provider() -> None:
    command = [sys.executable, "-m", "airflow", "providers", "list", "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    assert "nessie-gc-airflow" in [provider["package_name"] for provider in json.loads(done.stdout)]


@pytest.mark.usefixtures("api_server")
def test_s15_a_sweep_in_the_worker_gives_its_lease_back_when_its_task_is_marked_as_failed(lake: Lake) -> None:
    started, manifest = lake.folder / "started", lake.block_the_table()
    with meanwhile(partial(mark_failed, "stopped", started), partial(_hold, manifest, started)):
        ended = run_in_worker("stopped", service="gc", config=str(lake.config), parameters={"dry_run": False})
    assert "failed" == ended.state
    with Collector(config=lake.config) as collector:
        (live_set,) = collector.live_sets.all()
    assert "EXPIRY_FAILED" == live_set.status
    assert "stopped, because Airflow ended the task" in ended.log


def _hold(manifest: Path, started: Path, over: Event) -> None:
    """Makes a file as soon as somebody reads the manifest, and gives it no content until the task is to end."""
    with _writer(manifest, over):
        started.touch()
        while "Airflow ends the task" not in log_of("stopped") and not over.wait(0.1):
            pass


@contextmanager
def _writer(pipe: Path, over: Event) -> Iterator[None]:
    """The other end of a pipe, as soon as somebody reads it."""
    while True:
        try:
            descriptor = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody does
            assert not over.wait(0.1), "nobody read the manifest"
        else:
            break
    try:
        yield
    finally:
        os.close(descriptor)
