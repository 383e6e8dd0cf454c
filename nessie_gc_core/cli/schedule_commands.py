"""The commands of schedules: ``schedule run``, ``list``, ``history``, ``trigger``, ``pause`` and ``resume``."""

from __future__ import annotations

import dataclasses
import logging
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import islice
from pathlib import Path
from types import FrameType
from uuid import UUID

import click
from rich.table import Table
from rich.text import Text as Cell

from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import SETTINGS, Call, GcArgument, GcCommand, GcOption
from nessie_gc_core.cli.output import print_json, print_json_stream, say
from nessie_gc_core.cli.screen import plain_table, print_table, shown_duration, shown_time
from nessie_gc_core.cli.stores import check_store_lasts
from nessie_gc_core.cli.values import Duration, Text, Texts
from nessie_gc_core.config.environment import variable_of
from nessie_gc_core.config.file import DEFAULT_FILE
from nessie_gc_core.config.given import Rank
from nessie_gc_core.config.settings import PluginSettings, StoreSettings
from nessie_gc_core.config.specs import store_spec
from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.schedule import JobRun, RunStatus, ScheduledJob
from nessie_gc_core.model.text import shown
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.asking import pause, trigger
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.history import plain_job, plain_run
from nessie_gc_core.services.schedule.running import ProcessRunner
from nessie_gc_core.services.schedule.scheduler import Scheduler
from nessie_gc_core.services.schedule.telling.settings import listeners_of

log = logging.getLogger(__name__)

_COMMANDS = ("prune",)
"""Commands that a job can run beside services."""
_SHOWN_RUNS = 20
"""So many runs are listed unless more are asked for."""
_LISTENERS_SECONDS = 30.0
"""How long a webhook or a Pushgateway is waited for at the end."""
_BAD = (RunStatus.FAILED, RunStatus.TIMED_OUT, RunStatus.INTERRUPTED)


@dataclasses.dataclass(frozen=True, slots=True)
class _Opened:
    """The schedule of the configuration file, and its store."""

    definition: ScheduleDefinition
    store: ScheduleStore

    @property
    def name(self) -> str:
        return self.definition.name


@contextmanager
def _open(call: Call) -> Iterator[_Opened]:
    """Opens the schedule.

    Raises:
        ConfigurationError: the configuration file has none, or something is wrong with it.
    """
    check_store_lasts(call, needed=True)
    file, given = call.session.config, call.given()
    if not file.name:
        raise ConfigurationError(f"a schedule is read from a file: name it with `config`, or write {DEFAULT_FILE}")
    definition = ScheduleDefinition.read(file.schedule, file=file.name)
    registry = installed().without(given.settings(PluginSettings).disable_plugin)
    spec = dataclasses.replace(store_spec(given, registry), kind="schedule-store")
    with registry.open(ScheduleStore, spec) as store:
        yield _Opened(definition, store)


# ---- run ----------------------------------------------------------------------------------------------
def run(call: Call) -> int:
    """Run the jobs of the schedule when they are due, until it is stopped.

    Each run is a process of its own. When this process is asked to end (SIGTERM, Ctrl-C), its runs are asked to end,
    too; they begin again when a scheduler is there. Several schedulers may work on one schedule, on different machines.

    With --once, everything that is due now is run, and the exit code is 1 if any of it failed: for cron, Airflow or
    Kubernetes.
    """
    _refuse_what_runs_would_not_have(call)
    with _open(call) as opened:
        _warn_of_unknown_services(opened.definition)
        once = call.flag("once")
        listeners = listeners_of(opened.definition, opened.store, now=utc_now(), once=once)
        scheduler = Scheduler(
            definition=opened.definition,
            store=opened.store,
            runner=ProcessRunner(Path(call.session.config.name).absolute()),
            listeners=listeners,
        )
        try:
            with _stopped_by_signals(scheduler.stopping):
                if not once:
                    scheduler.run_forever()
                    return 0
                ended = scheduler.run_due()
        finally:
            listeners.close(seconds=_LISTENERS_SECONDS)
    exit_code = 1 if any(each.status in _BAD for each in ended) else 0
    if call.session.as_json:
        print_json({"runs": [plain_run(each) for each in ended], "exit_code": exit_code})
    elif ended:
        print_table(_runs_table(ended, call.zone()))
    else:
        say("nothing is due")
    return exit_code


def _refuse_what_runs_would_not_have(call: Call) -> None:
    """Refuses settings on the command line: the processes of runs have those of the file and the environment only.

    Raises:
        click.UsageError: the message names the option.
    """
    given = call.given()
    for group in (StoreSettings, PluginSettings):
        for field in dataclasses.fields(group):
            if given.rank(field.name) is Rank.CALLER:
                option = field.name.replace("_", "-")
                raise click.UsageError(
                    f"--{option} would not reach the runs; set it in the file, or {variable_of(option)}"
                )


def _warn_of_unknown_services(definition: ScheduleDefinition) -> None:
    known = {*installed().services.names, *_COMMANDS}
    for job in definition.jobs.values():
        if job.service not in known:
            log.warning("the service %r of the job %r is not installed, so its runs will fail", job.service, job.name)


