"""The end of a run that fails: one line that names the thing and what to do, and the exit code."""

from __future__ import annotations

import logging
import sys
import traceback

import click

from nessie_gc_core.cli.command import Session
from nessie_gc_core.cli.ended import how_it_ended
from nessie_gc_core.cli.flags import with_flags
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.text import json_text, shown

log = logging.getLogger(__name__)

INTERRUPTED, TERMINATED = 130, 143
USAGE = 2


class Terminated(KeyboardInterrupt):
    """Somebody asked the process to end; it closes what it has open, as for an interrupt."""


def describe(error: BaseException) -> tuple[str, int]:
    """An error as one line, and its exit code."""
    if isinstance(error, NessieGcError):
        return _one_line(str(error) or type(error).__name__), error.exit_code
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx is not None else "nessie-gc"
        return f"{_one_line(error.format_message())} (see {command} --help)", USAGE
    if isinstance(error, click.ClickException):
        return _one_line(error.format_message()), error.exit_code
    if isinstance(error, Terminated) or isinstance(error.__cause__, Terminated):
        return "terminated", TERMINATED
    if isinstance(error, (click.Abort, KeyboardInterrupt)):
        return "interrupted", INTERRUPTED
    return f"unexpected error {type(error).__name__}: {_one_line(str(error))} (run with -vv for the traceback)", 1


def fail(error: BaseException, session: Session) -> int:
    """Prints an error, and gives the exit code."""
    message, exit_code = describe(error)
    ended = how_it_ended(session)
    message += f"; {ended.text}" if ended is not None and ended.text else ""
    if session.verbosity > 1:
        sys.stderr.write(shown("".join(traceback.format_exception(error)), lines=True))
    click.echo(f"error: {message}", err=True)
    if session.as_json:
        body: dict[str, object] = {"error": message, "exit_code": exit_code}
        if session.report.live_set_id is not None:
            body["live_set_id"] = session.report.live_set_id
        if ended is not None:
            body["done"] = {outcome.value: tally.to_dict() for outcome, tally in ended.done.items()}
            body["next"] = ended.next
        click.echo(json_text(body))
    return exit_code


def _one_line(text: str) -> str:
    return shown(with_flags(" ".join(text.split())))
