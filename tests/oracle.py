"""The oracle: what is live by the letter, and so what a collector may delete.

It knows nothing of how the collector works: reference by reference, nothing shared, every path from the tables'
own records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime

from nessie_gc_memory import MemoryLake

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.repository import ContentVersion, Reference

Identity = tuple[str, str, str | None, int | None, str | None]


def live_versions(repository: RepositoryConnector, policies: ReferencePolicies) -> dict[Identity, ContentVersion]:
    """Every content version that a live commit puts, or that is visible at the last live commit."""
    return {version.identity: version for version in _live(repository, policies)}


def live_names(repository: RepositoryConnector, policies: ReferencePolicies) -> dict[str, set[str]]:
    """The ids of live contents, each with every name by which it is live."""
    names: dict[str, set[str]] = {}
    for version in _live(repository, policies):
        names.setdefault(version.content_id, set()).add(version.content_key)
    return names


def _live(repository: RepositoryConnector, policies: ReferencePolicies) -> Iterator[ContentVersion]:
    """The same as often as commits show them."""
    for reference in repository.references():
        reach = policies.for_reference(reference.name).reach
        last_live: str | None = None
        for seen, entry in enumerate(repository.commit_log(reference), start=1):
            within = (
                reach.everything
                or (reach.since is not None and entry.commit_time >= reach.since)
                or (reach.since is None and seen <= reach.commits)
            )
            if seen > 1 and not within:
                break
            last_live = entry.commit_id
            yield from (each.content for each in entry.operations or () if each.content is not None)
        if last_live is not None:
            yield from repository.contents(Reference(name=reference.name, kind=reference.kind, commit_id=last_live))


def homes(lake: MemoryLake, version: ContentVersion) -> list[str]:
    """The base locations that a version's metadata names."""
    metadata = json.loads(_stored(lake, version.metadata_location))
    return [metadata["location"], *metadata["historic-locations"]]


def deletable(
    lake: MemoryLake, *repositories: RepositoryConnector, policies: ReferencePolicies, newest: datetime
) -> set[str]:
    """Stored paths that no live state needs, below a location of a live state, and no younger than ``newest``."""
    versions = [version for each in repositories for version in live_versions(each, policies).values()]
    needed = lake.needed_files(versions)
    locations = {home for version in versions for home in homes(lake, version)}
    return {
        path
        for path, stored in lake.objects.below("memory://")
        if path not in needed
        and stored.modified <= newest
        and any(path.startswith(home.rstrip("/") + "/") for home in locations)
    }


def _stored(lake: MemoryLake, path: str | None) -> bytes:
    found = lake.objects.get(path or "")
    assert found is not None, path
    assert found.data is not None, path
    return found.data


def dropped_places(
    lake: MemoryLake, repository: RepositoryConnector, policies: ReferencePolicies, *, changed_before: datetime
) -> set[str]:
    """Homes of contents that no live commit sees, and whose keys no commit has changed since an instant."""
    live = {version.content_id for version in live_versions(repository, policies).values()}
    states: dict[str, list[ContentVersion]] = {}
    changed: dict[str, datetime] = {}
    for reference in repository.references():
        for entry in repository.commit_log(reference):
            for operation in entry.operations or ():
                latest = changed.get(operation.content_key, entry.commit_time)
                changed[operation.content_key] = max(latest, entry.commit_time)
                if operation.content is not None and operation.content.content_id not in live:
                    states.setdefault(operation.content.content_id, []).append(operation.content)
    old = (
        versions
        for versions in states.values()
        if all(changed[version.content_key] < changed_before for version in versions)
    )
    return {home for versions in old for version in versions for home in homes(lake, version)}
