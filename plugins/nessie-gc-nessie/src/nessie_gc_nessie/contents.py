"""Nessie's JSON objects as content versions, operations and log entries."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from nessie_gc_core.errors import RepositoryError
from nessie_gc_core.model.repository import (
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    ContentVersion,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    ReferenceKind,
)
from nessie_gc_core.model.times import in_zone

NO_COMMIT = hashlib.sha256(b"empty").hexdigest()
"""What stands where there is no commit (the head of an empty branch, the parent of the first commit), unless the server
says otherwise."""
COMMIT_ID = re.compile(r"(?:[0-9a-fA-F]{2}){4,32}")
"""The hash of a commit; a server accepts a shortened one as well."""
NAMESPACE = "NAMESPACE"
"""The one content type that never has files."""
UDF = "UDF"
"""Functions: those of older clients are text in Nessie itself, newer ones have a metadata file."""
DELTA_LAKE_TABLE = "DELTA_LAKE_TABLE"
_VERSION_FIELDS = {ICEBERG_TABLE: "snapshotId", ICEBERG_VIEW: "versionId"}
_T = TypeVar("_T")


def reference_of(answer: object, is_no_commit: Callable[[str], bool]) -> Reference:
    """A branch or tag of the listing of references, at a commit unless the server says that there is none."""
    found = _expected(answer, dict, "a reference")
    kind = _field(found, "type", str)
    if kind not in ReferenceKind.__members__:
        raise RepositoryError(f"Nessie lists a reference of the unknown type {kind!r}; a newer plugin may know it")
    name = _field(found, "name", str)
    try:
        commit_id = _commit(found, "hash")
    except RepositoryError as error:
        raise RepositoryError(
            f"{kind.lower()} {name!r} has no commit that can be read, which is not to be empty: {error}"
        ) from error
    return Reference(name=name, kind=ReferenceKind(kind), commit_id=None if is_no_commit(commit_id) else commit_id)


def log_entry_of(answer: object, is_no_commit: Callable[[str], bool]) -> LogEntry:
    """A commit with its operations, and with its parent unless the server says that there is none."""
    found = _expected(answer, dict, "a commit")
    meta = _field(found, "commitMeta", dict)
    commit_id, parent = _commit(meta, "hash"), _parent(found, meta)
    commit_time = _time(_field(meta, "commitTime", str), commit_id)
    operations = _optional(found, "operations", list)
    return LogEntry(
        commit_id=commit_id,
        parent_id=None if is_no_commit(parent) else parent,
        commit_time=commit_time,
        operations=None
        if operations is None
        else tuple(_operation(each, commit_id, commit_time) for each in operations),
    )


def entry_of(answer: object, commit_id: str) -> ContentVersion | None:
    """The content of a key in a listing of contents; ``None`` if it has no files."""
    found = _expected(answer, dict, "an entry")
    key, content_type = ".".join(elements_of(found)), _field(found, "type", str)
    content = _optional(found, "content", dict)
    if content is None and content_type == NAMESPACE:
        return None
    if content is None:
        raise RepositoryError(f"Nessie lists {key!r} without its content; upgrade the server to 0.60 or later")
    if content.get("type") != content_type:
        raise RepositoryError(f"Nessie lists {key!r} as {content_type}, and its content as {_shown(content)}")
    return content_of(content, key=key, commit_id=commit_id, commit_time=None)


def elements_of(answer: object) -> tuple[str, ...]:
    """The elements of the key of an entry."""
    return _elements(_field(_expected(answer, dict, "an entry"), "name", dict))


def content_of(answer: object, *, key: str, commit_id: str, commit_time: datetime | None) -> ContentVersion | None:
    """A content as a content version; ``None`` for namespaces, and for functions that are only text.

    Of a type that is not Iceberg's, what is known of its place is kept: it is live as a whole (S23).
    """
    found = _expected(answer, dict, f"the content of {key!r}")
    content_type = _field(found, "type", str)
    if content_type == NAMESPACE:
        return None
    version_field = _VERSION_FIELDS.get(content_type)
    metadata_location = _field(found, "metadataLocation", str) if version_field else _foreign_metadata(found)
    location = None if version_field else _foreign_location(found, metadata_location)
    if content_type == UDF and metadata_location is None and location is None:
        return None
    return ContentVersion(
        content_id=_field(found, "id", str),
        content_type=content_type,
        metadata_location=metadata_location,
        snapshot_id=_optional(found, version_field, int) if version_field else None,
        content_key=key,
        commit_id=commit_id,
        commit_time=commit_time,
        location=location,
    )


def _operation(answer: object, commit_id: str, commit_time: datetime) -> Operation:
    found = _expected(answer, dict, f"an operation of commit {commit_id}")
    key = _content_key(_field(found, "key", dict))
    name = _field(found, "type", str)
    if name not in OperationKind.__members__:
        raise RepositoryError(f"commit {commit_id} has the unknown operation {name!r}; a newer plugin may know it")
    kind = OperationKind(name)
    if kind is not OperationKind.PUT:
        return Operation(kind=kind, content_key=key)
    content = content_of(_field(found, "content", dict), key=key, commit_id=commit_id, commit_time=commit_time)
    return Operation(kind=kind, content_key=key, content=content)


def _content_key(key: Mapping[str, Any]) -> str:
    """The elements joined with dots. An element may itself have dots; the key is for people, so that is left."""
    return ".".join(_elements(key))


def _elements(key: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(_expected(each, str, "an element of a content key") for each in _field(key, "elements", list))


def _parent(entry: Mapping[str, Any], meta: Mapping[str, Any]) -> str:
    """The first parent, which stands in two places; a server of any version says it in one of them at least."""
    parents = _optional(meta, "parentCommitHashes", list)
    first = _commit({"parentCommitHashes": parents[0]}, "parentCommitHashes") if parents else None
    if entry.get("parentCommitHash") is None:
        return _commit(entry, "parentCommitHash") if first is None else first
    parent = _commit(entry, "parentCommitHash")
    if first not in (None, parent):
        raise RepositoryError(f"commit {meta.get('hash')} has two first parents, {parent} and {first}")
    return parent


def _commit(mapping: Mapping[str, Any], name: str) -> str:
    commit_id = _field(mapping, name, str)
    if not COMMIT_ID.fullmatch(commit_id):
        raise RepositoryError(f"Nessie's answer has {_shown(commit_id)} for {name!r}, which is not a commit hash")
    return commit_id


def _time(text: str, commit_id: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise RepositoryError(f"commit {commit_id} has the unreadable time {text!r}") from error
    return time.replace(tzinfo=UTC) if time.tzinfo is None else in_zone(time)


def _foreign_metadata(content: Mapping[str, Any]) -> str | None:
    """The newest metadata of a content that is not Iceberg's: it tells its versions apart."""
    direct = content.get("metadataLocation")
    if isinstance(direct, str) and direct:
        return direct
    for name in ("lastCheckpoint", "metadataLocationHistory", "checkpointLocationHistory"):
        value = content.get(name)
        newest = value[-1] if isinstance(value, list) and value else value
        if isinstance(newest, str) and newest:
            return newest
    return None


