"""The re-check of a deletion: what became live since the mark is spared (S9)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nessie_gc_core.algorithms.moved import HeadsMoved, expand_moved, find_moved
from nessie_gc_core.algorithms.namesakes import lost_names
from nessie_gc_core.algorithms.subtract import with_owners
from nessie_gc_core.algorithms.unread import UnreadContents
from nessie_gc_core.connectors import VisitedDeduplicator
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.live_sets import ReferenceHead
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.looked_at import LookedAt
from nessie_gc_core.services.marked import freeze_translated
from nessie_gc_core.services.members import READ_ERRORS
from nessie_gc_core.services.run import Member, SweepRun, qualified
from nessie_gc_core.services.scope import Scope
from nessie_gc_core.services.set_aside import set_aside_of_moved
from nessie_gc_core.services.shared_places import freeze_for_unread

BECAME_LIVE = "a new or moved reference needs it"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewlyNeeded:
    """What became live since the last look."""

    files: Dataset
    """Their units and keys (:data:`FILE_KEYS`), stored."""
    names: Dataset
    """The names of those that were found nowhere (:data:`LOST_NAMES`), or have been written since, stored."""


class Recheck:
    """Looks at the references again and again while files are deleted."""

    def __init__(
        self, run: SweepRun, scope: Scope, spared_units: Mapping[str, str], looked_at: LookedAt | None = None
    ) -> None:
        """Takes what it is about.

        Args:
            run: the run.
            scope: the sweep units.
            spared_units: units in which nothing may be deleted, with the reason.
            looked_at: what was listed; ``None``: nothing.
        """
        self.scope = scope
        self._looked_at = looked_at or LookedAt.nothing(run, scope.plan)
        self.spared_units = dict(spared_units)
        """Units in which nothing may be deleted any more, with the reason."""
        self._run = run
        self._heads = [member.live_set.heads for member in run.members]
        """Of each repository the references as they were at the last look."""
        self._checked: float | None = None

    def run_if_due(self) -> NewlyNeeded | None:
        """Walks what moved since the last look, where that is long ago; the first time always.

        Returns:
            The files that became live since; ``None``: nothing did.
        """
        now = self._run.elapsed()
        if self._checked is None:
            self._warn_of_broken_plugins()
        if self._checked is not None and now - self._checked < self._run.parameters.recheck_interval.total_seconds():
            return None
        with self._run.report.phase("recheck"):
            moved = [self._moved(*known) for known in zip(self._run.members, self._heads, strict=True)]
            self._checked = now
            self._heads = [each.heads for each in moved]
            self._run.report.references_moved += sum(each.references for each in moved)
            return self._spare([each.versions for each in moved]) if any(each.versions for each in moved) else None

    def _warn_of_broken_plugins(self) -> None:
        """Says that a plugin that cannot be loaded cannot object to a deletion either."""
        for plugin in self._run.registry.broken:
            self._run.report.warn(
                f"the plugin {plugin.name!r} is broken ({plugin.error}) and could not veto any deletion; runs that "
                "delete are refused until it is repaired, uninstalled, or disabled with `disable_plugin`"
            )

    def _moved(self, member: Member, before: tuple[ReferenceHead, ...]) -> HeadsMoved:
        """What moved in one repository since its live set; of one that still cannot be read nothing is known."""
        try:
            return self._walked(member, before)
        except READ_ERRORS:
            if member.unread is None:
                raise
            return HeadsMoved(references=0, versions=(), heads=before)

    def _walked(self, member: Member, before: tuple[ReferenceHead, ...]) -> HeadsMoved:
        live_set, parameters = member.live_set, self._run.parameters
        recorded = {head.name: head.policy for head in live_set.heads}
        policies = ReferencePolicies.from_texts(live_set.policies, recorded)
        with self._run.choice.open(VisitedDeduplicator, parameters.visited) as deduplicator:
            found = find_moved(
                member.repository, before, policies, deduplicator, parallelism=parameters.identify_parallelism
            )
        return replace(found, versions=list(qualified(found.versions, member.number)))

    def _spare(self, moved: Sequence[Sequence[ContentVersion]]) -> NewlyNeeded:
        """Expands what became live in each repository, and returns its files; what cannot be read is frozen."""
        versions = list(itertools.chain(*moved))
        run, scope = self._run, self.scope.with_readers_of(versions, self._run)
        plan, index = scope.plan, scope.index
        index.look_again()
        before = set(plan.roots)
        dead = set_aside_of_moved(plan, run, scope.finder.set_aside, scope.names, versions)
        unread = UnreadContents(set_aside=dead)
        newly = expand_moved(
            run.engine, versions, index, run.choice, readers=scope.readers, known=scope.known, on_unread=unread.add
        )
        unread.find_places(newly.version_files)
        unread.find_earlier(scope.finder.remembered)
        unread.freeze(plan, strict=run.parameters.strict_unknown)
        finder = replace(scope.finder.with_versions(moved), set_aside=dead)
        problems = finder.find(newly.version_files, newly.expansion)
        strict, unlisted = run.parameters.strict_unknown, frozenset(unread.unknown_ids)
        never_read = finder.freeze(problems, newly.version_files, index, plan, strict=strict, unlisted=unlisted)
        if never_read is not None:
            run.report.warn(never_read)
        if problems or unread:
            scope.forgotten.freeze(plan, problems.example() if problems else unread.example())
        if problems:
            plan.freeze_shared(problems.example())
        freeze_for_unread(plan, unread, newly.version_files)
        freeze_translated(plan, newly.version_files)
        for unit in before - set(plan.roots):
            self.spared_units[unit] = plan.why(unit)
        files = with_owners(newly.expansion.reachable()).distinct(list(FILE_KEYS.names)).checkpoint()
        nowhere = self._looked_at.among(files).nowhere(newly.expansion, plan)
        return NewlyNeeded(files=files, names=lost_names(nowhere).checkpoint())
