"""The table ``[schedule]`` of a configuration file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from nessie_gc_core.config.file import ConfigFile, digest_of
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions, hyphened, option, options, secret
from nessie_gc_core.model.schedule import WENT_WRONG, Occasion, RunStatus, ScheduledJob
from nessie_gc_core.services.schedule.due import Trigger
from nessie_gc_core.services.schedule.job_options import JobOptions
from nessie_gc_core.services.schedule.quiet import QuietHours, quiet_until
from nessie_gc_core.services.schedule.timing import Cron, Interval, Timing, jittered

RESUME = "resume"
"""The parameter of a service that goes on with what an earlier run of it has begun."""
_NO_TIME = timedelta(0)
_LONGEST = 10 * 366 * 86_400
"""The most seconds of any time: ten years."""


@options
class ScheduleSettings(ConnectorOptions):
    """``[schedule]``: what holds for all jobs."""

    name: str = option("default", help="Name of the schedule, where several share a database.")
    time_zone: str = option(
        "UTC",
        help="Time zone of cron expressions and quiet hours, and of the times that are shown, such as Europe/Berlin.",
    )
    parallel: int = option(1, minimum=1, help="How many runs a scheduler has at the same time.")
    quiet: Sequence[str] = option(
        (), help="Quiet hours, in which no run starts, such as 'Mon-Fri 08:00-18:00' or '22:00-06:00'."
    )
    lease: timedelta = option(
        timedelta(minutes=2),
        minimum=5,
        maximum=_LONGEST,
        help="How long a run keeps its job if its scheduler is gone; then another one repeats it.",
    )
    keep: timedelta = option(
        timedelta(days=400),
        minimum=0,
        maximum=_LONGEST,
        help="How long outcomes are kept; of older ones, the newest of each job stays, and its newest that succeeded.",
    )
    webhook: str | None = secret(help="Address to which a JSON object is posted when a run ends.")
    webhook_on: Sequence[str] = option(
        tuple(status.value for status in (*WENT_WRONG, RunStatus.SKIPPED)),
        help="For which statuses of runs the webhook is called.",
    )
    metrics_port: int | None = option(
        None, minimum=0, maximum=65_535, help="Serve metrics for Prometheus at this port; 0: any (default: none)."
    )
    metrics_host: str = option("127.0.0.1", help="Address of this machine at which metrics are served.")
    lineage: bool = option(
        False,
        help="Send OpenLineage events of runs that delete or rewrite, as the settings of its own client say "
        "(openlineage.yml, OPENLINEAGE_URL).",
    )
    lineage_namespace: str = option("nessie-gc", help="Namespace of the jobs in OpenLineage.")
    lineage_catalog: str | None = option(
        None,
        help="Namespace of the names of tables in OpenLineage, such as the address that other producers name the "
        "catalog by (default: the one that the report of each service says).",
    )
    page_port: int | None = option(
        None, minimum=0, maximum=65_535, help="Serve the page of the schedule at this port; 0: any (default: none)."
    )
    page_host: str = option("127.0.0.1", help="Address of this machine at which the page is served.")
    page_names: Sequence[str] = option((), help="More host names by which the page may be asked for.")
    page_days: int = option(30, minimum=1, maximum=400, help="How many days the page shows.")
    metrics_push: str | None = secret(help="Address of a Pushgateway, to which metrics are pushed at the end.")


@options
class JobSettings(ConnectorOptions):
    """``[schedule.jobs.NAME]``: one job."""

    service: str | None = option(None, help="The service that it runs, by the name of its command.")
    cron: str | None = option(None, help="When it is due: a cron expression, such as '30 2 * * *', or @daily.")
    every: timedelta | None = option(None, maximum=_LONGEST, help="When it is due: at a fixed interval, such as PT6H.")
    jitter: timedelta = option(
        _NO_TIME, minimum=0, maximum=_LONGEST, help="It starts up to this much later, at a time that varies."
    )
    time_limit: timedelta | None = option(
        None, minimum=1, maximum=_LONGEST, help="It is stopped when it takes longer than this."
    )
    retries: int = option(0, minimum=0, help="How often it is tried again if it fails.")
    retry_after: timedelta = option(
        timedelta(minutes=5),
        minimum=0,
        maximum=_LONGEST,
        help="Pause before another attempt; it doubles with each one, up to six hours.",
    )
    max_lateness: timedelta | None = option(
        None,
        minimum=0,
        maximum=_LONGEST,
        help="If it could not start, or begin again, for longer than this, it is skipped until it is due again "
        "(default: it starts late, once, no matter how often it was due).",
    )
    when: Sequence[str] = option(
        (),
        help="It starts only if 'health', with the same options, finds one of these, such as small-files.",
    )
    when_reclaimable: str | None = option(
        None, help="It starts only if expired snapshots alone need this much in all tables together, such as 100GiB."
    )
    when_commits: int | None = option(
        None,
        minimum=1,
        help="It starts only if at least so many commits (in a plain catalog: snapshots) were made since its last run "
        "that succeeded.",
    )
    quiet: Sequence[str] | None = option(None, help="Its own quiet hours, instead of those of the schedule.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobDefinition:
    """One job, as its table says."""

    name: str
    service: str
    """By its own name, even if the file has an alias; one that is not installed is named as the file has it."""
    timing: Timing
    quiet: Sequence[QuietHours]
    settings: JobSettings
    trigger: Trigger | None
    """What has to be due, beside the timing; ``None``: nothing."""
    options: Mapping[str, Any] = field(repr=False)
    """Options of its run, as at the top of the file."""
    digest: str
    """Of all that decides what its runs do."""
    lease: timedelta
    """For how long a run has it, each time."""
    resumes: bool = False
    """Whether its service is told to go on with what an earlier run has begun, if any: the file does not say it."""

    def after(self, instant: datetime) -> Occasion:
        """The first occasion that is due later than an instant."""
        return self.occasion(self.timing.after(instant))

    def occasion(self, due: datetime) -> Occasion:
        """The occasion that is due at an instant, with its jitter, after quiet hours."""
        return Occasion(due=due, starts=self.start_of(due))

    def start_of(self, due: datetime) -> datetime:
        """When the first run for an occasion may start: later than it is due because of jitter and quiet hours."""
        starts = jittered(self.name, due, self.settings.jitter)
        return quiet_until(self.quiet, starts) or starts

    def scheduled(self, now: datetime) -> ScheduledJob:
        """The job for a store that does not know it yet."""
        return ScheduledJob(
            name=self.name,
            service=self.service,
            timing=self.timing.text,
            definition=self.definition,
            digest=self.digest,
            next=self.after(now),
        )

    @property
    def definition(self) -> str:
        """A digest of all that decides when it is due."""
        windows = [window.text for window in self.quiet]
        return digest_of([self.timing.key, self.settings.jitter.total_seconds(), windows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """The names of jobs that a store and a file do not have in common."""

    other: Sequence[str]
    """Those that the store has, and the file has otherwise or not at all."""
    missing: Sequence[str]
    """Those that only the file has."""

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self.other, *self.missing]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDefinition:
    """All jobs of a file."""

    settings: ScheduleSettings
    jobs: Mapping[str, JobDefinition]

    @property
    def name(self) -> str:
        """The name of the schedule."""
        return self.settings.name

    @property
    def zone(self) -> ZoneInfo:
        """The time zone in which its times are shown."""
        return _zone(self.settings.time_zone)

    @classmethod
    def read(cls, file: ConfigFile, digests: JobDigests) -> ScheduleDefinition:
        """Reads the table.

        Args:
            file: the file with the table ``[schedule]``.
            digests: those of its jobs.

        Raises:
            ConfigurationError: there is no job, or one of them is wrong; the message names it.
        """
        own = {name: value for name, value in file.schedule.items() if name != "jobs"}
        with _telling(f"{file.name}: [schedule]"):
            settings = ScheduleSettings.from_mapping(_underscored(own), spelled=hyphened)
            zone = _zone(settings.time_zone)
            statuses_of(settings)
            _quiet_hours(settings.quiet, zone)
        jobs = file.schedule.get("jobs", {})
        if not isinstance(jobs, dict) or not jobs or not all(isinstance(job, dict) for job in jobs.values()):
            raise ConfigurationError(f"{file.name} has no job; write a table [schedule.jobs.NAME] for each")
        services, job_options = digests.registry.services.canonical_names(), JobOptions(digests.registry)
        read: dict[str, JobDefinition] = {}
        for name, job in jobs.items():
            with _telling(f"{file.name}: [schedule.jobs.{name}]"):
                found = _job(name, job, settings, zone, digest=digests.digest(file, name) or "")
                service = services.get(found.service, found.service)
                job_options.check(service, found.options, looks=found.trigger is not None)
                is_said = RESUME in file.of_job(name).options
                resumes = not is_said and job_options.has(service, RESUME)
                read[name] = replace(found, service=service, resumes=resumes)
        with _telling(file.name):
            job_options.check_shared({job.service for job in read.values()}, file.options)
        return cls(settings=settings, jobs=read)

    def has(self, scheduled: ScheduledJob) -> bool:
        """Whether a job is here as a store has it."""
        job = self.jobs.get(scheduled.name)
        return job is not None and (job.definition, job.digest) == (scheduled.definition, scheduled.digest)

    def differences(self, known: Iterable[ScheduledJob]) -> Differences:
        """What is other in a store: another file, or another version of this one, defined its jobs.

        Args:
            known: all jobs of the store; if there are none, nothing is other: nobody has defined any.
        """
        by_name = {job.name: job for job in known}
        missing = sorted(self.jobs.keys() - by_name.keys()) if by_name else []
        return Differences(other=[name for name, job in sorted(by_name.items()) if not self.has(job)], missing=missing)

    def check(self, names: Iterable[str]) -> None:
        """Makes sure that there are jobs with these names.

        Raises:
            ConfigurationError: there is none with one of them.
        """
        for name in names:
            if name not in self.jobs:
                raise ConfigurationError(f"there is no job {name!r}; there are: {', '.join(sorted(self.jobs))}")


def statuses_of(settings: ScheduleSettings) -> list[RunStatus]:
    """For which statuses the webhook is called.

    Raises:
        ConfigurationError: one of them does not exist.
    """
    known = {status.value: status for status in RunStatus if status is not RunStatus.RUNNING}
    wrong = [text for text in settings.webhook_on if text.upper() not in known]
    if wrong:
        raise ConfigurationError(f"`webhook-on` has an unknown status {wrong[0]!r}; there are: {', '.join(known)}")
    return [known[text.upper()] for text in settings.webhook_on]


def _job(
    name: str, table: Mapping[str, Any], schedule: ScheduleSettings, zone: ZoneInfo, *, digest: str
) -> JobDefinition:
    more = table.get("options", {})
    if not isinstance(more, dict):
        raise ConfigurationError("`options` must be a table of options, as at the top of the file")
    own = {key: value for key, value in table.items() if key != "options"}
    settings = JobSettings.from_mapping(_underscored(own), spelled=hyphened)
    quiet = schedule.quiet if settings.quiet is None else settings.quiet
    if settings.service is None:
        raise ConfigurationError("`service` is missing; name the service that it runs")
    return JobDefinition(
        name=name,
        service=settings.service,
        timing=_timing(settings, zone),
        quiet=_quiet_hours(quiet, zone),
        settings=settings,
        trigger=Trigger.read(settings.when, settings.when_reclaimable, settings.when_commits),
        options=more,
        digest=digest,
        lease=schedule.lease,
    )


def _quiet_hours(texts: Sequence[str], zone: ZoneInfo) -> list[QuietHours]:
    windows = [QuietHours.read(text, zone) for text in texts]
    quiet_until(windows, datetime(2026, 1, 1, tzinfo=UTC))
    return windows


def _timing(settings: JobSettings, zone: ZoneInfo) -> Timing:
    if (settings.cron is None) == (settings.every is None):
        raise ConfigurationError("exactly one of `cron` and `every` must be set")
    return Cron(settings.cron, zone) if settings.cron is not None else Interval(settings.every or _NO_TIME)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigurationError(f"`time-zone` {name!r} is not known; give one such as Europe/Berlin") from error


def _underscored(table: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a table as options have them: ``time-limit`` is ``time_limit``."""
    return {key.replace("-", "_"): value for key, value in table.items()}


@contextmanager
def _telling(where: str) -> Iterator[None]:
    """Lets errors say where; what they name are keys of that table, and no options of a command line."""
    try:
        yield
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}".replace("`", "'")) from error
