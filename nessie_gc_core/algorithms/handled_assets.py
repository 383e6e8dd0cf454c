"""The outcome of assets that were to be deleted: one row for each."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.assets import ASSETS, HANDLED_ASSETS, asset_id
from nessie_gc_core.model.batches import Row, to_batches, to_rows, to_texts, to_tuples
from nessie_gc_core.model.locations import LocationRules, with_slash
from nessie_gc_core.model.verdicts import Outcome

_OUTCOME = pa.schema([ASSETS.field("asset"), HANDLED_ASSETS.field("outcome"), HANDLED_ASSETS.field("reason")])
_KNOWN = ("asset", "tableName", "assetType", "path", "sizeBytes", "runid")
_ASSET = pa.schema([ASSETS.field("asset")])

NEEDED = "a live state needs it now"
"""Why a stored asset stays that was not judged unreferenced."""
NOT_JUDGED = "its location could not be examined: see the unknown, refused and left-out locations"
"""Why an asset stays whose location was not swept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """What all rows of one deletion have in common."""

    id: str
    """Its identity, a UUID."""
    at: datetime
    """When it began, UTC."""


def handled(outcomes: Dataset, approved: Dataset, rules: LocationRules, purge: Purge) -> Dataset:
    """The approved assets (:data:`ASSETS`) among some outcomes (:data:`OUTCOMES`), as :data:`HANDLED_ASSETS`."""
    found = outcomes.where("sidecar", [False]).flat_map(_AssetOutcomes(rules))
    return _joined(found.semi_join(approved, ["asset"]), approved, purge)


def not_met(
    approved: Dataset, met: Dataset, stored: Dataset, *, index: UnitIndex, units: Collection[SweepUnit], purge: Purge
) -> Dataset:
    """The approved assets that have no outcome, with the reason, as :data:`HANDLED_ASSETS`.

    Args:
        approved: :data:`ASSETS`.
        met: those that have one (their column ``asset``).
        stored: :data:`STORED_FILES`.
        index: the sweep units.
        units: those of them that were judged to their end.
        purge: the deletion.
    """
    left = approved.anti_join(met, ["asset"])
    here = stored.present("path").flat_map(_StoredAssets(index.rules))
    there = left.semi_join(here, ["asset"]).flat_map(_Unjudged(index, units, Outcome.SPARED, NEEDED))
    gone = left.anti_join(here, ["asset"]).flat_map(_Unjudged(index, units, Outcome.ALREADY_GONE, None))
    return _joined(there.union(gone), approved, purge)


def _joined(found: Dataset, approved: Dataset, purge: Purge) -> Dataset:
    known = approved.select(pa.schema([ASSETS.field(name) for name in _KNOWN]))
    return found.left_join(known, ["asset"]).flat_map(_Handled(purge))


class _AssetOutcomes:
    """Outcomes with the identity of their file."""

    schema = _OUTCOME

    def __init__(self, rules: LocationRules) -> None:
        self._rules = rules

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, "location", "path", "outcome", "reason"))
        found = ((asset_id(f"{row[0]!s}{row[1]!s}", self._rules), row[2], row[3]) for row in rows)
        yield from to_batches(found, self.schema)


class _StoredAssets:
    """Stored files to their identity."""

    schema = _ASSET

    def __init__(self, rules: LocationRules) -> None:
        self._rules = rules

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_texts(batch, "location", "path"))
        yield from to_batches(((asset_id("".join(row), self._rules),) for row in rows), self.schema)


class _Asset(NamedTuple):
    """What is read of an asset (:data:`ASSETS`)."""

    asset: bytes
    path: str


class _Unjudged:
    """Assets to one outcome, or to none if their place was not judged or was listed in another spelling."""

    schema = _OUTCOME

    def __init__(self, index: UnitIndex, units: Collection[SweepUnit], outcome: Outcome, reason: str | None) -> None:
        self._index = index
        self._listed = {unit.root: tuple(map(with_slash, unit.locations)) for unit in units}
        self._outcome, self._reason = outcome.value, reason

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        assets = (asset for batch in batches for asset in to_tuples(batch, _Asset))
        yield from to_batches((self._outcome_of(asset) for asset in assets), self.schema)

    def _outcome_of(self, row: _Asset) -> Row:
        try:
            found = self._index.find(row.path)
        except UnknownLocationError:
            found = None
        if found is None or not row.path.startswith(self._listed.get(found[0], ())):
            return (row.asset, Outcome.SPARED.value, NOT_JUDGED)
        return (row.asset, self._outcome, self._reason)


class _Handled:
    """Outcomes with what is known of their assets, to rows of a report."""

    schema = HANDLED_ASSETS

    def __init__(self, purge: Purge) -> None:
        self._purge = purge

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        purge = self._purge
        more = {"deletion": purge.id, "timestamp": purge.at}
        rows = ({**row, **more} for batch in batches for row in batch.to_pylist())
        yield from to_batches((tuple(row[name] for name in self.schema.names) for row in rows), self.schema)
