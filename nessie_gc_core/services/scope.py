"""What a deletion is about: the sweep units, who reads their contents, and what of these is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from nessie_gc_core.algorithms.in_quarantine import HeldPlaces
from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.algorithms.remembered import Remembered
from nessie_gc_core.algorithms.storable import original_type
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.algorithms.unknown import UnknownFinder
from nessie_gc_core.connectors import ContentToFiles, SupportsQuarantine
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import CONTENT_VERSIONS, EXPANDED_FILES
from nessie_gc_core.model.repository import UNKNOWN_CONTENT, ContentVersion
from nessie_gc_core.services.preconditions import check_executors
from nessie_gc_core.services.run import Member, SweepRun, qualified
from nessie_gc_core.services.stored_versions import marked_live_sets, stored_versions

_NAMED = pa.schema([CONTENT_VERSIONS.field("content_id"), CONTENT_VERSIONS.field("content_key")])

ASKED_AT_ONCE = 1000
"""Of how many contents the live-set store is asked at once."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """Where tables are that only the listing of a warehouse shows.

    Nothing says which contents may need their files, so that one that cannot be read may.
    """

    prefixes: tuple[str, ...] = ()
    """Canonical."""

    @classmethod
    def of(cls, locations: Iterable[str], rules: LocationRules) -> Forgotten:
        """Those at some raw locations."""
        return cls(tuple(map(rules.canonical_prefix, locations)))

    def freeze(self, plan: SweepPlan, reason: str) -> None:
        """Takes them out of a plan."""
        plan.freeze(self.prefixes, f"it is in no catalog, but an unreadable content may need it: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The units of one run, and all that says what in them is live."""

    plan: SweepPlan
    index: UnitIndex
    readers: Sequence[type[ContentToFiles]]
    finder: UnknownFinder
    known: Dataset
    """:data:`EXPANDED_FILES` that were expanded before, to their end; a re-check does not read them again."""
    forgotten: Forgotten = field(default_factory=Forgotten)
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The names of live contents, if they are wanted."""

    def report_to(self, run: SweepRun) -> None:
        """Says in the report which units there are, and what is left alone."""
        report, plan = run.report, self.plan
        report.locations = len(plan.units)
        report.unknown, report.unread, report.refused = plan.unknown, plan.unread, plan.refused
        report.unreadable, report.left_out = plan.unreadable, plan.left_out

    def with_readers_of(self, versions: Iterable[ContentVersion], run: SweepRun) -> Scope:
        """The same, with the readers of more content versions."""
        found = run.registry.readers_of(original_type(version.content_type) for version in versions)
        return replace(self, readers=list(dict.fromkeys([*self.readers, *found])))


def readers_of(types: Iterable[str], run: SweepRun) -> list[type[ContentToFiles]]:
    """The readers of some content types, which work on the engine's workers.

    Raises:
        ConfigurationError: one of them works in one process only.
    """
    readers = run.registry.readers_of(map(original_type, types))
    check_executors(run.engine, *readers)
    return readers


def scope_over(plan: SweepPlan, types: Iterable[str], run: SweepRun, names: Mapping[str, frozenset[str]]) -> Scope:
    """The units of a plan before anything in them is listed or expanded, and the readers of some content types.

    Args:
        plan: the units.
        types: the content types.
        run: the run.
        names: the names of live contents, if they are wanted.
    """
    readers = readers_of(types, run)
    finder, known = unknown_finder(run, plan, readers), run.engine.empty(EXPANDED_FILES)
    return Scope(plan=plan, index=UnitIndex.of(plan), readers=readers, finder=finder, known=known, names=names)


def unknown_finder(run: SweepRun, plan: SweepPlan, readers: Sequence[type[ContentToFiles]]) -> UnknownFinder:
    """What finds out which contents of the run's live sets are unknown."""
    return UnknownFinder(
        engine=run.engine,
        remembered=remembered(run),
        rules=plan.rules,
        choice=run.choice,
        readers=readers,
        held=lambda: _held_places(run, plan.rules),
    )


def _held_places(run: SweepRun, rules: LocationRules) -> HeldPlaces | None:
    """Where files in quarantine were, of whatever repository: those that share one storage share their files."""
    store = run.store
    if not isinstance(store, SupportsQuarantine) or next(iter(store.quarantines()), None) is None:
        return None
    return HeldPlaces(engine=run.engine, files=store.held_files, rules=rules)


def remembered(run: SweepRun) -> list[Remembered]:
    """What the store knows of the contents of each repository; ids are qualified."""
    return [_remembered(run, member) for member in run.members]


def _remembered(run: SweepRun, member: Member) -> Remembered:
    store, live_set = run.store, member.live_set
    earlier: dict[str, set[str]] = {}

    def own(ids: Iterable[str]) -> Iterator[list[str]]:
        return in_pieces((id_ for id_ in map(member.own, ids) if id_ is not None), ASKED_AT_ONCE)

    return Remembered(
        versions_of=lambda ids: (
            version
            for some in own(ids)
            for version in qualified(store.content_versions(live_set.id, content_ids=some), member.number)
        ),
        locations_of=lambda ids: (
            (member.qualified(seen.content_id), seen.location)
            for some in own(ids)
            for seen in store.seen_contents(live_set.repository, content_ids=some)
        ),
        all_locations=lambda: (
            (member.qualified(seen.content_id), seen.location) for seen in store.seen_contents(live_set.repository)
        ),
        earlier_ids=lambda names: _earlier_ids(run, member, names, earlier),
        reached_of=lambda ids: (
            replace(reached, content_id=member.qualified(reached.content_id))
            for some in own(ids)
            for reached in store.reached(live_set.repository, content_ids=some)
        ),
        tombstones=lambda paths: store.tombstones(live_set.repository, paths),
    )


def _earlier_ids(
    run: SweepRun, member: Member, names: Mapping[str, str], known: dict[str, set[str]]
) -> Iterator[tuple[str, str]]:
    """By the newest live set of the repository in which contents of the name have ids of their own.

    Args:
        run: the run.
        member: the repository.
        names: of contents by their ids.
        known: the ids by names that were looked for before; this adds those that it looks for.
    """
    mine = {content_id: name for content_id, name in names.items() if member.own(content_id) is not None}
    wanted = set(mine.values()) - known.keys()
    of_it = (each for each in marked_live_sets(run) if each.repository == member.live_set.repository)
    for live_set in of_it if wanted else ():
        versions, _ = stored_versions(run, {live_set.id: member.number}, of_the_past=True)
        listed = versions.where("content_key", sorted(wanted)).where("content_type", [UNKNOWN_CONTENT], negate=True)
        for row in listed.select(_NAMED).distinct(list(_NAMED.names)).summary().to_pylist():
            known.setdefault(row["content_key"], set()).add(row["content_id"])
        wanted -= known.keys()
        if not wanted:
            break
    known.update((name, set()) for name in wanted)
    yield from ((content_id, each) for content_id, name in mine.items() for each in sorted(known[name]))
