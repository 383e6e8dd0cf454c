"""The end of a run that fails: one line that names the thing and what to do, and the exit code."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress

import click

from nessie_gc_core.cli.command import Session
from nessie_gc_core.cli.logs import json_error
from nessie_gc_core.config.environment import JOB_VARIABLE
from nessie_gc_core.connectors import Report
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.report_format import with_format
from nessie_gc_core.model.text import json_text, shown, without_passwords
from nessie_gc_core.services.ending import INTERRUPTED, Command, Terminated, failure, in_one_line, is_busy
from nessie_gc_core.services.ending import describe as describe_any

USAGE = 2


def describe(error: BaseException, command: Command) -> tuple[str, int]:
    """An error as one line, and its exit code."""
    if isinstance(error, click.UsageError):
        called = error.ctx.command_path if error.ctx is not None else "nessie-gc"
        return f"{in_one_line(error.format_message())} (see {called} --help)", USAGE
    if isinstance(error, click.ClickException):
        return in_one_line(error.format_message()), error.exit_code
    if isinstance(error, click.Abort) and not isinstance(error.__cause__, Terminated):
        return "interrupted", INTERRUPTED
    return describe_any(error, command)


def _say(message: str, session: Session, error: BaseException | None = None) -> None:
    """Prints an error, as a log line where those are JSON objects; else after the name of its job, if it has one."""
    traced = error if session.verbosity > 1 else None
    if session.logs_json:
        click.echo(json_error(message, session.report, traced), err=True)
        return
    if traced is not None:
        sys.stderr.write(shown(without_passwords("".join(traceback.format_exception(traced))), lines=True))
    job = os.environ.get(JOB_VARIABLE)
    click.echo(f"error: {message}" if job is None else f"error: [{shown(job)}] {message}", err=True)


def fail(error: BaseException, session: Session) -> int:
    """Prints an error, and gives the exit code."""
    command = Command(
        name=session.command,
        report=session.report,
        in_memory=session.in_memory,
        defers=session.defers,
        quarantines=session.quarantines,
        dry_run=session.dry_run,
        plan=session.plan,
    )
    failed = failure(*describe(error, command), command, busy=is_busy(error))
    _say(failed.message, session, error)
    if session.as_json:
        with suppress(OSError):  # what failed may have been this; the error was said
            click.echo(json_text(with_format(failed.body)))
    return failed.exit_code


def tell_incomplete(name: str, report: Report, session: Session) -> None:
    """Prints one line about a run that ended without an error, but did not do everything.

    Args:
        name: the name of the service.
        report: its report, which says more.
        session: how it is called.
    """
    _say(f"{name}: {in_one_line(_what_is_left(report))}", session)


def _what_is_left(report: Report) -> str:
    """What a report raises for its status; a plugin's may raise nothing."""
    try:
        getattr(report, "raise_for_status", lambda: None)()
    except NessieGcError as error:
        return str(error)
    return f"not everything was done (exit code {report.exit_code}); see the report"
