"""What a purge did, table by table: rows like those of a sweep, so that who reads those reads these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nessie_gc_core.model.locations import LocationRules, folders_of
from nessie_gc_core.model.quarantine import HeldFile
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.tally import TableTally, Tally

_OUTCOMES: Mapping[str, Outcome] = {
    "done": Outcome.DELETED,
    "failed": Outcome.FAILED,
    "blocked": Outcome.FAILED,
    "kept": Outcome.SPARED,
}
"""What the others are is not said: they are not garbage of today, because their time is not over or they are gone."""
_Place = tuple[str, str]
"""A location, and the names of its tables, one in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesByTable:
    """Counts files in quarantine by where they were."""

    rules: LocationRules
    dry_run: bool
    _looked_at: dict[_Place, Tally] = field(default_factory=dict)
    _outcomes: dict[_Place, dict[Outcome, Tally]] = field(default_factory=dict)

    def count(self, name: str, file: HeldFile) -> None:
        """Adds a file with what became of it, as the report calls it."""
        place = self.rules.place_prefix_or_none(file.location) or file.location, file.table
        size = file.size or 0
        self._looked_at.setdefault(place, Tally()).add(1, size)
        outcomes, outcome = self._outcomes.setdefault(place, {}), _OUTCOMES.get(name)
        if outcome is not None:
            would = outcome is Outcome.DELETED and self.dry_run
            outcomes.setdefault(Outcome.WOULD_DELETE if would else outcome, Tally()).add(1, size)

    def rows(self) -> list[TableTally]:
        """A row for each location, those with the most bytes first; those inside of another one are part of it."""
        merged: dict[_Place, dict[Outcome, Tally]] = {}
        looked_at: dict[_Place, Tally] = {}
        for place, outcomes in self._outcomes.items():
            root = self._around(place)
            looked_at.setdefault(root, Tally()).add(self._looked_at[place].files, self._looked_at[place].bytes)
            for outcome, tally in outcomes.items():
                merged.setdefault(root, {}).setdefault(outcome, Tally()).add(tally.files, tally.bytes)
        rows = [
            TableTally(
                tables=tuple(filter(None, names.split("\n"))),
                location=location,
                listed=listed,
                outcomes=merged.get((location, names), {}),
            )
            for (location, names), listed in looked_at.items()
        ]
        return sorted(rows, key=lambda row: (-row.unreferenced.bytes, row.tables, row.location))

    def _around(self, place: _Place) -> _Place:
        """The outermost place of the same tables around it: a sweep that found both had one row for them."""
        location, names = place
        around = ((folder, names) for folder in folders_of(location))
        return next((each for each in around if each in self._looked_at), place)
