"""What stays in a store after a deletion: noncurrent versions, which only the store itself can remove."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsVersioning
from nessie_gc_core.services.run import Run

log = logging.getLogger(__name__)


def warn_of_versions(units: Iterable[SweepUnit], run: Run) -> None:
    """Warns once per bucket that it keeps what is deleted, if the store tells; each bucket is asked once."""
    locations: dict[str, str] = {}
    for unit in units:
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
