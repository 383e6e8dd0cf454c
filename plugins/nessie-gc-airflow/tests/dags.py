"""Runs DAGs of one task, and looks at what Airflow keeps of them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Any

from airflow.models.renderedtifields import RenderedTaskInstanceFields
from airflow.models.taskinstance import TaskInstance
from airflow.models.xcom import XComModel
from airflow.sdk import DAG
from airflow.utils.session import create_session
from sqlalchemy import select, update

if find_spec("airflow.dag_processing.dagbag") is not None:
    from airflow.dag_processing.dagbag import DagBag
else:  # before Airflow 3.2
    from airflow.models.dagbag import DagBag  # type: ignore[no-redef]  # one of them is imported

FOLDER = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
LOGS = Path(os.environ["AIRFLOW__LOGGING__BASE_LOG_FOLDER"])
TASK = "task"
_SOURCE = """
import datetime

from airflow.sdk import DAG
from airflow.utils.session import create_session
from nessie_gc_airflow import {class_}

with DAG({dag_id!r}, schedule=None, start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)) as dag:
    {class_}(task_id={task!r}, retry_delay=datetime.timedelta(0), **{arguments!r})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """What is left of a task."""

    state: str | None
    """The state of the task."""
    tries: int
    """How often it was tried."""
    report: Any
    """What it pushed to XCom; ``None``: nothing."""
    kept: str
    """Everything that the database has of its fields and of XCom, as text."""
    log: str
    """Its log; empty unless a worker ran it."""
    failure: str | None
    """The text of the exception in its log."""


def run_task(dag_id: str, *, class_: str = "NessieGcOperator", **arguments: Any) -> Ended:
    """Runs a DAG of one task in this process, as ``dag.test()`` does."""
    return _run(dag_id, arguments, class_, in_worker=False)


def run_in_worker(dag_id: str, *, class_: str = "NessieGcOperator", **arguments: Any) -> Ended:
    """Runs a DAG of one task in a process that Airflow's executor starts, with an API server: as in production."""
    return _run(dag_id, arguments, class_, in_worker=True)


def _run(dag_id: str, arguments: Mapping[str, Any], class_: str, *, in_worker: bool) -> Ended:
    path = FOLDER / f"{dag_id}.py"
    path.write_text(_SOURCE.format(dag_id=dag_id, class_=class_, task=TASK, arguments=dict(arguments)))
    return run_file(path, in_worker=in_worker)[TASK]


def run_file(path: Path, *, in_worker: bool = False) -> dict[str, Ended]:
    """Runs the DAG of a file in the folder of the DAGs, and removes the file; what is left of each task."""
    try:
        dag = _dag_in(path)
        run = dag.test(use_executor=in_worker)
        return {task: ended(dag.dag_id, run.run_id, task) for task in dag.task_ids}
    finally:
        path.unlink()


def _dag_in(path: Path) -> DAG:
    bag = DagBag(dag_folder=path)
    assert {} == bag.import_errors
    (dag,) = bag.dags.values()
    return dag


@contextmanager
def meanwhile(*steps: Callable[[Event], None]) -> Iterator[None]:
    """Runs steps beside the block; they are told when it is over."""
    over = Event()
    with ThreadPoolExecutor() as pool:
        done = [pool.submit(step, over) for step in steps]
        try:
            yield
        finally:
            over.set()
    for each in done:
        each.result()


def mark_failed(dag_id: str, when: Path, over: Event) -> None:
    """Does what the button does in Airflow's pages, as soon as there is a file."""
    while not when.exists():
        assert not over.wait(0.1), f"there was no {when}"
    with create_session() as session:
        session.execute(update(TaskInstance).filter_by(dag_id=dag_id).values(state="failed"))


def ended(dag_id: str, run_id: str, task_id: str) -> Ended:
    """What is left of a task of a run."""
    mine = {"dag_id": dag_id, "run_id": run_id, "task_id": task_id}
    with create_session() as session:
        task = session.scalars(select(TaskInstance).filter_by(**mine)).one()
        values = session.scalars(select(XComModel).filter_by(**mine)).all()
        fields = session.scalars(select(RenderedTaskInstanceFields).filter_by(**mine)).all()
        report = next((XComModel.deserialize_value(each) for each in values if each.key == "return_value"), None)
        kept = [*(str(each.value) for each in values), *(str(each.rendered_fields) for each in fields)]
    log = log_of(dag_id)
    return Ended(
        state=task.state,
        tries=task.try_number,
        report=report,
        kept="\n".join(kept),
        log=log,
        failure=_failure(log),
    )


def log_of(dag_id: str) -> str:
    """What a worker has logged so far."""
    return "".join(path.read_text() for path in sorted((LOGS / f"dag_id={dag_id}").rglob("*.log")))


def _failure(log: str) -> str | None:
    events = (json.loads(line) for line in log.splitlines())
    details = (detail for event in events for detail in event.get("error_detail") or ())
    return next((f"{detail['exc_type']}: {detail['exc_value']}" for detail in details), None)
