"""From a sweep that deletes nothing to assets: what they are called, why nothing needs them, what held them last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.algorithms.all_commits import AllCommits
from nessie_gc_core.algorithms.assets import NameAssets, Sighting, TableIndex, asset_files
from nessie_gc_core.algorithms.history import held_files, walk_history
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import to_rows
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import CONTENT_VERSIONS, FILE_KEYS, OUTCOMES
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.stored_versions import stored_versions
from nessie_gc_core.services.swept import Swept

_BEING_MARKED = LiveSetStatus.IDENTIFY_IN_PROGRESS
_KEYS = pa.schema([CONTENT_VERSIONS.field("content_id"), pa.field("content_key", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What all commits say, those included that the policies gave up."""

    versions: Dataset
    """:data:`HISTORY_VERSIONS`."""
    held: Dataset
    """:data:`HELD_FILES`."""


def named_assets(
    run: Run,
    swept: Swept,
    sighting: Sighting,
    history: History | None,
    *,
    tables: Iterable[tuple[str, str]],
    left_out: Iterable[str] = (),
) -> Dataset:
    """What a sweep would delete, as assets (:data:`ASSETS`).

    Args:
        run: the run.
        swept: what its sweep found.
        sighting: what all rows have in common.
        history: says why nothing needs them.
        tables: what :func:`table_locations` gave.
        left_out: raw locations whose files are not assets.
    """
    outcomes = swept.outcomes if swept.outcomes is not None else run.engine.empty(OUTCOMES)
    rules = swept.scope.plan.rules  # which know the links to the locations of tables
    files = asset_files(outcomes, swept.scope.index, rules, left_out=left_out)
    if history is not None:
        files = files.left_join(history.held, list(FILE_KEYS.names))
    dropped = [rules.place_prefix(each.location) for each in swept.located.dropped]
    named = NameAssets(
        sighting,
        TableIndex(tables, rules),
        swept.located.readers,
        run.choice,
        history=history is not None,
        dropped=dropped,
    )
    return files.flat_map(named)


def walked(run: Run, swept: Swept, parallelism: int) -> History:
    """Walks all commits of all references; so many references at once."""
    with run.report.phase("history"):
        live_set = swept.live_set
        commits = AllCommits(
            repository=run.repository,
            parallelism=parallelism,
            progress=lambda done, total: run.tell("history", done, total),
        )
        policies = ReferencePolicies.from_texts(live_set.policies, {head.name: head.policy for head in live_set.heads})
        versions = walk_history(run.engine, commits, policies, _remembered(run, live_set))
        for problem in commits.problems:
            run.report.warn(f"the history is incomplete: {problem}")
        live, scope = swept.located.versions, swept.scope
        held = held_files(versions, live, scope.known, scope.index, run.choice, scope.readers)
        return History(versions=versions, held=held)


def _remembered(run: Run, live_set: LiveSet) -> Dataset:
    """The content versions (:data:`CONTENT_VERSIONS`) of the repository's earlier live sets."""
    stored = (each for each in run.store.live_sets() if each.repository == live_set.repository)
    # The rows of one that is being marked still come.
    others = (each for each in stored if each.id != live_set.id and each.status is not _BEING_MARKED)
    versions, _ = stored_versions(run, {other.id: 0 for other in others}, of_the_past=True)
    return versions


def table_locations(swept: Swept) -> Iterator[tuple[str, str]]:
    """Raw base locations with the names of their tables; a name that is not known is empty."""
    yield from ((each.location, each.name) for each in swept.located.dropped if each.name)
    named = swept.located.versions.aggregate(["content_id"], {"content_key": ("max", "content_key")}, _KEYS).summary()
    names = dict(zip(*(named.column(name).to_pylist() for name in _KEYS.names), strict=True))
    for batch in swept.located.homes.to_batches():
        for content_id, location in to_rows(batch, "content_id", "location"):
            if location is not None:
                yield str(location), names.get(str(content_id), "")
