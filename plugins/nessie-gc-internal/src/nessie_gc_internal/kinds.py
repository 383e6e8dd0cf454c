"""The kinds of records in Nessie's database, and the fixed ids among them."""

from __future__ import annotations

from collections.abc import Mapping

COMMIT = "c"
VALUE = "v"
REFERENCE = "r"
INDEX = "i"
INDEX_SEGMENTS = "I"
STRING = "s"
TAG = "t"
UNIQUE_ID = "u"
CATALOG_ENTITY = "c-e"
CATALOG_SNAPSHOT = "c-s"

NAMES: Mapping[str, str] = {
    COMMIT: "commits",
    VALUE: "contents",
    REFERENCE: "references",
    INDEX: "indexes",
    INDEX_SEGMENTS: "index segments",
    STRING: "texts",
    TAG: "tags",
    UNIQUE_ID: "unique ids",
    CATALOG_ENTITY: "catalog entities",
    CATALOG_SNAPSHOT: "catalog snapshots",
}
"""What each kind is called in reports; records of any other kind are never purged."""
RELATED = frozenset((UNIQUE_ID, CATALOG_ENTITY, CATALOG_SNAPSHOT))
"""Kinds that nothing names; their ids follow from contents."""

NO_COMMIT = bytes.fromhex("2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d")
"""The id before the first commit of a history; no record has it."""
LAKEHOUSE_CONFIG = b"lakehouse-config"
SIGNER_KEYS = b"signer-keys-singleton"
SINGLETONS = frozenset((LAKEHOUSE_CONFIG, SIGNER_KEYS))
"""Records of a repository that nothing names and that are always needed."""
CONTENT_ID_SPACE = "content-id"
"""What a unique id is made for, in all versions that are known."""


def kind_name(kind: str) -> str:
    """What a kind is called in reports."""
    return NAMES.get(kind, f"unknown kind {kind!r}")
