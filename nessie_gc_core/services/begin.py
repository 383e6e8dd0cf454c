"""The beginning of every deletion: what must be so is checked, and the lease of every repository is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta

from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.known_unknowns import KnownUnknowns
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.live_set_ids import chosen_live_set, find_live_set
from nessie_gc_core.services.members import members
from nessie_gc_core.services.parameters import DeferredDeletionParameters, SweepParameters
from nessie_gc_core.services.preconditions import check_age
from nessie_gc_core.services.quarantine.places import held_in
from nessie_gc_core.services.report import GcReport, MarkedRepository
from nessie_gc_core.services.run import Member, Run, SweepRun
from nessie_gc_core.services.watch import traffic_reported


@contextmanager
def work_on_live_set(
    run: Run,
    parameters: SweepParameters | DeferredDeletionParameters,
    check_status: Callable[[SweepRun], None],
    *,
    alone: bool = True,
) -> Iterator[SweepRun]:
    """Returns the run at work on the live set that the parameters name and on those that were marked together with it.

    It says in the report when it is done.

    Args:
        run: the run.
        parameters: what is observed.
        check_status: refuses live sets whose status does not fit; asked under the lease.
        alone: whether the leases are taken. A run that changes neither files nor the store needs none.

    Raises:
        ConfigurationError: a parameter is invalid, or the engine's workers cannot run.
        SafetyError: the live set is too old, from the future, or of another repository.
        LiveSetStateError, LeaseHeldError: its status does not fit, or another process is at work.
    """
    named = chosen_live_set(parameters)
    run.choice.check_plugins(deletes=parameters.mode.removes)
    parameters.check(run.choice)
    if parameters.quarantine:
        held_in(run.store)
    found = list(members(run, run.store.get(find_live_set(run.store, named))))
    now = max(times_now(run))
    for member in found:
        check_age(member.live_set, now, parameters.max_live_set_age)
    run.engine.check()
    run.report.begin([_named(each) for each in found], run.engine.name, run.clock())
    run.report.dry_run = parameters.mode is DeleteMode.DRY_RUN
    if parameters.known_unknowns is not None:
        run.report.known = KnownUnknowns.read(parameters.known_unknowns)
    with _leases(run, found, parameters.lease, alone=alone) as lease, traffic_reported(run):
        sweep_run = run.of(found, lease, parameters)
        check_status(sweep_run)
        yield sweep_run
    run.report.finished = run.clock()
    tell_news(run.report)
    if not run.report.dry_run:
        keep_known_unknowns(run)


def tell_news(report: GcReport) -> None:
    """Warns of what is unknown in this run: what was known before, and what is new."""
    if report.known is None or not report.not_known:
        return
    news, all_ = report.news, len(report.not_known)
    if not news:
        report.warn(f"{plural(all_, 'unknown place')} and no new one: {report.known.file} knows what is unknown")
        return
    name, reason = news[0]
    report.warn(f"{plural(len(news), 'unknown place')} of {all_} not in {report.known.file}, such as {name}: {reason}")


def keep_known_unknowns(run: Run) -> None:
    """Writes what is unknown in this run for the next one, if that was asked for."""
    report = run.report
    if report.known is None:
        return
    try:
        report.known.write(report.not_known, run.clock())
    except OSError as error:
        report.warn(f"what is unknown could not be written, so the next run compares with an older one: {error}")


def _leases(run: Run, found: Sequence[Member], duration: timedelta, *, alone: bool) -> AbstractContextManager[Lease]:
    if not alone:
        assert run.report.dry_run
        return nullcontext(Lease.unneeded())
    return hold_lease(
        run.store, [member.live_set.repository for member in found], duration, elapsed=run.elapsed, go_on=run.go_on
    )


def _named(member: Member) -> MarkedRepository:
    return MarkedRepository(
        repository=member.live_set.repository,
        address=member.repository.address(),
        live_set_id=str(member.live_set.id),
        unread=member.unread,
    )
