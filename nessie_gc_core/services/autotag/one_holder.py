"""Makes and deletes the tags of one repository, or of one table."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.errors import NessieGcError
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

SECONDS = 0.1
"""How long it waits after the first conflict; twice as long after each further one."""
_FAILED = {
    Done.NOT_OURS: TagOutcome.LEFT_ALONE,
    Done.CONFLICT: TagOutcome.CONFLICT,
    Done.REFUSED: TagOutcome.REFUSED,
    Done.UNKNOWN: TagOutcome.UNKNOWN,
}


@dataclass(slots=True)
class Tagged:
    """What became of the tags of a holder."""

    tags: list[TagResult] = field(default_factory=list)
    """Each tag that was to be made or deleted."""
    kept: int = 0
    """How many of ours stay."""


class HolderTagging:
    """One auto-tagging under way."""

    def __init__(
        self,
        run: Run,
        parameters: AutotagParameters,
        recording: Recording,
        *,
        at: datetime,
        lease: Lease | None,
        only: Collection[tuple[str, str]] | None,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Takes what is the same for all holders; without a lease nothing is changed."""
        self._run, self._parameters, self._recording = run, parameters, recording
        self._at, self._lease, self._only, self._wait = at, lease, only, wait
        self._policies = parameters.policies
        self._sweeps = sweeps_of(run.store, recording.identity)

    def tag(self, holder: Holder, records: Mapping[str, TagRecord]) -> Tagged:
        """Makes what is missing, and deletes what no policy keeps; again where others committed meanwhile.

        Raises:
            NessieGcError: the holder or the store cannot be read.
        """
        known = dict(records)
        for attempt in range(self._parameters.commit_retries + 1):
            tagged = self._tag_once(holder, known)
            if not any(tag.outcome is TagOutcome.CONFLICT for tag in tagged.tags):
                break
            if attempt < self._parameters.commit_retries:
                log.info("%s was changed meanwhile; trying again", holder.table)
                self._wait(SECONDS * 2**attempt)
                now = holder.reloaded()
                if now is None:
                    break
                holder = now
        return tagged

    def _tag_once(self, holder: Holder, known: dict[str, TagRecord]) -> Tagged:
        if holder.left_alone is not None:
            branch = self._parameters.branch or holder.default
            outcome = TagOutcome.LEFT_ALONE
            return Tagged(tags=[failed(holder.left_alone, branch=branch, table=holder.table, outcome=outcome)])
        wanted, places = self._wanted(holder, known)
        plan = plan_tags(
            wanted,
            Known(holder=holder.id, existing=holder.references, records=known),
            places=places,
            at=self._at,
        )
        plan = plan if self._only is None else _restricted(plan, holder.id, self._only)
        tagged = Tagged(tags=list(_said(holder, plan)), kept=plan.kept)
        to_record = list(self._stated(holder, plan, tagged))
        make = [record for record in to_record if record.target is not None]
        if self._lease is None:
            tagged.tags.extend(_result(holder, tag, TagOutcome.MADE) for tag in make)
            tagged.tags.extend(_result(holder, tag, TagOutcome.DELETED) for tag in plan.delete)
            return tagged
        self._recording.put(to_record)  # before they are made: what is not recorded is never deleted
        known.update({record.name: record for record in to_record})
        self._lease.check()
        for tag, change in holder.change(make, plan.delete):
            self._learn(holder, tag, change, tagged, known)
        self._recording.forget(plan.forget)
        return tagged

    def _wanted(
        self, holder: Holder, known: Mapping[str, TagRecord]
    ) -> tuple[dict[str, WantedTag], set[tuple[str, str]]]:
        """What should be there by name, and the branches with the prefixes of their policies."""
        default = holder.default
        names = {*holder.branches, *(record.branch for record in known.values())}
        chosen = self._parameters.branch or default
        by_branch = policies_by_branch(self._policies, names, chosen=chosen, default=default)
        wanted: dict[str, WantedTag] = {}
        for branch, policies in by_branch.items():
            wanted.update(wanted_tags(branch, policies, self._at))
        return wanted, {(branch, each.prefix) for branch, policies in by_branch.items() for each in policies}

    # ---- what to make ---------------------------------------------------------------------------------
    def _stated(self, holder: Holder, plan: TagPlan, tagged: Tagged) -> Iterator[TagRecord]:
        """Records of the tags that are to be made, with their states, and of those that have none."""
        for branch in dict.fromkeys(each.branch for each in plan.make):
            if branch not in holder.branches:
                continue  # it is gone, and its tags stay for as long as they would have
            wanted = [each for each in plan.make if each.branch == branch]
            try:
                states = states_at(holder.states(branch), [each.state_at for each in wanted])
                reasons = self._reasons(holder, branch, states.values())
            except NessieGcError as error:
                tagged.tags.append(failed(one_line(error), branch=branch, table=holder.table))
                continue
            for each in wanted:
                state = states[each.state_at]
                reason = "the branch had no state then" if state is None else reasons[state.target]
                record = _record(holder, each, None if reason or state is None else state.target)
                if reason:
                    tagged.tags.append(_result(holder, record, TagOutcome.NO_STATE, reason))
                yield record

    def _reasons(self, holder: Holder, branch: str, states: Iterable[State | None]) -> dict[str, str | None]:
        """Commit or snapshot to why files of that state may be gone."""
        found: dict[str, str | None] = {}
        with OpenConnectors(self._run.choice) as connectors:
            for state in states:
                if state is None or state.target in found:
                    continue
                sweeps = self._sweeps if holder.table is None else ()  # what a table lists is live
                reason = swept_by(sweeps, branch, state)
                if reason is None and state.ended is not None and self._at - state.ended > FRESH:
                    reason = why_not_whole(holder.contents(branch, state), connectors, self._run.registry)
                found[state.target] = reason
        return found

    # ---- what became of it ----------------------------------------------------------------------------
    def _learn(
        self, holder: Holder, tag: TagRecord, change: Change, tagged: Tagged, known: dict[str, TagRecord]
    ) -> None:
        """Brings the records up to date."""
        deleted = tag.made
        if change.done is Done.DONE and not deleted:
            made = replace(tag, made=True)
            self._recording.put([made])
            known[tag.name] = made
        elif change.done is Done.DONE or (deleted and change.done is Done.NOT_OURS):
            self._recording.forget([tag])
            known.pop(tag.name, None)
        elif not deleted and change.done is not Done.UNKNOWN:
            self._recording.forget([tag])  # it was not made, so whoever has the name owns it
            known.pop(tag.name, None)
        outcome = _FAILED.get(change.done, TagOutcome.DELETED if deleted else TagOutcome.MADE)
        tagged.tags.append(_result(holder, tag, outcome, change.reason))


