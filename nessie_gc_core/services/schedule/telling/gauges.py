"""What a store knows of jobs and of their last runs, as gauges for Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import JobRun, RunStatus, ScheduledJob
from nessie_gc_core.services.schedule.timing import WRONG_CLOCK

LABELS = ("schedule", "schedule_job", "service")
"""No label is ``job``: that is Prometheus' name for what is scraped or pushes, and a Pushgateway overwrites it."""
_DID_NOT_RUN = (RunStatus.SKIPPED, RunStatus.NOT_DUE)


def gauges_of(store: ScheduleStore, schedule: str, *, now: datetime) -> list[GaugeMetricFamily]:
    """The gauges of the jobs that a schedule has now, and of their last runs, whichever scheduler ran them.

    Runs by a clock that was ahead do not count, as in ``last_success``, nor do those of a job that had another service.

    Raises:
        StoreError: the store cannot be used.
    """
    jobs = {job.name: job for job in store.jobs(schedule)}
    latest = now + WRONG_CLOCK
    runs = [
        run
        for run in store.last_runs(schedule, until=latest)
        if run.job in jobs and run.service == jobs[run.job].service and run.ended is not None and run.ended <= latest
    ]
    return [*_of_jobs(schedule, jobs.values()), *_of_runs(schedule, runs)]


def _of_jobs(schedule: str, jobs: Iterable[ScheduledJob]) -> list[GaugeMetricFamily]:
    next_ = _gauge("job_next_start_timestamp_seconds", "When the job starts next.")
    running, paused = _gauge("job_running", "Whether it runs."), _gauge("job_paused", "Whether it is paused.")
    for job in jobs:
        labels = (schedule, job.name, job.service)
        if job.next is not None:
            next_.add_metric(labels, job.next.starts.timestamp())
        running.add_metric(labels, float(job.run is not None))
        paused.add_metric(labels, float(job.paused))
    return [next_, running, paused]


def _of_runs(schedule: str, runs: Iterable[JobRun]) -> list[GaugeMetricFamily]:
    ended = _gauge("last_run_timestamp_seconds", "When the last run with a status ended.", "status")
    took = _gauge("last_run_duration_seconds", "How long the last run took.")
    numbers = _gauge("last_run_number", "Numbers of the report of the last run.", "number")
    last = dict[str, JobRun]()
    for run in sorted(runs, key=lambda run: run.started):
        assert run.ended is not None
        ended.add_metric((schedule, run.job, run.service, run.status.value), run.ended.timestamp())
        if run.status not in _DID_NOT_RUN:
            last[run.job] = run
    for run in last.values():
        assert run.ended is not None
        took.add_metric((schedule, run.job, run.service), (run.ended - run.started).total_seconds())
        for number, value in run.numbers.items():
            numbers.add_metric((schedule, run.job, run.service, number), value)
    return [ended, took, numbers]


def _gauge(name: str, what: str, *more: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"nessie_gc_{name}", what, labels=(*LABELS, *more))
