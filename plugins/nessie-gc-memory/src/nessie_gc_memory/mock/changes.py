"""What happened to a computed lake since: deletions, commits, and files that were put there; in memory or in a file."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import json_time
from nessie_gc_memory.mock.spec import MockLakeSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class PutFile:
    """A file that is not computed."""

    data: bytes
    modified: datetime


@dataclass(slots=True)
class _Known:
    deleted: set[str] = field(default_factory=set)
    put: dict[str, PutFile] = field(default_factory=dict)
    commits: int = 0


class MockChanges:
    """Changes to one lake, from any thread; those in a file are seen by all processes that have the file."""

    _in_memory: ClassVar[dict[str, MockChanges]] = {}
    _lock_of_all: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known = _Known()
        self._read_bytes = 0

    @classmethod
    def of(cls, spec: MockLakeSpec) -> MockChanges:
        """Those of a lake: one object for each file, or for each name of a lake without one."""
        key = f"name {spec.lake}" if spec.changes is None else f"file {Path(spec.changes).absolute()}"
        with cls._lock_of_all:
            if key not in cls._in_memory:
                cls._in_memory[key] = cls(None if spec.changes is None else Path(spec.changes).absolute())
            return cls._in_memory[key]

    @classmethod
    def forget(cls, spec: MockLakeSpec) -> None:
        """Forgets those of a lake that are in memory."""
        with cls._lock_of_all:
            cls._in_memory.pop(f"name {spec.lake}", None)

    def put(self, path: str, data: bytes, *, modified: datetime | None = None) -> str:
        """Stores a file, instead of a computed one if there is one; returns the path."""
        time = json_time(modified or datetime.now(UTC))
        self._add([{"put": path, "data": base64.b64encode(data).decode(), "modified": time}])
        return path

    def delete(self, paths: Iterable[str]) -> None:
        """Deletes files."""
        self._add([{"deleted": path} for path in paths])

    def commit(self) -> None:
        """Adds a commit to ``main``."""
        self._add([{"commit": "main"}])

    @property
    def commits(self) -> int:
        """Commits that were added to ``main``."""
        return self._now().commits

    def deleted(self) -> set[str]:
        """Paths that do not exist any more."""
        return self._now().deleted

    def put_files(self) -> dict[str, PutFile]:
        """Files that are not computed, by path."""
        return self._now().put

    def _now(self) -> _Known:
        with self._lock:
            for change in self._new_lines():
                _apply(change, self._known)
            return self._known

    def _add(self, changes: list[dict[str, Any]]) -> None:
        if self._path is None:
            with self._lock:
                for change in changes:
                    _apply(change, self._known)
            return
        lines = "".join(json.dumps(change) + "\n" for change in changes).encode()
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                os.write(file, lines)
            finally:
                os.close(file)
        except OSError as error:
            raise ConfigurationError(f"option 'changes': {self._path} cannot be written: {error.strerror}") from error

    def _new_lines(self) -> Iterator[dict[str, Any]]:
        """What was added to the file since it was last read."""
        if self._path is None:
            return
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                data = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise ConfigurationError(f"option 'changes': {self._path} cannot be read: {error.strerror}") from error
        whole = data[: data.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        yield from map(json.loads, whole.splitlines())


def _apply(change: dict[str, Any], known: _Known) -> None:
    """Replaces what is known instead of changing it: a reader in another thread may be going through it."""
    if "commit" in change:
        known.commits += 1
    elif "put" in change:
        put = PutFile(data=base64.b64decode(change["data"]), modified=datetime.fromisoformat(change["modified"]))
        known.put = {**known.put, change["put"]: put}
        known.deleted = known.deleted - {change["put"]}
    else:
        known.deleted.add(change["deleted"])
        if change["deleted"] in known.put:
            known.put = {path: put for path, put in known.put.items() if path != change["deleted"]}
