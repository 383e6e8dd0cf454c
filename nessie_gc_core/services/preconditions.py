"""What must be so before anything is swept: a live set that fits, and connectors that reach the workers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError, LiveSetStateError, SafetyError
from nessie_gc_core.model.closing import first_of
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, next_step, wrong_status
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.text import duration_text, time_text
from nessie_gc_core.services.run import Run

TOLERANCE = timedelta(minutes=1)
"""Clocks that differ by more are named in the report."""


def check_made_from(live_set: LiveSet, repositories: Collection[str]) -> None:
    """Refuses a live set of another repository than these.

    Raises:
        SafetyError: the message names what was found and what was expected.
    """
    if live_set.repository not in repositories:
        raise SafetyError(
            f"live set {live_set.id} was created from {live_set.repository}, not from {' or '.join(repositories)}; use "
            "that repository, or move its records with 'move-records' if it is the same one"
        )


def check_age(live_set: LiveSet, now: datetime, max_age: timedelta) -> None:
    """Refuses a live set that is too old (S10), and one from the future (S8).

    Raises:
        SafetyError: the message names both times.
    """
    newest = max(live_set.created, live_set.references_listed or live_set.created)
    if newest - now > TOLERANCE:
        raise SafetyError(
            f"live set {live_set.id} is from the future: created at {time_text(newest)}, and now it is "
            f"{time_text(now)}; correct the wrong clock and mark again"
        )
    if now - live_set.created > max_age:
        raise SafetyError(
            f"live set {live_set.id} of {live_set.repository} is {duration_text(now - live_set.created)} old, "
            f"`max_live_set_age` is {duration_text(max_age)}: mark again"
        )


def check_answers(run: Run) -> None:
    """Asks the repository for a reference, so that one that does not answer is known before an engine starts.

    Of several, one may well be silent: then the mark says what follows.

    Raises:
        ServiceUnavailableError, AccessDeniedError, RepositoryError: it does not answer, or refuses.
    """
    if len(run.repositories) > 1:
        return
    first_of(iter(run.repositories[0].references()))


def check_one_repository(run: Run) -> None:
    """Refuses several repositories if none is chosen.

    Raises:
        ConfigurationError: the message says how to choose one.
    """
    _ = run.repository


def check_sweeper(live_set: LiveSet, service: str | None) -> None:
    """Refuses a live set that another service than this made for itself: it deletes less than a sweep would.

    Asked before anything else, because a live set that failed would name a sweep as the next step.

    Raises:
        LiveSetStateError: the message says what to run.
    """
    owner = live_set.swept_only_by
    if owner is not None and owner != service:
        raise LiveSetStateError(
            f"live set {live_set.id} belongs to {owner!r}, which deletes less than a sweep of it would: run that "
            f"again with its options, or {next_call('mark')} for a sweep of everything"
        )


def check_marked(live_set: LiveSet, *, resume: bool) -> None:
    """Refuses a live set that no sweep may begin with, before anything is changed.

    Raises:
        LiveSetStateError: the message says what to do.
    """
    expected = {LiveSetStatus.IDENTIFY_SUCCESS}
    if resume:
        expected |= {LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED}
    if live_set.status not in expected:
        raise LiveSetStateError(wrong_status(live_set, expected))


def check_swept(live_set: LiveSet) -> None:
    """Refuses a live set that was not swept completely.

    Raises:
        LiveSetStateError: the message names both statuses.
    """
    if live_set.status is not LiveSetStatus.EXPIRY_SUCCESS:
        raise LiveSetStateError(
            f"live set {live_set.id} is {live_set.status}, expected {LiveSetStatus.EXPIRY_SUCCESS}: its deletions "
            f"are known only after a sweep with `defer_deletes`; {next_step(live_set.id, live_set.status)}"
        )


def check_executors(engine: Engine, *connectors: type[object]) -> None:
    """Refuses connectors whose state does not reach executors; a local engine stays in this process for them.

    Raises:
        ConfigurationError: one of them declares itself unfit.
    """
    for connector in connectors:
        if getattr(connector, "executor_safe", True):
            continue
        if engine.distributed:
            name = getattr(connector, "name", connector.__name__)
            raise ConfigurationError(f"{name!r} works in one process only; use `engine` local")
        engine.stay_in_process()
