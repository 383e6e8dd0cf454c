"""Files in quarantine that a live state needs, or may need: they are named, and get more time (S9, S29)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa

from nessie_gc_core.algorithms.expand import Expansion
from nessie_gc_core.algorithms.in_quarantine import Around, AtPlaces, Below, NotThere, index_of_locations
from nessie_gc_core.algorithms.namesakes import namesakes
from nessie_gc_core.algorithms.restorable import restore_call, restore_file
from nessie_gc_core.algorithms.subtract import count_by_unit
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.connectors import SupportsQuarantine
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import Row, to_batches, to_texts
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.quarantine import HeldFile, bucket_of_tags
from nessie_gc_core.model.relations import FILE_KEYS, PROBLEM, REACHABLE_FILES, REACHED
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.quarantine.rows import RECORDS, record_row, with_more_time
from nessie_gc_core.services.quarantine.tagged import change
from nessie_gc_core.services.report import MAX_NAMES, NamedFile
from nessie_gc_core.services.run import SweepRun

_KEYS = list(FILE_KEYS.names)
_TAGGED = pa.field("tagged", pa.bool_(), nullable=False)
_PATHS = pa.schema([REACHABLE_FILES.field("path")])
_RECORDS = pa.schema([pa.field("whole", pa.string(), nullable=False), _TAGGED, *RECORDS])
_HELD = pa.schema([*FILE_KEYS, _TAGGED, *RECORDS])
"""A file in quarantine, and where it was: in a sweep unit, or else in the location from which it was taken."""
_RECORD_KEYS = ["live_set_id", "place", "held_path"]
_MOST_CALLS = 10
"""So many locations to restore are named in warnings."""


class NeededAgain:
    """Looks in quarantine for what a run needs; the records are read once."""

    def __init__(self, index: UnitIndex, plan: SweepPlan, run: SweepRun) -> None:
        """Takes the sweep units, what is left of them, and the run, whose report says what is found."""
        self._index = index
        self._plan = plan
        self._run = run
        self._taken_from = UnitIndex((), plan.rules)
        """The locations from which files were taken."""

    def not_taken(self, missing: Dataset) -> Dataset:
        """Those of some missing files (:data:`REACHABLE_FILES`) that are lost; the units of the others are frozen.

        A tagged file is at its path; if it is not, it is lost.
        """
        if self._held is None:
            return missing
        found = missing.semi_join(self._held.where("tagged", [False]), _KEYS).checkpoint()
        self._freeze(found)
        return missing.anti_join(found, _KEYS).checkpoint()

    def may_be_lost(self, names: Dataset) -> None:
        """Gives more time to files with the name of a file that was found nowhere (S30); says that there are some.

        Args:
            names: those names (:data:`LOST_NAMES`).
        """
        if self._held is None:
            return
        held = self._held.where("tagged", [False]).where("sidecar", [0])
        found = namesakes(held, names)
        records = held.semi_join(found, _KEYS).distinct(_RECORD_KEYS).checkpoint()
        if not (files := records.count()):
            return
        (first,) = records.head(1).to_pylist()
        path = first["location"] + first["path"]
        self._run.report.warn(
            f"{plural(files, 'file')} in quarantine may be a lost file in another spelling, such as {path}: "
            f"{restore_file(path)} brings it back"
        )
        if self._run.parameters.mode.removes:
            self._keep_longer(records)

    def became_live(self, newly: Dataset) -> None:
        """Freezes the units in which files became live (:data:`FILE_KEYS`) that are in quarantine, and keeps these.

        Nothing was listed since, so each is looked at: somebody may have written it again.
        """
        if self._held is not None:
            found = self._held.where("tagged", [False]).semi_join(newly, _KEYS).distinct(_KEYS)
            self._freeze(found.flat_map(NotThere(self._run.choice, _HELD)).flat_map(_Named()).checkpoint())
        self.keep()

    def keep(self, *, unlisted: Dataset | None = None, outside: Expansion | None = None) -> None:
        """Gives more time to all that is needed, or may be, and says what to restore; a dry run only says it.

        Args:
            unlisted: what is needed (:data:`FILE_KEYS`), if no listing shows what of it is missing.
            outside: what is needed, of which that outside of sweep units counts: it is not listed.
        """
        report, restorable = self._run.report, self._plan.restorable
        if self._held is not None:
            self._warn(self._held)
            if self._run.parameters.mode is not DeleteMode.DRY_RUN:
                self._extend(self._held, unlisted, outside)
        report.in_quarantine.files = restorable.count
        named = itertools.islice(restorable.files.items(), MAX_NAMES)
        report.in_quarantine_files = [NamedFile(path, reason) for path, reason in named]

    def _extend(self, held: Dataset, unlisted: Dataset | None, outside: Expansion | None) -> None:
        maybe = held.flat_map(Below(self._plan.doubted, _HELD))
        if unlisted is not None:
            maybe = maybe.union(held.semi_join(unlisted, _KEYS))
        if outside is not None:
            files = outside.files.where("kind", [PROBLEM, REACHED], negate=True)
            paths = files.matching("unit IS NULL").select(_PATHS)
            maybe = maybe.union(held.semi_join(paths.flat_map(AtPlaces(self._taken_from, every=True)), _KEYS))
        self._keep_longer(maybe.distinct(_RECORD_KEYS).checkpoint())

    def _keep_longer(self, records: Dataset) -> None:
        now = self._run.clock()
        until = now + self._run.parameters.quarantine_for
        change(records, self._run, lambda file: with_more_time(file, now=now, until=until))

    def _freeze(self, found: Dataset) -> None:
        """Freezes the units of needed files that are in quarantine (:data:`REACHABLE_FILES`)."""
        by_unit = count_by_unit(found)
        if not by_unit:
            return
        named = {row["path"]: row["unit"] for row in found.head(MAX_NAMES).to_pylist()}
        self._plan.restorable.add(named, more=sum(by_unit.values()) - len(named))
        self._plan.restorable.prefixes.update(by_unit)
        for unit, files in by_unit.items():
            what = f"{plural(files, 'needed file')} from here {'is' if files == 1 else 'are'} in quarantine"
            self._plan.freeze([unit], f"{what}; {restore_call(unit)} brings back everything from here")

    def _warn(self, held: Dataset) -> None:
        """Says what restores what is needed; a location from which nothing is in quarantine is not named."""
        prefixes = self._plan.restorable.prefixes
        if not prefixes:
            return
        found = held.flat_map(Around(prefixes)).distinct(["prefix"]).summary().column("prefix").to_pylist()
        for prefix in sorted(found)[:_MOST_CALLS]:
            call = restore_call(prefix)
            self._run.report.warn(f"files that live states need are in quarantine: {call} brings them back")
        if len(found) > _MOST_CALLS:
            more = plural(len(found) - _MOST_CALLS, "location")
            self._run.report.warn(
                f"so are files from {more} more; {next_call('restore', everything=True)} brings back all"
            )

    @cached_property
    def _held(self) -> Dataset | None:
        """The files in quarantine (:data:`_HELD`); ``None``: there are none."""
        store = self._run.store
        if not isinstance(store, SupportsQuarantine) or next(iter(store.quarantines()), None) is None:
            return None
        records = self._run.engine.dataset(to_batches(map(_row, store.held_files()), _RECORDS), _RECORDS)
        self._taken_from = index_of_locations(records, self._plan.rules)
        return records.flat_map(AtPlaces(self._index, self._taken_from, schema=_HELD, column="whole")).checkpoint()


def _row(file: HeldFile) -> Row:
    return (file.location + file.path, bucket_of_tags(file.place) is not None, *record_row(file))


class _Named:
    """Files by their keys (:data:`FILE_KEYS`) to files with their canonical paths (:data:`REACHABLE_FILES`)."""

    schema = REACHABLE_FILES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from to_batches(((unit, key, unit + key) for unit, key in to_texts(batch, *_KEYS)), self.schema)
