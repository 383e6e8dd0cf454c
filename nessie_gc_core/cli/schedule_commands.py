"""What the commands of schedules do that run and steer: ``run``, ``list``, ``trigger``, ``pause`` and ``resume``."""

from __future__ import annotations

import dataclasses
import logging
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

import click
from rich.text import Text as Cell

from nessie_gc_core.cli.command import Call
from nessie_gc_core.cli.output import print_json, say
from nessie_gc_core.cli.schedule_file import watched_file
from nessie_gc_core.cli.schedule_opened import open_schedule, warn_if_no_scheduler_has_begun
from nessie_gc_core.cli.schedule_told import runs_table, serving_page
from nessie_gc_core.cli.screen import plain_table, print_table
from nessie_gc_core.config.environment import variable_of
from nessie_gc_core.config.given import Rank
from nessie_gc_core.config.settings import PluginSettings, StoreSettings
from nessie_gc_core.model.schedule import WENT_WRONG
from nessie_gc_core.model.text import shown, time_text
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.asking import known_jobs, pause, trigger
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.history import last_success, plain_job, plain_run, state_of
from nessie_gc_core.services.schedule.job_options import is_installed
from nessie_gc_core.services.schedule.running import ProcessRunner
from nessie_gc_core.services.schedule.scheduler import Scheduler
from nessie_gc_core.services.schedule.telling.listeners import LISTENERS_SECONDS
from nessie_gc_core.services.schedule.telling.settings import listeners_of

log = logging.getLogger(__name__)


# ---- run ----------------------------------------------------------------------------------------------
def run(call: Call) -> int:
    """Runs the jobs."""
    _refuse_what_runs_would_not_have(call)
    with open_schedule(call) as opened:
        _warn_of_unknown_services(opened.definition)
        once = call.flag("once")
        listeners = listeners_of(opened.definition, opened.store, once=once)
        scheduler = Scheduler(
            definition=opened.definition,
            store=opened.store,
            runner=ProcessRunner(
                Path(call.session.config.name).absolute(),
                succeeded=partial(last_success, opened.store, opened.name, clock=utc_now),
                variables=_as_it_logs(call),
            ),
            listeners=listeners,
            source=watched_file(call, opened.definition),
        )
        try:
            with _stopped_by_signals(scheduler.stopping):
                if not once:
                    with serving_page(call, opened, scheduler):
                        scheduler.run_forever()
                    return 0
                ended = scheduler.run_due()
        finally:
            listeners.close(seconds=LISTENERS_SECONDS)
    was_stopped = scheduler.stopping.is_set()
    exit_code = 1 if was_stopped or any(each.status in WENT_WRONG for each in ended) else 0
    if call.session.as_json:
        print_json({"runs": [plain_run(each) for each in ended], "exit_code": exit_code})
    elif ended:
        print_table(runs_table(ended, call.zone() or scheduler.definition.zone))
    else:
        say("it was stopped before anything was run" if was_stopped else "nothing was run: nothing is due")
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


def _as_it_logs(call: Call) -> dict[str, str]:
    """Variables with which runs log as the command line of their scheduler says; they read file and environment too."""
    session = call.session
    said = {"verbose": str(session.verbosity), "quiet": "true", "log-format": session.log_format}
    names = [name for name in said if call.is_on_command_line(name.replace("-", "_"))]
    return {variable_of(name): said[name] for name in names}


def _warn_of_unknown_services(definition: ScheduleDefinition) -> None:
    registry = installed()
    for job in definition.jobs.values():
        if not is_installed(registry, job.service):
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
    """Lists the jobs."""
    now = utc_now()
    with open_schedule(call) as opened:
        jobs = known_jobs(opened.store, opened.definition, now)
        lost = {run.id for run in opened.store.lost_runs(opened.name)}
        others = opened.definition.differences(opened.store.jobs(opened.name)).names
    if others:
        log.warning(
            "these jobs of the schedule %r are not the same in this file and in the store, where another file, or "
            "another version of this one, defined them: %s",
            opened.name,
            ", ".join(others),
        )
    if call.session.as_json:
        plain = [{**plain_job(job), "state": state_of(job, now, lost)} for job in jobs]
        print_json({"schedule": opened.name, "jobs": plain})
        return 0
    zone = call.zone() or opened.definition.zone
    table = plain_table("job", "service", "when", "next", "state", "last run")
    for job in jobs:
        table.add_row(
            Cell(shown(job.name)),
            job.service,
            Cell(shown(job.timing)),
            time_text(job.next.starts, zone) if job.next is not None else "never",
            state_of(job, now, lost),
            job.outcome.value if job.outcome is not None else "",
        )
    print_table(table)
    return 0


def trigger_(call: Call) -> int:
    """Lets jobs start."""
    names = call.texts("jobs")
    with open_schedule(call) as opened:
        opened.definition.check(names)
        warn_if_no_scheduler_has_begun(opened)
        for name in names:
            trigger(opened.store, opened.definition, name, at=utc_now())
    return _said(call, names, "will start as soon as a scheduler sees it")


def pause_(call: Call) -> int:
    """Pauses jobs."""
    return _pause(call, paused=True, said="is paused")


def resume_(call: Call) -> int:
    """Resumes jobs."""
    return _pause(call, paused=False, said="is no longer paused")


def _pause(call: Call, *, paused: bool, said: str) -> int:
    names = call.texts("jobs")
    with open_schedule(call) as opened:
        opened.definition.check(names)
        warn_if_no_scheduler_has_begun(opened)
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
