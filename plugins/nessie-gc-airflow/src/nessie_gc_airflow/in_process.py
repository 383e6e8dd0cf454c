"""Runs services in the process of the task."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from nessie_gc_airflow.calls import USAGE, Call, CallError, Result, Runner

if TYPE_CHECKING:
    from nessie_gc_core import Collector

log = logging.getLogger(__name__)


class StoppedError(KeyboardInterrupt):
    """Airflow ends the task: a sweep then says that it failed, and gives its lease back, as for an interrupt."""


class InProcess(Runner):
    """Runs them with a collector of its own."""

    def __init__(self) -> None:
        self._running = False

    def run(self, call: Call) -> Result:
        """Runs one.

        Raises:
            CallError: it failed, or the core is not installed here.
        """
        try:
            from nessie_gc_core.errors import NessieGcError
        except ImportError as error:
            raise CallError(
                f"nessie-gc-core cannot be imported here ({error}): install nessie-gc-airflow[core] and the plugins, "
                "or name the `executable` of an environment that has them",
                may_retry=False,
            ) from error
        parameters = call.checked
        self._running = True
        try:
            with _environment(call.env), _collector(call) as collector:
                report = collector.run(call.service, **parameters)
                return Result(report=json.loads(json.dumps(report.to_dict())), exit_code=report.exit_code)
        except NessieGcError as error:
            raise CallError(f"{call.service}: {error}", may_retry=error.exit_code != USAGE) from error
        except StoppedError as error:
            raise CallError(f"{call.service}: stopped, because Airflow ended the task") from error
        finally:
            self._running = False

    def stop(self) -> None:
        """Interrupts the run.

        Raises:
            StoppedError: one is under way.
        """
        if self._running:
            self._running = False  # once is enough
            log.warning("Airflow ends the task: stopping when the reads under way have ended")
            raise StoppedError


def _collector(call: Call) -> Collector:
    from nessie_gc_core import Collector

    return Collector(config=call.config, **_given(call.settings))


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets variables of this process while the block runs: a process of Airflow runs one task at a time."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
