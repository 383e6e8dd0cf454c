"""Which files may be purged: those that a recent sweep found unneeded, if no reference needs them since (S9, S10, S29).

A sweep that finds that a file is needed, or may be, gives it more time and says so in its record. But nobody notices
what became live after that, nor when a table reads a tagged file again. So it is not enough that its time is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.algorithms.namesakes import namesakes
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import plan_units
from nessie_gc_core.errors import LiveSetNotFoundError, NessieGcError, SafetyError
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.quarantine import HeldFile, HeldState, bucket_of_tags
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.model.text import one_line, plural
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.left_out import Names
from nessie_gc_core.services.marked import freeze_marked_by_now
from nessie_gc_core.services.members import members, together
from nessie_gc_core.services.other_repositories import OtherRepositories
from nessie_gc_core.services.parameters import DeferredDeletionParameters
from nessie_gc_core.services.places import located_homes
from nessie_gc_core.services.preconditions import check_age
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.quarantine.tagged import place_of, seen_at, vouches
from nessie_gc_core.services.recheck import BECAME_LIVE, NewlyNeeded, Recheck
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.scope import scope_over
from nessie_gc_core.services.set_aside import names_if_wanted
from nessie_gc_core.services.stored_versions import stored_versions
from nessie_gc_core.services.unread_repositories import freeze_unread_repositories

_NOT_SEEN = (
    "no sweep of the last days says that nothing needs them; run "
    f"{next_call('gc')} first, which deletes what nothing needs"
)
_LEFT_ALONE = "its location cannot be looked at"
_Seen = tuple[str, datetime]
"""Identity of a repository, and as of when one of its live sets says what is needed."""


@dataclass(frozen=True)
class Unneeded:
    """Looks at the references, as every deletion does."""

    run: Run
    limits: DeferredDeletionParameters
    """Those of a deletion; which live set is meant, each file says."""
    _known: dict[UUID, tuple[frozenset[str], Names]] = field(default_factory=dict)
    """By live set, the content types that it has."""
    _swept: dict[UUID, bool] = field(default_factory=dict)
    """By live set, whether it was swept."""

    @cached_property
    def _live_sets(self) -> Sequence[LiveSet]:
        """All of them, perhaps without their heads, newest first."""
        return list(self.run.store.live_sets())

    @cached_property
    def _by_id(self) -> Mapping[UUID, LiveSet]:
        return {each.id: each for each in self._live_sets}

    @cached_property
    def _by_time(self) -> Mapping[_Seen, LiveSet]:
        """The same by their repository and time."""
        return {(each.repository, seen_at(each)): each for each in self._live_sets if vouches(each)}

    @cached_property
    def _newest(self) -> Mapping[str, LiveSet]:
        """Of each repository the newest that was swept to its end."""
        found: dict[str, LiveSet] = {}
        for each in self._live_sets:
            if each.repository not in found and self._was_swept(each.id):
                found[each.repository] = each
        return found

    def _was_swept(self, live_set_id: UUID) -> bool:
        """Whether a live set was swept to its end, and its sweep can say that nothing needs a file."""
        if live_set_id not in self._swept:
            with suppress(LiveSetNotFoundError):
                found = self.run.store.get(live_set_id)  # with its heads, which tell one of an expiry
                self._swept[live_set_id] = found.status is LiveSetStatus.EXPIRY_SUCCESS and vouches(found)
        return self._swept.setdefault(live_set_id, False)

    def _that_says_so(self, file: HeldFile) -> LiveSet | None:
        """The newest live set whose sweep found that nothing needs a file; ``None``: there is none.

        A file without a tag is not needed by a live set whose sweep began when its record was there as it is now, nor
        by the one whose sweep took it, unless a later one found that it may be needed.
        """
        if bucket_of_tags(file.place) is not None:
            return self._by_time.get((file.repository, file.held))
        newest = self._newest.get(file.repository)
        if newest is not None and newest.expiry_started is not None and file.held < newest.expiry_started:
            return newest
        own = self._by_id.get(file.live_set_id)
        ended = None if own is None else own.expiry_completed
        return own if own is not None and ended is not None and file.held <= ended and self._was_swept(own.id) else None

    def among(self, files: Sequence[HeldFile], report: ReleaseReport) -> tuple[list[HeldFile], list[HeldFile]]:
        """The files that may be purged, and those that are needed; the others wait, and the report says why."""
        free, needed = list[HeldFile](), list[HeldFile]()
        groups: dict[tuple[LiveSet | None, bool], list[HeldFile]] = {}
        for file in files:
            tagged = bucket_of_tags(file.place) is not None
            if tagged and file.state is HeldState.MOVING:  # whose tag is only taken off
                free.append(file)
            else:
                groups.setdefault((self._that_says_so(file), tagged), []).append(file)
        for (found, tagged), some in groups.items():
            try:
                keys, reasons = self._looked_at(found, some, tagged=tagged)
            except NessieGcError as error:
                keys, reasons = set(), dict.fromkeys(map(_name, some), one_line(error))
            for file in some:
                if _name(file) in keys:
                    needed.append(file)
                    report.count(report.kept, file, BECAME_LIVE)
                elif _name(file) in reasons:
                    report.count(report.waiting, file, reasons[_name(file)])
                else:
                    free.append(file)
            for reason, waiting in Counter(reasons.values()).items():
                what = f"{plural(waiting, 'file')} with a tag" if tagged else plural(waiting, "file")
                report.warnings.append(f"{what} not purged: {reason}")
        return free, needed

    def _looked_at(
        self, found: LiveSet | None, files: Sequence[HeldFile], *, tagged: bool
    ) -> tuple[Collection[str], Mapping[str, str]]:
        """The names of files that are needed since a live set, and why that cannot be told of others.

        Raises:
            NessieGcError: it cannot be told of any.
        """
        if found is None:
            raise SafetyError(_NOT_SEEN)
        first, *_ = together(self.run.store, found)  # it names all that were marked together
        run = self._at_work(self.run.store.get(first.id))  # with its heads
        rules = run.choice.rules()
        # A file without a tag is no longer where the configuration may forbid to delete anything.
        allowed = run.parameters.allowed(rules) if tagged else AllowedLocations(min_depth=0)
        plan = plan_units({file.location for file in files}, rules, allowed)
        index = UnitIndex.of(plan)  # of all units, so that it is said of each file why it waits
        why = {location: f"its location {reason}" for location, reason in plan.refused.items()}
        if first.id not in self._known:
            versions, types = stored_versions(run, run.numbers)
            self._known[first.id] = types, names_if_wanted(run, versions)
        types, names = self._known[first.id]
        freeze_unread_repositories(plan, run)
        gone = OtherRepositories(run, rules).refuse_gone(plan, (location for _, location in located_homes(run)))
        scope = replace(scope_over(plan, types, run, names), index=index)
        freeze_marked_by_now(plan, run.choice)
        recheck = Recheck(run, scope, {})
        newly = recheck.run_if_due()
        places = {_name(file): place_of(file, index) for file in files}
        left, left_alone = frozenset(plan.roots), {**plan.unread, **plan.unknown, **gone, **recheck.spared_units}
        reasons = {_name(file): why[file.location] for file in files if file.location in why}
        for name, place in places.items():
            if place is None or place[0] not in left:
                reason = _LEFT_ALONE if place is None else left_alone.get(place[0], _LEFT_ALONE)
                reasons.setdefault(name, reason)
        return set() if newly is None else set(_among(places, newly, run)), reasons

    def _at_work(self, live_set: LiveSet) -> SweepRun:
        """The run at work on a live set that is not too old."""
        parameters = replace(self.limits, live_set_id=str(live_set.id))
        found = list(members(self.run, live_set))
        now = max(times_now(self.run))
        for member in found:
            check_age(member.live_set, now, parameters.max_live_set_age)
        return self.run.of(found, Lease.unneeded(), parameters)


_NAMED = pa.schema([pa.field("name", pa.string(), nullable=False), *FILE_KEYS])


def _among(places: Mapping[str, tuple[str, str] | None], newly: NewlyNeeded, run: SweepRun) -> Iterator[str]:
    """The names of files that became live, or may be one that did and that is not where its path says (S30)."""
    rows = ((name, *place) for name, place in places.items() if place is not None)
    mine = run.engine.dataset(to_batches(rows, _NAMED), _NAMED)
    needed = newly.files.union(namesakes(mine, newly.names).select(FILE_KEYS))
    for batch in mine.semi_join(needed, list(FILE_KEYS.names)).batches():
        yield from (name for (name,) in to_texts(batch, "name"))


def _name(file: HeldFile) -> str:
    return file.location + file.path
