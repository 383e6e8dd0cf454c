"""Contents that are gone, as a person says: they freeze nothing but the places where they are (S31).

What of them can still be read is protected like everything else. What cannot be read needs nothing, for that is what
the person says.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator

import pyarrow as pa

from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.locations import home_of_metadata
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.table_patterns import any_matches
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.left_out import Names, names_in, names_of, seen_homes
from nessie_gc_core.services.places import WithFolders
from nessie_gc_core.services.run import SweepRun

_WHERE = pa.schema(
    [CONTENT_VERSIONS.field("content_id"), pa.field("folder", pa.string()), CONTENT_VERSIONS.field("location")]
)


def names_if_wanted(run: SweepRun, versions: Dataset) -> Names:
    """The names of all contents in live versions (:data:`CONTENT_VERSIONS`); none where the run has no patterns."""
    wanted = run.parameters.set_aside or not run.parameters.tables.takes_all
    return names_of(run, names_in(versions)) if wanted else {}


def set_aside(run: SweepRun, names: Names) -> frozenset[str]:
    """The ids of the contents all of whose names match the patterns of the run.

    One that has another name as well is live under that; the report says so.

    Args:
        run: the run, whose parameters have the patterns.
        names: the names of all live contents.
    """
    patterns = run.parameters.contents_set_aside
    if not patterns:
        return frozenset()
    found = set[str]()
    for content_id, mine in names.items():
        others = sorted(name for name in mine if not any_matches(patterns, name))
        if not others:
            found.add(content_id)
        elif len(others) < len(mine):
            matched = min(mine.difference(others))
            run.report.warn(f"{matched} is not set aside, because it is {others[0]} too: name both in `set_aside`")
    every = {name for mine in names.values() for name in mine}
    for pattern in patterns:
        if not any(map(pattern.fullmatch, every)):
            run.report.warn(f"`set_aside` {pattern.pattern!r} matches no live content")
    return frozenset(found)


def leave_set_aside(
    plan: SweepPlan, run: SweepRun, ids: frozenset[str], names: Names, homes: Iterable[tuple[str, str]]
) -> None:
    """Removes every unit in which a content is that was set aside, and says which these are.

    Args:
        plan: what would be swept.
        run: the run.
        ids: the contents.
        names: their names, among others.
        homes: ids of contents and raw locations; those that the register has are added.
    """
    if not ids:
        return
    mine = {content_id: names[content_id] for content_id in ids}
    places: dict[str, set[str]] = {min(found): set() for found in mine.values()}
    nowhere: dict[str, bool] = {}
    """Raw locations that cannot be compared, each with whether only contents that are set aside have it."""
    for content_id, location in itertools.chain(homes, seen_homes(run, mine)):
        if content_id not in ids and location not in plan.unknown:
            continue
        place = plan.rules.place_prefix_or_none(location)
        if place is None:
            nowhere[location] = nowhere.get(location, True) and content_id in ids
        elif content_id in ids:
            places[min(mine[content_id])].add(place)
    for name, found in sorted(places.items()):
        plan.set_aside(dict.fromkeys(sorted(found), f"{name} is set aside"))
        if found or name not in run.report.set_aside:
            run.report.set_aside[name] = _where(found)
    for location, is_theirs in nowhere.items():
        if is_theirs:
            plan.unknown.pop(location, None)


def _where(places: set[str]) -> str:
    if not places:
        return "nobody knows where its files were"
    others = f" and in {plural(len(places) - 1, 'other place')}" if len(places) > 1 else ""
    return f"its files stay in {min(places)}{others}"


def set_aside_of_moved(
    plan: SweepPlan, run: SweepRun, before: frozenset[str], names: Names, moved: Collection[ContentVersion]
) -> frozenset[str]:
    """The ids once references have moved: a content that has another name by now is live under that.

    Args:
        plan: what would be swept; the places that the moved versions of those ids name are taken out.
        run: the run.
        before: those that were set aside.
        names: the names of contents before.
        moved: the versions that the references reach now.
    """
    patterns = run.parameters.contents_set_aside
    if not patterns:
        return before
    named: dict[str, frozenset[str]] = {}
    for version in moved:
        known = named.get(version.content_id) or names.get(version.content_id, frozenset())
        named[version.content_id] = known | {version.content_key}
    dead = frozenset(each for each, found in named.items() if all(any_matches(patterns, name) for name in found))
    leave_set_aside(plan, run, dead, named, _said_by(moved))
    return (before - named.keys()) | dead


def _said_by(versions: Iterable[ContentVersion]) -> Iterator[tuple[str, str]]:
    """The same of a few versions as :func:`said_homes` of many."""
    for version in versions:
        if version.metadata_location is not None:
            yield version.content_id, home_of_metadata(version.metadata_location)
        if version.location is not None:
            yield version.content_id, version.location


def said_homes(versions: Dataset, ids: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Contents with the raw places that their versions (:data:`CONTENT_VERSIONS`) themselves name."""
    found = versions.where("content_id", sorted(ids)).flat_map(WithFolders()).select(_WHERE)
    for row in found.distinct(list(_WHERE.names)).summary().to_pylist():
        if row["folder"] is not None:
            yield row["content_id"], home_of_metadata(row["folder"])
        if row["location"] is not None:
            yield row["content_id"], row["location"]
