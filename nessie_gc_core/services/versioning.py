"""What stays in a store after a deletion: noncurrent versions, and where they are deleted as well."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from nessie_gc_core.algorithms.hold import canonical_places
from nessie_gc_core.algorithms.units import SweepPlan, SweepUnit
from nessie_gc_core.algorithms.with_versions import WithVersions
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsQuarantine, SupportsVersionDeletion, SupportsVersioning
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.quarantine import bucket_of_versions
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.finding_parameters import NoncurrentVersions
from nessie_gc_core.services.parameters import DeletionParameters
from nessie_gc_core.services.run import Run, SweepRun

log = logging.getLogger(__name__)


def warn_of_versions(units: Iterable[SweepUnit], run: Run, parameters: DeletionParameters | None = None) -> None:
    """Warns once per bucket that it keeps what is deleted, if the store tells; each bucket is asked once.

    In a bucket in which files are hidden, the purge frees the space. Where versions are deleted, nothing is left.
    """
    if parameters is not None and parameters.noncurrent_versions is NoncurrentVersions.DELETE:
        return
    quarantine = () if parameters is None else parameters.quarantine
    locations: dict[str, str] = {}
    hidden = {place for place in quarantine if bucket_of_versions(place) is not None}
    stores = canonical_places(hidden, run.choice.rules())
    for unit in units:
        if store_of(unit.root) not in stores:
            locations.setdefault("/".join(unit.root.split("/")[:3]), unit.locations[0])
    with OpenConnectors(run.choice) as connectors:
        for bucket, location in locations.items():
            if _keeps_versions(connectors, location):
                run.report.warn(
                    f"{bucket} keeps noncurrent versions of deleted files: space is freed only when a lifecycle rule "
                    "of the bucket removes them (and unfinished multipart uploads, which no listing shows)"
                )


def _keeps_versions(connectors: OpenConnectors, location: str) -> bool:
    try:
        lister = connectors.lister(location)
        return isinstance(lister, SupportsVersioning) and bool(lister.keeps_versions(location))
    except Exception as error:  # noqa: BLE001 - a note for people must not end a run
        log.debug("cannot tell whether %r keeps versions: %s", location, error)
        return False


def stores_without_versions(plan: SweepPlan, run: SweepRun) -> WithVersions:
    """The stores, as locations of a plan name them, where files are deleted with their versions; warns of all others.

    A version in quarantine must not be deleted, whichever sweep hid it: in its bucket all versions stay.
    """
    held = {
        bucket
        for each in (run.store.quarantines() if isinstance(run.store, SupportsQuarantine) else ())
        if (bucket := bucket_of_versions(each.place)) is not None
    }
    hidden = {store_of(plan.rules.place_prefix_or_none(bucket) or bucket) for bucket in held}
    asked: dict[str, str | None] = {}
    with OpenConnectors(run.choice) as connectors:
        for location in (each for unit in plan.units for each in unit.locations):
            store = store_of(location)
            if store_of(plan.rules.place_prefix(location)) in hidden:
                asked[store] = "files are in quarantine there; restore or purge them first"
            elif store not in asked:
                asked[store] = _version_refusal(connectors, location)
    for store, refusal in asked.items():
        if refusal is not None:
            run.report.warn(f"noncurrent versions in {store} stay: {refusal}")
    return WithVersions(frozenset(store for store, refusal in asked.items() if refusal is None))


def _version_refusal(connectors: OpenConnectors, location: str) -> str | None:
    try:
        deleter = connectors.deleter(location)
        cannot = f"the deleter {deleter.name!r} deletes no versions"
        return deleter.version_refusal(location) if isinstance(deleter, SupportsVersionDeletion) else cannot
    except NessieGcError as error:
        return one_line(error)
