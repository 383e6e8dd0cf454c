"""The register of what contents reached: which were read, and in which places of others they had files (S31)."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from nessie_gc_core.algorithms.expand import Expansion
from nessie_gc_core.algorithms.reach import Places, bounded, reached_places
from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.live_sets import ReachedPlace
from nessie_gc_core.services.places import placed
from nessie_gc_core.services.run import Member, SweepRun
from nessie_gc_core.services.scope import ASKED_AT_ONCE


def places_of(plan: SweepPlan, homes: Iterable[pa.Table], readers: Sequence[type[ContentToFiles]]) -> Places:
    """What tells places apart: all locations of the live contents, those that are not swept among them.

    Args:
        plan: what is swept.
        homes: tables of ``content_id`` and raw ``location``.
        readers: the readers whose contents occur.
    """
    rules, roots = plan.rules, {root: root for root in plan.roots}
    raw = {location for _, location in placed(*homes)}
    places = {place for location in raw if (place := rules.place_prefix_or_none(location)) is not None}
    expandable = {kind for reader in readers for kind in reader.expandable_kinds}
    return Places((roots.get(place, place) for place in places), rules, expandable)  # a root travels once to a worker


def remember_reached(
    homes: pa.Table,
    version_files: Dataset,
    expansion: Expansion,
    places: Places,
    never_read: Collection[str],
    run: SweepRun,
) -> None:
    """Records the contents that were read to their end, and what they reach.

    Args:
        homes: the ``content_id`` and raw base ``location`` of each.
        version_files: what they name at first hand (:data:`VERSION_FILES`).
        expansion: what they need, with what is reached from where.
        places: what says where a file is.
        never_read: ids of contents of which no version could be read.
        run: the run.
    """
    reached = dict(reached_places(version_files, expansion.reached(), placed(homes), places))
    for member in run.read:
        ids = member.mine(homes).column("content_id").to_pylist()
        lost = {own for each in never_read if (own := member.own(each)) is not None}
        read = (ReachedPlace(content_id=own) for own in dict.fromkeys(ids) if own not in lost)
        mine = {own: found for each, found in reached.items() if (own := member.own(each)) is not None}
        run.store.register_reached(member.live_set.repository, itertools.chain(read, _widened(member, mine, run)))


def _widened(member: Member, reached: Mapping[str, Iterable[str]], run: SweepRun) -> Iterator[ReachedPlace]:
    """What contents reach now and did not yet; where it is too much by now, the folders above."""
    for some in in_pieces(sorted(reached), ASKED_AT_ONCE):
        before: dict[str, set[str]] = {content_id: set() for content_id in some}
        for each in run.store.reached(member.live_set.repository, content_ids=some):
            before[each.content_id].update([each.place] if each.place else [])
        for content_id, known in before.items():
            for place in bounded({*known, *reached[content_id]}):
                if place not in known:
                    yield ReachedPlace(content_id=content_id, place=place)
