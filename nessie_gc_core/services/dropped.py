"""Dropped contents: locations that a repository had, and that no live content uses any more (S20).

What counts is not when a content was seen last, for nobody may have looked since, but since when it is known to be
gone. Two witnesses tell: earlier live sets (it is gone since the first of those, one after the other up to this one, in
which it is not), and the commits of all references (since the last commit that changed its key). Where a live set has
seen it after that commit, on a reference that is gone by now or within a cut-off policy, the live sets alone tell.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import pyarrow as pa

from nessie_gc_core.algorithms.all_commits import AllCommits
from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.algorithms.past import PastContents
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import to_rows, version_rows
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, SeenContent
from nessie_gc_core.model.locations import scheme_of, store_of
from nessie_gc_core.model.relations import CONTENT_VERSIONS, PROBLEM, VERSION_FILES
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.clocks import store_time, times_now
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import readers_of

T = TypeVar("T")
log = logging.getLogger(__name__)

_AT_ONCE = 1000
"""Of how many contents the live-set store is asked at once."""
_HOMES = pa.schema([VERSION_FILES.field("content_id"), VERSION_FILES.field("location")])
_NOT_MARKED = frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.IDENTIFY_FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A content that is gone, and where it was."""

    location: str
    """Raw, as its metadata had it."""
    name: str
    """Its dotted key; empty where nobody knows."""


@dataclass(slots=True, kw_only=True)
class _Gone:
    """What live sets say of a content that is gone."""

    since: datetime
    """Since when it is known to be."""
    version: ContentVersion | None = None
    """A state of it in the newest live set that has it."""
    live_set: int = 0
    """Which of the earlier live sets that is."""


def dropped_contents(run: SweepRun, after: timedelta) -> list[Dropped]:
    """The contents that have been gone for longer than a time, and were not made within it, by location.

    A content of which any version is live is not gone, whatever of it can be read.
    """
    finder = _Finder(run, after)
    found = {*finder.by_live_sets(), *finder.by_commits()}
    log.info("%d locations of dropped contents are looked at", len(found))
    return sorted(found, key=lambda dropped: (dropped.location, dropped.name))


class _Finder:
    """Asks the witnesses of one run."""

    def __init__(self, run: SweepRun, after: timedelta) -> None:
        self._run, self._store, self._after = run, run.store, after
        live_set = run.live_set
        self._now = min(live_set.references_listed or live_set.created, *times_now(run))
        """By the clock that is furthest behind: none can make a content gone for longer (S8)."""
        self._live = frozenset(run.store.content_ids(live_set.id))
        self._earlier = _earlier(run)
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
        for some in _portions(seen for seen in gone if self._is_old(seen.first_seen, seen.last_seen)):
            said = self._gone_since([seen.content_id for seen in some])
            unplaced: list[ContentVersion] = []
            for seen in some:
                found = said[seen.content_id]
                if found.version is None or not self._is_old(found.since):
                    continue
                locations = self._raw_locations(seen, found.live_set)
                unplaced.extend(() if locations else (found.version,))
                yield from self._usable(locations, found.version.content_key, found.since)
            yield from self._located(unplaced, {id_: found.since for id_, found in said.items()})

    def _gone_since(self, content_ids: Sequence[str]) -> Mapping[str, _Gone]:
        """Each content with the instant since when it is known to be gone, and what it was."""
        gone = {content_id: _Gone(since=self._run.live_set.created) for content_id in content_ids}
        still = set(content_ids)
        for number, live_set in enumerate(self._earlier):
            if not still:
                break
            for version in self._store.content_versions(live_set.id, content_ids=sorted(still)):
                gone[version.content_id].version, gone[version.content_id].live_set = version, number
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
                return [location for location in known if self._place(location) == seen.location]
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
            run.report.warn(f"the commits cannot tell which tables were dropped: {commits.problems[0]}")
            return
        old = ((each.version, since) for each, since in past.gone() if self._is_old(each.created, since))
        for some in _portions(old):
            times = {version.content_id: since for version, since in some}
            contradicted = self._seen_after(times)
            yield from self._located([each for each, _ in some if each.content_id not in contradicted], times)

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
        run = self._run
        if not versions:
            return
        readers = readers_of({version.content_type for version in versions}, run)
        types = sorted(type_ for reader in readers for type_ in reader.content_types)
        names = {version.content_id: version.content_key for version in versions}
        rows = run.engine.dataset(version_rows(iter(versions)), CONTENT_VERSIONS).where("content_type", types)
        files = rows.spread(["metadata_location"]).flat_map(ReadVersions(run.choice))
        homes = files.where("kind", [PROBLEM], negate=True).present("location").select(_HOMES).distinct(_HOMES.names)
        for batch in homes.batches():
            for content_id, location in to_rows(batch, *_HOMES.names):
                yield from self._usable([str(location)], names[str(content_id)], times[str(content_id)])

    # ---- locations ------------------------------------------------------------------------------------
    def _usable(self, locations: Iterable[str], name: str, since: datetime) -> Iterator[Dropped]:
        """Those that can be compared and listed, and whose store agrees that the content is gone for long enough.

        A place that is gone for ever is no reason to fail in every run.
        """
        for location in locations:
            if self._place(location) is None or not self._is_listed(scheme_of(location)):
                continue
            if self._store_time(location) - since > self._after:
                yield Dropped(location=location, name=name)

    def _store_time(self, location: str) -> datetime:
        store = store_of(location)
        if store not in self._store_times:
            with OpenConnectors(self._run.choice) as connectors:
                self._store_times[store] = store_time(connectors, location, self._run)
        return self._store_times[store]

    def _place(self, location: str) -> str | None:
        try:
            return self._rules.place_prefix(location)
        except UnknownLocationError:
            return None

    def _is_listed(self, scheme: str) -> bool:
        listed = self._run.registry.for_scheme(FileLister, scheme) is not None
        if not listed and scheme not in self._passed_over:
            self._passed_over.add(scheme)
            self._run.report.warn(f"dropped tables on {scheme}:// are passed over: no installed plugin lists them")
        return listed


def _earlier(run: SweepRun) -> list[LiveSet]:
    """The repository's other live sets that were marked to their end before this one, newest first."""
    mine = run.live_set
    others = (other for other in run.store.live_sets() if other.repository == mine.repository)
    marked = (other for other in others if other.status not in _NOT_MARKED and other.created < mine.created)
    return sorted(marked, key=lambda other: other.created, reverse=True)


def _portions(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while portion := list(itertools.islice(iterator, _AT_ONCE)):
        yield portion
