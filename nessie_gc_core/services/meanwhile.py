"""A mark runs while the engine starts: a session of Spark takes longer to start than many a mark takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from nessie_gc_core.engines.beside import in_thread
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.members import delete_together
from nessie_gc_core.services.run import Progress, Run


class _NoEngineError(Exception):
    """Ends a mark because the engine does not start; it cannot be mistaken for an error of a repository."""


def mark_meanwhile(run: Run, parameters: MarkParameters) -> None:
    """Marks, while the engine starts and is checked; returns when both are done.

    A mark that fails does not wait for the engine, which then starts for nobody; whoever closes the run's resources
    closes it as well. An engine that fails ends a mark that has references left to walk, and what that mark stored is
    deleted. A mark without any is finished first, and its live set stays: a later sweep can use it.

    Raises:
        NessieGcError: one of the two failed.
    """
    with in_thread(lambda: run.engine.check(), end=None) as engine:
        marking = replace(run, progress=_checked_by(engine.check, run.progress))
        try:
            MarkService(parameters).run(marking)
        except _NoEngineError:
            delete_together(run.store, UUID(run.report.live_set_id))
            run.report.live_set_id, run.report.repositories = None, []
    engine.result()


def _checked_by(check: Callable[[], None], progress: Progress) -> Progress:
    """The progress of a mark, which ends where a check raises an error and there is something left to do."""

    def tell(phase: str, done: int, total: int | None) -> None:
        if total is None or done < total:
            try:
                check()
            except BaseException as error:
                raise _NoEngineError(one_line(error)) from error
        progress(phase, done, total)

    return tell
