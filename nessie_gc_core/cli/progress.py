"""Progress of a run: bars on a terminal, log lines off it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
)
from rich.text import Text

from nessie_gc_core.model.text import duration_text, shown, size_text
from nessie_gc_core.model.work import Traffic
from nessie_gc_core.services.run import Progress as ProgressCallback
from nessie_gc_core.services.run import no_progress

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0


class _Phases:
    """The phases of a run as tasks, whose rates rich reckons."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def task(self, phase: str) -> Task:
        """That of a phase."""
        if phase not in self._tasks:
            self._tasks[phase] = self._progress.add_task(shown(phase), total=None, traffic="")
        return self._progress.tasks[self._tasks[phase]]

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        self._progress.update(self.task(phase).id, completed=done, total=total)

    def show_traffic(self, traffic: Traffic) -> None:
        """Puts it beside the newest phase."""
        for number, task in enumerate(reversed(self._tasks.values())):
            self._progress.update(task, traffic="" if number else _said(traffic))


class _Lines(_Phases):
    """One line per phase now and then."""

    def __init__(self) -> None:
        super().__init__(Progress(auto_refresh=False, disable=True))
        self._last = time.monotonic()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        super().__call__(phase, done, total)
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            log.info("%s", _line(phase, self.task(phase)))


def _line(phase: str, task: Task) -> str:
    done = f"{task.completed:,.0f}" + ("" if task.total is None else f" of {task.total:,.0f}")
    more = [part for part in (_rate(task), _left(task), task.fields["traffic"]) if part]
    return f"{phase}: {done}" + (f" ({', '.join(more)})" if more else "")


def _rate(task: Task) -> str:
    speed = task.finished_speed or task.speed
    return "" if not speed else f"{speed:,.0f}/s"


def _left(task: Task) -> str:
    seconds = task.time_remaining
    return "" if task.finished or seconds is None else f"{duration_text(seconds)} left"


def _said(traffic: Traffic) -> str:
    if not traffic.requests:
        return ""
    return f"{traffic.requests:,} request{'' if traffic.requests == 1 else 's'}, {size_text(traffic.bytes_read)}"


class _RateColumn(ProgressColumn):
    """How many are done in a second."""

    def render(self, task: Task) -> Text:
        """The rate, or nothing where it is not known yet."""
        return Text(_rate(task), style="progress.data.speed")


class _TookColumn(ProgressColumn):
    """How long it took so far."""

    def render(self, task: Task) -> Text:
        """The time."""
        return Text(duration_text(task.finished_time if task.finished else task.elapsed), style="progress.elapsed")


class _LeftColumn(ProgressColumn):
    """How long the rest takes."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        """The time, or nothing where it is not known."""
        return Text(_left(task), style="progress.remaining")


@contextmanager
def show_progress(console: Console, *, quiet: bool) -> Iterator[ProgressCallback]:
    """Shows progress while the block runs."""
    if quiet:
        yield no_progress
    elif not console.is_terminal:
        yield _Lines()
    else:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            _TookColumn(),
            _LeftColumn(),
            TextColumn("{task.fields[traffic]}", markup=False),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            yield _Phases(progress)
