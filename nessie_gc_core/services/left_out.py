"""Tables that the patterns of a run leave out: they are read like all others, and their locations are never swept."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.services.heads import contents_at
from nessie_gc_core.services.places import Dropped
from nessie_gc_core.services.run import Member, SweepRun
from nessie_gc_core.services.scope import ASKED_AT_ONCE

Names = Mapping[str, frozenset[str]]
"""The dotted names of each content, by its id: those in the live set, and those at the head of any reference."""
_KEYS = pa.schema([CONTENT_VERSIONS.field("content_id"), CONTENT_VERSIONS.field("content_key")])


def names_in(versions: Dataset) -> Iterator[tuple[str, str]]:
    """Distinct content ids and names in some versions (:data:`CONTENT_VERSIONS`)."""
    table = versions.select(_KEYS).distinct(_KEYS.names).summary()
    return zip(*(table.column(name).to_pylist() for name in _KEYS.names), strict=True)


def names_of(run: SweepRun, marked: Iterable[tuple[str, str]]) -> Names:
    """The names of all live contents.

    A live set has one name of each version, so that one that was only renamed since shows at the heads alone.

    Args:
        run: the run.
        marked: content ids and names in its live sets.
    """
    found: dict[str, set[str]] = {}
    for content_id, name in itertools.chain(marked, *map(_names_at_heads, run.read)):
        found.setdefault(content_id, set()).add(name)
    return {content_id: frozenset(names) for content_id, names in found.items()}


def _names_at_heads(member: Member) -> Iterator[tuple[str, str]]:
    by_head = {reference.commit_id: reference for reference in member.repository.references()}
    for reference in by_head.values():
        for version in contents_at(member.repository, reference):
            yield member.qualified(version.content_id), version.content_key


def leave_out(
    plan: SweepPlan,
    run: SweepRun,
    names: Names,
    homes: Iterable[tuple[str, str]],
    dropped: Iterable[Dropped] = (),
) -> None:
    """Removes every unit that holds a table that the patterns leave out, and those without a known table name.

    A table with several names is left out if one of them is excluded, and selected if one of the others is included.

    Args:
        plan: what would be swept.
        run: the run, whose parameters have the patterns.
        names: the names of all live contents.
        homes: content ids and raw locations, shared places among them.
        dropped: contents that are gone.
    """
    patterns = run.parameters.tables
    if patterns.takes_all:
        return
    rules = plan.rules
    meant, left = set[str](), dict[str, str]()
    named = ((names.get(content_id, frozenset()), location) for content_id, location in homes)
    gone = ((frozenset(filter(None, [each.name])), each.location) for each in dropped)
    for found, location in (*named, *gone):
        place = rules.place_prefix_or_none(location)
        if place is None:
            continue
        if patterns.matches_any(found):
            meant.add(place)
        else:
            left[place] = f"{min(found)} is left out" if found else "the name of the table here is unknown"
    left.update(_places_of_gone(plan, run, names, meant))
    plan.leave_out(left, meant)
    unmatched = patterns.unmatched(name for found in names.values() for name in found)
    for option, pattern in unmatched:
        run.report.warn(f"`{option}` {pattern!r} matches no live table or view")


def _places_of_gone(plan: SweepPlan, run: SweepRun, names: Names, meant: Collection[str]) -> Iterator[tuple[str, str]]:
    """Former places, in the units, of tables that no longer exist: the patterns may have left them out."""
    for member in run.members:
        for seen in run.store.seen_contents(member.live_set.repository):
            if member.qualified(seen.content_id) in names:
                continue
            place = plan.rules.place_prefix_or_none(seen.location)
            if place is not None and place not in meant and plan.root_of(place) is not None:
                yield place, "a table that no longer exists was here, and may have been left out"


def seen_homes(run: SweepRun, names: Names) -> Iterator[tuple[str, str]]:
    """Content ids, qualified, and all locations at which the register of contents ever saw them."""
    for member in run.members:
        own = (id_ for id_ in map(member.own, names) if id_ is not None)
        for some in in_pieces(own, ASKED_AT_ONCE):
            for seen in run.store.seen_contents(member.live_set.repository, content_ids=some):
                yield member.qualified(seen.content_id), seen.location
