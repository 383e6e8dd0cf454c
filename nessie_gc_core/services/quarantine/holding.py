"""Records of a quarantine during a sweep: written before a file is moved, so that none is ever without one (S15)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import pyarrow as pa

from nessie_gc_core.algorithms.hold import Hold
from nessie_gc_core.algorithms.planned import PlanFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import from_micros
from nessie_gc_core.model.object_tags import NEVER_TAGGED
from nessie_gc_core.model.quarantine import HeldFile, HeldState, bucket_of, bucket_of_tags, bucket_of_versions
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.quarantine.places import held_in
from nessie_gc_core.services.quarantine.tagged import seen_at
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.tally import TableTally

Tables = Iterable[tuple[str, str]]
"""Canonical unit roots, each with the names of the tables there, one in a line."""


def named(tables: Iterable[TableTally]) -> Tables:
    """The names of the tables at each location."""
    return ((each.location, "\n".join(each.tables)) for each in tables)


_COLUMNS = ("unit", "location", "path", "size", "modified", "sidecar")


@dataclass(frozen=True)
class Holding:
    """Remembers in the live-set store what a sweep moves."""

    run: SweepRun
    hold: Hold
    tables: Callable[[], Tables] = field(default=tuple)
    """Asked once, where something is moved."""

    @cached_property
    def _at(self) -> datetime:
        """The same for all files of a sweep."""
        return self.run.clock()

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return dict(self.tables())

    @cached_property
    def _hidden_before(self) -> Collection[tuple[str, str]]:
        """Location and path of what a killed run may have hidden: at most the files of the step that it was at."""
        if not any(map(bucket_of_versions, self.hold.places.values())):
            return ()
        moving = held_in(self.run.store).held_files(self.run.live_set.id, (HeldState.MOVING,))
        return {(file.location, file.path) for file in moving if bucket_of_versions(file.place) is not None}

    def announce(self, rows: Dataset, spared: Mapping[str, str]) -> None:
        """Records what a step is about to move: its rows (:data:`VERDICTS`) but for the units that are spared."""
        _ = self._hidden_before  # before there are records of this run
        for batch in rows.flat_map(PlanFiles(spared_units=spared)).batches():
            held_in(self.run.store).put_held_files(self._held(batch, HeldState.MOVING))

    def remember(self, outcomes: Dataset) -> None:
        """Records what was moved (:data:`OUTCOMES`); of a file that could not be moved there may be a copy.

        A file that was gone has no record any more, unless a killed run of this live set may have hidden it; nor has
        one that is known not to have the tag of the sweep.
        """
        for batch in outcomes.where("outcome", [Outcome.QUARANTINED.value]).batches():
            held_in(self.run.store).put_held_files(self._held(batch, HeldState.HELD))
            # A file that stays gets a record with its ids; only when that is there, the one without goes.
            without_ids = (file for file in self._held(batch, HeldState.MOVING) if bucket_of(file.place))
            held_in(self.run.store).forget_held_files(without_ids)
        gone = outcomes.where("outcome", [Outcome.ALREADY_GONE.value])
        for batch in gone.batches():
            records = self._held(batch, HeldState.MOVING)
            gone_by_others = (file for file in records if (file.location, file.path) not in self._hidden_before)
            held_in(self.run.store).forget_held_files(gone_by_others)
        if any(map(bucket_of_tags, self.hold.places.values())):
            self._forget_untagged(outcomes.where("outcome", [Outcome.FAILED.value]))

    def _forget_untagged(self, failed: Dataset) -> None:
        for batch in failed.where("reason", sorted(NEVER_TAGGED)).batches():
            records = self._held(batch, HeldState.MOVING)
            tagged = (file for file in records if bucket_of_tags(file.place) is not None)
            held_in(self.run.store).forget_held_files(tagged)

    def _held(self, batch: pa.RecordBatch, state: HeldState) -> Iterator[HeldFile]:
        run, now = self.run, self._at
        until = now + run.parameters.quarantine_for
        columns = [batch.column(name).to_pylist() for name in _COLUMNS]
        said = batch.column("reason").to_pylist() if state is HeldState.HELD else [None] * batch.num_rows
        for unit, location, path, size, modified, sidecar, ids in zip(*columns, said, strict=True):
            place = self.hold.place(location)
            if place is None:
                continue  # its unit is spared
            yield HeldFile(
                repository=run.live_set.repository,
                live_set_id=run.live_set.id,
                place=place,
                held_path=(ids if bucket_of(place) else None) or self.hold.held_path(location, path, modified),
                location=location,
                path=path,
                size=size,
                modified=from_micros(modified),
                table=self._names.get(unit, ""),
                sidecar=sidecar,
                held=now if bucket_of_tags(place) is None else seen_at(run.live_set),
                until=until,
                state=state,
            )
