"""Places that other repositories of the same live-set store have or had (S1, S20, S32).

What this run knows nothing else of may be alive there: a table that was dropped here may have moved there.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence

from nessie_gc_core.algorithms.forgotten import Apart
from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.errors import SafetyError, UnknownLocationError
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.locations import LocationRules, home_of_metadata
from nessie_gc_core.model.text import time_text
from nessie_gc_core.services.places import Dropped, WithFolders, distinct_places
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import ASKED_AT_ONCE
from nessie_gc_core.services.stored_versions import marked_live_sets, stored_versions

MOST_SHARED = 100
"""So many locations that are shared with one other repository are looked for."""
_REMEMBERED = 10_000
"""Of how many raw locations the place is remembered."""


class OtherRepositories:
    """Asks the live-set store for repositories that are not part of the run.

    Nothing is read where there are none, and their registers only where something was dropped.
    """

    def __init__(self, run: SweepRun, rules: LocationRules) -> None:
        self._run, self._store, self._rules, self._spellings = run, run.store, rules, Spellings(rules)
        mine = {member.live_set.repository for member in run.members}
        names = [name for name in run.store.repositories() if name not in mine]
        self._live_sets: dict[str, list[LiveSet]] = {name: [] for name in names}
        """Those that were marked to their end, newest first."""
        for live_set in marked_live_sets(run) if names else ():
            if live_set.repository in self._live_sets:
                self._live_sets[live_set.repository].append(live_set)
        self._place = functools.lru_cache(_REMEMBERED)(self._compared)

    # ---- what is dropped ------------------------------------------------------------------------------
    def leave_alone(self, dropped: Sequence[Dropped]) -> tuple[list[Dropped], dict[str, str]]:
        """Those contents that are gone whose places nobody else has or had; and of the others, why they stay.

        Returns:
            the contents, and the raw location of each other one with the reason.
        """
        places = {each: self._place(each.location) for each in dropped}
        owners = self.having(place for place in places.values() if place is not None)
        kept = {each: owners[place] for each, place in places.items() if place is not None and place in owners}
        refused = {
            each.location: f"{each.reason}, but {owner} has or had files there: collect both repositories in one run, "
            "or use 'move-records' if they are the same one"
            for each, owner in kept.items()
        }
        return [each for each in dropped if each not in kept], refused

    def refuse_gone(self, plan: SweepPlan, homes: Iterable[str]) -> dict[str, str]:
        """Removes the units in which nothing of the run is live, and another repository has or had something.

        Returns:
            Their roots, each with the reason.

        Args:
            plan: what would be swept.
            homes: raw base locations of what is live.
        """
        gone = Apart(plan.roots if self._live_sets else ())
        for place in map(self._place, homes if gone.left else ()):
            if place is not None:
                gone.take_out(place)
        removed = dict[str, str]()
        for place, name in self.having(gone.left).items():
            why = f"a dropped table was here, but {name} has or had files here: what it needs is unknown"
            removed.update(dict.fromkeys(plan.refuse(place, why), why))
        return removed

    def having(self, places: Iterable[str]) -> dict[str, str]:
        """Those of some canonical places that overlap what another repository has or had, with its identity."""
        apart, found = Apart(places), dict[str, str]()
        said = ((name, raw) for name in self._live_sets for raw in self._ever(name)) if apart.left else ()
        for name, raw in said:
            place = self._place(raw)
            found.update(dict.fromkeys(() if place is None else apart.take_out(place), name))
            if not apart.left:
                break
        return found

    def _ever(self, name: str) -> Iterator[str]:
        """Raw or canonical places that a repository has or had.

        A sweep put the places of a live set into the register, and more that it located into the live set. The register
        comes last: a live set that is deleted meanwhile leaves its contents there.
        """
        for number, live_set in enumerate(self._live_sets[name]):
            if not number or not self._is_located(live_set):
                yield from self._in(live_set)
        yield from (seen.location for seen in self._store.seen_contents(name))
        yield from (reached.place for reached in self._store.reached(name) if reached.place)

    def _in(self, live_set: LiveSet) -> Iterator[str]:
        """Raw places of a live set: where its contents are, and where their metadata is, readable or not.

        Of contents that no sweep located also those above their metadata.
        """
        located = set[str]()
        for content_id, location in self._store.base_locations(live_set.id):
            located.add(content_id)
            yield location
        versions, _ = stored_versions(self._run, {live_set.id: 0}, of_the_past=True)
        with_folders = versions.flat_map(WithFolders()).checkpoint()
        for said in distinct_places(with_folders):
            yield from (raw for raw in said if raw is not None)
        elsewhere = with_folders.where("content_id", sorted(located), negate=True) if located else with_folders
        for folder, _ in distinct_places(elsewhere):
            if folder is not None:
                yield home_of_metadata(folder)

    def _is_located(self, live_set: LiveSet) -> bool:
        return next(iter(self._store.base_locations(live_set.id)), None) is not None

    # ---- what is live ---------------------------------------------------------------------------------
    def tell_shared(self, plan: SweepPlan, run: SweepRun) -> None:
        """Warns of units in which another repository has live tables or took over files, which this run does not know.

        Raises:
            SafetyError: there are some, and the run is to be strict.
        """
        for name, live_sets in self._live_sets.items():
            newest = next(iter(live_sets), None)
            shared = () if newest is None else self._shared(plan, name, live_sets)
            if newest is None or not shared:
                continue
            some = f"at least {MOST_SHARED}" if len(shared) >= MOST_SHARED else str(len(shared))
            said = (
                f"{some} of the locations to sweep had tables or files of {name} as well at "
                f"{time_text(newest.created)}, for example {shared[0]}: what it needs there is unknown; collect both "
                "repositories in one run, use "
                "'move-records' if they are the same one, or delete the live sets of one that is no longer used"
            )
            if run.parameters.strict:
                raise SafetyError(f"{said}; nothing was deleted because of `strict`")
            run.report.warn(said)

    def _shared(self, plan: SweepPlan, name: str, live_sets: Sequence[LiveSet]) -> Sequence[str]:
        """The first units in which a repository has live files, by its live sets, newest first.

        The newest one that was swept tells places that the newest one cannot.
        """
        apart, newest = Apart(plan.roots), live_sets[0]
        located = next(filter(self._is_located, live_sets), newest)
        known = (newest,) if located is newest else (newest, located)
        raws = itertools.chain(*map(self._in, known), self._taken_over(name, newest))
        places = (place for raw in raws if (place := self._place(raw)) is not None)
        found = itertools.chain.from_iterable(map(apart.take_out, places))
        return sorted(itertools.islice(found, MOST_SHARED))

    def _taken_over(self, name: str, live_set: LiveSet) -> Iterator[str]:
        """Places outside their own in which the contents of a live set were seen to need files (S31)."""
        for some in in_pieces(self._store.content_ids(live_set.id), ASKED_AT_ONCE):
            yield from (reached.place for reached in self._store.reached(name, content_ids=some) if reached.place)

    def _compared(self, raw: str) -> str | None:
        """The canonical prefix under which a raw location is compared; ``None`` if there is none."""
        try:
            return self._spellings.place(self._rules.canonical_prefix(raw))
        except UnknownLocationError:
            return None
