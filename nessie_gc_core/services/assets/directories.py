"""The empty directory of a table that is gone, as an asset (S22)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from nessie_gc_core.algorithms.assets import Sighting
from nessie_gc_core.algorithms.handled_assets import Purge
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsEmptyDirectories
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import NessieGcError, UnknownLocationError
from nessie_gc_core.model.assets import ASSETS, HANDLED_ASSETS, AssetReason, AssetType, TypeFrom, asset_id
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.locations import LocationRules, folders_of, with_slash
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.places import Dropped
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.swept import Swept

ON_REQUEST = "directories are removed only with `remove_directories`"
NOT_EMPTY = "it is no longer the empty directory of a dropped table"
STAYS = "it is no longer empty, or it may not be removed"


def empty_directories(run: Run, swept: Swept) -> list[Dropped]:
    """Dropped tables that left only an empty directory, where nothing else is stored.

    Only in places that were listed to their end; one for each table, so there are few of them.
    """
    rules = swept.scope.plan.rules  # which know the links to the locations of tables
    roots = frozenset(swept.scope.plan.roots)
    try:
        homes, around = _live_places(swept, rules)
    except UnknownLocationError:
        return []
    found = []
    with OpenConnectors(run.choice) as connectors:
        for dropped in swept.located.dropped:
            place = rules.place_prefix(dropped.location)
            unit = swept.scope.index.find(with_slash(dropped.location))
            if unit is None or unit[0] not in roots or place in around or not homes.isdisjoint(folders_of(place)):
                continue
            deleter = connectors.deleter(dropped.location)
            if isinstance(deleter, SupportsEmptyDirectories) and _is_empty(deleter, dropped.location):
                found.append(dropped)
    return found


def _live_places(swept: Swept, rules: LocationRules) -> tuple[set[str], set[str]]:
    """Where live contents are, and every place that has one of them in it.

    Raises:
        UnknownLocationError: one of them cannot be compared, and may be anywhere.
    """
    homes = {
        rules.place_prefix(home) for home in swept.located.homes.column("location").to_pylist() if home is not None
    }
    return homes, {place for home in homes for place in folders_of(home)}


def _is_empty(deleter: SupportsEmptyDirectories, location: str) -> bool:
    try:
        return deleter.is_empty_directory(with_slash(location))
    except (NessieGcError, OSError):
        return False


def directory_assets(run: Run, directories: Iterable[Dropped], sighting: Sighting) -> Dataset:
    """Directories as rows of the table of assets (:data:`ASSETS`)."""
    rules = run.choice.rules()
    rows = []
    for dropped in directories:
        path = with_slash(dropped.location)
        row: dict[str, Any] = {
            **dict.fromkeys(ASSETS.names),
            "tableName": dropped.name,
            "timestamp": sighting.at,
            "asset": asset_id(path, rules),
            "snapshotId": "",
            "assetType": AssetType.TABLE.value,
            "path": path,
            "name": path.rstrip("/").rpartition("/")[2],
            "runid": sighting.runid,
            "run": sighting.run,
            "location": path,
            "sizeBytes": 0,
            "typeFrom": TypeFrom.WALK.value,
            "reason": AssetReason.DROPPED_TABLE.value,
            "firstSeen": sighting.at,
            "lastSeen": sighting.at,
        }
        rows.append(tuple(row.values()))
    return run.engine.dataset(to_batches(rows, ASSETS), ASSETS)


def remove_directories(
    run: Run, approved: Dataset, swept: Swept, purge: Purge, lease: Lease | None, *, refused: str | None
) -> Dataset:
    """The outcome of directories that enough runs have seen (:data:`HANDLED_ASSETS`), which are removed on request.

    Args:
        run: the run.
        approved: their rows (:data:`ASSETS`).
        swept: what the run found: those that are the empty directory of a dropped table now.
        purge: the deletion.
        lease: asked before each of them; ``None``: nothing is removed.
        refused: why all of them stay; ``None``: they need not.

    Raises:
        SafetyError: the lease was lost.
    """
    rows = approved.summary().to_pylist()
    now = {with_slash(dropped.location) for dropped in empty_directories(run, swept)} if rows else set()
    left_out = {with_slash(place): reason for place, reason in swept.scope.plan.left_out.items()}
    handled = []
    with OpenConnectors(run.choice) as connectors:
        for row in rows:
            stays = left_out.get(row["path"], NOT_EMPTY) if refused is None else refused
            became: tuple[Outcome, str | None] = (Outcome.SPARED, stays)
            if refused is None and row["path"] in now:
                became = (Outcome.WOULD_DELETE, None) if lease is None else _removed(connectors, row["path"], lease)
            handled.append(_handled(row, *became, purge))
    return run.engine.dataset(to_batches(handled, HANDLED_ASSETS), HANDLED_ASSETS)


def _removed(connectors: OpenConnectors, location: str, lease: Lease) -> tuple[Outcome, str | None]:
    lease.check()
    deleter = connectors.deleter(location)
    assert isinstance(deleter, SupportsEmptyDirectories)
    try:
        gone = deleter.remove_empty_directory(location)
    except (NessieGcError, OSError) as error:
        return Outcome.FAILED, str(error)
    return (Outcome.DELETED, None) if gone else (Outcome.FAILED, STAYS)


def _handled(row: dict[str, Any], outcome: Outcome, reason: str | None, purge: Purge) -> tuple[Any, ...]:
    more = {"deletion": purge.id, "timestamp": purge.at, "outcome": outcome.value, "reason": reason}
    return tuple({**row, **more}[name] for name in HANDLED_ASSETS.names)
