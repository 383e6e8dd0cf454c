"""What a run looked at, so that it can be told which reachable files were found nowhere (S30)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nessie_gc_core.algorithms.expand import Expansion
from nessie_gc_core.algorithms.namesakes import OutsideFiles
from nessie_gc_core.algorithms.subtract import lost
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.relations import FILE_KEYS, STORED_FILES
from nessie_gc_core.services.run import SweepRun


@dataclass(frozen=True, slots=True)
class LookedAt:
    """What was listed, and the known places that were not."""

    stored: Dataset
    """What was listed (:data:`STORED_FILES`)."""
    elsewhere: UnitIndex
    """Known places that are not swept: what is reachable there is where it should be."""

    @classmethod
    def by_listing(cls, stored: Dataset, plan: SweepPlan, places: Iterable[str]) -> LookedAt:
        """All units of a sweep, which knows the raw places of contents, whether they are swept or not."""
        taken_out = (*plan.unknown, *plan.unread, *plan.refused, *plan.left_out)
        known = {plan.rules.place_prefix_or_none(raw) for raw in {*places, *taken_out}}
        return cls(stored, UnitIndex((place for place in known if place and not plan.overlaps(place)), plan.rules))

    @classmethod
    def nothing(cls, run: SweepRun, plan: SweepPlan) -> LookedAt:
        """Where nothing is listed, no file is found."""
        return cls(run.engine.empty(STORED_FILES), UnitIndex((), plan.rules))

    def among(self, files: Dataset) -> LookedAt:
        """What was found of a few files (:data:`FILE_KEYS`), so that the rest is not compared again."""
        return replace(self, stored=self.stored.semi_join(files, list(FILE_KEYS.names)))

    def nowhere(self, expansion: Expansion, plan: SweepPlan) -> Dataset:
        """The reachable files that were found nowhere (:data:`REACHABLE_FILES`), distinct.

        Those that nobody looked for, because they are in no unit and in no known place, have the unit :data:`NOWHERE`.
        Files in units that are frozen are not among them: nobody knows whether they are missing.
        """
        roots = sorted(plan.roots)
        written = expansion.written().where("unit", roots)  # not distinct, for that would not fit in memory
        outside = expansion.outside().flat_map(OutsideFiles(self.elsewhere))
        return lost(self.stored.where("unit", roots), written.union(outside), expansion.spellings())