@contextmanager
def _stopped_by_signals(stopping: threading.Event) -> Iterator[None]:
    """Lets a signal stop the scheduler, instead of the process."""

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    signals = (signal.SIGTERM, signal.SIGINT)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [signal.signal(number, stop) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


# ---- jobs ---------------------------------------------------------------------------------------------
def list_(call: Call) -> int:
    """List the jobs of the schedule: when each is due, and what became of its last run."""
    with _open(call) as opened:
        known = {job.name: job for job in opened.store.jobs(opened.name)}
    now = utc_now()
    jobs = [known.get(name) or job.scheduled(now) for name, job in sorted(opened.definition.jobs.items())]
    if call.session.as_json:
        print_json({"schedule": opened.name, "jobs": [{**plain_job(job), "state": _state(job, now)} for job in jobs]})
        return 0
    table = plain_table("job", "service", "when", "next", "state", "last run")
    for job in jobs:
        table.add_row(
            Cell(shown(job.name)),
            job.service,
            Cell(shown(job.timing)),
            shown_time(job.next.starts, call.zone()) if job.next is not None else "never",
            _state(job, now),
            job.outcome.value if job.outcome is not None else "",
        )
    print_table(table)
    return 0


def _state(job: ScheduledJob, now: datetime) -> str:
    if job.run is not None:
        return "running, then paused" if job.paused else "running"
    if job.paused:
        return "paused"
    return "due" if job.next is not None and job.next.starts <= now else "waiting"


def trigger_(call: Call) -> int:
    """Let jobs start as soon as a scheduler sees them, whatever their timing and their quiet hours."""
    names = call.texts("jobs")
    with _open(call) as opened:
        opened.definition.check(names)
        for name in names:
            trigger(opened.store, opened.definition, name, at=utc_now())
    return _said(call, names, "will start as soon as a scheduler sees it")


def pause_(call: Call) -> int:
    """Pause jobs: no new run of them starts; a run that is going on goes on."""
    return _pause(call, paused=True, said="is paused")


def resume_(call: Call) -> int:
    """Resume jobs that were paused; one that became due meanwhile starts once."""
    return _pause(call, paused=False, said="is no longer paused")


def _pause(call: Call, *, paused: bool, said: str) -> int:
    names = call.texts("jobs")
    with _open(call) as opened:
        opened.definition.check(names)
        for name in names:
            pause(opened.store, opened.definition, name, paused=paused, now=utc_now())
    return _said(call, names, said)


def _said(call: Call, names: Sequence[str], what: str) -> int:
    if call.session.as_json:
        print_json({"jobs": list(names)})
    else:
        for name in names:
            say(f"{name} {what}")
    return 0


# ---- history ------------------------------------------------------------------------------------------
def history(call: Call) -> int:
    """Show the runs of the schedule, latest first, or one run with its report."""
    with _open(call) as opened:
        if (named := call.text("run")) is not None:
            return _show_run(call, opened, named)
        since = call.context.params.get("since")
        runs = opened.store.runs(
            opened.name,
            jobs=call.texts("job"),
            statuses=[RunStatus(status.upper()) for status in call.texts("run_status")],
            since=None if since is None else datetime.now(UTC) - since,
        )
        some = islice(runs, call.number("limit") or (None if call.session.as_json else _SHOWN_RUNS))
        if call.session.as_json:
            print_json_stream({"schedule": opened.name}, {"runs": map(plain_run, some)})
            return 0
        found = list(some)
    if found:
        print_table(_runs_table(found, call.zone()))
    else:
        say("there are no such runs")
    return 0


def _show_run(call: Call, opened: _Opened, named: str) -> int:
    found = opened.store.run(opened.name, _id_of(named))
    if found is None:
        raise ConfigurationError(f"there is no run {named}; 'nessie-gc schedule history' lists them")
    print_json(plain_run(found))
    return 0


def _id_of(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise ConfigurationError(f"`run` {text!r} is not the id of a run") from error


def _runs_table(runs: Iterable[JobRun], zone: tzinfo | None) -> Table:
    table = plain_table("run", "job", "status", "due", "started", "took", "error")
    table.columns[0].no_wrap, table.columns[0].min_width = True, 36
    for each in runs:
        took: timedelta | None = None if each.ended is None else each.ended - each.started
        table.add_row(
            str(each.id),
            Cell(shown(each.job)),
            each.status.value,
            shown_time(each.occasion.due, zone),
            shown_time(each.started, zone),
            shown_duration(took),
            Cell(shown(each.error or "")),
        )
    return table


_SECTION = "Schedule"
_JOBS = (GcArgument("jobs", type=Text(), metavar="JOB", help="Names of jobs."),)
_ONCE = GcOption("--once", section=_SECTION, is_flag=True, help="Run what is due now, and end.")
_HISTORY = (
    GcOption("--job", section=_SECTION, type=Texts(), multiple=True, metavar="JOB", help="Only runs of this job."),
    GcOption(
        "--run-status",
        section=_SECTION,
        type=click.Choice([status.value for status in RunStatus], case_sensitive=False),
        multiple=True,
        help="Only runs with this status (repeatable).",
    ),
    GcOption(
        "--since", section=_SECTION, type=Duration(), metavar="DURATION", help="Only runs that started since, as P7D."
    ),
    GcOption(
        "--limit",
        section=_SECTION,
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Only the latest N runs (default: {_SHOWN_RUNS}; with --json, all).",
    ),
    GcOption("--run", section=_SECTION, type=Text(), metavar="ID", help="Show this run with its report, as JSON."),
)
_ALL = (*options.STORE, *options.PLUGINS, *options.REPORT)

SCHEDULE_COMMANDS = (
    click.Group(
        "schedule",
        help="Run services when they are due, and show what became of it.",
        commands=[
            GcCommand("run", run, (_ONCE, *_ALL), lasts=True),
            GcCommand("list", list_, _ALL),
            GcCommand("history", history, (*_HISTORY, *_ALL)),
            GcCommand("trigger", trigger_, _ALL, arguments=_JOBS),
            GcCommand("pause", pause_, _ALL, arguments=_JOBS),
            GcCommand("resume", resume_, _ALL, arguments=_JOBS),
        ],
        context_settings=dict(SETTINGS),
    ),
)
