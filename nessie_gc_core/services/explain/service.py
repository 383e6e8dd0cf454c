"""The service that says why single files are kept or deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pyarrow as pa

from nessie_gc_core.algorithms.listing import sidecar_owner
from nessie_gc_core.algorithms.unit_index import UnitIndex, UnitKey
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import LiveSetStore, Service, SupportsLookUp
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import from_micros, to_batches, to_rows
from nessie_gc_core.model.limits import DeletionCaps
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.marks import HINT_STAYS, VERSION_HINT, mark_of
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import EXPANDED_FILES, FILE_KEYS, PROBLEM
from nessie_gc_core.model.text import duration_text
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.aside import AsideStore
from nessie_gc_core.services.deletion import DEAD
from nessie_gc_core.services.explain.held import in_quarantine
from nessie_gc_core.services.explain.needing import Needing, References, identity_of, needing
from nessie_gc_core.services.explain.parameters import ExplainParameters
from nessie_gc_core.services.explain.report import ExplainedFile, ExplainReport, Standing
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.needed import Located, Needed
from nessie_gc_core.services.quarantine.tagged import ALREADY
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.steps import judged
from nessie_gc_core.services.sweep import Directions, Purpose
from nessie_gc_core.services.swept import Swept

_BY_OUTCOME = {
    Outcome.WOULD_DELETE: Standing.UNREFERENCED,
    Outcome.TOO_YOUNG: Standing.TOO_YOUNG,
    Outcome.SPARED: Standing.SPARED,
}
_PERHAPS_NEEDED = {Standing.LIVE, Standing.LOST, Standing.FROZEN}
_NOT_IN_LIST = "the file list does not have it; it may be newer than the list"
MAX_SPELLINGS = 1_000
"""Raw paths by which metadata may name one file."""


@dataclass(frozen=True, slots=True)
class ExplainService(Service[Run]):
    """Explain why files are kept or deleted: which references and versions need each, or what a run would do with it.

    The lake is read and judged as by 'gc' with the same options. Nothing is deleted or stored, so another run may work
    on the repository at the same time; a note then says that the answer may already be out of date. Only the locations
    of the files are listed: a note says if --max-deletes may stop a run for what it finds elsewhere.

    The exit code is 0 if every file is explained, and 1 if something unreadable leaves the answer for a file open.
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
        with AsideStore(run.store) as store:
            looking = _Looking(self.parameters.file, self.parameters.caps)
            gc = GcService(self.parameters.finding, Directions(remember=False, alone=False, purpose=looking))
            explaining = _Explaining(looking, gc.swept(run.aside(store)), self.parameters)
            files = explaining.and_quarantine(explaining.files(), store)
            notes = [*store.notes, *_note_of_cap(files, self.parameters.max_deletes)]
            return ExplainReport(files=files, reading=run.report, notes=notes)


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

    def __init__(self, paths: Sequence[str], caps: DeletionCaps) -> None:
        self._paths = paths
        self._caps = caps
        self.capped: Mapping[str, str] = {}
        """Units in which a run would delete nothing because of a cap, with the reason."""
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
        if self._caps != DeletionCaps():
            verdicts = verdicts.checkpoint()
            self.capped = self._over_caps(verdicts)
        return verdicts.semi_join(self.keys(), list(FILE_KEYS.names)).checkpoint()

    def _over_caps(self, verdicts: Dataset) -> Mapping[str, str]:
        """The units over a cap; of the cap of the whole run only what these units alone show."""
        doomed = {unit: files for (unit, verdict), (files, _) in judged(verdicts).items() if verdict == DEAD}
        most, found = self._caps.max_files, sum(doomed.values())
        if most is not None and found > most:
            said = f"a run would delete at least {found:,} files, more than `max_deletes` {most:,}, so it deletes none"
            return dict.fromkeys(doomed, said)
        return replace(self._caps, max_files=None).exceeded(doomed, self.run.report.files_in)

    def keys(self) -> Dataset:
        """All units and keys of the files (:data:`FILE_KEYS`)."""
        rows = {key for file in self.asked for key in file.keys}
        return self.run.engine.dataset(to_batches(sorted(rows), FILE_KEYS), FILE_KEYS)


