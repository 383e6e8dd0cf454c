"""Metrics for Prometheus: scraped from the scheduler, or pushed to a gateway when a short one ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from http.client import HTTPException
from typing import TYPE_CHECKING

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError, NessieGcError, ServiceUnavailableError
from nessie_gc_core.model.schedule import JobRun, ScheduledJob
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds, utc_now
from nessie_gc_core.services.schedule.in_turn import InTurn
from nessie_gc_core.services.schedule.telling.webhook import check_address

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

    from nessie_gc_core.services.schedule.telling.metrics_server import MetricsServer

PUSH_SECONDS = 10.0
_PATIENCE_SECONDS = 9.0
"""How long a request waits for another one that asks the store; Prometheus itself waits ten seconds."""


class Metrics:
    """What the store knows of jobs and of their last runs, and how many runs ended since this scheduler began.

    | metric | labels |
    |---|---|
    | ``nessie_gc_runs_total``, not pushed | schedule, schedule_job, service, status |
    | ``nessie_gc_reclaimed_bytes_total``, not pushed | schedule, schedule_job, service |
    | ``nessie_gc_last_run_timestamp_seconds`` | schedule, schedule_job, service, status |
    | ``nessie_gc_last_run_duration_seconds`` | schedule, schedule_job, service |
    | ``nessie_gc_last_run_files``, ``nessie_gc_last_run_bytes`` | schedule, schedule_job, service, outcome |
    | ``nessie_gc_job_next_start_timestamp_seconds`` | schedule, schedule_job, service |
    | ``nessie_gc_job_running``, ``nessie_gc_job_paused`` | schedule, schedule_job, service |
    | ``nessie_gc_schedule_store_up``, not pushed | schedule |
    """

    name = "metrics"

    def __init__(
        self, schedule: str, store: ScheduleStore, *, clock: Clock = utc_now, elapsed: Elapsed = elapsed_seconds
    ) -> None:
        """Takes the schedule and its store, which is asked whenever somebody asks for metrics.

        Raises:
            ConfigurationError: the library is not installed.
        """
        try:
            from prometheus_client import CollectorRegistry

            from nessie_gc_core.services.schedule.telling.gauges import Counts
        except ImportError as error:
            raise ConfigurationError(
                "metrics need the extra `metrics`: pip install 'nessie-gc-core[metrics]'"
            ) from error
        self._schedule, self._store, self._clock = schedule, store, clock
        self._pushes_to: str | None = None
        self._server: MetricsServer | None = None
        self._found = InTurn(self._known, patience=_PATIENCE_SECONDS, kept=0, elapsed=elapsed)
        self._counts, self._jobs = Counts(schedule), list[ScheduledJob]()
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def text(self) -> str:
        """All of them, as Prometheus reads them."""
        from prometheus_client import generate_latest

        return generate_latest(self.registry).decode()

    def serve(self, host: str, port: int) -> MetricsServer:
        """Serves them until they are closed.

        Raises:
            ConfigurationError: the port is taken, or the host has another name.
        """
        from nessie_gc_core.services.schedule.telling.metrics_server import MetricsServer

        self._server = MetricsServer(self.registry, host, port)
        return self._server

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
        self._counts.add(run)

    def close(self) -> None:
        """Stops serving, and pushes if that was asked for.

        Raises:
            ServiceUnavailableError: the gateway does not take it.
            StoreError: the store cannot be used; then the gateway keeps what it has.
        """
        if self._server is not None:
            self._server.close()
        if self._pushes_to is not None:
            self._push(self._pushes_to)

    def _push(self, gateway: str) -> None:
        """Replaces what the gateway has of this schedule; without what counts for this process only."""
        from prometheus_client import CollectorRegistry, push_to_gateway

        registry = CollectorRegistry()
        registry.register(_Known(self._known()))
        try:
            push_to_gateway(
                gateway,
                job="nessie-gc",
                grouping_key={"schedule": self._schedule},
                registry=registry,
                timeout=PUSH_SECONDS,
            )
        except (OSError, HTTPException, ValueError) as error:  # their texts may show the address
            reason = type(error).__name__
            raise ServiceUnavailableError(f"the Pushgateway does not take them: {reason}") from None

    def _known(self) -> Sequence[Metric]:
        from nessie_gc_core.services.schedule.telling.gauges import gauges_of

        self._jobs = [*self._store.jobs(self._schedule)]
        return gauges_of(self._store, self._schedule, self._jobs, now=self._clock())

    # ---- as a collector of the library ------------------------------------------------------------------
    def describe(self) -> Iterable[Metric]:
        """Nothing: the library then does not ask the store when it begins."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """What the store says and what was counted; if the store cannot be used, counts of the jobs known last."""
        from prometheus_client.core import GaugeMetricFamily

        try:
            known = self._found.get() or ()
        except NessieGcError:
            known = ()
        up = GaugeMetricFamily(
            "nessie_gc_schedule_store_up", "Whether the store of the schedule can be used.", labels=("schedule",)
        )
        up.add_metric((self._schedule,), float(bool(known)))
        yield from (up, *known, *self._counts.of(self._jobs))


class _Known:
    """Metrics that are known already, as a collector of the library."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Sequence[Metric]:
        return self._metrics
