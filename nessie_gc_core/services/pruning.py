"""Removes old live sets from a store, and keeps those that someone works with or that a later run needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, ClassVar

from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.config.settings import PruneSettings
from nessie_gc_core.connectors import LiveSetStore, Service
from nessie_gc_core.errors import ConfigurationError, LeaseHeldError, LiveSetNotFoundError, LiveSetStateError
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus, marked_with
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.policies import Reach, ReferencePolicies
from nessie_gc_core.model.text import duration_text, plural
from nessie_gc_core.model.times import Clock, utc_now
from nessie_gc_core.services.run import GoOn, Run, never_stopped
from nessie_gc_core.services.scope import ASKED_AT_ONCE
from nessie_gc_core.services.stored_live_sets import LiveSetService, as_plain, statuses

_IN_PROGRESS = frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.EXPIRY_IN_PROGRESS})
_NOT_MARKED = frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.IDENTIFY_FAILED})
_CLOCKS = timedelta(days=1)
_SWEPT = frozenset({LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_SUCCESS, LiveSetStatus.EXPIRY_FAILED})


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneRule:
    """Which live sets are old enough to be removed."""

    older_than: timedelta
    """Those that were created longer ago than this."""
    keep: int = 0
    """So many of the newest of each repository stay, however old they are."""
    status: Collection[LiveSetStatus] = ()
    """Only those that have one of these; all if there is none."""
    discard_deferred: bool = False
    """Whether deferred deletions that were not run are discarded with their live set."""


@options
class PruneParameters(PruneSettings):
    """The parameters of ``nessie-gc prune``."""

    keep: int = option(0, minimum=0, help="Keep the newest N of each repository, whatever their age.")
    status: Sequence[str] = option((), help="Only live sets with this status (repeatable).")
    discard_deferred: bool = option(False, help="Delete it even if it has deferred deletions.")
    dry_run: bool = option(False, help="Only name them.")

    def check(self) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the age is missing, or a status is invalid.
        """
        self.rule()

    def rule(self) -> PruneRule:
        """Which live sets are removed.

        Raises:
            ConfigurationError: the age is missing, or a status is invalid.
        """
        if self.prune_older_than is None:
            raise ConfigurationError(
                "--older-than is missing: give it here, or as 'prune-older-than' in the configuration file (its key "
                "'older-than' is not for live sets)"
            )
        return PruneRule(
            older_than=self.prune_older_than,
            keep=self.keep,
            status=statuses(self.status),
            discard_deferred=self.discard_deferred,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLiveSet:
    """A live set that stays."""

    live_set: LiveSet
    """Which."""
    reason: str
    """Why it stays."""
    asked: bool
    """Whether it is as old, and has such a status, as was asked for."""


@dataclass(slots=True, kw_only=True)
class PruneReport:
    """Which live sets went, and why the others stayed."""

    dry_run: bool
    """Whether none was removed."""
    pruned: list[LiveSet] = field(default_factory=list)
    """Those that were deleted, or would be; newest first."""
    kept: list[KeptLiveSet] = field(default_factory=list)
    """Those that stay; newest first."""

    @property
    def exit_code(self) -> int:
        """Always 0: a live set that stays is not a failure."""
        return 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "dry_run": self.dry_run,
            "pruned": [as_plain(live_set) for live_set in self.pruned],
            "kept": [{**as_plain(kept.live_set), "reason": kept.reason, "asked": kept.asked} for kept in self.kept],
        }


def prune(
    store: LiveSetStore, rule: PruneRule, *, dry_run: bool, clock: Clock = utc_now, go_on: GoOn = never_stopped
) -> PruneReport:
    """Removes the rows of old live sets, but no files.

    A live set stays while someone works with it, and while a later run needs it: the newest of each repository that was
    marked to its end, the newest that was swept completely, those by which 'autotag' knows what was collected, and, if
    sweeps take dropped tables, the last one that knows such a table until that has happened. Live sets that were marked
    together go together.

    Args:
        store: where they are.
        rule: which go.
        dry_run: whether they are only named.
        clock: says what time it is.
        go_on: asked before every removal; raises if the run has to end.

    Raises:
        ConfigurationError: the age is negative.
    """
    if rule.older_than < timedelta(0):
        raise ConfigurationError("`older_than` must not be negative; give a duration such as P90D")
    return _Pruning(store, rule, clock(), PruneReport(dry_run=dry_run), go_on).run()


