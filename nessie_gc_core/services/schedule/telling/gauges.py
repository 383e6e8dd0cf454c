"""What a store knows of jobs and of their last runs, as gauges for Prometheus, and what this process counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import JobRun, RunStatus, ScheduledJob
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.schedule.outcome import WITH_OUTCOMES
from nessie_gc_core.services.schedule.timing import WRONG_CLOCK

LABELS = ("schedule", "schedule_job", "service")
"""No label is ``job``: that is Prometheus' name for what is scraped or pushes, and a Pushgateway overwrites it."""
_ENDS = tuple(status for status in RunStatus if status is not RunStatus.RUNNING)
_OUTCOMES = (*(outcome.value for outcome in Outcome), "purged", "would_be_purged", "restored", "would_be_restored")
"""What becomes of files: the only numbers of reports that are shown, so that there are as many series on each day."""
_PLACES = ("", *(f"{name}." for name in WITH_OUTCOMES))
"""Where reports have them; the first counts."""
_DID_NOT_RUN = (RunStatus.SKIPPED, RunStatus.NOT_DUE, RunStatus.BUSY)


class Counts:
    """What ended since this process began: of each job that there is, from zero, so that no first failure is missed."""

    def __init__(self, schedule: str) -> None:
        self._schedule = schedule
        self._runs = Counter[tuple[str, str, RunStatus]]()
        self._reclaimed = Counter[tuple[str, str]]()

    def add(self, run: JobRun) -> None:
        """Counts a run that has ended."""
        self._runs[run.job, run.service, run.status] += 1
        self._reclaimed[run.job, run.service] += run.reclaimed

    def of(self, jobs: Iterable[ScheduledJob]) -> list[CounterMetricFamily]:
        """The counters of jobs."""
        runs = CounterMetricFamily("nessie_gc_runs", "Runs that ended.", labels=(*LABELS, "status"))
        reclaimed = CounterMetricFamily("nessie_gc_reclaimed_bytes", "Bytes that are gone for good.", labels=LABELS)
        for job in jobs:
            labels = (self._schedule, job.name, job.service)
            reclaimed.add_metric(labels, self._reclaimed[job.name, job.service])
            for status in _ENDS:
                runs.add_metric((*labels, status.value), self._runs[job.name, job.service, status])
        return [runs, reclaimed]


def gauges_of(
    store: ScheduleStore, schedule: str, jobs: Iterable[ScheduledJob], *, now: datetime
) -> list[GaugeMetricFamily]:
    """The gauges of the jobs that a schedule has now, and of their last runs, whichever scheduler ran them.

    Runs by a clock that was ahead do not count, as in ``last_success``, nor do those of a job that had another service.

    Raises:
        StoreError: the store cannot be used.
    """
    known = {job.name: job for job in jobs}
    latest = now + WRONG_CLOCK
    runs = [
        run
        for run in store.last_runs(schedule, until=latest)
        if run.job in known and run.service == known[run.job].service and run.ended is not None and run.ended <= latest
    ]
    return [*_of_jobs(schedule, known.values()), *_of_runs(schedule, runs)]


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
    units = {
        "files": _gauge("last_run_files", "What became of how many files in the last run.", "outcome"),
        "bytes": _gauge("last_run_bytes", "What became of how many bytes in the last run.", "outcome"),
    }
    last = dict[str, JobRun]()
    for run in sorted(runs, key=lambda run: run.started):
        assert run.ended is not None
        ended.add_metric((schedule, run.job, run.service, run.status.value), run.ended.timestamp())
        if run.status not in _DID_NOT_RUN:
            last[run.job] = run
    for run in last.values():
        assert run.ended is not None
        took.add_metric((schedule, run.job, run.service), (run.ended - run.started).total_seconds())
        for unit, outcome, value in _outcomes_of(run.numbers):
            units[unit].add_metric((schedule, run.job, run.service, outcome), value)
    return [ended, took, *units.values()]


def _outcomes_of(numbers: Mapping[str, int]) -> Iterator[tuple[str, str, int]]:
    for outcome in _OUTCOMES:
        for unit in ("files", "bytes"):
            names = (f"{place}{outcome}.{unit}" for place in _PLACES)
            value = next((numbers[name] for name in names if name in numbers), None)
            if value is not None:
                yield unit, outcome, value


def _gauge(name: str, what: str, *more: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"nessie_gc_{name}", what, labels=(*LABELS, *more))
