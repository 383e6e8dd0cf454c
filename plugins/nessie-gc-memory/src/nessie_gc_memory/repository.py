"""The repository connector ``memory``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import ReferenceNotFoundError, RepositoryError
from nessie_gc_core.model.repository import ContentVersion, LogEntry, Reference
from nessie_gc_memory.faults import FetchCounts
from nessie_gc_memory.history import MemoryHistory
from nessie_gc_memory.lake import MemoryLake
from nessie_gc_memory.saved import load_history, save_history

_WRITING = threading.Lock()


@options
class MemoryRepositoryOptions(ConnectorOptions):
    """Where the history is."""

    lake: str = option("default", help="name of a simulated lake in this process")
    history_file: str | None = option(None, help="saved history to read instead of the lake's")


class MemoryRepository(RepositoryConnector):
    """Reads the history of a simulated lake, or one that was saved to a file."""

    name = "memory"
    Options = MemoryRepositoryOptions
    executor_safe = False

    def __init__(self, options: MemoryRepositoryOptions) -> None:
        super().__init__(options)
        self.counts = FetchCounts()
        """What this connector gave out; the lake counts over all its connectors."""
        self._lake = MemoryLake.named(options.lake)
        self._path = Path(options.history_file).resolve() if options.history_file is not None else None
        self._lock = threading.Lock()
        self._loaded: tuple[tuple[int, int], MemoryHistory] | None = None

    @property
    def entries_fetched(self) -> int:
        """How many log entries this connector gave out."""
        return self.counts.entries_fetched

    def identity(self) -> str:
        """The lake's name or the file's path."""
        return f"memory:{self._lake.name}" if self._path is None else f"memory:{self._path}"

    def references(self) -> Iterator[Reference]:
        """All references, as they are when the first is asked for."""
        if self._lake.faults.references is not None:
            raise self._lake.faults.references
        for counts in (self.counts, self._lake.counts):
            counts.count_references()
        yield from self._history().references()

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """The history of the reference's commit."""
        for commit in self._history().log(reference.commit_id):
            if commit.commit_id in self._lake.faults.log:
                raise self._lake.faults.log[commit.commit_id]
            for counts in (self.counts, self._lake.counts):
                counts.count_entry(commit.commit_id)
            yield commit.entry()

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """What is visible at the reference's commit."""
        if reference.commit_id in self._lake.faults.contents:
            raise self._lake.faults.contents[reference.commit_id]
        for counts in (self.counts, self._lake.counts):
            counts.count_contents()
        yield from self._history().state_at(reference.commit_id).values()

    def make_tag(self, name: str, at: Reference) -> bool:
        """Creates a tag in the lake's history."""
        with self._writing() as history:
            if any(reference.name == name for reference in history.references()):
                return False
            if all(commit.commit_id != at.commit_id for commit in history.log(history.reference(at.name).commit_id)):
                raise ReferenceNotFoundError(f"{at.name!r} does not have commit {at.commit_id}")
            history.tag(name, str(at.commit_id))
            return True

    def delete_tag(self, tag: Reference) -> bool:
        """Deletes a tag of the lake's history."""
        with self._writing() as history:
            if tag not in history.references():
                return False
            history.drop(tag.name)
            return True

    @contextmanager
    def _writing(self) -> Iterator[MemoryHistory]:
        """The history, which nobody else of this process changes meanwhile; that of a file is saved again."""
        with _WRITING, self._lake.history.writing():
            history = self._history()
            yield history
            if self._path is not None:
                save_history(history, self._path)

    def _history(self) -> MemoryHistory:
        """The lake's history, or the file's, read again where the file has changed."""
        if self._path is None:
            return self._lake.history
        try:
            found = self._path.stat()
        except OSError as error:
            raise RepositoryError(f"the history file {self._path} cannot be read: {error.strerror}") from error
        mark = (found.st_mtime_ns, found.st_ino)
        with self._lock:
            if self._loaded is None or self._loaded[0] != mark:
                self._loaded = (mark, load_history(self._path))
            return self._loaded[1]
