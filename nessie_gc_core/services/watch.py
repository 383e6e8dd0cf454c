"""Progress while functions run: what they have done by now is looked at every now and then."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Protocol, runtime_checkable

from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.work import Traffic, Work
from nessie_gc_core.services.run import Run

log = logging.getLogger(__name__)

SECONDS_BETWEEN = 0.5


@runtime_checkable
class ShowsTraffic(Protocol):
    """A progress that also wants to know what was asked of stores."""

    def show_traffic(self, traffic: Traffic) -> None:
        """Told now and then what the run asked of stores by now; in its own thread."""


@contextmanager
def watched(run: Run, tell: Callable[[Work], None]) -> Iterator[None]:
    """Tells, while the block runs, what was done since it began; says nothing where the engine cannot tell.

    Args:
        run: the run.
        tell: called in its own thread, one call at a time and none after the block. What it raises is raised at the end
            of the block.
    """
    before = run.engine.work()
    if before is None:
        yield
        return
    with _looking(lambda: tell((run.engine.work() or before) - before)):
        yield


@contextmanager
def traffic_reported(run: Run) -> Iterator[None]:
    """Adds to the report what the block asks of stores, and shows it while it runs to a progress that wants that."""
    before, progress = run.engine.work(), run.progress
    if before is None:
        yield
        return

    def traffic() -> Traffic:
        return ((run.engine.work() or before) - before).traffic

    def show() -> None:
        if not isinstance(progress, ShowsTraffic) or failed:
            return
        try:
            with run.telling:
                progress.show_traffic(traffic())
        except Exception as error:  # noqa: BLE001 - the run is about more than what is shown of it
            failed.append(error)
            log.warning("the progress display cannot show traffic any more: %s", one_line(error))

    failed: list[Exception] = []
    try:
        with _looking(show) if isinstance(progress, ShowsTraffic) else nullcontext():
            yield
    finally:
        run.report.traffic = (run.report.traffic or Traffic()) + traffic()


@contextmanager
def _looking(look: Callable[[], None]) -> Iterator[None]:
    """Calls a function every now and then while the block runs, in its own thread."""
    errors: list[BaseException] = []
    ended = threading.Event()

    def loop() -> None:
        while not ended.wait(SECONDS_BETWEEN) and not errors:
            try:
                look()
            except BaseException as error:  # noqa: BLE001 - raised again where the run can end for it
                errors.append(error)

    thread = threading.Thread(target=loop, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if errors:
        raise errors[0]
