"""Makes and deletes tags, each on a condition that the server checks."""

from __future__ import annotations

from urllib.parse import quote

from nessie_gc_core.errors import CommitUnknownError, ReferenceNotFoundError, RepositoryError
from nessie_gc_core.model.repository import Reference
from nessie_gc_nessie.client import NessieClient

_RIGHTS = "the making and deleting of tags"


def make_tag(client: NessieClient, name: str, at: Reference) -> bool:
    """Makes a tag, unless a reference has its name; errors are those of ``SupportsTags``."""
    body = {"type": at.kind.value, "name": at.name, "hash": at.commit_id}
    refusal = client.change("trees", {"name": name, "type": "TAG"}, body=body, what=f"the tag {name!r}", rights=_RIGHTS)
    if refusal is None:
        return True
    if refusal.code == "REFERENCE_ALREADY_EXISTS":
        return False
    where = f"Nessie at {client.uri}"
    if refusal.code == "REFERENCE_NOT_FOUND":
        said = f"{where} does not have commit {at.commit_id} on {at.name!r} (any more): {refusal.said}"
        raise ReferenceNotFoundError(said)
    raise RepositoryError(f"{where} does not make the tag {name!r}: {refusal.said}")


def delete_tag(client: NessieClient, tag: Reference) -> bool:
    """Deletes a tag, unless it is gone or elsewhere; errors are those of ``SupportsTags``."""
    path = f"trees/{quote(tag.name, safe='')}@{tag.commit_id}"
    what = f"the deletion of the tag {tag.name!r}"
    try:
        refusal = client.change(path, {"type": "TAG"}, what=what, rights=_RIGHTS)
    except CommitUnknownError:
        raise
    except RepositoryError:  # a server does not say in its code that it is a branch now
        if _is_there(client, tag):
            raise
        return False
    if refusal is None:
        return True
    if _is_there(client, tag):
        raise RepositoryError(f"Nessie at {client.uri} does not delete the tag {tag.name!r}: {refusal.said}")
    return False


def _is_there(client: NessieClient, tag: Reference) -> bool:
    try:
        found = client.get(f"trees/{quote(tag.name, safe='')}").get("reference")
    except ReferenceNotFoundError:
        return False
    return isinstance(found, dict) and (found.get("type"), found.get("hash")) == (tag.kind.value, tag.commit_id)