def failed(reason: str, *, branch: str, table: str | None, outcome: TagOutcome = TagOutcome.REFUSED) -> TagResult:
    """What is said of a whole branch or table of which nothing can be done."""
    return TagResult(outcome=outcome, name="", table=table, branch=branch, reason=reason)


def _said(holder: Holder, plan: TagPlan) -> Iterator[TagResult]:
    """What nothing is done about."""
    for each in plan.foreign:
        record = _record(holder, each, holder.references[each.name])
        yield _result(holder, record, TagOutcome.LEFT_ALONE, "somebody else made it")
    for tag in plan.changed:
        yield _result(holder, tag, TagOutcome.LEFT_ALONE, "somebody moved it, so it is theirs now")
    for tag in plan.doubtful:
        reason = "a run was cut off while it made it; delete it by hand if nobody needs it"
        yield _result(holder, tag, TagOutcome.IN_DOUBT, reason)


def _restricted(plan: TagPlan, holder: str, only: Collection[tuple[str, str]]) -> TagPlan:
    """The part of a plan that is about some tags."""
    return replace(
        plan,
        make=tuple(each for each in plan.make if (holder, each.name) in only),
        delete=tuple(each for each in plan.delete if each.key in only),
    )


def _record(holder: Holder, wanted: WantedTag, target: str | None) -> TagRecord:
    return TagRecord(
        holder=holder.id,
        name=wanted.name,
        prefix=wanted.prefix,
        branch=wanted.branch,
        instant=wanted.instant,
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
