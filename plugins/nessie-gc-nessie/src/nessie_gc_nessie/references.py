"""Makes, merges and deletes branches and tags, each on a condition that the server checks."""

from __future__ import annotations

from urllib.parse import quote

from nessie_gc_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    ReferenceNotFoundError,
    RepositoryError,
)
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_nessie.client import NessieClient


def make_reference(client: NessieClient, name: str, kind: ReferenceKind, at: Reference) -> bool:
    """Creates a branch or tag, unless a reference has its name; errors are those of ``SupportsTags``."""
    body = {"type": at.kind.value, "name": at.name, "hash": at.commit_id}
    params, what = {"name": name, "type": kind.value}, f"{_word(kind)} {name!r}"
    refusal = client.change("trees", params, body=body, what=f"the {what}", rights=rights_to_make(kind))
    if refusal is None:
        return True
    if refusal.code == "REFERENCE_ALREADY_EXISTS":
        return False
    where = f"Nessie at {client.uri}"
    if refusal.code == "REFERENCE_NOT_FOUND":
        said = f"{where} does not have (or no longer has) commit {at.commit_id} on {at.name!r}: {refusal.said}"
        raise ReferenceNotFoundError(said)
    raise RepositoryError(f"{where} did not create the {what}: {refusal.said}")


def delete_reference(client: NessieClient, reference: Reference) -> bool:
    """Deletes a branch or tag, unless it is gone or elsewhere; errors are those of ``SupportsTags``."""
    path = f"trees/{quote(reference.name, safe='')}@{reference.commit_id}"
    named = f"the {_word(reference.kind)} {reference.name!r}"
    try:
        params = {"type": reference.kind.value}
        refusal = client.change(path, params, what=f"the deletion of {named}", rights=rights_to_make(reference.kind))
    except CommitUnknownError:
        raise
    except RepositoryError:  # a server does not say in its code that it is of another kind now
        if _is_there(client, reference):
            raise
        return False
    if refusal is None:
        return True
    if _is_there(client, reference):
        raise RepositoryError(f"Nessie at {client.uri} did not delete {named}: {refusal.said}")
    return False


def merge_branch(client: NessieClient, source: Reference, into: Reference, message: str) -> None:
    """Merges a branch; errors are those of ``SupportsWorkBranches``."""
    path = f"trees/{quote(into.name, safe='')}@{into.commit_id}/history/merge"
    body = {"fromRefName": source.name, "fromHash": source.commit_id, "message": message}
    what = f"the merge of {source.name!r} into {into.name!r}"
    refusal = client.change(path, {}, body=body, what=what, rights="commits to the branch, and changes of its tables")
    if refusal is not None:
        raise CommitConflictError(f"Nessie at {client.uri} rejected {what}: {refusal.said}")


def _is_there(client: NessieClient, reference: Reference) -> bool:
    try:
        found = client.get(f"trees/{quote(reference.name, safe='')}").get("reference")
    except ReferenceNotFoundError:
        return False
    expected = (reference.kind.value, reference.commit_id)
    return isinstance(found, dict) and (found.get("type"), found.get("hash")) == expected


def _word(kind: ReferenceKind) -> str:
    return kind.value.lower()


def rights_to_make(kind: ReferenceKind) -> str:
    """What an account needs to create and delete references of a kind."""
    return "creating and deleting of " + ("tags" if kind is ReferenceKind.TAG else "branches")
