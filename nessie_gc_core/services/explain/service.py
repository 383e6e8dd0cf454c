"""The service that says why single files are kept or deleted."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pyarrow as pa

from nessie_gc_core.algorithms.listing import sidecar_owner
from nessie_gc_core.algorithms.unit_index import UnitIndex, UnitKey
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.connectors import Service
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import from_micros, to_batches, to_rows
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import EXPANDED_FILES, FILE_KEYS, PROBLEM
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.explain.needing import Needing, References, identity_of, needing
from nessie_gc_core.services.explain.parameters import ExplainParameters
from nessie_gc_core.services.explain.report import ExplainedFile, ExplainReport, Standing
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.members import delete_together
from nessie_gc_core.services.needed import Located, Needed
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.sweep import Directions, Purpose, Swept

_BY_OUTCOME = {
    Outcome.WOULD_DELETE: Standing.UNREFERENCED,
    Outcome.TOO_YOUNG: Standing.TOO_YOUNG,
    Outcome.SPARED: Standing.SPARED,
}
MAX_SPELLINGS = 1_000
"""Raw paths by which metadata may name one file."""


@dataclass(frozen=True, slots=True)
class ExplainService(Service[Run]):
    """Explain why files are kept or deleted: which references and versions need each, or what a run would do with it.

    The lake is marked, read and judged as by 'gc' with the same options, except for its limits on the number of
    deletions. Nothing is deleted or stored. Like any run, it is refused while another one works on the repository.
    """

    name: ClassVar[str] = "explain"
    Parameters: ClassVar[type[ConnectorOptions]] = ExplainParameters
    lasting_store: ClassVar[bool] = False

    parameters: ExplainParameters

    def run(self, run: Run) -> ExplainReport:
        """Explains.

        Raises:
            ConfigurationError: a parameter is invalid, or a path is not a whole one.
            NessieGcError: something that is needed could not be read.
        """
        self.parameters.check(run.choice)
        try:
            looking = _Looking(self.parameters.file)
            swept = GcService(self.parameters.finding, Directions(remember=False, purpose=looking)).swept(run)
            return ExplainReport(files=_Explaining(looking, swept, self.parameters).files(), reading=run.report)
        finally:
            if run.report.live_set_id:  # it was marked for this look only
                delete_together(run.store, uuid.UUID(run.report.live_set_id))


@dataclass(slots=True)
class _Asked:
    """A requested file, and its place."""

    path: str
    place: str
    """Canonical, without links and aliases."""
    keys: frozenset[UnitKey] = frozenset()
    """Every unit and key that the path may mean; for a checksum sidecar that of its file as well."""


class _Looking(Purpose):
    """Keeps a sweep to the places of some files, and what it found on the way."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths
        self.asked: list[_Asked] = []
        self.located: Located
        self.needed: Needed
        self.run: SweepRun

    def restrict(self, located: Located) -> None:
        """Keeps only the units that hold the files."""
        index, rules = UnitIndex.of(located.plan), located.plan.rules
        for path in self._paths:
            keys = frozenset(index.places(path).all)
            owners = frozenset((unit, owner) for unit, key in keys if (owner := sidecar_owner(key)) is not None)
            self.asked.append(_Asked(path, rules.place(path), keys | owners))
        located.plan.keep(unit for file in self.asked for unit, _ in file.keys)
        self.located = located

    def chosen(self, verdicts: Dataset, needed: Needed, run: SweepRun) -> Dataset:
        """The verdicts of the files."""
        self.needed, self.run = needed, run
        return verdicts.semi_join(self.keys(), list(FILE_KEYS.names)).checkpoint()

    def keys(self) -> Dataset:
        """All units and keys of the files (:data:`FILE_KEYS`)."""
        rows = {key for file in self.asked for key in file.keys}
        return self.run.engine.dataset(to_batches(sorted(rows), FILE_KEYS), FILE_KEYS)


@dataclass(slots=True)
class _Stored:
    """What was listed at one unit and key."""

    size: int
    modified: int


