"""Places that contents write to beside their base locations: when others may need files there (S1, S13, S20).

Whoever may write there need not be in this live set: a table of another catalog, or one that was dropped a moment ago.
Of a base location that would show; here only what was seen earlier does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

from nessie_gc_core.algorithms.expand import Expansion
from nessie_gc_core.algorithms.subtract import count_by_unit
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.algorithms.unread import UnreadContents
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.live_sets import SeenContent
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.dropped import gone_for_long
from nessie_gc_core.services.finding_parameters import DroppedRule
from nessie_gc_core.services.run import SweepRun


def refuse_places_of_others(plan: SweepPlan, run: SweepRun, dropped: DroppedRule | None) -> None:
    """Removes the shared places in which contents were seen that are not in this live set.

    Contents of the repositories of this run count until they have been gone for as long as the rule says; those of
    others always do.
    """
    if not plan.shared:
        return
    if run.parameters.mode is DeleteMode.DEFER:
        for place in plan.shared:
            plan.refuse(place, "others may write there, which a deferred deletion would not notice; delete at once")
        return
    known = {each.live_set.repository: each for each in run.each()}
    for repository in run.store.repositories():
        if repository in known:
            _refuse_places_of_gone(plan, known[repository], dropped)
            continue
        for place, _ in _seen(plan, run, repository, live=frozenset()):
            plan.refuse(place, f"{repository} also has or had files there, and what it needs is unknown here")


def _refuse_places_of_gone(plan: SweepPlan, run: SweepRun, dropped: DroppedRule | None) -> None:
    """Removes the places of contents of one repository that are gone, and have not been for long enough."""
    live = frozenset(run.store.content_ids(run.live_set.id))
    gone: dict[str, list[SeenContent]] = {}
    for place, seen in _seen(plan, run, run.live_set.repository, live=live):
        gone.setdefault(place, []).append(seen)
    old = set() if dropped is None else gone_for_long(run, dropped, [seen for some in gone.values() for seen in some])
    what_to_do = "set `dropped_after` to sweep it" if dropped is None else "its files stay for `dropped_after`"
    for place, found in gone.items():
        if any(seen.content_id not in old for seen in found):
            plan.refuse(place, f"a dropped table had files there; {what_to_do}")


def _seen(
    plan: SweepPlan, run: SweepRun, repository: str, *, live: Collection[str]
) -> Iterator[tuple[str, SeenContent]]:
    """Contents of a repository that were seen in or around a shared place and are not live: that place, the entry."""
    index = UnitIndex(plan.shared, plan.rules)
    for seen in run.store.seen_contents(repository):
        if seen.content_id in live:
            continue
        with contextlib.suppress(UnknownLocationError):  # under such a name nothing is swept
            yield from ((place, seen) for place in set(index.around(seen.location)))


def freeze_for_unread(plan: SweepPlan, unread: UnreadContents, version_files: Dataset) -> None:
    """Freezes the shared places where some contents are of a type that nobody reads: they may need files there."""
    if plan.shared and unread and not unread.are_known(version_files):
        plan.freeze_shared(unread.example(), unread=not unread.is_unknown)


def refuse_unused(plan: SweepPlan, expansion: Expansion) -> None:
    """Removes the shared places in which no live state has a file: nothing but a property names them (S13)."""
    units = sorted(set(plan.roots).intersection(plan.shared))
    if units:
        used = count_by_unit(expansion.reachable().where("unit", units))
        for unit in units:
            if unit not in used:
                plan.refuse(unit, "no live table has a file there; it is swept only once one has")
