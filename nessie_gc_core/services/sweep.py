"""The sweep service: expands a live set, lists its locations, subtracts, and hands what is left to deletion."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.algorithms import subtract
from nessie_gc_core.algorithms.expand import Expansion, ReadVersions, expand
from nessie_gc_core.algorithms.guard import StoreAges, judge
from nessie_gc_core.algorithms.listing import list_units
from nessie_gc_core.algorithms.storable import failure_text, original_type, unknown_type
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan, plan_units
from nessie_gc_core.algorithms.unknown import UnknownFinder
from nessie_gc_core.algorithms.unread import UnreadContents
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import ContentToFiles, LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import (
    ConfigurationError,
    LiveSetStateError,
    UnknownLocationError,
)
from nessie_gc_core.model.batches import to_rows, version_rows
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, SeenContent, wrong_status
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import CONTENT_VERSIONS, PROBLEM
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.clocks import store_ages, times_now
from nessie_gc_core.services.counting import StoredCounts
from nessie_gc_core.services.deletion import Deletion
from nessie_gc_core.services.hints import warn_of_missing_metadata
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.prerequisites import check_executors, check_live_set
from nessie_gc_core.services.recheck import Recheck
from nessie_gc_core.services.report import MAX_NAMES, GcReport, NamedFile
from nessie_gc_core.services.settings import Membership, Progress, SweepSettings, no_progress
from nessie_gc_core.services.versioning import warn_of_versions

log = logging.getLogger(__name__)

_HOMES = pa.schema([pa.field(name, pa.string()) for name in ("content_id", "content_type", "location")])


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepService:
    """Sweeps one live set."""

    repository: RepositoryConnector
    store: LiveSetStore
    engine: Engine
    settings: SweepSettings
    clock: Clock
    progress: Progress = no_progress
    elapsed: Elapsed = elapsed_seconds

    def run(self, live_set_id: uuid.UUID, report: GcReport) -> None:
        """Sweeps, and fills in its part of the report.

        Raises:
            SafetyError: the live set is too old, or of another repository.
            LiveSetStateError, LeaseHeldError: it is not ready, or somebody else is sweeping.
            NessieGcError: the sweep failed; the live set is then EXPIRY_FAILED, and can be resumed.
        """
        self.settings.check()
        identity = self.repository.identity()
        now = max(times_now(self.repository, self.store, self.clock, report))
        live_set = check_live_set(self.store.get(live_set_id), identity, now, self.settings.max_live_set_age)
        report.begin(identity, self.repository.address(), live_set_id, self.engine.name, self.clock())
        with hold_lease(self.store, identity, self.settings.lease, elapsed=self.elapsed) as lease:
            self._check_status(live_set)
            if self.settings.mode is DeleteMode.DRY_RUN:
                _Sweep(self, live_set, report, lease).run()
                report.finished = self.clock()
                return
            self.store.start_expire(live_set_id, at=self.clock(), resume=self.settings.resume)
            try:
                _Sweep(self, live_set, report, lease).run()
                lease.check()
            except BaseException as error:
                if lease.is_held:  # else the live set may be somebody else's by now
                    self.store.finish_expire(live_set_id, at=self.clock(), failure=failure_text(error))
                raise
            self.store.finish_expire(live_set_id, at=self.clock())
        report.finished = self.clock()

    def _check_status(self, live_set: LiveSet) -> None:
        """What ``start_expire`` checks too; a dry run leaves the live set as it is, and this error says what to do.

        Raises:
            LiveSetStateError: the live set cannot be swept.
        """
        expected = {LiveSetStatus.IDENTIFY_SUCCESS}
        if self.settings.resume:
            expected |= {LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_FAILED}
        if live_set.status not in expected:
            raise LiveSetStateError(wrong_status(live_set, expected))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Needed:
    """What is needed, and where it lies."""

    plan: SweepPlan
    index: UnitIndex
    expansion: Expansion
    readers: list[type[ContentToFiles]]
    finder: UnknownFinder


class _Sweep:
    """One sweep under way."""

    def __init__(self, service: SweepService, live_set: LiveSet, report: GcReport, lease: Lease) -> None:
        self.service, self.live_set, self.report, self.lease = service, live_set, report, lease
        self.settings, self.store, self.engine = service.settings, service.store, service.engine
        self.rules = self.settings.choice.rules()

    def run(self) -> None:
        """All steps up to the guard; then deletion."""
        report = self.report
        report.dry_run = self.settings.mode is DeleteMode.DRY_RUN
        self.service.progress("expand", 0, None)
        with report.phase("expand"):
            needed = self._needed()
        plan = needed.plan
        verdicts, stored = self._subtract(plan, needed.expansion)
        warn_of_versions(plan.units, self.settings.choice, report)
        report.unknown, report.unread, report.refused = plan.unknown, plan.unread, plan.refused
        report.unreadable = plan.unreadable
        Deletion(
            service=self.service,
            live_set=self.live_set,
            report=report,
            lease=self.lease,
            readers=needed.readers,
            recheck=self._recheck(needed),
            stored_by_unit=stored,
        ).run(verdicts)

    def _needed(self) -> _Needed:
        """What the live set needs, where it lies, and what of it is unknown."""
        versions, types = self._versions()
        readers = self._readers(types)
        read_types = frozenset(type_ for reader in readers for type_ in reader.content_types)
        read_types |= {type_ for type_ in types if unknown_type(type_)}
        version_files = self._read_versions(versions, read_types)
        unread = UnreadContents()
        if types - read_types:
            unread.find(versions, read_types)
        plan = self._plan(version_files, unread)
        self.rules = plan.rules
        index = UnitIndex.of(plan)
        expansion = expand(version_files, index, self.settings.choice, readers)
        finder = self._finder(readers)
        problems = finder.find(version_files, expansion)
        warn_of_missing_metadata(problems, version_files, self.store, self.live_set, self.report)
        finder.freeze(problems, version_files, index, plan, strict=self.settings.strict_unknown)
        self.report.tolerated_missing = problems.tolerated
        self.report.files_expanded += self.report.content_versions + expansion.files_read
        return _Needed(plan=plan, index=index, expansion=expansion, readers=readers, finder=finder)

    def _recheck(self, needed: _Needed) -> Recheck:
        return Recheck(
            engine=self.engine,
            repository=self.service.repository,
            settings=self.settings,
            live_set=self.live_set,
            report=self.report,
            plan=needed.plan,
            index=needed.index,
            readers=needed.readers,
            finder=needed.finder,
            known=needed.expansion.expanded(),
        )

    def _versions(self) -> tuple[Dataset, frozenset[str]]:
        """The live set as the first relation, and the content types in it."""
        types: set[str] = set()

        def seen() -> Iterator[ContentVersion]:
            for version in self.store.content_versions(self.live_set.id):
                types.add(version.content_type)
                yield version

        versions = self.engine.dataset(version_rows(seen()), CONTENT_VERSIONS)
        self.report.content_versions, self.report.contents = self.store.count_content_versions(self.live_set.id)
        self.report.references = len(self.live_set.heads)
        return versions, frozenset(types)

    def _readers(self, types: frozenset[str]) -> list[type[ContentToFiles]]:
        """The readers of the types that occur."""
        readers = self.settings.choice.registry().readers_of(map(original_type, types))
        check_executors(self.engine, *readers)
        return readers

    def _read_versions(self, versions: Dataset, read_types: frozenset[str]) -> Dataset:
        """What the versions name at first hand."""
        readable = versions.where("content_type", sorted(read_types)).spread(["metadata_location"])
        return readable.flat_map(ReadVersions(self.settings.choice)).checkpoint()

    def _plan(self, version_files: Dataset, unread: UnreadContents) -> SweepPlan:
        """Sweep units of all base locations, which are remembered; what no plugin reads is frozen (S23)."""
        homes = _homes(version_files)
        plan = plan_units(_raw_locations(homes), self.rules, self.settings.allowed)
        self._remember(homes, plan.rules)
        if not self.settings.allowed.prefixes:
            self.report.warn("no allowed locations are configured (--allow): any location that is deep enough is swept")
        unread.freeze(plan)
        for unit in list(plan.units):
            problem = self._no_lister(unit.locations)
            if problem is not None:
                plan.freeze([unit.root], problem)
        return plan

    def _no_lister(self, locations: tuple[str, ...]) -> str | None:
        """Why locations cannot be listed or deleted from; a connector that the engine cannot use ends the run."""
        with OpenConnectors(self.settings.choice) as connectors:
            for location in locations:
                try:
                    lister, deleter = connectors.lister(location), connectors.deleter(location)
                except ConfigurationError as error:
                    return str(error)
                check_executors(self.engine, type(lister), type(deleter))
        return None

    def _remember(self, homes: pa.Table, rules: LocationRules) -> None:
        """Records base locations in the live set, and contents in the register that outlives it."""
        now = self.service.clock()
        for batch in homes.to_batches(max_chunksize=1000):
            seen = []
            for content_id, type_, location in to_rows(batch, *_HOMES.names):
                if location is None:
                    continue
                self.store.add_base_locations(self.live_set.id, str(content_id), [str(location)])
                canonical = _canonical_or_raw(rules, str(location))
                seen.append(
                    SeenContent(
                        content_id=str(content_id),
                        content_type=str(type_),
                        location=canonical,
                        first_seen=now,
                        last_seen=now,
                    )
                )
            self.store.register_contents(self.live_set.repository, seen)

    def _finder(self, readers: list[type[ContentToFiles]]) -> UnknownFinder:
        return UnknownFinder(
            engine=self.engine,
            store=self.store,
            versions_of=lambda content_id: self.store.content_versions(self.live_set.id, content_id),
            repository=self.live_set.repository,
            rules=self.rules,
            choice=self.settings.choice,
            readers=readers,
        )

    def _subtract(self, plan: SweepPlan, expansion: Expansion) -> tuple[Dataset, dict[str, int]]:
        """Lists the units, and judges what is stored and not reachable; also how many files each unit holds."""
        report = self.report
        ages = self._ages(plan)
        self.service.progress("list", 0, None)
        with report.phase("list"):
            stored = list_units(self.engine, plan.units, self.settings.choice, self.rules)
            counts = StoredCounts(stored)
            report.left_alone = counts.left_alone
            stored = stored.where("left_alone", [0])
            for unit, problem in counts.problems.items():
                plan.freeze([unit], problem)
        self.service.progress("subtract", 0, None)
        with report.phase("subtract"):
            reachable = expansion.reachable()
            self._find_lost(stored.where("unit", sorted(plan.roots)), expansion, plan)
            stored = stored.where("unit", sorted(plan.roots))
            report.locations = len(plan.units)
            for root in plan.roots:
                report.files_listed.add(*counts.files.get(root, (0, 0)))
            candidates = self._candidates(stored, reachable, counts.with_sidecars)
            verdicts = judge(candidates, ages, self.settings.choice)
        return verdicts, {unit: files for unit, (files, _) in counts.files.items()}

    def _candidates(self, stored: Dataset, reachable: Dataset, with_sidecars: Collection[str]) -> Dataset:
        membership = subtract.exact(reachable)
        if self.settings.membership is Membership.BLOOM:
            membership = subtract.bloom(
                reachable,
                capacity=self.settings.expected_file_count,
                false_positive_rate=self.settings.false_positive_rate,
            )
        return subtract.unreferenced(stored, membership, with_sidecars=with_sidecars)

    def _find_lost(self, stored: Dataset, expansion: Expansion, plan: SweepPlan) -> None:
        """Reports reachable files that are not stored; freezes units in which none was found."""
        mine = expansion.written().where("unit", sorted(plan.roots)).distinct(["unit", "key"])
        lost = subtract.lost(stored, mine, expansion.spellings()).checkpoint()
        lost_by_unit = subtract.count_by_unit(lost)
        self.report.lost.files = sum(lost_by_unit.values())
        for row in lost.head(MAX_NAMES).to_pylist():
            self.report.lost_files.append(NamedFile(row["path"], "it is referenced and not stored"))
        if lost_by_unit:
            needed = subtract.count_by_unit(mine)
            for unit, missing in lost_by_unit.items():
                if missing == needed[unit]:
                    plan.freeze([unit], "the listing shows none of the files that should be there")

    def _ages(self, plan: SweepPlan) -> dict[str, StoreAges]:
        """What the clock of every store says about ages (S8)."""
        service = self.service
        return store_ages(
            (location for unit in plan.units for location in unit.locations),
            self.settings.choice,
            self.settings.age,
            references_listed=self.live_set.references_listed or self.live_set.created,
            now=times_now(service.repository, self.store, service.clock, self.report),
            clock=service.clock,
            report=self.report,
        )


def _homes(version_files: Dataset) -> pa.Table:
    """Distinct content, type and raw base location."""
    return version_files.where("kind", [PROBLEM], negate=True).select(_HOMES).distinct(list(_HOMES.names)).summary()


def _raw_locations(homes: pa.Table) -> Iterator[str]:
    yield from (location for location in homes.column("location").to_pylist() if location is not None)


def _canonical_or_raw(rules: LocationRules, location: str) -> str:
    try:
        return rules.place_prefix(location)
    except UnknownLocationError:
        return location