class _Pruning:
    """One run."""

    def __init__(self, store: LiveSetStore, rule: PruneRule, now: datetime, report: PruneReport, go_on: GoOn) -> None:
        self._store, self._rule, self._now, self._report, self._go_on = store, rule, now, report, go_on
        self._service = LiveSetService(store)
        self._all = self._service.all()
        self._needed = self._needed_by_later_runs()
        self._newest = self._newest_of_each()
        self._collects = {name: store.lease(name) for name in {each.repository for each in self._all}}
        self._staying: list[LiveSet] = []
        """Swept live sets that stay, newest first."""

    def run(self) -> PruneReport:
        """Removes them, oldest first: an older one that stays must not be the last word on what was live (S20)."""
        staying: set[str] = set()
        for group, found, asked in reversed([self._judged(group) for group in _groups(self._all)]):
            reason = found
            if reason is None and any(each.repository in staying for each in group if each.status not in _NOT_MARKED):
                reason = "an older one of its repository stays, and this one says what was live after it"
            if reason is None:
                reason = next((said for each in group if (said := self._why_it_knows_more(each))), None)
            if reason is None and not self._report.dry_run:
                reason = self._delete(group[0])
            if reason is None:
                self._report.pruned += group
                continue
            staying |= {each.repository for each in group if each.status not in _NOT_MARKED}
            together = f" (marked together with {len(group) - 1} more)" if len(group) > 1 else ""
            self._report.kept += [KeptLiveSet(live_set=each, reason=reason + together, asked=asked) for each in group]
        for some in (self._report.pruned, self._report.kept):
            some.reverse()
        return self._report

    def _judged(self, group: list[LiveSet]) -> tuple[list[LiveSet], str | None, bool]:
        """Some that were marked together, why they stay, and whether anyone asked; to be called newest first."""
        unasked = next((reason for each in group if (reason := self._not_asked(each))), None)
        reason = unasked or next((reason for each in group if (reason := self._why_needed(each))), None)
        if reason is not None:
            self._staying += [each for each in group if each.status in _SWEPT]
        return group, reason, unasked is None

    def _delete(self, live_set: LiveSet) -> str | None:
        self._go_on()
        try:
            self._service.delete(live_set.id, discard_deferred=self._rule.discard_deferred, alone=True)
        except (LeaseHeldError, LiveSetStateError, LiveSetNotFoundError) as error:  # somebody was quicker
            return str(error)
        return None

    # ---- why one stays --------------------------------------------------------------------------------
    def _not_asked(self, live_set: LiveSet) -> str | None:
        """Why the rule does not cover it."""
        if self._now - live_set.created <= self._rule.older_than:
            return f"it is not older than {duration_text(self._rule.older_than)}"
        if self._rule.status and live_set.status not in self._rule.status:
            return f"its status is {live_set.status}"
        return None

    def _why_needed(self, live_set: LiveSet) -> str | None:
        """Why it stays although someone asked."""
        holder, id_ = self._collects[live_set.repository], live_set.id
        if live_set.id in self._newest:
            return f"it is one of the {self._rule.keep} newest of {live_set.repository}"
        if live_set.status in _IN_PROGRESS:
            return f"it is in progress; if its process is gone, {next_call('delete', live_set_id=id_)} removes it"
        if holder is not None:
            return f"its repository is being collected: {holder}"
        if live_set.id in self._needed:
            return self._needed[live_set.id]
        if not self._rule.discard_deferred and next(iter(self._store.file_deletions(id_)), None) is not None:
            return "it has deferred deletions that have not run; `discard_deferred` discards them"
        if live_set.status in _SWEPT and not any(_speaks_for(later, live_set) for later in self._staying):
            return "'autotag' needs it: no later sweep that is kept covers as much"
        return None

    def _why_it_knows_more(self, live_set: LiveSet) -> str | None:
        """Why it stays if a table that is gone would never be found without it (S20).

        The sweeps of its repository say whether tables that are gone are swept, and when that is done. Live sets of
        another tool tell neither.
        """
        mine = (each for each in self._all if each.repository == live_set.repository and not each.is_imported)
        marked = [each for each in mine if each.status not in _NOT_MARKED]
        later = [each for each in marked if each.created > live_set.created]
        sweeps = [each for each in marked if each.dropped is not None]
        if live_set not in marked or not later or not any(map(self._tells_what_is_dropped, sweeps)):
            return None
        gone = set(self._store.content_ids(live_set.id)).difference(self._store.content_ids(later[0].id))
        for each in later[1:]:
            for some in in_pieces(sorted(gone), ASKED_AT_ONCE) if gone else ():
                gone -= {version.content_id for version in self._store.content_versions(each.id, content_ids=some)}
        if not gone or any(_has_taken(sweep, since=later[-1].created) for sweep in sweeps):
            return None
        return f"a dropped table is known only to it ({plural(len(gone), 'content')}), and no sweep has taken all of it"

    def _tells_what_is_dropped(self, live_set: LiveSet) -> bool:
        """Whether its sweep took dropped tables, so lately that the next one may do so as well."""
        age, done = self._now - live_set.created, live_set.dropped
        return done is not None and age <= self._rule.older_than + done.after

    def _needed_by_later_runs(self) -> Mapping[Any, str]:
        """The newest live sets of each repository, by id, with what each is needed for; expiries do not count."""
        found: dict[Any, str] = {}
        for repository in {each.repository for each in self._all}:
            mine = [each for each in self._all if each.repository == repository]
            marked = (each for each in mine if each.status not in _NOT_MARKED)
            swept = (each for each in mine if each.status is LiveSetStatus.EXPIRY_SUCCESS)
            dropped = (each for each in mine if self._tells_what_is_dropped(each))
            for some, said in ((marked, "marked"), (swept, "swept"), (dropped, "swept with `dropped_after`")):
                newest = next((each for each in some if not self._store.get(each.id).is_of_expiry), None)
                if newest is not None:
                    found.setdefault(newest.id, f"it is the newest of {repository} that was completely {said}")
        return found

    def _newest_of_each(self) -> frozenset[Any]:
        """The ids of those that stay by their number."""
        kept, seen = [], dict[str, int]()
        for live_set in self._all:
            seen[live_set.repository] = seen.get(live_set.repository, 0) + 1
            kept += [live_set.id] if seen[live_set.repository] <= self._rule.keep else []
        return frozenset(kept)


