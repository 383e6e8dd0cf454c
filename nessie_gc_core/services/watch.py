"""Progress while functions run: what they have done by now is looked at every now and then."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from nessie_gc_core.model.work import Traffic, Work
from nessie_gc_core.services.run import Run

SECONDS_BETWEEN = 0.5


@runtime_checkable
class ShowsTraffic(Protocol):
    """A progress that also wants to know what was asked of stores."""

    def show_traffic(self, phase: str, traffic: Traffic) -> None:
        """Told now and then what a phase asked of stores by now; maybe from another thread than the run's."""


@contextmanager
def watched(run: Run, phase: str, tell: Callable[[Work], None]) -> Iterator[None]:
    """Tells, while the block runs, what was done since it began; says nothing where the engine cannot tell.

    Args:
        run: the run; a progress that shows traffic is told of it.
        phase: what is going on.
        tell: called in a thread of its own, one call at a time and none after the block. What it raises is raised
            at the end of the block.
    """
    before = run.engine.work()
    if before is None:
        yield
        return
    errors: list[BaseException] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(SECONDS_BETWEEN) and not errors:
            try:
                done = (run.engine.work() or before) - before
                tell(done)
                if isinstance(run.progress, ShowsTraffic):
                    run.progress.show_traffic(phase, done.traffic)
            except BaseException as error:  # noqa: BLE001 - raised again where the run can end for it
                errors.append(error)

    thread = threading.Thread(target=look, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if errors:
        raise errors[0]


@contextmanager
def traffic_reported(run: Run) -> Iterator[None]:
    """Adds to the report what the block asked of stores."""
    before = run.engine.work()
    try:
        yield
    finally:
        after = run.engine.work()
        if before is not None and after is not None:
            run.report.traffic = (run.report.traffic or Traffic()) + after.traffic - before.traffic
