"""The end of a run that fails: one line that names the thing and what to do, and the exit code."""

from __future__ import annotations

import os
import sys
import traceback

import click

from nessie_gc_core.cli.command import Session
from nessie_gc_core.cli.logs import json_error
from nessie_gc_core.config.environment import JOB_VARIABLE
from nessie_gc_core.model.report_format import with_format
from nessie_gc_core.model.text import json_text, shown
from nessie_gc_core.services.ending import INTERRUPTED, Command, Terminated, failure, in_one_line, is_busy
from nessie_gc_core.services.ending import describe as describe_any

USAGE = 2


def describe(error: BaseException) -> tuple[str, int]:
    """An error as one line, and its exit code."""
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx is not None else "nessie-gc"
        return f"{in_one_line(error.format_message())} (see {command} --help)", USAGE
    if isinstance(error, click.ClickException):
        return in_one_line(error.format_message()), error.exit_code
    if isinstance(error, click.Abort) and not isinstance(error.__cause__, Terminated):
        return "interrupted", INTERRUPTED
    return describe_any(error)


def _say(error: BaseException, message: str, session: Session) -> None:
    """Prints an error, as a log line where those are JSON objects; else after the name of its job, if it has one."""
    shows_traceback = session.verbosity > 1
    if session.logs_json:
        click.echo(json_error(message, session.report, error if shows_traceback else None), err=True)
        return
    if shows_traceback:
        sys.stderr.write(shown("".join(traceback.format_exception(error)), lines=True))
    job = os.environ.get(JOB_VARIABLE)
    click.echo(f"error: {message}" if job is None else f"error: [{shown(job)}] {message}", err=True)


def fail(error: BaseException, session: Session) -> int:
    """Prints an error, and gives the exit code."""
    command = Command(name=session.command, report=session.report, in_memory=session.in_memory, defers=session.defers)
    failed = failure(*describe(error), command, busy=is_busy(error))
    _say(error, failed.message, session)
    if session.as_json:
        click.echo(json_text(with_format(failed.body)))
    return failed.exit_code
