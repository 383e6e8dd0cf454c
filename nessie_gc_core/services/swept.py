"""What a sweep found, for those who ask more than its report says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.locations import with_slash
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.by_table import by_table
from nessie_gc_core.services.left_out import names_in
from nessie_gc_core.services.needed import Located
from nessie_gc_core.services.places import placed
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.scope import Scope
from nessie_gc_core.services.tally import TableTally

_DONE = (Outcome.DELETED, Outcome.ALREADY_GONE, Outcome.QUARANTINED, Outcome.DEFERRED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Swept:
    """What a sweep found, as relations on the engine of its run."""

    live_set: LiveSet
    """The live set that was swept, as it was before."""
    outcomes: Dataset | None
    """:data:`OUTCOMES` of the last step, if there was one."""
    located: Located
    """Where the contents lie."""
    scope: Scope
    """The units that were swept, and what else is known of them."""
    stored: Dataset
    """:data:`STORED_FILES`: what was listed."""
    lost: Dataset
    """:data:`REACHABLE_FILES`: what is referenced and not stored."""

    def by_table(self, report: GcReport, listed: Mapping[str, tuple[int, int]]) -> list[TableTally]:
        """A row for each location.

        Args:
            report: of the sweep.
            listed: files and bytes of each unit.
        """
        return tables_at(self.located, self.scope, report, listed)

    def left_of_dropped(self, report: GcReport, *, whole: bool) -> int:
        """In how many places of their own of contents that are gone something stayed that nothing needs.

        Args:
            report: of the sweep.
            whole: whether the report has all outcomes; else what stayed in a place may be needed.
        """
        plan, index = self.scope.plan, self.scope.index
        found = (index.find(with_slash(each.location)) for each in self.located.dropped)
        roots = {unit[0] for unit in found if unit is not None and not unit[1]}
        return sum(
            root in plan.unknown or root in plan.unread or _some_stayed(report, root, whole=whole) for root in roots
        )


def _some_stayed(report: GcReport, root: str, *, whole: bool) -> bool:
    outcomes = {outcome: tally.files for outcome, tally in report.outcomes_in.get(root, {}).items()}
    gone = sum(outcomes.pop(done, 0) for done in _DONE)
    return any(outcomes.values()) or (not whole and report.files_in.get(root, 0) > gone)


def tables_at(
    located: Located, scope: Scope, report: GcReport, listed: Mapping[str, tuple[int, int]]
) -> list[TableTally]:
    """A row for each location of a sweep, which may be under way.

    Args:
        located: where the contents lie.
        scope: the units.
        report: of the sweep.
        listed: files and bytes of each unit.
    """
    names, homes = names_in(located.versions), placed(located.homes)
    return by_table(scope.plan, report, names, homes, listed=listed, dropped=located.dropped)
