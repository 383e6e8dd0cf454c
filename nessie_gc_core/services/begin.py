"""The beginning of every deletion: what must be so is checked, and the lease of every repository is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta

from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.live_set_ids import chosen_live_set, find_live_set
from nessie_gc_core.services.members import members
from nessie_gc_core.services.parameters import DeferredDeletionParameters, SweepParameters
from nessie_gc_core.services.preconditions import check_age
from nessie_gc_core.services.quarantine.places import held_in
from nessie_gc_core.services.report import MarkedRepository
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
    run.report.begin(map(_named, found), run.engine.name, run.clock())
    run.report.dry_run = parameters.mode is DeleteMode.DRY_RUN
    with _leases(run, found, parameters.lease, alone=alone) as lease, traffic_reported(run):
        sweep_run = run.of(found, lease, parameters)
        check_status(sweep_run)
        yield sweep_run
    run.report.finished = run.clock()


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
