"""Histories as JSON files, and lakes as real files, so that one scenario runs in memory and on Spark."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nessie_gc_core.errors import ConfigurationError, RepositoryError
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.repository import ContentVersion, Operation, OperationKind, Reference, ReferenceKind
from nessie_gc_memory.history import Commit, MemoryHistory
from nessie_gc_memory.objects import PREFIX, MemoryObjects, StoredObject

HISTORY_FILE = "history.json"
_FORMAT = "nessie-gc-memory-history-1"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CONTENT_TEXTS = ("content_id", "content_type", "metadata_location", "snapshot_id", "location")

Rename = Callable[[str], str]
"""Returns a path its new place."""


def save_history(history: MemoryHistory, path: Path, *, rename: Rename = str) -> Path:
    """Writes a history as one JSON file, whole or not at all; returns the path."""
    value = {
        "format": _FORMAT,
        "references": [
            {"name": each.name, "kind": each.kind.value, "commit_id": each.commit_id} for each in history.references()
        ],
        "commits": [_commit_to_json(commit, rename) for commit in history.commits()],
    }
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(value), encoding="utf-8")
    partial.replace(path)
    return path


def load_history(path: Path) -> MemoryHistory:
    """Reads what :func:`save_history` wrote.

    Raises:
        RepositoryError: the file does not exist, or is not a history.
    """
    try:
        value: Any = parsed_json(path.read_text(encoding="utf-8"))
        if value["format"] != _FORMAT:
            raise RepositoryError(f"the history file {path} has format {value['format']!r}, expected {_FORMAT!r}")
        references = [
            Reference(name=each["name"], kind=ReferenceKind(each["kind"]), commit_id=each["commit_id"])
            for each in value["references"]
        ]
        commits = [_commit_from_json(each) for each in value["commits"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RepositoryError(f"the history file {path} cannot be read: {error!r}; write it again") from error
    history = MemoryHistory()
    history.restore(references, commits)
    return history


def write_lake(objects: MemoryObjects, history: MemoryHistory, directory: Path) -> Path:
    """Writes all objects below a directory, and the history beside them; returns the history file."""
    root = directory.resolve()
    root.mkdir(parents=True, exist_ok=True)

    def rename(path: str) -> str:
        return f"file://{root}/{path.removeprefix(PREFIX)}" if path.startswith(PREFIX) else path

    for path, stored in objects.below(PREFIX):
        _write_object(root, path.removeprefix(PREFIX), stored, rename)
    return save_history(history, root / HISTORY_FILE, rename=rename)


def _write_object(root: Path, key: str, stored: StoredObject, rename: Rename) -> None:
    target = root / key
    if key.endswith("/") or target.as_posix() != f"{root.as_posix()}/{key}" or ".." in target.parts:
        raise ConfigurationError(
            f"a disk cannot store the key {key!r}; leave it out of a lake that is written to a disk"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    if stored.data is not None:
        target.write_bytes(_renamed(stored.data, rename))
    else:
        with target.open("wb") as file:
            file.truncate(stored.size)
    nanoseconds = (stored.modified - _EPOCH) // _MICROSECOND * 1000
    os.utime(target, ns=(nanoseconds, nanoseconds))


def _renamed(data: bytes, rename: Rename) -> bytes:
    """The data with every path in it at its new place, where it is metadata of a simulated table."""
    try:
        value = parsed_json(data)
    except ValueError:
        return data
    return json.dumps(_renamed_value(value, rename)).encode() if isinstance(value, dict) and "memory" in value else data


def _renamed_value(value: object, rename: Rename) -> object:
    if isinstance(value, str):
        return rename(value)
    if isinstance(value, list):
        return [_renamed_value(each, rename) for each in value]
    if isinstance(value, dict):
        return {key: _renamed_value(each, rename) for key, each in value.items()}
    return value


def _commit_to_json(commit: Commit, rename: Rename) -> Mapping[str, object]:
    return {
        "id": commit.commit_id,
        "parent": commit.parent_id,
        "merged": commit.merged_id,
        "time": (commit.commit_time - _EPOCH) // _MICROSECOND,
        "hides_operations": commit.hides_operations,
        "operations": [
            {
                "kind": operation.kind.value,
                "key": operation.content_key,
                "content": None if operation.content is None else _content_to_json(operation.content, rename),
            }
            for operation in commit.operations
        ],
    }


def _content_to_json(content: ContentVersion, rename: Rename) -> Mapping[str, object]:
    moved = replace(
        content,
        metadata_location=None if content.metadata_location is None else rename(content.metadata_location),
        location=None if content.location is None else rename(content.location),
    )
    return {name: getattr(moved, name) for name in _CONTENT_TEXTS}


def _commit_from_json(value: dict[str, Any]) -> Commit:
    time = _EPOCH + timedelta(microseconds=value["time"])

    def operation(found: dict[str, Any]) -> Operation:
        content = found["content"]
        seen = {"content_key": found["key"], "commit_id": value["id"], "commit_time": time}
        return Operation(
            kind=OperationKind(found["kind"]),
            content_key=found["key"],
            content=None if content is None else ContentVersion(**content, **seen),
        )

    return Commit(
        commit_id=value["id"],
        parent_id=value["parent"],
        commit_time=time,
        operations=tuple(operation(each) for each in value["operations"]),
        merged_id=value["merged"],
        hides_operations=value["hides_operations"],
    )
