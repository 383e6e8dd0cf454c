"""Repositories that are swept with others and cannot be read: all that they ever had is left alone (S6, S20)."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import home_of_metadata
from nessie_gc_core.services.places import WithFolders, distinct_places
from nessie_gc_core.services.run import Member, SweepRun
from nessie_gc_core.services.stored_versions import marked_live_sets, stored_versions


def freeze_unread_repositories(plan: SweepPlan, run: SweepRun, *homes: pa.Table) -> None:
    """Removes every unit that a repository touches, or ever touched, which could not be read.

    Args:
        plan: what would be swept.
        run: the run.
        homes: tables of ``content_id`` and raw ``location``, among them those of the newest live set of each.
    """
    for member in run.members:
        if member.unread is None:
            continue
        repository = member.live_set.repository
        plan.unreadable[member.repository.address()] = member.unread
        reason = f"{repository} has or had files here, and cannot be read: {member.unread}"
        prefixes = set[str]()
        for raw in {*_remembered(member, run), *_among(homes, member)}:
            try:
                prefixes.add(plan.rules.canonical_prefix(raw))
            except UnknownLocationError as error:
                plan.unknown[raw] = str(error)
        plan.freeze(prefixes, reason)
        plan.freeze_shared(reason)


def _remembered(member: Member, run: SweepRun) -> Iterator[str]:
    """Raw or canonical locations of all that was ever seen of a repository, and what its live sets say."""
    repository = member.live_set.repository
    live_sets = {each.id: member.number for each in marked_live_sets(run) if each.repository == repository}
    versions, _ = stored_versions(run, live_sets, of_the_past=True)
    for folder, location in distinct_places(versions.flat_map(WithFolders())):
        if folder is not None:
            yield home_of_metadata(folder)
        if location is not None:
            yield location
    yield from (reached.place for reached in run.store.reached(repository) if reached.place)  # (S31)
    # Last: a live set that is deleted meanwhile leaves its contents here.
    yield from (seen.location for seen in run.store.seen_contents(repository))


def _among(homes: tuple[pa.Table, ...], member: Member) -> Iterator[str]:
    """Raw locations that the metadata of its contents says."""
    for table in homes:
        yield from (raw for raw in member.mine(table).column("location").to_pylist() if raw is not None)
