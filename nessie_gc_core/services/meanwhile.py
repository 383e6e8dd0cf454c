"""A mark runs while the engine starts: a session of Spark takes longer to start than many a mark takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

from nessie_gc_core.engines.beside import in_thread
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.members import delete_together
from nessie_gc_core.services.run import Progress, Run


class _NoEngineError(Exception):
    """Ends a mark because the engine does not start; it cannot be mistaken for an error of a repository."""


def mark_meanwhile(run: Run, parameters: MarkParameters, *, swept_only_by: str | None = None) -> None:
    """Marks, while the engine starts and is checked; returns when both are done.

    A mark that fails does not wait for the engine: whoever closes the run's resources closes it as well, or waits for
    it. An engine that fails ends a mark that has references left to walk, and what that mark stored is
    deleted. A mark without any is finished first, and its live set stays: a later sweep can use it.

    Raises:
        NessieGcError: one of the two failed.
    """
    opened = run.resources.opened
    with in_thread(lambda: run.resources.engine_of(opened).check(), end=None) as engine:
        marking = replace(run, progress=_checked_by(engine.check, run.progress))
        try:
            MarkService(parameters, swept_only_by).run(marking)
        except _NoEngineError:
            _forget(run)
    engine.result()


def _forget(run: Run) -> None:
    """Deletes what a mark stored that has not come to its end.

    Only by the id of the mark itself: for a repository that could not be read, the report names an earlier live set,
    which shows what it has (S6). That it could not be read stays in the store.
    """
    try:
        delete_together(run.store, UUID(run.report.live_set_id))
    except NessieGcError as error:  # why the run ends is what matters
        run.report.warn(f"live set {run.report.live_set_id} of this mark stays: {one_line(error)}")
    run.report.live_set_id, run.report.repositories = None, []


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
