"""What people ask of a schedule: to start a job now, to pause it, to resume it."""

from __future__ import annotations

from datetime import datetime

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.model.next_steps import next_command
from nessie_gc_core.model.schedule import Occasion, ScheduledJob
from nessie_gc_core.services.schedule.definition import ScheduleDefinition

_ATTEMPTS = 10


def trigger(store: ScheduleStore, definition: ScheduleDefinition, name: str, *, at: datetime) -> None:
    """Lets a job be due at an instant; if a run of it is going on, when that has ended.

    Raises:
        ConfigurationError: there is no such job, or it is paused.
        StoreError: schedulers change it all the time.
    """
    for _ in range(_ATTEMPTS):
        job = _known(store, definition, name, at)
        if job.paused:
            then = next_command("schedule", "resume", name)
            raise ConfigurationError(f"the job {name!r} is paused; resume it first: {then}")
        begun = job.next is not None and job.next.begun
        now = Occasion(due=at, starts=at, by_hand=True, begun=begun)
        if store.set_next(definition.name, name, seen=job.next, then=now):
            return
    raise StoreError(f"the job {name!r} cannot be triggered, because schedulers change it all the time; try again")


def pause(store: ScheduleStore, definition: ScheduleDefinition, name: str, *, paused: bool, now: datetime) -> None:
    """Pauses a job, or resumes it.

    Raises:
        ConfigurationError: there is no such job.
    """
    _known(store, definition, name, now)
    store.set_paused(definition.name, name, paused=paused)


def known_jobs(store: ScheduleStore, definition: ScheduleDefinition, now: datetime) -> list[ScheduledJob]:
    """The jobs of a definition by name, as the store has them; those that it does not have yet as it will."""
    known = {job.name: job for job in store.jobs(definition.name)}
    return [known.get(name) or job.scheduled(now) for name, job in sorted(definition.jobs.items())]


def _known(store: ScheduleStore, definition: ScheduleDefinition, name: str, now: datetime) -> ScheduledJob:
    """A job as the store has it; it gets the job if it has none, and all at once if it has no job at all."""
    definition.check([name])
    for defined in (False, True):
        known = {job.name: job for job in store.jobs(definition.name)}
        if name in known:
            return known[name]
        if not defined:
            if known:
                store.add_job(definition.name, definition.jobs[name].scheduled(now))
            else:
                store.define_jobs(definition.name, [job.scheduled(now) for job in definition.jobs.values()], at=now)
    raise StoreError(f"the job {name!r} was removed from the store; is another file used for the same schedule?")
