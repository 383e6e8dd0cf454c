"""Which tagged files may be purged: those that a sweep found unneeded, if no reference needs them since (S9, S10).

Nobody notices when a table reads a tagged file again. So it is not enough that its time is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.algorithms.namesakes import namesakes
from nessie_gc_core.algorithms.units import plan_units
from nessie_gc_core.errors import NessieGcError, SafetyError
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.quarantine import HeldFile, HeldState, bucket_of_tags
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.model.text import one_line, plural
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.marked import freeze_marked_by_now
from nessie_gc_core.services.members import members, together
from nessie_gc_core.services.parameters import DeferredDeletionParameters
from nessie_gc_core.services.preconditions import check_age
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.quarantine.tagged import place_of, seen_at, vouches
from nessie_gc_core.services.recheck import BECAME_LIVE, NewlyNeeded, Recheck
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.scope import scope_over
from nessie_gc_core.services.stored_versions import stored_versions
from nessie_gc_core.services.unread_repositories import freeze_unread_repositories

_NOT_SEEN = "no sweep of the last days says that nothing needs them; run `gc` first"
_LEFT_ALONE = "its location cannot be looked at"
_Seen = tuple[str, datetime]
"""Identity of a repository, and as of when one of its live sets says what is needed."""


@dataclass(frozen=True)
class Unneeded:
    """Looks at the references, as every deletion does."""

    run: Run
    limits: DeferredDeletionParameters
    """Those of a deletion; which live set is meant, each file says."""
    _types: dict[UUID, Collection[str]] = field(default_factory=dict)
    """By live set, the content types that it has."""

    @cached_property
    def _live_sets(self) -> Mapping[_Seen, LiveSet]:
        """Those whose sweep can say that nothing needs a file."""
        return {(each.repository, seen_at(each)): each for each in self.run.store.live_sets() if vouches(each)}

    def among(self, files: Sequence[HeldFile], report: ReleaseReport) -> tuple[list[HeldFile], list[HeldFile]]:
        """The files that may be purged, and those that are needed; the others wait, and the report says why."""
        free, needed = list[HeldFile](), list[HeldFile]()
        by_seen: dict[_Seen, list[HeldFile]] = {}
        for file in files:
            if bucket_of_tags(file.place) is None or file.state is HeldState.MOVING:  # whose tag is only taken off
                free.append(file)
            else:
                by_seen.setdefault((file.repository, file.held), []).append(file)
        for seen, some in by_seen.items():
            try:
                keys, reasons = self._looked_at(seen, some)
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
                report.warnings.append(f"{plural(waiting, 'file')} with a tag not purged: {reason}")
        return free, needed

    def _looked_at(self, seen: _Seen, files: Sequence[HeldFile]) -> tuple[Collection[str], Mapping[str, str]]:
        """The names of files that are needed since a live set, and why that cannot be told of others.

        Raises:
            NessieGcError: it cannot be told of any.
        """
        found = self._live_sets.get(seen)
        if found is None:
            raise SafetyError(_NOT_SEEN)
        first, *_ = together(self.run.store, found)  # it names all that were marked together
        run = self._at_work(self.run.store.get(first.id))  # with its heads
        rules = run.choice.rules()
        plan = plan_units({file.location for file in files}, rules, run.parameters.allowed(rules))
        refused = dict(plan.refused)
        if first.id not in self._types:
            self._types[first.id] = stored_versions(run, run.numbers)[1]
        freeze_unread_repositories(plan, run)
        scope = scope_over(plan, self._types[first.id], run)
        freeze_marked_by_now(plan, run.choice)
        recheck = Recheck(run, scope, {})
        newly = recheck.run_if_due()
        places = {_name(file): place_of(file, scope.index) for file in files}
        left, left_alone = frozenset(plan.roots), {**plan.unread, **plan.unknown, **recheck.spared_units}
        reasons = {_name(file): f"its location {refused[file.location]}" for file in files if file.location in refused}
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
