"""The beginning of every deletion: what has to be so is checked, and the repository's lease is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.live_set_ids import chosen_live_set
from nessie_gc_core.services.parameters import DeferredDeletionParameters, SweepParameters
from nessie_gc_core.services.preconditions import check_live_set
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.watch import traffic_reported


@contextmanager
def work_on_live_set(
    run: Run, parameters: SweepParameters | DeferredDeletionParameters, check_status: Callable[[LiveSet], None]
) -> Iterator[SweepRun]:
    """Gives the run at work on the live set that the parameters name, and says in the report when it is done.

    Args:
        run: the run.
        parameters: what is observed.
        check_status: refuses a live set whose status does not fit; asked under the lease.

    Raises:
        ConfigurationError: a parameter makes no sense, or the engine's workers cannot run.
        SafetyError: the live set is too old, from the future, or of another repository.
        LiveSetStateError, LeaseHeldError: its status does not fit, or somebody else is at work.
    """
    live_set_id = chosen_live_set(parameters)
    run.choice.check_plugins(deletes=parameters.mode is DeleteMode.DELETE)
    parameters.check(run.choice)
    run.engine.check()
    identity = run.repository.identity()
    live_set = run.store.get(live_set_id)
    check_live_set(live_set, identity, max(times_now(run)), parameters.max_live_set_age)
    run.report.begin(identity, run.repository.address(), live_set_id, run.engine.name, run.clock())
    run.report.dry_run = parameters.mode is DeleteMode.DRY_RUN
    with hold_lease(run.store, identity, parameters.lease, elapsed=run.elapsed) as lease, traffic_reported(run):
        check_status(live_set)
        yield run.of(live_set, lease, parameters)
    run.report.finished = run.clock()
