"""What a run found and did, table by table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.model.locations import folders_of
from nessie_gc_core.services.places import Dropped
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import number_of
from nessie_gc_core.services.tally import TableTally, Tally


def by_table(
    plan: SweepPlan,
    report: GcReport,
    names: Iterable[tuple[str, str]],
    homes: Iterable[tuple[str, str]],
    *,
    listed: Mapping[str, tuple[int, int]],
    dropped: Iterable[Dropped] = (),
) -> list[TableTally]:
    """A row for each location, those with the most unreferenced bytes first.

    A location without a table of its own, such as a shared one, has a row if there are files.

    Args:
        plan: what was swept, and what was not and why.
        report: the outcome of files.
        names: content ids, qualified, and names.
        homes: the same ids and raw locations.
        listed: files and bytes of each unit.
        dropped: contents that are gone.
    """
    spellings = Spellings(plan.rules)  # units have no link or mount in them, but the locations of tables may
    reasons = _reasons(plan, spellings)
    by_id: dict[str, set[str]] = {}
    for content_id, name in names:
        by_id.setdefault(content_id, set()).add(name)
    live = ((content_id, location, by_id.get(content_id, ())) for content_id, location in homes)
    gone = ((None, each.location, [f"{each.name or 'an unknown table'} (dropped)"]) for each in dropped)
    found: dict[str, set[str]] = {}
    identities = {number: each.repository for number, each in enumerate(report.repositories)}
    repositories: dict[str, set[str]] = {}
    for of, location, named in (*live, *gone):
        root = _root(spellings.prefix_or_none(location), location, reasons)
        if root is not None:
            found.setdefault(root, set()).update(named)
            if of is not None and number_of(of) in identities:
                repositories.setdefault(root, set()).add(identities[number_of(of)])
    for root in plan.roots:
        if root in listed or root in report.outcomes_in:
            found.setdefault(root, set())
    rows = [
        TableTally(
            tables=tuple(sorted(named)),
            location=root,
            repositories=tuple(sorted(repositories.get(root, ()))),
            listed=Tally(*listed.get(root, (0, 0))),
            outcomes=report.outcomes_in.get(root, {}),
            left_alone=reasons[root],
        )
        for root, named in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.unreferenced.bytes, row.tables, row.location))


def _reasons(plan: SweepPlan, spellings: Spellings) -> dict[str, str | None]:
    """Every root that there is or was, with the reason why it is not swept."""
    refused = ((spellings.prefix_or_none(raw) or raw, reason) for raw, reason in plan.refused.items())
    return {**dict(refused), **plan.left_out, **plan.unread, **plan.unknown, **dict.fromkeys(plan.roots)}


def _root(place: str | None, location: str, roots: Mapping[str, object]) -> str | None:
    """The outermost of some roots around the place of a raw location."""
    if place is None:
        return location if location in roots else None
    return next((folder for folder in folders_of(place) if folder in roots), None)
