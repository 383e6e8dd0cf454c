"""A repository in a folder: ``references/NAME.json`` and ``commits/ID.json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import AccessDeniedError, ReferenceNotFoundError, RepositoryError, ServiceUnavailableError
from nessie_gc_core.model import (
    ContentVersion,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    ReferenceKind,
)


@options
class LedgerOptions(ConnectorOptions):
    """Where the repository is."""

    folder: str = option("ledger", help="folder with references/ and commits/")


class LedgerRepository(RepositoryConnector):
    """Reads references and commits, each file only when it is needed."""

    name = "ledger"
    Options = LedgerOptions

    def __init__(self, options: LedgerOptions) -> None:
        super().__init__(options)
        self._folder = Path(options.folder)

    def identity(self) -> str:
        """The folder, with links resolved."""
        return f"ledger:{self._folder.resolve()}"

    def references(self) -> Iterator[Reference]:
        """One for each file. A missing folder is an error, because no references would look like no data."""
        try:
            paths = sorted((self._folder / "references").iterdir())
        except FileNotFoundError as error:
            raise RepositoryError(f"{self._folder} is not a ledger: it has no folder 'references'") from error
        except OSError as error:
            raise _unreadable(self._folder, error) from error
        for path in paths:
            found = _read(path)
            yield Reference(
                name=_text(path, found, "name"),
                kind=_kind(path, found),
                commit_id=None if found.get("head", "") is None else _text(path, found, "head"),
            )

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """From the reference's commit along the parents, one file at a time."""
        commit_id, seen = reference.commit_id, set[str]()
        while commit_id is not None:
            if commit_id in seen:
                raise RepositoryError(f"{self._folder}: commit {commit_id} is its own ancestor")
            seen.add(commit_id)
            entry = self._commit(commit_id, is_head=commit_id == reference.commit_id)
            yield entry
            commit_id = entry.parent_id

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """What the newest operation on each key has put there."""
        decided: set[str] = set()
        for entry in self.commit_log(reference):
            for operation in reversed(entry.operations or ()):
                if operation.content_key not in decided and operation.content is not None:
                    yield operation.content
                decided.add(operation.content_key)

    def _commit(self, commit_id: str, *, is_head: bool) -> LogEntry:
        path = self._folder / "commits" / f"{commit_id}.json"
        if not path.exists() and is_head and (self._folder / "references").is_dir():
            raise ReferenceNotFoundError(f"{self._folder} has no commit {commit_id}")
        found = _read(path)
        operations, parent = found.get("operations"), found.get("parent", "")
        if not isinstance(operations, list):
            raise RepositoryError(f"{path} is invalid: its operations are not a list")
        time = _time(path, found)
        return LogEntry(
            commit_id=commit_id,
            parent_id=None if parent is None else _text(path, found, "parent"),
            commit_time=time,
            operations=tuple(_operation(path, each, commit_id, time) for each in operations),
        )


def _read(path: Path) -> dict[str, Any]:
    """A JSON object. A missing, unreadable or invalid file is an error, never an empty object."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise RepositoryError(f"{path} is missing, but something refers to it") from error
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise RepositoryError(f"{path} is invalid: it is not JSON") from error
    if not isinstance(found, dict):
        raise RepositoryError(f"{path} is invalid: it is not a JSON object")
    return found


def _unreadable(path: Path, error: OSError) -> Exception:
    kind = AccessDeniedError if isinstance(error, PermissionError) else ServiceUnavailableError
    return kind(f"{path} cannot be read: {error.strerror}")


def _text(path: Path, found: dict[str, Any], name: str) -> str:
    value = found.get(name)
    if not isinstance(value, str) or not value:
        raise RepositoryError(f"{path} is invalid: its {name!r} is {value!r}")
    return value


def _kind(path: Path, found: dict[str, Any]) -> ReferenceKind:
    try:
        return ReferenceKind(_text(path, found, "kind"))
    except ValueError as error:
        raise RepositoryError(f"{path} is invalid: {error}") from error


def _time(path: Path, found: dict[str, Any]) -> datetime:
    try:
        return datetime.fromisoformat(_text(path, found, "time")).astimezone(UTC)
    except ValueError as error:
        raise RepositoryError(f"{path} is invalid: {error}") from error


def _operation(path: Path, found: Any, commit_id: str, time: datetime) -> Operation:
    if not isinstance(found, dict):
        raise RepositoryError(f"{path} is invalid: an operation is not a JSON object")
    key = _text(path, found, "key")
    if found.get("delete") is True:
        return Operation(kind=OperationKind.DELETE, content_key=key)
    snapshot_id = found.get("snapshot")
    if snapshot_id is not None and not isinstance(snapshot_id, int):
        raise RepositoryError(f"{path} is invalid: its snapshot is {snapshot_id!r}")
    content = ContentVersion(
        content_id=_text(path, found, "id"),
        content_type=_text(path, found, "type"),
        metadata_location=_text(path, found, "metadata"),
        snapshot_id=snapshot_id,
        content_key=key,
        commit_id=commit_id,
        commit_time=time,
    )
    return Operation(kind=OperationKind.PUT, content_key=key, content=content)
