"""Whether files of an earlier state may be gone: a tag at such a state would be broken, and stop a later mark (S6)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import ContentToFiles, LiveSetStore
from nessie_gc_core.errors import MissingFileError
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.text import one_line
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.autotag.states import State
from nessie_gc_core.services.preconditions import TOLERANCE

FRESH = timedelta(hours=1)
"""A state that ended so recently was not collected by others: they collect only what they have seen unreferenced."""
_SWEPT = (LiveSetStatus.EXPIRY_IN_PROGRESS, LiveSetStatus.EXPIRY_SUCCESS, LiveSetStatus.EXPIRY_FAILED)


def sweeps_of(store: LiveSetStore, identity: str) -> list[LiveSet]:
    """The live sets of a repository that a sweep has begun to use."""
    return [each for each in store.live_sets() if each.repository == identity and each.status in _SWEPT]


def swept_by(sweeps: Iterable[LiveSet], branch: str, state: State) -> str | None:
    """Which sweep may have taken files of a state of a branch; ``None``: none of these.

    A state is safe from a sweep that saw it as the head, or whose cut-off policy of the branch reached back to it. A
    policy that counts commits does not tell.
    """
    for live_set in sweeps:
        if state.ended is None or state.ended > (live_set.references_listed or live_set.created) + TOLERANCE:
            continue
        if not live_set.is_imported:
            reach = ReferencePolicies.from_texts(live_set.policies, {}).for_reference(branch).reach
            if reach.everything or (reach.since is not None and state.time >= reach.since):
                continue
        return f"the sweep of live set {live_set.id} may have deleted files of it"
    return None


def why_not_whole(
    versions: Iterable[ContentVersion], connectors: OpenConnectors, registry: PluginRegistry
) -> str | None:
    """Why some contents are not whole: metadata that is missing; ``None``: all of it is there, but for data files.

    Raises:
        NessieGcError: something of it cannot be read.
    """
    for version in versions:
        if registry.reader_of(version.content_type) is None:
            continue  # nobody reads it, so nobody deletes it
        try:
            with connectors.reader(version.content_type) as reader:
                _read(reader, version)
        except MissingFileError as error:
            return one_line(error)
    return None


def _read(reader: ContentToFiles, version: ContentVersion) -> None:
    """Reads everything that names files.

    Raises:
        NessieGcError: something of it is not there, or cannot be read.
    """
    seen: set[str] = set()
    waiting: list[ReachableFile] = list(reader.files(version))
    while waiting:
        file = waiting.pop()
        if file.kind in reader.expandable_kinds and file.path not in seen:
            seen.add(file.path)
            waiting.extend(reader.expand(file))
