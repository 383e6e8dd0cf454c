"""Progress of a run: bars on a terminal, log lines off it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from nessie_gc_core.model.text import shown
from nessie_gc_core.services.run import Progress as ProgressCallback
from nessie_gc_core.services.run import no_progress

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 10.0


class _Lines:
    """One line per phase now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if now - self._last >= SECONDS_BETWEEN_LINES:
            self._last = now
            log.info("%s", phase if total is None else f"{phase}: {done} of {total}")


class _Bars:
    """One bar per phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, phase: str, done: int, total: int | None) -> None:
        if phase not in self._tasks:
            self._tasks[phase] = self._progress.add_task(shown(phase), total=total)
        self._progress.update(self._tasks[phase], completed=done, total=total)


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
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=console, transient=True) as progress:
            yield _Bars(progress)
