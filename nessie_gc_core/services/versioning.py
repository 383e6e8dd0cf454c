"""What stays in a store after a deletion: noncurrent versions, which only the store itself can remove."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from nessie_gc_core.algorithms.hold import canonical_places
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsVersioning
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.quarantine import bucket_of_versions
from nessie_gc_core.services.run import Run

log = logging.getLogger(__name__)


def warn_of_versions(units: Iterable[SweepUnit], run: Run, quarantine: Collection[str] = ()) -> None:
    """Warns once per bucket that it keeps what is deleted, if the store tells; each bucket is asked once.

    In a bucket in which files are hidden, the purge frees the space.
    """
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
