"""Dropped contents: locations that a repository had, and that no live content uses any more (S20).

What counts is not when a content was last seen, because nobody may have looked since, but since when it is known to be
gone. There are two sources: earlier live sets (it has been gone since the first of the unbroken series up to this one
that lacks it), and the commits of all references (since the last commit that changed its key). If a live set saw it
after that commit, on a reference that is gone by now or within a cut-off policy, only the live sets count. Tables that
neither source ever had are found by listing a warehouse (:mod:`nessie_gc_core.services.forgotten`).
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from nessie_gc_core.algorithms.all_commits import AllCommits
from nessie_gc_core.algorithms.forgotten import Apart
from nessie_gc_core.algorithms.past import PastContent, PastContents
from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.algorithms.storable import original_type
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.model.live_sets import LiveSet, SeenContent
from nessie_gc_core.model.locations import LocationRules, scheme_of, store_of
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.clocks import store_time, times_now
from nessie_gc_core.services.finding_parameters import DroppedRule
from nessie_gc_core.services.forgotten import ForgottenTables, InDoubtError, readable_homes
from nessie_gc_core.services.places import Dropped, Homes, said_places
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import ASKED_AT_ONCE
from nessie_gc_core.services.stored_versions import marked_live_sets

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Gone:
    """What live sets say of a content that is gone."""

    since: datetime
    """Since when it is known to be."""
    version: ContentVersion | None = None
    """A state of it in the newest live set that has it."""
    live_set: int = 0
    """Which of the earlier live sets that is."""
    unread: bool = False
    """Whether it had a state there that no plugin reads: it was never to be swept, and is not now (S23)."""


def dropped_contents(run: SweepRun, rule: DroppedRule, homes: Iterable[str], *, all_are_read: bool) -> list[Dropped]:
    """The contents that have been gone for longer than a time, and were not made within it, by location.

    A content of which any version is live is not gone, whatever of it can be read.

    Args:
        run: the run.
        rule: how long they must be gone, and where they are looked for.
        homes: raw base locations of what is live.
        all_are_read: whether some plugin reads every live content.
    """
    finders = [_Finder(each, rule) for each in run.each()]
    gone = {finder.repository: (*finder.by_live_sets(), *finder.by_commits()) for finder in finders}
    worked_on = gone if run.chosen is None else [run.chosen.live_set.repository]
    found = {dropped for repository in worked_on for dropped in gone[repository]}
    located = {dropped.location for dropped in found if dropped.metadata_location is None}
    shown = (each for each in found if each.metadata_location is None or each.location not in located)
    found = _apart_from_young([*shown], finders, run.choice.rules())
    if rule.under:
        known = [*homes, *(dropped.location for dropped in itertools.chain(*gone.values()))]
        found.update(_by_listing(run, rule, finders, known, all_are_read=all_are_read))
    log.info("examining %d locations of dropped contents", len(found))
    return sorted(found, key=lambda dropped: (dropped.location, dropped.name))


def _apart_from_young(found: Collection[Dropped], finders: Iterable[_Finder], rules: LocationRules) -> set[Dropped]:
    """Those that do not overlap a content that is gone, but not for long enough."""
    places = {dropped: rules.place_prefix_or_none(dropped.location) for dropped in found}
    apart = Apart(place for place in places.values() if place is not None)
    for raw in (raw for finder in finders for raw in finder.young_places()) if apart.left else ():
        place = rules.place_prefix_or_none(raw)
        if place is not None:
            apart.take_out(place)
    left = frozenset(apart.left)
    return {dropped for dropped, place in places.items() if place in left}


def gone_for_long(run: SweepRun, rule: DroppedRule, register: Sequence[SeenContent]) -> set[str]:
    """The contents of some entries of the register, none of them live, that have been gone for longer than a time.

    Args:
        run: the run, of one repository.
        rule: how long they must be gone.
        register: entries of that repository.
    """
    return _Finder(run, rule).gone_for_long(register)


def _by_listing(
    run: SweepRun, rule: DroppedRule, finders: Sequence[_Finder], known: Iterable[str], *, all_are_read: bool
) -> list[Dropped]:
    """Tables below the warehouses of the rule that nobody knows, nor anything of the raw locations given."""
    try:
        if not all_are_read:
            raise InDoubtError("some of the live contents cannot be read, which may need any file")
        for member in run.members:
            if member.unread is not None:
                raise InDoubtError(f"{member.live_set.repository} cannot be read")
        witness = min((finder.witness() for finder in finders), key=lambda witness: witness.created)
        young = [version for finder in finders for version in finder.young]
        places = (place for version in young for place in said_places(version))
        return ForgottenTables(run, rule, witness).find(itertools.chain(known, places, readable_homes(young, run)))
    except InDoubtError as error:
        run.report.warn(f"cannot look for tables below {', '.join(rule.under)}: {error}")
        return []


class _Finder:
    """Asks the witnesses of one repository."""

    def __init__(self, run: SweepRun, rule: DroppedRule) -> None:
        self._run, self._store, self._rule, self._after = run, run.store, rule, rule.after
        live_set = run.live_set
        self.repository = live_set.repository
        self._now = min(live_set.references_listed or live_set.created, *times_now(run))
        """By the clock that is furthest behind: none can make a content gone for longer (S8)."""
        self._live = frozenset(run.store.content_ids(live_set.id))
        self._earlier = _earlier(run)
        self.young: list[ContentVersion] = []
        """Contents that the commits say are gone, but not for long enough."""
        self._young_seen: dict[str, list[str]] = {}
        """Contents that live sets say are gone, but not for long enough, and where they were seen."""
        self._old_ids: set[str] = set()
        """Contents that, by either source, have been gone for long enough."""
        self._commits_tell = False
        self._rules = run.choice.rules()
        self._passed_over: set[str] = set()
        self._store_times: dict[str, datetime] = {}

    def _is_old(self, *times: datetime) -> bool:
        return all(self._now - time > self._after for time in times)

    # ---- live sets ------------------------------------------------------------------------------------
    def by_live_sets(self) -> Iterator[Dropped]:
        """Contents that earlier live sets had, where those have their locations as they are written."""
        register = self._store.seen_contents(self._run.live_set.repository)
        gone = (seen for seen in register if seen.content_id not in self._live)
        for some in in_pieces(filter(self._seen_long_ago, gone), ASKED_AT_ONCE):
            said = self._gone_since([seen.content_id for seen in some])
            unplaced: list[ContentVersion] = []
            for seen in some:
                found = said[seen.content_id]
                if found.version is None or found.unread or not self._is_old(found.since):
                    self._add_young(seen)
                    continue
                self._old_ids.add(seen.content_id)
                locations = self._raw_locations(seen, found.live_set)
                unplaced.extend(() if locations else (found.version,))
                yield from self._usable(locations, found.version.content_key, found.since)
            yield from self._located(unplaced, {id_: found.since for id_, found in said.items()})

    def _seen_long_ago(self, seen: SeenContent) -> bool:
        if self._is_old(seen.first_seen, seen.last_seen):
            return True
        self._add_young(seen)
        return False

    def _add_young(self, seen: SeenContent) -> None:
        self._young_seen.setdefault(seen.content_id, []).append(seen.location)

    def young_places(self) -> Iterator[str]:
        """Where contents were that are gone, and not for long enough; after both witnesses were asked."""
        young = [version for version in self.young if version.content_id not in self._old_ids]
        for content_id, locations in self._young_seen.items():
            yield from locations if content_id not in self._old_ids else ()
        yield from (place for version in young for place in said_places(version))
        yield from (location for _, location in Homes(young, self._run))

    def gone_for_long(self, register: Sequence[SeenContent]) -> set[str]:
        """The contents of entries that are gone for long enough, by every entry and by the live sets."""
        young = {seen.content_id for seen in register if not self._is_old(seen.first_seen, seen.last_seen)}
        old: set[str] = set()
        for some in in_pieces(sorted({seen.content_id for seen in register} - young), ASKED_AT_ONCE):
            old.update(id_ for id_, gone in self._gone_since(some).items() if self._is_old(gone.since))
        return old

    def _gone_since(self, content_ids: Sequence[str]) -> Mapping[str, _Gone]:
        """Each content with the instant since when it is known to be gone, and what it was."""
        gone = {content_id: _Gone(since=self._run.live_set.created) for content_id in content_ids}
        still = set(content_ids)
        for number, live_set in enumerate(self._earlier):
            if not still:
                break
            for version in self._store.content_versions(live_set.id, content_ids=sorted(still)):
                found = gone[version.content_id]
                found.version, found.live_set = version, number
                found.unread |= self._run.registry.reader_of(original_type(version.content_type)) is None
            still = {content_id for content_id in still if gone[content_id].version is None}
            for content_id in still:
                gone[content_id].since = live_set.created
        return gone

    def _raw_locations(self, seen: SeenContent, newest: int) -> list[str]:
        """The base locations of a content as the newest live set has them that was swept; the register's is canonical.

        Several raw ones have one canonical form, and only one of them is where its files are.
        """
        for live_set in self._earlier[newest:]:
            known = [location for _, location in self._store.base_locations(live_set.id, seen.content_id)]
            if known:
                return [location for location in known if self._rules.place_prefix_or_none(location) == seen.location]
        return []

    # ---- commits --------------------------------------------------------------------------------------
    def by_commits(self) -> Iterator[Dropped]:
        """Contents that commits say are gone, and that no live set has seen since then."""
        run, past = self._run, PastContents(self._live)
        commits = AllCommits(
            repository=run.repository,
            parallelism=run.parameters.identify_parallelism,
            progress=lambda done, total: run.tell("history", done, total),
        )
        past.read(commits)
        if commits.problems:
            run.report.warn(f"cannot tell from the commits which tables were dropped: {commits.problems[0]}")
            return
        self._commits_tell = past.unexplained is None or self._is_old(past.unexplained)
        for some in in_pieces(self._old(past.gone()), ASKED_AT_ONCE):
            times = {version.content_id: since for version, since in some}
            contradicted = self._seen_after(times)
            old = [each for each, _ in some if each.content_id not in contradicted]
            self._old_ids.update(each.content_id for each in old)
            yield from self._located(old, times)

    def _old(self, gone: Iterable[tuple[PastContent, datetime]]) -> Iterator[tuple[ContentVersion, datetime]]:
        """Those that are gone for long enough; keeps the others."""
        for each, since in gone:
            if self._is_old(each.created, since):
                yield each.version, since
            else:
                self.young.append(each.version)

    def _seen_after(self, times: Mapping[str, datetime]) -> set[str]:
        """Which contents a live set saw at or after a time of each."""
        register = self._store.seen_contents(self._run.live_set.repository, content_ids=sorted(times))
        seen = {each.content_id for each in register if each.last_seen >= times[each.content_id]}
        for live_set in self._earlier:
            wanted = sorted(id_ for id_, time in times.items() if live_set.created >= time and id_ not in seen)
            if wanted:
                seen.update(each.content_id for each in self._store.content_versions(live_set.id, content_ids=wanted))
        return seen

    def _located(self, versions: Sequence[ContentVersion], times: Mapping[str, datetime]) -> Iterator[Dropped]:
        """Where contents were, by their newest metadata; nothing of those that cannot be read any more."""
        by_id = {version.content_id: version for version in versions}
        for content_id, location in Homes(versions, self._run):
            version = by_id[content_id]
            for each in self._usable([location], version.content_key, times[content_id]):
                yield replace(each, metadata_location=version.metadata_location)

    # ---- listing --------------------------------------------------------------------------------------
    def witness(self) -> LiveSet:
        """The newest earlier live set that was marked long enough ago; after :meth:`by_commits`.

        Raises:
            InDoubtError: there is none, or the commits cannot tell what was dropped since.
        """
        witness = next((earlier for earlier in self._earlier if self._is_old(earlier.created)), None)
        if witness is None:
            raise InDoubtError("no earlier mark is older than `dropped_after`")
        if not self._commits_tell:
            raise InDoubtError("cannot tell from the commits which tables were dropped recently")
        return witness

    # ---- locations ------------------------------------------------------------------------------------
    def _usable(self, locations: Iterable[str], name: str, since: datetime) -> Iterator[Dropped]:
        """Those that can be compared and listed, and whose store agrees that the content has been gone for long enough.

        A place that will never come back must not make every run fail.
        """
        for location in locations:
            if self._rules.place_prefix_or_none(location) is None or not self._is_listed(scheme_of(location)):
                continue
            if self._store_time(location) - since > self._after:
                yield Dropped(location=location, name=name)

    def _store_time(self, location: str) -> datetime:
        store = store_of(location)
        if store not in self._store_times:
            with OpenConnectors(self._run.choice) as connectors:
                self._store_times[store] = store_time(connectors, location, self._run)
        return self._store_times[store]

    def _is_listed(self, scheme: str) -> bool:
        listed = self._run.registry.for_scheme(FileLister, scheme) is not None
        if not listed and scheme not in self._passed_over:
            self._passed_over.add(scheme)
            self._run.report.warn(
                f"dropped tables on {scheme}:// are skipped: no installed plugin lists such locations"
            )
        return listed


def _earlier(run: SweepRun) -> list[LiveSet]:
    """The repository's other live sets that were marked to their end before this one, newest first.

    One of another tool may lack contents that are still there, and cannot tell when they went.
    """
    mine = run.live_set
    others = (other for other in marked_live_sets(run) if other.repository == mine.repository)
    earlier = (other for other in others if other.created < mine.created and not other.is_imported)
    return sorted(earlier, key=lambda other: other.created, reverse=True)
