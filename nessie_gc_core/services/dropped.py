"""Dropped contents: locations that a repository had, and that no live content uses any more (S20).

What counts is not when a content was seen last, for nobody may have looked since, but since when it is known to be
gone. Two witnesses tell: earlier live sets (it is gone since the first of those, one after the other up to this one, in
which it is not), and the commits of all references (since the last commit that changed its key).
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

import pyarrow as pa

from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.algorithms.past import PastContents
from nessie_gc_core.errors import NessieGcError, UnknownLocationError
from nessie_gc_core.model.batches import to_rows, version_rows
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, SeenContent
from nessie_gc_core.model.relations import CONTENT_VERSIONS, PROBLEM, VERSION_FILES
from nessie_gc_core.model.repository import ContentVersion
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
    """Canonical."""
    name: str
    """Its dotted key, as an earlier live set has it; empty where none does."""


def dropped_contents(run: SweepRun, after: timedelta) -> list[Dropped]:
    """The contents that have been gone for longer than a time, and were not made within it, by location.

    A content of which any version is live is not gone, whatever of it can be read.
    """
    store, live_set = run.store, run.live_set
    now = live_set.references_listed or live_set.created
    live = frozenset(store.content_ids(live_set.id))
    gone = (seen for seen in store.seen_contents(live_set.repository) if seen.content_id not in live)
    old = (seen for seen in gone if now - seen.first_seen > after)
    earlier = _earlier(run)
    remembered = {
        Dropped(location=seen.location, name=name)
        for some in _portions(old)
        for seen, since, name in _gone_since(some, earlier, run)
        if now - since > after and now - seen.last_seen > after
    }
    found = remembered | set(_committed(run, after, live, earlier))
    log.info("%d locations of dropped contents are looked at", len(found))
    return sorted(found, key=lambda dropped: (dropped.location, dropped.name))


# ---- what the commits say -----------------------------------------------------------------------------
def _committed(run: SweepRun, after: timedelta, live: Collection[str], earlier: Sequence[LiveSet]) -> Iterator[Dropped]:
    """Contents that commits say are gone for long enough, and that no live set of that time has."""
    past = PastContents(live)
    try:
        past.read(
            run.repository,
            parallelism=run.parameters.identify_parallelism,
            progress=lambda done, total: run.tell("history", done, total),
        )
    except NessieGcError as error:
        run.report.warn(f"the commits cannot tell which tables were dropped: {error}")
        return
    now = run.live_set.references_listed or run.live_set.created
    old = (each.version for each, since in past.gone() if now - since > after and now - each.created > after)
    for some in _portions(old):
        lately = _seen_lately(some, now - after, earlier, run)
        yield from _located([version for version in some if version.content_id not in lately], run)


def _seen_lately(
    versions: Sequence[ContentVersion], since: datetime, earlier: Sequence[LiveSet], run: SweepRun
) -> set[str]:
    """Which contents a live set saw that was made since a time: a reference had them that is gone."""
    ids = sorted({version.content_id for version in versions})
    register = run.store.seen_contents(run.live_set.repository, content_ids=ids)
    seen = {each.content_id for each in register if each.last_seen >= since}
    for live_set in earlier:
        if live_set.created >= since:
            seen.update(version.content_id for version in run.store.content_versions(live_set.id, content_ids=ids))
    return seen


def _located(versions: Sequence[ContentVersion], run: SweepRun) -> Iterator[Dropped]:
    """Where contents were, by their newest metadata; nothing of those that cannot be read any more."""
    readers = readers_of({version.content_type for version in versions}, run)
    types = sorted(type_ for reader in readers for type_ in reader.content_types)
    names = {version.content_id: version.content_key for version in versions}
    rows = run.engine.dataset(version_rows(iter(versions)), CONTENT_VERSIONS).where("content_type", types)
    files = rows.spread(["metadata_location"]).flat_map(ReadVersions(run.choice))
    homes = files.where("kind", [PROBLEM], negate=True).present("location").select(_HOMES).distinct(_HOMES.names)
    rules = run.choice.rules()
    for content_id, location in to_rows(homes.summary(), *_HOMES.names):
        try:
            yield Dropped(location=rules.place_prefix(str(location)), name=names[str(content_id)])
        except UnknownLocationError:
            continue  # nothing is listed there either


# ---- what earlier live sets say -----------------------------------------------------------------------


def _earlier(run: SweepRun) -> list[LiveSet]:
    """The repository's other live sets that were marked to their end before this one, newest first."""
    mine = run.live_set
    others = (other for other in run.store.live_sets() if other.repository == mine.repository)
    marked = (other for other in others if other.status not in _NOT_MARKED and other.created < mine.created)
    return sorted(marked, key=lambda other: other.created, reverse=True)


def _gone_since(
    contents: Sequence[SeenContent], earlier: Sequence[LiveSet], run: SweepRun
) -> Iterator[tuple[SeenContent, datetime, str]]:
    """Each content with the instant since when it is known to be gone, and its last name."""
    since = {seen.content_id: run.live_set.created for seen in contents}
    still, names = set(since), dict[str, str]()
    for live_set in earlier:
        if not still:
            break
        there = run.store.content_versions(live_set.id, content_ids=sorted(still))
        names.update((version.content_id, version.content_key) for version in there)
        still -= names.keys()
        since.update(dict.fromkeys(still, live_set.created))
    for seen in contents:
        yield seen, since[seen.content_id], names.get(seen.content_id, "")


def _portions(items: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(items)
    while portion := list(itertools.islice(iterator, _AT_ONCE)):
        yield portion
