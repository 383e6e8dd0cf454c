"""Metrics for Prometheus: scraped from the scheduler, or pushed to a gateway when a short one ends."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from http.client import HTTPException
from itertools import islice
from typing import TYPE_CHECKING, Any

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError, NessieGcError, ServiceUnavailableError
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.services.schedule.bounded_server import BoundedServer
from nessie_gc_core.services.schedule.telling.webhook import check_address

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

LOOK_BACK = timedelta(days=31)
"""The last run of each job in this time is known from the beginning."""
MOST_RUNS = 100_000
"""So many of these runs are looked at."""
PUSH_SECONDS = 10.0
_RAN = tuple(status for status in RunStatus if status not in (RunStatus.SKIPPED, RunStatus.NOT_DUE))
_JOB = ("schedule", "schedule_job", "service")
"""No label is ``job``: that is Prometheus' name for what is scraped or pushes, and a Pushgateway overwrites it."""


class Metrics:
    """What is known of jobs and of their last runs, as gauges, and how many runs ended since the scheduler began.

    | metric | labels |
    |---|---|
    | ``nessie_gc_runs_total`` | schedule, schedule_job, service, status |
    | ``nessie_gc_last_run_timestamp_seconds`` | schedule, schedule_job, service, status |
    | ``nessie_gc_last_run_duration_seconds`` | schedule, schedule_job, service |
    | ``nessie_gc_last_run_number`` | schedule, schedule_job, service, number: such as ``deleted.bytes`` |
    | ``nessie_gc_job_next_start_timestamp_seconds`` | schedule, schedule_job, service |
    | ``nessie_gc_job_running``, ``nessie_gc_job_paused`` | schedule, schedule_job, service |
    | ``nessie_gc_schedule_store_up`` | schedule |
    """

    name = "metrics"

    def __init__(self, schedule: str, store: ScheduleStore) -> None:
        """Takes the schedule and its store, which is asked for its jobs whenever somebody asks for metrics.

        Raises:
            ConfigurationError: the library is not installed.
        """
        try:
            from prometheus_client import CollectorRegistry, Counter, Gauge
        except ImportError as error:
            raise ConfigurationError(
                "metrics need the extra `metrics`: pip install 'nessie-gc-core[metrics]'"
            ) from error
        self._schedule, self._store = schedule, store
        self._pushes_to: str | None = None
        self._server: BoundedServer | None = None
        self.registry = registry = CollectorRegistry()
        self._runs = Counter("nessie_gc_runs", "Runs that ended.", (*_JOB, "status"), registry=registry)
        last = "nessie_gc_last_run"
        when = "When the last run with a status ended."
        self._ended = Gauge(f"{last}_timestamp_seconds", when, (*_JOB, "status"), registry=registry)
        self._took = Gauge(f"{last}_duration_seconds", "How long the last run took.", _JOB, registry=registry)
        numbers = "Numbers of the report of the last run."
        self._numbers = Gauge(f"{last}_number", numbers, (*_JOB, "number"), registry=registry)
        registry.register(self)

    def remember(self, now: datetime) -> None:
        """Reads the last runs of the jobs.

        Raises:
            StoreError: the store cannot be used.
        """
        seen: set[tuple[str, RunStatus]] = set()
        for run in islice(self._store.runs(self._schedule, since=now - LOOK_BACK), MOST_RUNS):
            if run.ended is not None and (run.job, run.status) not in seen:
                if not any((run.job, status) in seen for status in _RAN):
                    self._show_last(run)
                self._ended.labels(*self._of(run), run.status.value).set(run.ended.timestamp())
                seen.add((run.job, run.status))

    def text(self) -> str:
        """All of them, as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry).decode()

    def serve(self, host: str, port: int) -> int:
        """Serves them at ``/metrics``, until they are closed; returns the port.

        Raises:
            ConfigurationError: the port is taken, or the host has another name.
        """
        from prometheus_client import MetricsHandler

        try:
            server = BoundedServer(host, port, MetricsHandler.factory(self.registry))
        except OSError as error:
            raise ConfigurationError(
                f"cannot serve metrics at {host}:{port}: {error.strerror or error}; choose another `metrics-port`"
            ) from error
        self._server = server
        threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
        return int(server.server_port)

    def push_at_the_end(self, gateway: str) -> None:
        """Pushes them to a Pushgateway when the scheduler ends.

        Raises:
            ConfigurationError: the address is not one.
        """
        check_address(gateway, "metrics-push")
        self._pushes_to = gateway

    # ---- as a listener ----------------------------------------------------------------------------------
    def part_of(self, run: JobRun) -> None:
        """Needs no report."""

    def started(self, run: JobRun) -> None:
        """Nothing changes that the store does not know."""

    def ended(self, run: JobRun) -> None:
        """Counts a run."""
        self._runs.labels(*self._of(run), run.status.value).inc()
        assert run.ended is not None
        self._ended.labels(*self._of(run), run.status.value).set(run.ended.timestamp())
        self._show_last(run)

    def close(self) -> None:
        """Stops serving, and pushes if that was asked for.

        Raises:
            ServiceUnavailableError: the gateway does not take it.
        """
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        if self._pushes_to is not None:
            from prometheus_client import pushadd_to_gateway

            try:
                pushadd_to_gateway(
                    self._pushes_to,
                    job="nessie-gc",
                    grouping_key={"schedule": self._schedule},
                    registry=self.registry,
                    timeout=PUSH_SECONDS,
                )
            except (OSError, HTTPException, ValueError) as error:  # their texts may show the address
                reason = type(error).__name__
                raise ServiceUnavailableError(f"the Pushgateway does not take them: {reason}") from None

    def _show_last(self, run: JobRun) -> None:
        """Shows the duration and the numbers of a run that ran, instead of those of the one before."""
        if run.status in (RunStatus.SKIPPED, RunStatus.NOT_DUE):
            return
        assert run.ended is not None
        self._numbers.remove_by_labels({"schedule": self._schedule, "schedule_job": run.job})
        self._took.labels(*self._of(run)).set((run.ended - run.started).total_seconds())
        for number, value in run.numbers.items():
            self._numbers.labels(*self._of(run), number).set(value)

    def _of(self, run: JobRun) -> tuple[str, str, str]:
        return self._schedule, run.job, run.service

    # ---- as a collector of the library ------------------------------------------------------------------
    def describe(self) -> Iterable[Metric]:
        """Nothing: the library then does not ask the store when it begins."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The gauges of jobs, from the store."""
        from prometheus_client.core import GaugeMetricFamily

        def gauge(name: str, help: str, labels: tuple[str, ...] = _JOB) -> Any:
            return GaugeMetricFamily(f"nessie_gc_{name}", help, labels=labels)

        up = gauge("schedule_store_up", "Whether the store of the schedule can be used.", ("schedule",))
        next_ = gauge("job_next_start_timestamp_seconds", "When the job starts next.")
        running, paused = gauge("job_running", "Whether it runs."), gauge("job_paused", "Whether it is paused.")
        try:
            jobs = [*self._store.jobs(self._schedule)]
        except NessieGcError:
            jobs = None
        up.add_metric((self._schedule,), float(jobs is not None))
        for job in jobs or ():
            labels = (self._schedule, job.name, job.service)
            if job.next is not None:
                next_.add_metric(labels, job.next.starts.timestamp())
            running.add_metric(labels, float(job.run is not None))
            paused.add_metric(labels, float(job.paused))
        yield from (up, next_, running, paused)
