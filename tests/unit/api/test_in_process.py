"""Runs in this process: what they share, and what of it is for one at a time."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nessie_gc_core.api.in_process import InProcessRunner
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.settings import SETTINGS
from nessie_gc_core.model.work import Traffic
from nessie_gc_core.services.ending import Terminated
from nessie_gc_core.services.report import GcReport


class Classic:
    """A session of this process."""


class Remote:
    """A session of Spark Connect, which is known by its module."""

    __module__ = "pyspark.sql.connect.session"


def runner_on(session: Any) -> InProcessRunner:
    return InProcessRunner(Path("nessie-gc.toml"), spark=session)


def given(engine: str) -> Given:
    return Given.read(SETTINGS, {"engine": engine}, file=ConfigFile(), environment={})


def ending() -> Any:
    """A run that has to end."""

    def go_on() -> None:
        raise Terminated

    return SimpleNamespace(go_on=go_on)


@pytest.mark.parametrize("session", [Remote(), None])
def test_a_session_of_spark_connect_and_one_of_their_own_are_for_one_run_at_a_time(session: object) -> None:
    runner = runner_on(session)
    with runner.session(given("spark"), ending()) as mine:
        assert session is mine
        with pytest.raises(Terminated), runner.session(given("spark"), ending()):
            pass
        with runner.session(given("local"), ending()) as none:
            assert none is None
    with runner.session(given("spark"), ending()) as again:
        assert session is again


def test_a_classic_session_is_for_many_runs_at_a_time() -> None:
    session = Classic()
    runner = runner_on(session)
    with runner.session(given("spark"), ending()) as one, runner.session(given("spark"), ending()) as other:
        assert (session, session) == (one, other)


def test_traffic_is_left_out_of_both_runs_that_overlap() -> None:
    runner = runner_on(None)
    first, second, third = (GcReport(traffic=Traffic()) for _ in range(3))
    with runner.alone(first), runner.alone(second):
        pass
    with runner.alone(third):
        pass
    assert [None, None, Traffic()] == [first.traffic, second.traffic, third.traffic]
