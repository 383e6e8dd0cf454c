"""The rights that each use needs: a page, and a policy file for each use and store, from one declaration."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generating.text import code, table

FOLDER = Path(__file__).parents[2] / "examples" / "rights"
BUCKET = "lake"
_OF_BUCKETS = frozenset(
    {"s3:GetBucketVersioning", "s3:GetLifecycleConfiguration", "s3:ListBucket", "s3:ListBucketVersions"}
)
"""Actions on a bucket; all others are on objects."""
_OF_AZURE = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
_STORES = {"s3": "S3", "gcs": "Google Cloud Storage", "azure": "Azure"}
_INTRO = """# Rights

What each command asks of a store, and so the rights that its account needs. [How to apply them](../how-to/rights.md)
says how far each was checked. The policy files are in `examples/rights`, one for each row and store.

"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What the account of some commands needs."""

    name: str
    title: str
    note: str
    folders: Sequence[str]
    """In the bucket."""
    rights: Mapping[str, Sequence[str]]
    """By store."""


def uses() -> Sequence[Use]:
    """All of the declaration, in its order."""
    found = tomllib.loads((FOLDER / "rights.toml").read_text(encoding="utf-8"))
    return [
        Use(
            name=name,
            title=each["title"],
            note=each.get("note", ""),
            folders=each["folders"],
            rights={store: each[store] for store in _STORES if store in each},
        )
        for name, each in found.items()
    ]


def files() -> Iterator[tuple[Path, str]]:
    """Each policy file, and its text."""
    for use in uses():
        for store, rights in use.rights.items():
            text = json.dumps(_POLICIES[store](use, rights), indent=2)
            yield FOLDER / store / f"{use.name}.json", f"{text}\n"


def _s3(use: Use, rights: Sequence[str]) -> Mapping[str, Any]:
    """A policy of IAM."""
    bucket = f"arn:aws:s3:::{BUCKET}"
    parts = (
        ("Bucket", [right for right in rights if right in _OF_BUCKETS], [bucket]),
        ("Objects", [right for right in rights if right not in _OF_BUCKETS], [f"{bucket}/{f}/*" for f in use.folders]),
    )
    statements = [
        {"Sid": name, "Effect": "Allow", "Action": actions, "Resource": where}
        for name, actions, where in parts
        if actions  # IAM refuses a statement without any
    ]
    return {"Version": "2012-10-17", "Statement": statements}


def _gcs(use: Use, rights: Sequence[str]) -> Mapping[str, Any]:
    """A custom role; where it holds is said where it is granted."""
    return {
        "title": f"Nessie GC {use.name}",
        "description": _plain(use.title),
        "stage": "GA",
        "includedPermissions": rights,
    }


def _azure(use: Use, rights: Sequence[str]) -> Mapping[str, Any]:
    """A custom role; its scope is that of its assignment."""
    return {
        "Name": f"Nessie GC {use.name}",
        "IsCustom": True,
        "Description": _plain(use.title),
        "Actions": [],
        "DataActions": [f"{_OF_AZURE}{right}" for right in rights],
        "AssignableScopes": ["/subscriptions/SUBSCRIPTION/resourceGroups/GROUP"],
    }


def _plain(title: str) -> str:
    return title.replace("`", "")


_POLICIES = {"s3": _s3, "gcs": _gcs, "azure": _azure}


def page() -> str:
    """The page."""
    return _INTRO + "\n\n".join(_section(store, name) for store, name in _STORES.items())


def _section(store: str, name: str) -> str:
    rows = [
        (
            f"[{use.name}](../../examples/rights/{store}/{use.name}.json)",
            use.title + (f" ({use.note})" if use.note else ""),
            ", ".join(code(right) for right in use.rights[store]),
        )
        for use in uses()
        if store in use.rights
    ]
    return f"## {name}\n\n{table(('file', 'for', 'rights'), rows)}\n"