def _groups(live_sets: Sequence[LiveSet]) -> Iterable[list[LiveSet]]:
    """Those that were marked together, in their order; the one that names the others comes first in its group."""
    by_id = {each.id: each for each in live_sets}
    repositories = {each.repository for each in live_sets}
    others: dict[Any, list[LiveSet]] = {}
    for each in live_sets:
        named = (marked_with(each.id, repository) for repository in sorted(repositories))
        others[each.id] = [by_id[id_] for id_ in named if id_ in by_id]
    members = {other.id for found in others.values() for other in found}
    return [[each, *others[each.id]] for each in live_sets if each.id not in members]


def _speaks_for(later: LiveSet, earlier: LiveSet) -> bool:
    """Whether a later sweep may have taken every state that an earlier one may have taken (S6).

    By these live sets 'autotag' knows which states it must not tag, because files of theirs may be gone.
    """
    if later.repository != earlier.repository or _seen(later) < _seen(earlier):
        return False
    new, old = (ReferencePolicies.from_texts(each.policies, {}) for each in (later, earlier))
    if [pattern.pattern for pattern, _ in new.patterns] != [pattern.pattern for pattern, _ in old.patterns]:
        return False
    pairs = zip([new.default, *(p for _, p in new.patterns)], [old.default, *(p for _, p in old.patterns)], strict=True)
    return all(_reaches_no_further(later.reach, earlier.reach) for later, earlier in pairs)


def _has_taken(sweep: LiveSet, *, since: datetime) -> bool:
    """Whether a sweep took all that was gone since an instant; stores and machines may differ by less than a day."""
    done = sweep.dropped if sweep.status is LiveSetStatus.EXPIRY_SUCCESS else None
    return done is not None and not done.left and sweep.created - since > done.after + _CLOCKS


def _seen(live_set: LiveSet) -> datetime:
    return live_set.references_listed or live_set.created


def _reaches_no_further(new: Reach, old: Reach) -> bool:
    if old.everything:
        return True
    if new.everything:
        return False
    return new.since is None or (old.since is not None and new.since >= old.since)


class PruneService(Service[Run]):
    """Remove old live sets from the store, for those who run services by their names."""

    name: ClassVar[str] = "prune"
    Parameters: ClassVar[type[ConnectorOptions]] = PruneParameters
    uses_files: ClassVar[bool] = False

    def __init__(self, parameters: PruneParameters) -> None:
        """Takes which ones."""
        self._parameters = parameters

    def run(self, run: Run) -> PruneReport:
        """Removes them.

        Raises:
            ConfigurationError: the age is missing, or a status is invalid.
        """
        rule, dry_run = self._parameters.rule(), self._parameters.dry_run
        return prune(run.store, rule, dry_run=dry_run, clock=run.clock, go_on=run.go_on)
