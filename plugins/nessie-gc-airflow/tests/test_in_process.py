from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lake import Lake
from nessie_gc_airflow.calls import Call, CallError
from nessie_gc_airflow.in_process import InProcess

from nessie_gc_core import Collector


def test_s15_a_sweep_that_airflow_ends_gives_its_lease_back(lake: Lake) -> None:
    runner = InProcess()
    parameters = {"default_cutoff": "NONE", "dry_run": False}
    with _ending(runner), pytest.raises(CallError, match="stopped, because Airflow ended the task") as failed:
        runner.run(Call(service="gc", config=str(lake.config), parameters=parameters))
    assert failed.value.may_retry
    assert lake.garbage.exists()
    with Collector(config=lake.config) as collector:
        (live_set,) = collector.live_sets.all()
        assert "EXPIRY_FAILED" == live_set.status
        collector.run("sweep", live_set_id=str(live_set.id), resume=True, dry_run=False)
    assert not lake.garbage.exists()


@contextmanager
def _ending(runner: InProcess) -> Iterator[None]:
    """Airflow's signal comes while the sweep reads manifests."""

    class Signal(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            runner.stop()

    logger, handler = logging.getLogger("nessie_gc_core.algorithms.expand"), Signal()
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


def test_nothing_is_ended_when_nothing_runs(lake: Lake) -> None:
    runner = InProcess()
    runner.run(Call(service="gc", config=str(lake.config)))
    runner.stop()


def test_the_environment_is_that_of_the_task_while_it_runs_only(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESSIE_GC_MIN_AGE", "P1D")
    monkeypatch.delenv("NESSIE_GC_DEFAULT_CUTOFF", raising=False)
    env = {"NESSIE_GC_MIN_AGE": "P2D", "NESSIE_GC_DEFAULT_CUTOFF": "NONE"}
    result = InProcess().run(Call(service="gc", config=str(lake.config), env=env))
    assert {"files": 0, "bytes": 0} == result.report["would_delete"]
    assert ("P1D", False) == (os.environ["NESSIE_GC_MIN_AGE"], "NESSIE_GC_DEFAULT_CUTOFF" in os.environ)


def test_settings_override_the_file(lake: Lake) -> None:
    settings = {"jdbc_url": f"sqlite:///{lake.folder}/elsewhere.db", "token": None}
    InProcess().run(Call(service="gc", config=str(lake.config), settings=settings))
    assert (True, False) == ((lake.folder / "elsewhere.db").exists(), (lake.folder / "live-sets.db").exists())


def test_a_failure_that_is_not_one_of_the_configuration_may_be_tried_again(lake: Lake) -> None:
    with Collector(config=lake.config) as collector:
        live_set = str(collector.mark().live_set_id)
        parameters = {"live_set_id": live_set, "max_live_set_age": "PT0S"}
        with pytest.raises(CallError, match="sweep: live set") as failed:
            InProcess().run(Call(service="sweep", config=str(lake.config), parameters=parameters))
    assert failed.value.may_retry
