"""Commits to a branch by which tables get other metadata files, and nothing else about them changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from nessie_gc_core.errors import CommitConflictError, ConfigurationError, RepositoryError
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion, Reference, ReferenceKind
from nessie_gc_nessie.client import NessieClient

_METADATA = "metadataLocation"


def commit_metadata(
    client: NessieClient,
    branch: Reference,
    entries: Iterable[object],
    changes: Sequence[tuple[ContentVersion, str]],
    message: str,
) -> None:
    """Sends one commit.

    Args:
        client: asks the server.
        branch: the branch at the commit that was read.
        entries: what the server lists at that commit, contents included.
        changes: tables as they are there, each with its new metadata file.
        message: that of the commit.

    Raises:
        CommitConflictError, CommitUnknownError, ConfigurationError, RepositoryError, AccessDeniedError: as
            ``SupportsMetadataCommits`` says.
    """
    if branch.kind is not ReferenceKind.BRANCH:
        raise ConfigurationError(f"{branch.name!r} is a tag, and nothing is committed to tags; choose a branch")
    wanted = {version.content_id: (version, location) for version, location in changes}
    operations = [found for entry in entries if (found := _operation(entry, wanted)) is not None]
    if len(operations) != len(wanted):
        raise CommitConflictError(f"a table of the branch {branch.name!r} no longer exists")
    path = f"trees/{quote(branch.name, safe='')}@{branch.commit_id}/history/commit"
    client.commit(path, {"commitMeta": {"message": message}, "operations": operations})


def _operation(entry: object, wanted: dict[str, tuple[ContentVersion, str]]) -> dict[str, Any] | None:
    """The PUT of an entry that is wanted: its content as the server has it, with another metadata file."""
    if not isinstance(entry, dict):
        raise RepositoryError(f"Nessie lists {entry!r:.80} instead of an entry")
    content, key = entry.get("content"), entry.get("name")
    if not isinstance(content, dict) or content.get("id") not in wanted:
        return None
    version, location = wanted[content["id"]]
    if content.get("type") != ICEBERG_TABLE or content.get(_METADATA) != version.metadata_location:
        raise CommitConflictError(f"{version.content_key} changed after it was read")
    return {"type": "PUT", "key": key, "content": {**content, _METADATA: location}}
