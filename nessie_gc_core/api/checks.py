"""All checks of a configuration, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.config.settings import SETTINGS
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.check import (
    CheckResult,
    Doubtful,
    Found,
    check_engine,
    check_location,
    check_plugins,
    check_reading,
    check_repository,
    check_store,
    checked,
    visible_contents,
)
from nessie_gc_core.services.parameters import GcParameters
from nessie_gc_core.services.run import Run

Check = tuple[str, Callable[[], "str | Found"]]


def run_checks(
    new_run: Callable[[], Run], parameters: Callable[[], GcParameters], *, engine: str | None, file: ConfigFile
) -> Iterator[CheckResult]:
    """Runs all checks; a failed check never stops the others.

    Args:
        new_run: creates a run, and raises if the settings of its connectors are invalid.
        parameters: gives those of a collection, or raises.
        engine: the name of the engine, if it is to be tried.
        file: the configuration file, which may have a schedule.
    """
    for name, check in _checks(new_run, parameters, engine):
        yield checked(name, check)
    if file.schedule:
        yield checked("schedule", lambda: _check_schedule(file, new_run().choice))


def _checks(new_run: Callable[[], Run], parameters: Callable[[], GcParameters], engine: str | None) -> Iterator[Check]:
    yield "plugins", lambda: check_plugins(new_run().registry)
    yield "configuration", lambda: _check_configuration(new_run(), parameters())
    yield from (("repository", partial(_check_repository, new_run, parameters, number)) for number in _numbers(new_run))
    yield "reading", lambda: _check_reading(new_run())
    yield "live-set store", lambda: check_store(new_run().store)
    allow = _allowed(parameters)
    for location in allow:
        yield location, partial(_check_location, new_run, location)
    if engine is not None:
        yield f"engine {engine}", lambda: check_engine(new_run().engine, new_run().choice, allow)


def _check_location(new_run: Callable[[], Run], location: str) -> str | Doubtful:
    return check_location(new_run().choice, location)


def _check_reading(run: Run) -> str | Doubtful:
    try:
        contents = [list(visible_contents(each, list(each.references()))) for each in run.repositories]
    except Exception:  # noqa: BLE001 - the check of the repository says it, whatever it is
        return Doubtful("not tried: the repository cannot be read")
    return check_reading(run.choice, contents)


def _allowed(parameters: Callable[[], GcParameters]) -> tuple[str, ...]:
    try:
        return tuple(parameters().allow)
    except NessieGcError:  # the check of the configuration says it
        return ()


def _check_configuration(run: Run, parameters: GcParameters) -> str | Doubtful:
    run.choice.check_plugins(deletes=not parameters.dry_run)
    parameters.check(run.choice)
    parameters.policies(utc_now())
    if run.report.warnings:
        return Doubtful("; ".join(["valid", *run.report.warnings]))
    if not parameters.allowed(run.choice.rules()).prefixes:
        return "valid; `allow` is not set, so any location that is deep enough is swept"
    return "valid"


def _check_schedule(file: ConfigFile, choice: ConnectorChoice) -> str | Doubtful:
    from nessie_gc_core.services.schedule.definition import ScheduleDefinition
    from nessie_gc_core.services.schedule.job_options import check_names_live_set, is_installed

    registry = choice.registry()
    jobs = ScheduleDefinition.read(file, JobDigests(registry)).jobs
    for name, job in jobs.items():
        check_names_live_set(registry, job.service, {**os.environ, **file.of_job(name).options}, name)
        if not is_installed(registry, job.service):
            return Doubtful(f"the service {job.service!r} of the job {name!r} is not installed, so its runs will fail")
        _check_job(name, job.service, file.of_job(name), choice)
    return f"valid; {len(jobs):,} jobs" if len(jobs) != 1 else "valid; 1 job"


def _check_job(name: str, service: str, file: ConfigFile, choice: ConnectorChoice) -> None:
    """Refuses a job whose parameters its service would refuse.

    Raises:
        ConfigurationError: the message names the job.
    """
    from nessie_gc_core.services.schedule.job_options import check_parameters, service_of_job

    wanted = service_of_job(choice.registry(), service).Parameters
    given = Given.read([*SETTINGS, wanted], {}, file=file, environment=os.environ)
    try:
        check_parameters(given.settings(wanted), choice=choice, now=utc_now())
    except ConfigurationError as error:
        raise ConfigurationError(f"the job {name!r} can never run as {service!r}: {error}") from error


def _numbers(new_run: Callable[[], Run]) -> Iterable[int]:
    """A number for each repository; one where the check of it says why there is none."""
    try:
        return range(len(new_run().repositories))
    except Exception:  # noqa: BLE001 - the check says it
        return (0,)


def _check_repository(new_run: Callable[[], Run], parameters: Callable[[], GcParameters], number: int) -> Found:
    try:
        policies = parameters().policies(utc_now())
    except NessieGcError:  # the check of the configuration says it
        policies = None
    return check_repository(new_run().repositories[number], policies)
