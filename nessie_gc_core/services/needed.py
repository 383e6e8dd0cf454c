"""What a live set needs: its content versions are read, its base locations become sweep units, and all is expanded."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.algorithms.expand import Expansion, ReadVersions, expand
from nessie_gc_core.algorithms.expansion_cache import ExpansionCache
from nessie_gc_core.algorithms.storable import unknown_type
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan, plan_units
from nessie_gc_core.algorithms.unread import UnreadContents, types_read_by
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, UnknownLocationError
from nessie_gc_core.model.batches import to_tuples
from nessie_gc_core.model.live_sets import SeenContent
from nessie_gc_core.model.locations import LocationRules, scheme_of
from nessie_gc_core.model.relations import PROBLEM, VERSION_FILES
from nessie_gc_core.model.work import Work
from nessie_gc_core.services.dropped import dropped_contents
from nessie_gc_core.services.finding_parameters import DroppedRule
from nessie_gc_core.services.hints import warn_of_missing_metadata
from nessie_gc_core.services.left_out import Names, leave_out
from nessie_gc_core.services.marked import freeze_translated
from nessie_gc_core.services.other_repositories import OtherRepositories
from nessie_gc_core.services.places import Dropped, placed
from nessie_gc_core.services.preconditions import check_executors
from nessie_gc_core.services.quarantine.places import leave_quarantines_alone
from nessie_gc_core.services.reached import places_of, remember_reached
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import Forgotten, Scope, readers_of, remembered, unknown_finder
from nessie_gc_core.services.set_aside import leave_set_aside, names_if_wanted, said_homes, set_aside
from nessie_gc_core.services.shared_places import freeze_for_unread, refuse_places_of_others, refuse_unused
from nessie_gc_core.services.stored_versions import stored_versions
from nessie_gc_core.services.unread_repositories import freeze_unread_repositories
from nessie_gc_core.services.watch import watched

_REMEMBERED_AT_ONCE = 10_000
"""How many contents and locations are handed to the live-set store at once."""
_HOMES = pa.schema([VERSION_FILES.field(name) for name in ("content_id", "content_type", "location", "shared")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Needed:
    """What is needed, and where it is."""

    scope: Scope
    expansion: Expansion


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where the contents of a live set are, and what they name directly."""

    plan: SweepPlan
    versions: Dataset
    """The live content versions (:data:`CONTENT_VERSIONS`)."""
    version_files: Dataset
    homes: pa.Table
    """Distinct ``content_id``, ``content_type`` and raw base ``location``: a row or a few for each content."""
    shared: pa.Table
    """The same of other places that contents write to."""
    readers: Sequence[type[ContentToFiles]]
    progress: _Progress
    dropped: Sequence[Dropped] = ()
    """Contents that are gone, whose locations are swept, too."""
    names: Names = field(default_factory=dict)
    """The names of live contents, if some tables are left out or set aside by their names."""
    set_aside: frozenset[str] = frozenset()
    """Ids of contents that a person sets aside."""
    unlisted: frozenset[str] = frozenset()
    """Ids of contents that their repository could not read itself."""
    remember: bool = True
    """Whether the registers learn what is found out."""

    def places(self) -> Iterator[str]:
        """The raw places of all contents, whether they are swept or not."""
        yield from (location for _, location in placed(self.homes, self.shared))


def locate(run: SweepRun, *, dropped: DroppedRule | None = None, remember: bool = True) -> Located:
    """Reads the content versions, and makes sweep units of their locations.

    Args:
        run: the run.
        dropped: which contents that are gone are swept, too; ``None``: none.
        remember: whether the register of contents learns where they are.
    """
    versions, types = stored_versions(run, run.numbers)
    _count(run)
    readers = readers_of(types, run)
    read_types = types_read_by(readers) | {type_ for type_ in types if unknown_type(type_)}
    progress = _Progress(run)
    with watched(run, progress.tell):
        version_files = _read_versions(versions, read_types, run)
        progress.reached(0, 0)
    names = names_if_wanted(run, versions)
    dead = set_aside(run, names)
    unread = UnreadContents(set_aside=dead)
    if types - read_types:
        unread.find(versions, read_types)
        unread.find_places(version_files)
        unread.find_earlier(remembered(run))
    homes, shared = _homes(version_files)
    others = OtherRepositories(run, run.choice.rules())
    gone, of_others = others.leave_alone(_dropped(run, dropped, homes, shared, all_are_read=not unread))
    plan = _plan(homes, shared, [each.location for each in gone], unread, run)
    plan.refused.update(of_others)
    freeze_for_unread(plan, unread, version_files)
    freeze_translated(plan, version_files)
    freeze_unread_repositories(plan, run, homes, shared)
    _keep_to_chosen(plan, run, (homes, shared), gone)
    leave_set_aside(plan, run, dead, names, itertools.chain(placed(homes, shared), said_homes(versions, dead)))
    leave_out(plan, run, names, placed(homes, shared), gone)
    refuse_places_of_others(plan, run, dropped)
    leave_quarantines_alone(plan, run)
    others.tell_shared(plan, run)
    if remember:
        _remember(homes, shared, plan.rules, run)
    return Located(
        plan=plan,
        versions=versions,
        version_files=version_files,
        homes=homes,
        shared=shared,
        readers=readers,
        progress=progress,
        dropped=gone,
        names=names,
        set_aside=dead,
        unlisted=frozenset(unread.unknown_ids),
        remember=remember,
    )