@dataclass(slots=True)
class _Stored:
    """What was listed at one unit and key."""

    location: str
    path: str
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
        columns = ("unit", "key", "location", "path", "size", "modified")
        rows = (row for batch in mine.batches() for row in to_rows(batch, *columns))
        self._stored = {
            (str(unit), str(key)): _Stored(str(location), str(path), _int(size), _int(modified))
            for unit, key, location, path, size, modified in rows
        }
        self._outcomes = dict(self._judged())

    def files(self) -> list[ExplainedFile]:
        """All of them, in their order."""
        looking, run = self.looking, self.looking.run
        named = self._named()
        needs = {place: needing(paths, looking.located, looking.needed, run) for place, paths in named.items() if paths}
        wanted = {identity_of(row) for each in needs.values() for row in each.found}
        references = References(wanted, self.parameters.finding.policies(self.swept.live_set.created), run)
        return [self._explained(file, needs.get(file.place), references) for file in looking.asked]

    def and_quarantine(self, files: Sequence[ExplainedFile], store: LiveSetStore) -> list[ExplainedFile]:
        """The same files; of those that are not stored, or are stored with a tag, it is said where they are held."""
        both = list(zip(self.looking.asked, files, strict=True))
        missing = {asked.place for asked, file in both if file.size is None}
        stored = {asked.place for asked, file in both if file.standing is Standing.LIVE or file.reason == ALREADY}
        rules = self.looking.located.plan.rules
        taken, tagged = in_quarantine(store, missing, rules), in_quarantine(store, stored, rules, tagged=True)
        return [_where(file, taken.get(asked.place), tagged.get(asked.place)) for asked, file in both]

    def _named(self) -> dict[str, set[str]]:
        """By the place of a file, the raw paths by which live metadata names it."""
        looking, named = self.looking, dict[str, set[str]]()
        naming = _Naming(looking.asked, looking.located.plan.rules)
        rows = looking.needed.expansion.files.where("kind", [PROBLEM], negate=True).flat_map(naming)
        for row in rows.distinct(["path"]).head(MAX_SPELLINGS * len(looking.asked)).to_pylist():
            for place in naming.places(row["unit"], row["key"], row["path"]):
                named.setdefault(place, set()).add(row["path"])
        for path in looking.located.plan.restorable.files:  # metadata that could not be read for that is not among them
            for place in naming.places(None, None, path):
                named.setdefault(place, set()).add(path)
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
        if is_live and unit is not None and stored is None:
            return (Standing.LIVE, _NOT_IN_LIST) if self.parameters.file_list else (Standing.LOST, None)
        if is_live:
            return Standing.LIVE, None
        if unit is None:
            return _taken_out(self.looking.needed.scope.plan, file.path)
        outcome, reason = next(
            (self._outcomes[key] for key in sorted(file.keys) if key in self._outcomes), (None, None)
        )
        if outcome is None and stored is not None:
            if self.parameters.file_list and self._is_gone(stored):
                return Standing.NOT_STORED, "the file list has it, but it no longer exists"
            is_hint = any(mark_of(key) == VERSION_HINT for _, key in file.keys)
            return Standing.LIVE, HINT_STAYS if is_hint else "live metadata may name it by another path"
        if outcome is None:
            return (Standing.NOT_LISTED if self.parameters.file_list else Standing.NOT_STORED), None
        if outcome is Outcome.WOULD_DELETE and unit in self.looking.capped:
            return Standing.SPARED, self.looking.capped[unit]
        standing = _BY_OUTCOME[outcome]
        if standing is Standing.TOO_YOUNG and reason is None:
            reason = f"files younger than `min_age` ({duration_text(self.parameters.min_age)}) stay"
        return standing, reason

    def _is_gone(self, stored: _Stored) -> bool:
        """Whether a file of the file list no longer exists; such a file has no verdict."""
        with (
            OpenConnectors(self.looking.run.choice) as connectors,
            connectors.lister_alone(stored.location) as lister,
        ):
            return isinstance(lister, SupportsLookUp) and not any(lister.look_up(stored.location, [stored.path]))


def _where(file: ExplainedFile, taken: str | None, tagged: str | None) -> ExplainedFile:
    """The same file; if it is in quarantine, it is said where."""
    standing = Standing.IN_QUARANTINE if taken and file.standing in _PERHAPS_NEEDED else file.standing
    return replace(file, standing=standing, reason=tagged or taken or file.reason)


def _note_of_cap(files: Sequence[ExplainedFile], max_deletes: int | None) -> Iterator[str]:
    """Says that what a run finds elsewhere may stop it."""
    if max_deletes is not None and any(file.standing is Standing.UNREFERENCED for file in files):
        yield (
            f"a run may delete fewer files: `max_deletes` is {max_deletes:,}, and the files that it would delete in "
            "other locations are not known"
        )


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
