"""Makes and deletes the tags of one repository, or of one table."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.autotag.collected import FRESH, sweeps_of, swept_by, why_not_whole
from nessie_gc_core.services.autotag.holders import Change, Done, Holder
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.plan import Known, TagPlan, plan_tags
from nessie_gc_core.services.autotag.policies import WantedTag, policies_by_branch, wanted_tags
from nessie_gc_core.services.autotag.recording import Recording
from nessie_gc_core.services.autotag.report import TagOutcome, TagResult
from nessie_gc_core.services.autotag.states import State, states_at
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.run import Run

log = logging.getLogger(__name__)

Only = Collection[tuple[str, str, "str | None"]]
"""Holder, name and target of tags."""
SECONDS = 0.1
"""How long it waits after the first conflict; twice as long after each further one."""
_SAID = {
    Done.NOT_OURS: TagOutcome.LEFT_ALONE,
    Done.CONFLICT: TagOutcome.CONFLICT,
    Done.REFUSED: TagOutcome.REFUSED,
    Done.UNKNOWN: TagOutcome.UNKNOWN,
}
_NO_STATE = "the branch had no state at that time"


@dataclass(slots=True)
class Tagged:
    """The outcome of the tags of a holder."""

    results: dict[tuple[str, str], TagResult] = field(default_factory=dict)
    """By branch and name, the last word on each."""
    kept: int = 0
    """How many of our tags stay."""
    others: int = 0
    """How many of our tags belong to other policies."""

    @property
    def tags(self) -> list[TagResult]:
        """Each tag that was to be made or deleted."""
        return list(self.results.values())

    def say(self, result: TagResult) -> None:
        """Adds the outcome of a tag."""
        self.results[result.branch, result.name] = result

    @property
    def is_in_conflict(self) -> bool:
        """Whether others committed meanwhile."""
        return any(tag.outcome is TagOutcome.CONFLICT for tag in self.results.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class HolderTagging:
    """One auto-tagging under way."""

    run: Run
    parameters: AutotagParameters
    recording: Recording
    at: datetime
    """The time that is taken for now."""
    lease: Lease | None
    """Without one nothing is changed."""
    only: Only | None
    """The tags that may be made or deleted; ``None``: all."""
    wait: Callable[[float], None] = time.sleep

    def tag(self, holder: Holder, records: Mapping[str, TagRecord]) -> Tagged:
        """Makes what is missing, and deletes what no policy keeps; again where others committed meanwhile.

        Raises:
            ConfigurationError: policies fight over a name.
            NessieGcError: the holder or the store cannot be read.
        """
        known, tagged = dict(records), Tagged()
        for attempt in range(self.parameters.commit_retries + 1):
            self._tag_once(holder, known, tagged)
            if not tagged.is_in_conflict or attempt == self.parameters.commit_retries:
                break
            log.info("%s changed in the meantime; trying again", holder.table)
            self.wait(SECONDS * 2**attempt)
            now = holder.reloaded()
            if now is None:
                break
            holder = now
        return tagged

    def _tag_once(self, holder: Holder, known: dict[str, TagRecord], tagged: Tagged) -> None:
        if holder.left_alone is not None:
            branch = self.parameters.tag_branch or holder.default
            tagged.say(failed(holder.left_alone, branch=branch, table=holder.table, outcome=TagOutcome.LEFT_ALONE))
            return
        plan = self._planned(holder, known)
        tagged.kept, tagged.others = plan.kept, plan.others
        for result in _said(holder, plan):
            tagged.say(result)
        states = dict(self._states(holder, plan, tagged))
        new = list(self._new(holder, plan, states, tagged))
        make = [each for each in new if each.target is not None and self._may(each)]
        delete = [each for each in plan.delete if self._may(each)]
        if self.lease is None:
            for tags, outcome in ((make, TagOutcome.MADE), (delete, TagOutcome.DELETED)):
                for tag in tags:
                    tagged.say(_result(holder, tag, outcome))
            return
        self.lease.check()
        self._record(known, [*plan.record, *(each for each in new if each.target is None), *make])
        for tag, change in holder.change(make, delete, self.lease.check):
            self._learn(holder, tag, change, tagged, known)
        self.recording.forget(plan.forget)
        made = [known[tag.name] for tag in make if tag.name in known]
        self._take_back(holder, made, states, tagged, self.lease)

    def _planned(self, holder: Holder, known: dict[str, TagRecord]) -> TagPlan:
        default, existing = holder.default, holder.references
        names = {*holder.branches, *(record.branch for record in known.values())}
        chosen = self.parameters.tag_branch or default
        by_branch = policies_by_branch(self.parameters.policies, names, chosen=chosen, default=default)
        wanted: dict[str, WantedTag] = {}
        places: dict[tuple[str, str], set[str]] = {}
        for branch, policies in by_branch.items():
            wanted.update(wanted_tags(branch, policies, self.at))
            for policy in policies:
                places.setdefault((branch, policy.prefix), set()).add(policy.period.text)
        if self.parameters.adopt and self.lease is not None:
            seen = Known(existing=existing, records=known)
            doubtful = [each for each in known.values() if not each.made and seen.is_where_it_was(each)]
            ours = [each for each in doubtful if (each.branch, each.prefix) in places]
            self._record(known, [replace(each, made=True) for each in ours])
        return plan_tags(wanted, Known(existing=existing, records=known), places=places, at=self.at)

    def _may(self, tag: TagRecord) -> bool:
        return self.only is None or (*tag.key, tag.target) in self.only

    def _record(self, known: dict[str, TagRecord], records: Sequence[TagRecord]) -> None:
        self.recording.put(records)  # before tags are made: what has no record is never deleted
        known.update({record.name: record for record in records})

    # ---- what to make ---------------------------------------------------------------------------------
    def _states(self, holder: Holder, plan: TagPlan, tagged: Tagged) -> Iterator[tuple[str, State | None]]:
        """Names of tags to make, with the states that they should show; of a branch that is gone there are none."""
        for branch in dict.fromkeys(each.branch for each in plan.make if each.branch in holder.branches):
            wanted = [each for each in plan.make if each.branch == branch]
            try:
                states = states_at(holder.states(branch), [each.state_at for each in wanted])
            except NessieGcError as error:
                tagged.say(failed(one_line(error), branch=branch, table=holder.table))
                continue
            yield from ((each.name, states[each.state_at]) for each in wanted)

    def _new(
        self, holder: Holder, plan: TagPlan, states: Mapping[str, State | None], tagged: Tagged
    ) -> Iterator[TagRecord]:
        """Records of the tags to make, and of those that will never have a state."""
        sweeps, checked = self._sweeps(holder), dict[str, "tuple[TagOutcome, str] | None"]()
        with OpenConnectors(self.run.choice) as connectors:
            for each in plan.make:
                if each.name not in states:
                    continue
                state = states[each.name]
                gone = _NO_STATE if state is None else swept_by(sweeps, each.branch, state)
                record = _record(holder, each, None if gone or state is None else state.target)
                if gone is not None or state is None:
                    tagged.say(_result(holder, record, TagOutcome.NO_STATE, gone))
                    yield record
                    continue
                if state.target not in checked:
                    checked[state.target] = self._against(holder, each.branch, state, connectors)
                problem = checked[state.target]
                if problem is None:
                    yield record
                else:
                    tagged.say(_result(holder, record, *problem))

    def _sweeps(self, holder: Holder) -> list[LiveSet]:
        """The sweeps that may have taken files of a state; what a table lists is live."""
        return sweeps_of(self.run.store, self.recording.identity) if holder.table is None else []

    def _against(
        self, holder: Holder, branch: str, state: State, connectors: OpenConnectors
    ) -> tuple[TagOutcome, str] | None:
        """Why a state cannot be tagged now; the next run looks again."""
        if state.ended is None or self.at - state.ended <= FRESH:
            return None
        try:
            missing = why_not_whole(holder.contents(branch, state), connectors, self.run.registry)
        except NessieGcError as error:
            return TagOutcome.REFUSED, one_line(error)
        return None if missing is None else (TagOutcome.NO_STATE, missing)

    # ---- what became of it ----------------------------------------------------------------------------
    def _learn(
        self, holder: Holder, tag: TagRecord, change: Change, tagged: Tagged, known: dict[str, TagRecord]
    ) -> None:
        """Brings the records up to date."""
        is_deletion, done = tag.made, change.done
        if done is Done.DONE and not is_deletion:
            self._record(known, [replace(tag, made=True)])
        elif done is Done.DONE or done is Done.NOT_OURS or (not is_deletion and done is not Done.UNKNOWN):
            self.recording.forget([tag])  # it is gone, was not made, or is somebody else's
            known.pop(tag.name, None)
        outcome = _SAID.get(done, TagOutcome.DELETED if is_deletion else TagOutcome.MADE)
        tagged.say(_result(holder, tag, outcome, change.reason))

    def _take_back(
        self,
        holder: Holder,
        made: Sequence[TagRecord],
        states: Mapping[str, State | None],
        tagged: Tagged,
        lease: Lease,
    ) -> None:
        """Deletes what was made of states that a sweep gave up which began meanwhile.

        One that begins later sees the tags before it deletes (S9).
        """
        sweeps = self._sweeps(holder)
        reasons = {tag.name: swept_by(sweeps, tag.branch, state) for tag in made if (state := states[tag.name])}
        swept = [tag for tag in made if tag.made and reasons.get(tag.name) is not None]
        for tag, change in holder.change((), swept, lease.check):
            outcome = _SAID.get(change.done, TagOutcome.NO_STATE)
            tagged.say(_result(holder, tag, outcome, change.reason or reasons[tag.name]))
            if change.done is Done.DONE:
                self.recording.put([replace(tag, target=None, made=False)])


def failed(reason: str, *, branch: str, table: str | None, outcome: TagOutcome = TagOutcome.REFUSED) -> TagResult:
    """The result for a whole branch or table that cannot be tagged."""
    return TagResult(outcome=outcome, name="", table=table, branch=branch, reason=reason)


def _said(holder: Holder, plan: TagPlan) -> Iterator[TagResult]:
    """What nothing is done about."""
    for each in plan.foreign:
        record = _record(holder, each, holder.references[each.name])
        yield _result(holder, record, TagOutcome.LEFT_ALONE, "someone else created it")
    for tag in plan.changed:
        yield _result(holder, tag, TagOutcome.LEFT_ALONE, "someone moved it, so it is theirs now")
    for tag in plan.vanished:
        yield _result(holder, tag, TagOutcome.VANISHED, "someone deleted it; it is not created again")
    for tag in plan.doubtful:
        reason = "a run was interrupted while creating it; delete it by hand, or use `adopt` if it belongs to autotag"
        yield _result(holder, tag, TagOutcome.IN_DOUBT, reason)


def _record(holder: Holder, wanted: WantedTag, target: str | None) -> TagRecord:
    return TagRecord(
        holder=holder.id,
        name=wanted.name,
        prefix=wanted.prefix,
        branch=wanted.branch,
        instant=wanted.instant,
        state_at=wanted.state_at,
        periods=wanted.periods,
        target=target,
        made=False,
    )


def _result(holder: Holder, tag: TagRecord, outcome: TagOutcome, reason: str | None = None) -> TagResult:
    return TagResult(
        outcome=outcome,
        name=tag.name,
        table=holder.table,
        content_id=holder.id or None,
        branch=tag.branch,
        instant=tag.instant,
        target=tag.target,
        periods=tag.periods,
        reason=reason,
    )