@dataclass(slots=True)
class _Explaining:
    """Puts what a sweep found together, file by file."""

    looking: _Looking
    swept: Swept
    parameters: ExplainParameters
    _stored: Mapping[UnitKey, _Stored] = field(init=False)
    _outcomes: Mapping[UnitKey, tuple[Outcome, str | None]] = field(init=False)

    def __post_init__(self) -> None:
        mine = self.swept.stored.semi_join(self.looking.keys(), list(FILE_KEYS.names))
        rows = (row for batch in mine.batches() for row in to_rows(batch, "unit", "key", "size", "modified"))
        self._stored = {(str(row[0]), str(row[1])): _Stored(_int(row[2]), _int(row[3])) for row in rows}
        self._outcomes = dict(self._judged())

    def files(self) -> list[ExplainedFile]:
        """All of them, in their order."""
        looking, run = self.looking, self.looking.run
        named = self._named()
        needs = {place: needing(paths, looking.located, looking.needed, run) for place, paths in named.items() if paths}
        wanted = {identity_of(row) for each in needs.values() for row in each.found}
        references = References(wanted, self.parameters.finding.policies(self.swept.live_set.created), run)
        return [self._explained(file, needs.get(file.place), references) for file in looking.asked]

    def _named(self) -> dict[str, set[str]]:
        """By the place of a file, the raw paths by which live metadata names it."""
        looking, named = self.looking, dict[str, set[str]]()
        naming = _Naming(looking.asked, looking.located.plan.rules)
        rows = looking.needed.expansion.files.where("kind", [PROBLEM], negate=True).flat_map(naming)
        for row in rows.distinct(["path"]).head(MAX_SPELLINGS * len(looking.asked)).to_pylist():
            for place in naming.places(row["unit"], row["key"], row["path"]):
                named.setdefault(place, set()).add(row["path"])
        return named

    def _judged(self) -> Iterator[tuple[UnitKey, tuple[Outcome, str | None]]]:
        index = self.looking.needed.scope.index
        if self.swept.outcomes is None:
            return
        for batch in self.swept.outcomes.batches():
            for location, path, outcome, reason in to_rows(batch, "location", "path", "outcome", "reason"):
                said = (Outcome(str(outcome)), None if reason is None else str(reason))
                yield from ((key, said) for key in index.places(str(location) + str(path)).all)

    def _explained(self, file: _Asked, needs: Needing | None, references: References) -> ExplainedFile:
        plan = self.looking.needed.scope.plan
        unit = next((unit for unit, _ in sorted(file.keys) if unit in plan.roots), None)
        stored = next((self._stored[key] for key in sorted(file.keys) if key in self._stored), None)
        standing, reason = self._standing(file, unit, stored, is_live=needs is not None)
        return ExplainedFile(
            path=file.path,
            standing=standing,
            reason=reason,
            location=unit,
            size=None if stored is None else stored.size,
            modified=None if stored is None else from_micros(stored.modified),
            named_by=() if needs is None else needs.parents,
            versions=0 if needs is None else needs.versions,
            needed_by=() if needs is None else tuple(references.of(needs, self.looking.run)),
        )

    def _standing(
        self, file: _Asked, unit: str | None, stored: _Stored | None, *, is_live: bool
    ) -> tuple[Standing, str | None]:
        if is_live:
            return (Standing.LOST if unit is not None and stored is None else Standing.LIVE), None
        if unit is None:
            return _taken_out(self.looking.needed.scope.plan, file.path)
        outcome, reason = next(
            (self._outcomes[key] for key in sorted(file.keys) if key in self._outcomes), (None, None)
        )
        if outcome is None and stored is not None:
            return Standing.LIVE, "live metadata may name it by another path"
        if outcome is None:
            return Standing.NOT_STORED, None
        standing = _BY_OUTCOME[outcome]
        if standing is Standing.TOO_YOUNG and reason is None:
            reason = f"files younger than `min_age` ({self.parameters.min_age}) stay"
        return standing, reason


def _taken_out(plan: SweepPlan, path: str) -> tuple[Standing, str | None]:
    """Why the place of a file is not swept, under whatever spelling."""
    for reasons, standing in (
        (plan.unknown, Standing.FROZEN),
        (plan.unread, Standing.FROZEN),
        (plan.left_out, Standing.LEFT_OUT),
        (plan.refused, Standing.REFUSED),
    ):
        roots = {place: reason for raw, reason in reasons.items() if (place := plan.rules.place_prefix_or_none(raw))}
        found = next((unit for unit, _ in UnitIndex(roots, plan.rules).places(path).all), None)
        if found is not None:
            return standing, f"its location {roots[found]}" if standing is Standing.REFUSED else roots[found]
    return Standing.OUTSIDE, None


class _Naming:
    """Expanded files to those that mean one of some files (:data:`EXPANDED_FILES`)."""

    schema = EXPANDED_FILES

    def __init__(self, files: Collection[_Asked], rules: LocationRules) -> None:
        self._rules = rules
        self._by_key: dict[UnitKey, set[str]] = {}
        self._by_name: dict[str, set[str]] = {}
        for file in files:
            for key in file.keys:
                self._by_key.setdefault(key, set()).add(file.place)
            self._by_name.setdefault(file.place.rpartition("/")[2], set()).add(file.place)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = to_rows(batch, "unit", "key", "path")
            yield batch.filter(pa.array([bool(self.places(*row)) for row in rows], pa.bool_()))

    def places(self, unit: object, key: object, path: object) -> set[str]:
        """The places of the files that a row means."""
        found = set(self._by_key.get((str(unit), str(key)), ()))
        wanted = self._by_name.get(str(path).rpartition("/")[2])
        if wanted:
            try:
                found |= wanted & {self._rules.place(str(path))}
            except UnknownLocationError:
                return found
        return found


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0