def _dropped(
    run: SweepRun, rule: DroppedRule | None, homes: pa.Table, shared: pa.Table, *, all_are_read: bool
) -> Sequence[Dropped]:
    """The contents that are gone by a rule; none without one."""
    if rule is None:
        return ()
    known = itertools.chain(_raw_locations(homes), _comparable(shared, run.choice.rules()))
    return dropped_contents(run, rule, known, all_are_read=all_are_read)


def find_needed(
    located: Located, run: SweepRun, check: Callable[[], None], cache: ExpansionCache | None = None
) -> Needed:
    """All that the contents need, and what of it is unknown, which is frozen.

    Args:
        located: what :func:`locate` gave.
        run: the run.
        check: called between the levels; raises where the run can end.
        cache: what an earlier run remembers.
    """
    plan, version_files, readers, progress = located.plan, located.version_files, located.readers, located.progress
    index = UnitIndex.of(plan)

    def reached(done: int, found: int) -> None:
        check()
        progress.reached(done, found)

    places = places_of(plan, (located.homes, located.shared), readers) if located.remember else None
    with watched(run, progress.tell_more):
        expansion = expand(version_files, index, run.choice, readers, cache=cache, places=places, progress=reached)
    finder = replace(unknown_finder(run, plan, readers), set_aside=located.set_aside)
    problems = finder.find(version_files, expansion)
    warn_of_missing_metadata(problems, version_files, run)
    if places is not None and not problems.too_many:
        never_read = finder.never_read(problems, version_files)
        remember_reached(located.homes, version_files, expansion, places, never_read, run)
    strict = run.parameters.strict_unknown
    what_to_do = finder.freeze(problems, version_files, index, plan, strict=strict, unlisted=located.unlisted)
    if what_to_do is not None:
        run.report.warn(what_to_do)
    forgotten = Forgotten.of((each.location for each in located.dropped if each.listed), plan.rules)
    if problems:
        forgotten.freeze(plan, problems.example())
        plan.freeze_shared(problems.example())
    refuse_unused(plan, expansion)
    run.report.tolerated_missing = problems.tolerated
    run.report.files_expanded += run.report.content_versions + expansion.files_read
    run.report.files_cached += cache.files_known if cache is not None else 0
    scope = Scope(
        plan=plan,
        index=index,
        readers=readers,
        finder=finder,
        known=expansion.expanded(),
        forgotten=forgotten,
        names=located.names,
    )
    return Needed(scope=scope, expansion=expansion)


class _Progress:
    """How many content versions and files are expanded, and of how many that were found by then."""

    def __init__(self, run: SweepRun) -> None:
        self._run = run
        self._versions = self._found = run.report.content_versions
        self._done = 0
        run.tell("expand", 0, self._found)

    def reached(self, done: int, found: int) -> None:
        """So many files that come after the content versions are done for certain."""
        self._found = self._versions + found
        self._tell(self._versions + done)

    def tell(self, work: Work) -> None:
        """So many content versions were read by now, those of attempts that failed among them."""
        self._tell(work.files_expanded)

    def tell_more(self, work: Work) -> None:
        """So many files that come after them."""
        self._tell(self._versions + work.files_expanded)

    def _tell(self, done: int) -> None:
        self._done = max(self._done, min(done, self._found))
        self._run.tell("expand", self._done, self._found)


def _count(run: SweepRun) -> None:
    """Tells the report what was marked."""
    counts = [run.store.count_content_versions(member.live_set.id) for member in run.read]
    run.report.content_versions, run.report.contents = (sum(column) for column in zip(*counts, strict=True))
    run.report.references = sum(len(member.live_set.heads) for member in run.read)


def _read_versions(versions: Dataset, read_types: frozenset[str], run: SweepRun) -> Dataset:
    """What the versions name at first hand."""
    readable = versions.where("content_type", sorted(read_types)).spread(["metadata_location"], together=True)
    return readable.flat_map(ReadVersions(run.choice)).checkpoint()


