"""A plugin every call of which can fail: connectors of a simulated lake or of a real one, and their live-set store."""

from __future__ import annotations

import functools
import inspect
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from nessie_gc_core import hookimpl
from nessie_gc_core.connectors import (
    Connector,
    ContentToFiles,
    FileDeleter,
    FileLister,
    LiveSetStore,
    RepositoryConnector,
)
from nessie_gc_core.model import FileReference
from nessie_gc_core.plugins import installed

C = TypeVar("C", bound=Connector)
Point = tuple[str, int]
"""A call: its connector and method, and how many of them came before it in a run."""
KEPT = "kept"
"""The name of the store, which is one that lasts; that of the memory plugin is lost with its process."""


class Calls:
    """The calls of a run, of which one fails."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.begin(None, None)

    def begin(self, at: Point | None, error: BaseException | None) -> None:
        """Begins with none; fails at a point."""
        self._counts: Counter[str] = Counter()
        self._at, self._error = at, error
        self.has_failed = False

    def reach(self, name: str) -> None:
        """Counts a call, and fails if it is the one."""
        with self._lock:
            point = name, self._counts[name]
            self._counts[name] += 1
            if point != self._at or self._error is None:
                return
            self.has_failed = True
        raise self._error

    def counts(self) -> dict[str, int]:
        """How many calls there were, by connector and method."""
        return dict(sorted(self._counts.items()))


def failing(base: type[C], kind: str, calls: Calls) -> type[C]:
    """A connector whose calls are counted, and fail where they are to; a store has a name of its own."""

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(real)
        def call(self: C, *arguments: Any, **more: Any) -> Any:
            calls.reach(f"{kind}.{name}")
            return real(self, *arguments, **more)

        @functools.wraps(real)
        def generate(self: C, *arguments: Any, **more: Any) -> Iterator[Any]:
            calls.reach(f"{kind}.{name}")
            yield from real(self, *arguments, **more)

        return generate if inspect.isgeneratorfunction(real) else call

    methods = {
        name: counted(name, real)
        for name, real in inspect.getmembers(base, inspect.isfunction)
        if not name.startswith("_") and not isinstance(inspect.getattr_static(base, name), staticmethod)
    }
    name = KEPT if issubclass(base, LiveSetStore) else base.name
    return type(base.__name__, (base,), {**methods, "__doc__": base.__doc__, "name": name})


class FailingPlugin:
    """Brings such connectors instead of the plugins whose connectors they are."""

    name = "failing"

    def __init__(self, calls: Calls, *connectors: tuple[str, type[Connector]]) -> None:
        self._calls = calls
        self._connectors = [failing(base, kind, calls) for kind, base in connectors]

    def __enter__(self) -> FailingPlugin:
        installed().register(self, name=self.name)
        return self

    def __exit__(self, *error: object) -> None:
        installed().unregister(self.name)

    def _of(self, contract: type[C]) -> Sequence[type[C]]:
        return [each for each in self._connectors if issubclass(each, contract)]

    @hookimpl
    def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> Mapping[str, str] | None:
        self._calls.reach("veto.veto_deletion")
        return None

    @hookimpl
    def nessie_gc_register_repository_connector(self) -> Sequence[type[RepositoryConnector]]:
        return self._of(RepositoryConnector)

    @hookimpl
    def nessie_gc_register_content_to_files(self) -> Sequence[type[ContentToFiles]]:
        return self._of(ContentToFiles)

    @hookimpl
    def nessie_gc_register_file_lister(self) -> Sequence[type[FileLister]]:
        return self._of(FileLister)

    @hookimpl
    def nessie_gc_register_file_deleter(self) -> Sequence[type[FileDeleter]]:
        return self._of(FileDeleter)

    @hookimpl
    def nessie_gc_register_live_set_store(self) -> Sequence[type[LiveSetStore]]:
        return self._of(LiveSetStore)
