"""The commands of schedules; what they do is loaded when one of them runs, because no other command needs it."""

from __future__ import annotations

import click

from nessie_gc_core.cli import options
from nessie_gc_core.cli.arguments import GcArgument
from nessie_gc_core.cli.command import SETTINGS, Call, GcCommand, GcOption
from nessie_gc_core.cli.values import Duration, Text, Texts
from nessie_gc_core.model.schedule import MOST_DAYS, RunStatus

SECTION = "Schedule"
"""The heading of options of schedules."""


def _run(call: Call) -> int:
    """Run the jobs of the schedule when they are due, until it is stopped.

    Each run is a process of its own. When this process is asked to end (SIGTERM, Ctrl-C), its runs are asked to end,
    too; they begin again when a scheduler is there. Several schedulers may work on one schedule, on different machines.

    With --once, everything that is due now is run, and the exit code is 1 if any of it failed: for cron, Airflow or
    Kubernetes.
    """
    from nessie_gc_core.cli.schedule_commands import run

    return run(call)


def _list(call: Call) -> int:
    """List the jobs of the schedule: when each is due, and what became of its last run."""
    from nessie_gc_core.cli.schedule_commands import list_

    return list_(call)


def _history(call: Call) -> int:
    """Show the runs of the schedule, latest first, or one run with its report."""
    from nessie_gc_core.cli.schedule_told import history

    return history(call)


def _page(call: Call) -> int:
    """Write a page about the schedule: what is due, what ran, what failed and why, what was reclaimed.

    It is one HTML file without scripts, and needs the extra 'report'.
    """
    from nessie_gc_core.cli.schedule_told import page

    return page(call)


def _trigger(call: Call) -> int:
    """Let jobs start as soon as a scheduler sees them, whatever their timing and their quiet hours."""
    from nessie_gc_core.cli.schedule_commands import trigger_

    return trigger_(call)


def _pause(call: Call) -> int:
    """Pause jobs: no new run of them starts; a run that is going on goes on."""
    from nessie_gc_core.cli.schedule_commands import pause_

    return pause_(call)


def _resume(call: Call) -> int:
    """Resume jobs that were paused; one that became due meanwhile starts once."""
    from nessie_gc_core.cli.schedule_commands import resume_

    return resume_(call)


_PAGE = (
    GcOption(
        "--output-file",
        "-O",
        type=Text(),
        metavar="FILE",
        help="Write to this file, which is replaced; '-' is standard output (default: schedule.html).",
    ),
    GcOption(
        "--days",
        section=SECTION,
        type=click.IntRange(min=1, max=MOST_DAYS),
        metavar="N",
        help="Show the last N days, today included (default: `page-days` of the schedule, 30).",
    ),
)
_HISTORY = (
    GcOption("--job", section=SECTION, type=Texts(), multiple=True, metavar="JOB", help="Only runs of this job."),
    GcOption(
        "--run-status",
        section=SECTION,
        type=click.Choice([status.value for status in RunStatus], case_sensitive=False),
        multiple=True,
        help="Only runs with this status (repeatable).",
    ),
    GcOption(
        "--since", section=SECTION, type=Duration(), metavar="DURATION", help="Only runs that started since, as P7D."
    ),
    GcOption(
        "--limit",
        section=SECTION,
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Only the latest N runs (default: {options.SHOWN_RUNS}; with --json, all).",
    ),
    GcOption(
        "--run",
        section=SECTION,
        type=Text(),
        metavar="ID",
        also_argument=True,
        help="Show this run with its report, as JSON.",
    ),
)
_JOBS = (GcArgument("jobs", type=Text(), metavar="JOB", help="Names of jobs."),)
_ONCE = GcOption("--once", section=SECTION, is_flag=True, help="Run what is due now, and end.")
_ALL = (*options.STORE, *options.PLUGINS, *options.REPORT)

SCHEDULE_COMMANDS = (
    click.Group(
        "schedule",
        help="Run services when they are due, and show what became of it.",
        commands=[
            GcCommand("run", _run, (_ONCE, *_ALL), lasts=True),
            GcCommand("list", _list, _ALL),
            GcCommand("history", _history, (*_HISTORY, *_ALL)),
            GcCommand("page", _page, (*_PAGE, *_ALL)),
            GcCommand("trigger", _trigger, _ALL, arguments=_JOBS),
            GcCommand("pause", _pause, _ALL, arguments=_JOBS),
            GcCommand("resume", _resume, _ALL, arguments=_JOBS),
        ],
        context_settings=dict(SETTINGS),
    ),
)
