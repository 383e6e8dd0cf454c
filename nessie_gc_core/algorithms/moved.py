"""Re-check: what became live since the mark (S9): new references and moved heads are walked, and expanded."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from nessie_gc_core.algorithms.expand import Expansion, ReadVersions, expand
from nessie_gc_core.algorithms.mark import BatchingContents, mark
from nessie_gc_core.algorithms.storable import unknown_type
from nessie_gc_core.algorithms.suspicion import checked_references
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.unread import types_read_by
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles, RepositoryConnector, VisitedDeduplicator
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.model.batches import version_rows
from nessie_gc_core.model.live_sets import ReferenceHead
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.model.repository import ContentVersion, Reference

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsMoved:
    """What a re-check found."""

    references: int
    """New references and moved heads."""
    versions: Sequence[ContentVersion]
    """Content versions that they reach; those that the mark had found may be among them."""
    heads: tuple[ReferenceHead, ...]
    """All references as they are now."""


def find_moved(
    repository: RepositoryConnector,
    known: Iterable[ReferenceHead],
    policies: ReferencePolicies,
    deduplicator: VisitedDeduplicator,
    *,
    parallelism: int,
) -> HeadsMoved:
    """Lists the references again and walks those that are new or moved, down to what was walked before.

    ``policies`` are those of the mark, its durations counted from the same instant.
    """
    before = {head.name: head for head in known}
    now = list(checked_references(repository))
    moved = [r for r in now if r.name not in before or before[r.name].commit_id != r.commit_id]
    versions: list[ContentVersion] = []
    if moved:
        log.info("%d references are new or have moved since the mark", len(moved))
        walked = [
            (head.commit_id, policies.for_reference(head.name).reach)
            for head in before.values()
            if head.commit_id is not None
        ]
        batches = BatchingContents(versions.extend)
        mark(repository, policies, deduplicator, batches, references=moved, parallelism=parallelism, walked=walked)
        batches.flush()
    return HeadsMoved(references=len(moved), versions=versions, heads=_heads(now, policies))


def _heads(references: Iterable[Reference], policies: ReferencePolicies) -> tuple[ReferenceHead, ...]:
    return tuple(
        ReferenceHead(name=r.name, commit_id=r.commit_id, policy=policies.for_reference(r.name).text)
        for r in references
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewlyLive:
    """Files that became reachable since the mark."""

    version_files: Dataset
    expansion: Expansion


def expand_moved(
    engine: Engine,
    moved: Sequence[ContentVersion],
    index: UnitIndex,
    choice: ConnectorChoice,
    *,
    readers: Sequence[type[ContentToFiles]],
    known: Dataset,
    on_unread: Callable[[ContentVersion], None],
) -> NewlyLive:
    """Expands the content versions that moved heads reach, but for the files that were expanded before."""
    read_types = types_read_by(readers) | {
        version.content_type for version in moved if unknown_type(version.content_type)
    }
    for version in moved:
        if version.content_type not in read_types:
            on_unread(version)
    readable = (version for version in moved if version.content_type in read_types)
    versions = engine.dataset(version_rows(readable), CONTENT_VERSIONS)
    version_files = versions.spread(["metadata_location"], together=True).flat_map(ReadVersions(choice)).checkpoint()
    return NewlyLive(version_files=version_files, expansion=expand(version_files, index, choice, readers, known=known))
