"""Dropped contents: locations that a repository had, and that no live content uses any more (S20).

What counts is not when a content was seen last, for nobody may have looked since, but since when it is known to be
gone: since the first of the live sets, one after the other up to this one, in which it is not.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, SeenContent
from nessie_gc_core.services.run import SweepRun

log = logging.getLogger(__name__)

_AT_ONCE = 1000
"""Of how many contents the live-set store is asked at once."""
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
    found = [
        Dropped(location=seen.location, name=name)
        for some in _some(old)
        for seen, since, name in _gone_since(some, earlier, run)
        if now - since > after and now - seen.last_seen > after
    ]
    log.info("%d locations of dropped contents are looked at", len(found))
    return sorted(found, key=lambda dropped: (dropped.location, dropped.name))


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


def _some(contents: Iterable[SeenContent]) -> Iterator[list[SeenContent]]:
    iterator = iter(contents)
    while portion := list(itertools.islice(iterator, _AT_ONCE)):
        yield portion
