"""The clocks that an age is measured by: of this machine, of repository and live-set store, of object stores (S8).

The mark and the sweep may run on two machines whose clocks are never compared. Each of them compares its own with
those of the repository and the live-set store, so that the instant at which the references were listed means something
to both.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from nessie_gc_core.algorithms.guard import StoreAges
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsSharedClock, SupportsStoreClock
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.limits import AgeLimit
from nessie_gc_core.model.locations import store_of, with_slash
from nessie_gc_core.model.text import duration_text, one_line
from nessie_gc_core.services.preconditions import TOLERANCE
from nessie_gc_core.services.run import Run


def times_now(run: Run) -> tuple[datetime, ...]:
    """The current time by each clock: ours, the repository's and the live-set store's, if they tell it."""
    times, report = [run.clock()], run.report
    several = len(run.repositories) > 1
    repositories = ((f"repository {each.address()}" if several else "repository", each) for each in run.repositories)
    for name, source in (*repositories, ("live-set store", run.store)):
        if not isinstance(source, SupportsSharedClock):
            continue
        try:
            theirs = source.shared_time()
        except (NessieGcError, OSError) as error:
            report.warn(f"cannot read the clock of the {name}: {one_line(error)}")
            continue
        if theirs is not None:
            times.append(theirs)
            difference = abs(theirs - times[0])
            if difference > TOLERANCE:
                said = duration_text(difference)
                report.warn(f"the clocks of this machine and of the {name} differ by {said}; correct the wrong one")
    return tuple(times)


def store_ages(locations: Iterable[str], age: AgeLimit, references_listed: datetime, run: Run) -> dict[str, StoreAges]:
    """For every store (:func:`store_of`) what its clock says about ages; each is asked once.

    Args:
        locations: raw locations to sweep.
        age: the least age.
        references_listed: when the mark listed the references.
        run: the run, whose report takes warnings.
    """
    ages: dict[str, StoreAges] = {}
    now = times_now(run)
    with OpenConnectors(run.choice) as connectors:
        for location in locations:
            store = store_of(location)
            if store in ages:
                continue
            theirs = store_time(connectors, location, run)
            passed = run.clock() - now[0]
            others = (time + passed for time in now)
            newest = age.newest_deletable(references_listed, theirs, *others)
            ages[store] = StoreAges(newest_deletable=newest, now=theirs)
    return ages


def store_time(connectors: OpenConnectors, location: str, run: Run) -> datetime:
    """The current time by the clock of the store of a raw location; by ours if it does not tell."""
    lister = connectors.lister(location)
    if isinstance(lister, SupportsStoreClock):
        try:
            return lister.store_time(with_slash(location))
        except (NessieGcError, OSError) as error:
            run.report.warn(
                f"the clock of {store_of(location)} cannot be read, so this machine's clock is used: {one_line(error)}"
            )
    return run.clock()