# ---- where it lies ------------------------------------------------------------------------------------
def _plan(
    homes: pa.Table, shared: pa.Table, dropped: Iterable[str], unread: UnreadContents, run: SweepRun
) -> SweepPlan:
    """Sweep units of all base locations and shared places; what no plugin reads is frozen (S23)."""
    rules = run.choice.rules()
    allowed = run.parameters.allowed(rules)
    plan = plan_units(_raw_locations(homes), rules, allowed, dropped=dropped, shared=_raw_locations(shared))
    if not allowed.prefixes:
        run.report.warn("`allow` is not set: any location that is deep enough is swept")
    unread.freeze(plan, strict=run.parameters.strict_unknown)
    _freeze_unusable(plan, run)
    return plan


def _freeze_unusable(plan: SweepPlan, run: SweepRun) -> None:
    """Removes units without a lister or deleter; a connector that the engine cannot use ends the run."""
    problems = {}
    with OpenConnectors(run.choice) as connectors:
        for scheme, location in {scheme_of(at): at for unit in plan.units for at in unit.locations}.items():
            try:
                lister, deleter = connectors.lister(location), connectors.deleter(location)
            except ConfigurationError as error:
                problems[scheme] = str(error)
                continue
            check_executors(run.engine, type(lister), type(deleter))
    if problems:
        for unit in list(plan.units):
            problem = next((problems[s] for s in map(scheme_of, unit.locations) if s in problems), None)
            if problem is not None:
                plan.freeze([unit.root], problem)


def _remember(homes: pa.Table, shared: pa.Table, rules: LocationRules, run: SweepRun) -> None:
    """Records base locations in the live sets, and contents in the register that outlives them, shared places too."""
    if len(run.members) == 1:
        _remember_in(run, homes, shared, rules)
        return
    for each in run.each():
        _remember_in(each, each.members[0].mine(homes), each.members[0].mine(shared), rules)


class _Home(NamedTuple):
    """A place of a content (:data:`_HOMES`)."""

    content_id: str
    content_type: str
    location: str | None
    shared: bool


def _remember_in(run: SweepRun, homes: pa.Table, shared: pa.Table, rules: LocationRules) -> None:
    """The same for one live set."""
    now, usable = run.clock(), frozenset(_comparable(shared, rules))
    for batch in itertools.chain(*(table.to_batches(max_chunksize=_REMEMBERED_AT_ONCE) for table in (homes, shared))):
        seen, found = [], []
        for home in to_tuples(batch, _Home):
            if home.location is None or (home.shared and home.location not in usable):
                continue
            if not home.shared:
                found.append((home.content_id, home.location))
            seen.append(
                SeenContent(
                    content_id=home.content_id,
                    content_type=home.content_type,
                    location=_canonical_or_raw(rules, home.location),
                    first_seen=now,
                    last_seen=now,
                )
            )
        run.store.add_base_locations(run.live_set.id, found)
        run.store.register_contents(run.live_set.repository, seen)


def _keep_to_chosen(plan: SweepPlan, run: SweepRun, homes: Iterable[pa.Table], dropped: Iterable[Dropped]) -> None:
    """Removes the places of all repositories but the one that is worked on, where one is chosen."""
    if run.chosen is None:
        return
    mine = itertools.chain(*(_raw_locations(run.chosen.mine(table)) for table in homes))
    places = map(plan.rules.place_prefix_or_none, (*mine, *(each.location for each in dropped)))
    plan.keep(place for place in places if place is not None)


def _homes(version_files: Dataset) -> tuple[pa.Table, pa.Table]:
    """Distinct content, type and raw location of some version files (:data:`_HOMES`): base locations, shared places."""
    found = version_files.where("kind", [PROBLEM], negate=True).select(_HOMES).distinct(list(_HOMES.names)).summary()
    return found.filter(~pc.field("shared")), found.filter(pc.field("shared"))


def _raw_locations(homes: pa.Table) -> Iterator[str]:
    yield from (location for location in homes.column("location").to_pylist() if location is not None)


def _comparable(shared: pa.Table, rules: LocationRules) -> Iterator[str]:
    """The raw shared places that can be compared: whoever can set a property must not keep others from being found."""
    for raw in _raw_locations(shared):
        with contextlib.suppress(UnknownLocationError):
            rules.place_prefix(raw)
            if rules.climbed(raw) is None:
                yield raw


def _canonical_or_raw(rules: LocationRules, location: str) -> str:
    return rules.place_prefix_or_none(location) or location
