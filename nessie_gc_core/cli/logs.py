"""Log lines: where they go, and the live-set id in every line of a run."""

from __future__ import annotations

import copy
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.highlighter import NullHighlighter
from rich.logging import RichHandler

from nessie_gc_core.config.environment import ATTEMPT_VARIABLE, JOB_VARIABLE, RUN_VARIABLE
from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.model.text import json_text, json_time, shown, without_passwords
from nessie_gc_core.services.report import GcReport

LIBRARIES = ("py4j", "urllib3", "botocore", "boto3", "s3fs", "fsspec", "pyiceberg", "asyncio", "sqlalchemy", "alembic")
"""Loggers of libraries, which say nothing below a warning."""
_FIELDS = {"job": JOB_VARIABLE, "run": RUN_VARIABLE, "attempt": ATTEMPT_VARIABLE}
"""What lines of a scheduled run say of it, and the variables in which its process finds this."""


def standard_error() -> Console:
    """The console of everything that is not the result."""
    return Console(stderr=True, highlight=False)


class _LiveSetId(logging.Filter):
    """Adds the live set of the run to each line, after the name of its job if it is a scheduled run."""

    def __init__(self, report: GcReport) -> None:
        super().__init__()
        self._report = report
        self._job = os.environ.get(JOB_VARIABLE)
        self._fields = {name: os.environ[variable] for name, variable in _FIELDS.items() if variable in os.environ}

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in self._fields.items():
            setattr(record, name, int(value) if name == "attempt" else value)
        record.live_set = live_set = self._report.live_set_id or "-"
        record.of = live_set if self._job is None else f"{shown(self._job)} {live_set}"
        return True


class Folding(logging.Filter):
    """Lets a warning pass once; the same one again is counted, and told with its number at the end."""

    MOST = 10_000
    """So many different warnings are remembered; later ones always pass."""

    def __init__(self) -> None:
        super().__init__()
        self._repeated: dict[tuple[str, int, str], int] = {}
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is shown."""
        if record.levelno < logging.WARNING or record.exc_info:
            return True
        try:
            key = (record.name, record.levelno, record.getMessage())
        except Exception:  # noqa: BLE001 - whatever the arguments raise, the handler tells it
            return True
        with self._lock:
            if key in self._repeated:
                self._repeated[key] += 1
                return False
            if len(self._repeated) < self.MOST:
                self._repeated[key] = 0
        return True

    def folded(self) -> Iterator[logging.LogRecord]:
        """A record for each warning that came again."""
        for (name, level, message), times in self._repeated.items():
            if times:
                again = "once more" if times == 1 else f"{times:,} times more"
                yield logging.LogRecord(name, level, "", 0, "%s (%s)", (message, again), None)


class _ShownFormatter(logging.Formatter):
    """Formats records whose text may come from data: one line each, and tracebacks with theirs (S28)."""

    def format(self, record: logging.LogRecord) -> str:
        """The record; the text of a traceback that another handler left in it is not trusted."""
        mine = copy.copy(record)
        mine.exc_text = None
        return super().format(mine)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging names it
        record.message = shown(with_flags(without_passwords(record.message)))
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging names it
        return shown(without_passwords(super().formatException(ei)), lines=True)

    def formatStack(self, stack_info: str) -> str:  # noqa: N802 - logging names it
        return shown(super().formatStack(stack_info), lines=True)


class _JsonFormatter(_ShownFormatter):
    """Formats records as JSON objects, one on each line.

    Their keys are ``time`` (ISO 8601, UTC), ``level``, ``logger``, ``live_set``, ``message`` and, where they apply,
    ``job``, ``run``, ``attempt`` and ``status`` (of a scheduled run), and ``traceback``.
    """

    def format(self, record: logging.LogRecord) -> str:
        body: dict[str, str | int] = {
            "time": json_time(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname,
            "logger": record.name,
            "live_set": str(getattr(record, "live_set", "-")),
            "message": with_flags(without_passwords(record.getMessage())),
        }
        body.update(
            {name: value for name in (*_FIELDS, "status") if (value := getattr(record, name, None)) is not None}
        )
        if record.exc_info:
            body["traceback"] = self.formatException(record.exc_info)
        return json_text(body)


def json_error(message: str, report: GcReport, error: BaseException | None) -> str:
    """The error that ends the program, as a log line in JSON.

    Args:
        message: the error as one line.
        report: the report of the run, whose live set the line carries.
        error: the error, for its traceback; ``None``: without one.
    """
    trace = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord(__package__ or "", logging.ERROR, "", 0, "%s", (message,), trace)
    _LiveSetId(report).filter(record)
    return _JsonFormatter().format(record)


@contextmanager
def logging_to(
    console: Console, verbosity: int, report: GcReport, *, quiet: bool, as_json: bool = False, folds: bool = True
) -> Iterator[None]:
    """Sends log lines to standard error while the block runs: plain, as JSON, or above the bars of a terminal.

    Args:
        console: standard error.
        verbosity: how many ``-v`` there are.
        report: the report of the run, whose live set lines carry.
        quiet: whether only errors are shown.
        as_json: whether each line is a JSON object.
        folds: whether a warning that comes again is counted instead of shown.
    """
    handler: logging.Handler
    if as_json:
        handler = logging.StreamHandler(console.file)
        handler.setFormatter(_JsonFormatter())
    elif console.is_terminal:
        handler = RichHandler(console=console, show_path=False, show_time=False, markup=False)
        handler.highlighter = NullHighlighter()
        handler.setFormatter(_ShownFormatter("[%(of)s] %(message)s"))
    else:
        handler = logging.StreamHandler(console.file)
        handler.setFormatter(_ShownFormatter("%(asctime)s %(levelname)s [%(of)s] %(name)s: %(message)s"))
    live_set_id, folding = _LiveSetId(report), Folding()
    handler.addFilter(live_set_id)
    if folds:
        handler.addFilter(folding)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    least = _level(verbosity, quiet=quiet, terminal=console.is_terminal)
    root.setLevel(least)
    for library in LIBRARIES:
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        handler.removeFilter(folding)
        for record in folding.folded():
            if record.levelno >= least:
                handler.handle(record)


def _level(verbosity: int, *, quiet: bool, terminal: bool) -> int:
    if quiet:
        return logging.ERROR
    if verbosity == 0:
        return logging.WARNING if terminal else logging.INFO
    return logging.INFO if verbosity == 1 else logging.DEBUG