def _foreign_location(content: Mapping[str, Any], metadata_location: str | None) -> str | None:
    """The folder of a content that is not Iceberg's, as wide as its metadata lets one guess."""
    for name in ("location", "baseLocation"):
        value = content.get(name)
        if isinstance(value, str) and value:
            return value
    if metadata_location is None or "/" not in metadata_location:
        return None
    folder = metadata_location.rpartition("/")[0]
    parent, _, last = folder.rpartition("/")
    is_inner = last in ("metadata", "_delta_log") and parent and not parent.endswith(":/")
    return (parent if is_inner else folder) + "/"


def _field(mapping: Mapping[str, Any], name: str, kind: type[_T]) -> _T:
    if mapping.get(name) in (None, "", [], {}):
        raise RepositoryError(f"Nessie's answer lacks {name!r} in {_shown(mapping)}")
    return _expected(mapping[name], kind, repr(name))


def _optional(mapping: Mapping[str, Any], name: str, kind: type[_T]) -> _T | None:
    return None if mapping.get(name) is None else _expected(mapping[name], kind, repr(name))


def _expected(value: object, kind: type[_T], what: str) -> _T:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RepositoryError(f"Nessie's answer has {_shown(value)} for {what}, expected {kind.__name__}")
    return value


def _shown(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else text[:120] + "…"
