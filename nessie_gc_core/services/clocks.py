"""The clocks that an age is measured by: of this machine, of the repository, and of every store (S8).

The mark and the sweep may run on two machines whose clocks are never compared. Each of them compares its own with
the repository's, so that the instant at which the references were listed means something to both.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from nessie_gc_core.algorithms.expand import one_line
from nessie_gc_core.algorithms.guard import AgeLimit, StoreAges
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import RepositoryConnector, SupportsRepositoryClock, SupportsStoreClock
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.settings import Clock

TOLERANCE = timedelta(minutes=1)
"""Clocks that differ by more are named in the report."""


def repository_time(repository: RepositoryConnector, clock: Clock, report: GcReport) -> datetime:
    """The time now by the repository's clock; by ours where it does not tell."""
    ours = clock()
    if not isinstance(repository, SupportsRepositoryClock):
        return ours
    try:
        theirs = repository.repository_time()
    except (NessieGcError, OSError) as error:
        report.warn(f"the repository does not tell the time, so our clock is used: {one_line(error)}")
        return ours
    if abs(theirs - ours) > TOLERANCE:
        report.warn(f"this machine's clock and the repository's differ by {abs(theirs - ours)}; correct the wrong one")
    return theirs


def store_ages(
    locations: Iterable[str],
    choice: ConnectorChoice,
    age: AgeLimit,
    *,
    references_listed: datetime,
    repository_now: datetime,
    clock: Clock,
    report: GcReport,
) -> dict[str, StoreAges]:
    """For every store (:func:`store_of`) what its clock says about ages; each is asked once.

    Args:
        locations: raw locations to sweep.
        choice: the connectors' options.
        age: the least age.
        references_listed: when the mark listed the references.
        repository_now: the repository's time now.
        clock: our clock.
        report: takes warnings.
    """
    ages: dict[str, StoreAges] = {}
    started = clock()
    with OpenConnectors(choice) as connectors:
        for location in locations:
            store = store_of(location)
            if store in ages:
                continue
            now = _store_time(connectors, location, clock, report)
            ours = clock()
            others = (ours, repository_now + (ours - started))
            ages[store] = StoreAges(newest_deletable=age.newest_deletable(references_listed, now, *others), now=now)
    return ages


def _store_time(connectors: OpenConnectors, location: str, clock: Clock, report: GcReport) -> datetime:
    lister = connectors.lister(location)
    if isinstance(lister, SupportsStoreClock):
        try:
            return lister.store_time(location)
        except (NessieGcError, OSError) as error:
            report.warn(f"the clock of {store_of(location)} is not known, so ours is used: {one_line(error)}")
    return clock()
