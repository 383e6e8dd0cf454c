"""What runs share and what must be closed: the repositories, the live-set store, the engine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import Self, TypeVar

from nessie_gc_core.config.kept_connectors import KEPT
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.closing import Closing, only_warned
from nessie_gc_core.tables import Tables

T = TypeVar("T")
Opening = Callable[[], AbstractContextManager[T]]
"""Opens something that is closed by leaving it."""
OpenTables = Callable[[Engine, str, "str | None"], AbstractContextManager[Tables]]
"""Opens a catalog by its name, on a branch where one is named, for an engine."""


def no_tables(engine: Engine, catalog: str, branch: str | None) -> AbstractContextManager[Tables]:
    """Refuses.

    Raises:
        ConfigurationError: always.
    """
    raise ConfigurationError(f"the catalog {catalog!r} does not exist")


def _opened(repository: RepositoryConnector) -> Opening[RepositoryConnector]:
    return lambda: nullcontext(repository)


class Resources(Closing):
    """Repositories, a store and an engine: each is opened on first use, and all that are open are closed together."""

    def __init__(
        self,
        *,
        repository: Opening[RepositoryConnector],
        store: Opening[LiveSetStore],
        engine: Opening[Engine],
        tables: OpenTables = no_tables,
        others: Sequence[Opening[RepositoryConnector]] = (),
        chosen: bool = True,
    ) -> None:
        """Takes how each is opened.

        Args:
            repository: what services work on.
            store: where live sets are.
            engine: what does the work.
            tables: the tables of catalogs.
            others: more repositories over the same storage, whose files are needed as well (S1).
            chosen: whether the first is the only one that is worked on; else all are, alike.
        """
        self._open_repositories = (repository, *others)
        self.chosen = chosen
        """Whether the first repository is the only one that is worked on."""
        self._open_store = store
        self._open_engine = engine
        self._open_tables = tables
        self._repositories: dict[int, RepositoryConnector] = {}
        self._store: LiveSetStore | None = None
        self._engine: Engine | None = None
        self._stack = ExitStack()
        self._opening = threading.RLock()
        """Held while the engine is opened, which a thread does while others work."""
        self._keeping = threading.Lock()
        """Held for a moment, where what was opened is kept or given up: closing waits for nobody who is opening."""
        self.opened = 1
        """For the so-manieth time they are open, or will be; what was made with earlier ones is gone."""
        self.waits_for_engine = True
        """Whether closing waits for an engine that is being opened; not where the process ends anyway. One that is
        left alone stops when it has started, and a session of Spark is one for all of a process."""
        self.workers_reach_store = True
        """Whether the engine's workers are asked to read the live-set store: false once they could not."""

    @classmethod
    def borrowed(
        cls,
        *,
        repository: RepositoryConnector,
        store: LiveSetStore,
        engine: Engine,
        tables: OpenTables = no_tables,
        others: Sequence[RepositoryConnector] = (),
        chosen: bool = True,
    ) -> Self:
        """Those that someone else has opened, and closes."""
        return cls(
            repository=lambda: nullcontext(repository),
            store=lambda: nullcontext(store),
            engine=lambda: nullcontext(engine),
            tables=tables,
            others=[_opened(other) for other in others],
            chosen=chosen,
        )

    def over(self, repository: RepositoryConnector, *others: RepositoryConnector) -> Resources:
        """The same store and engine, over repositories that someone else has opened, and closes."""
        return Resources(
            repository=lambda: nullcontext(repository),
            store=lambda: nullcontext(self.store),
            engine=lambda: nullcontext(self.engine),
            tables=self._open_tables,
            others=[_opened(other) for other in others],
        )

    def beside(self, store: LiveSetStore) -> Resources:
        """The same repositories and engine, with another store, which someone else has opened, and closes."""
        first, *others = range(len(self._open_repositories))
        return Resources(
            repository=partial(self._borrowed, first),
            store=lambda: nullcontext(store),
            engine=lambda: nullcontext(self.engine),
            tables=self._open_tables,
            others=[partial(self._borrowed, number) for number in others],
            chosen=self.chosen,
        )

    def _borrowed(self, number: int) -> AbstractContextManager[RepositoryConnector]:
        return nullcontext(self._repository(number))

    @property
    def repository(self) -> RepositoryConnector:
        """The repository that is worked on.

        Raises:
            ConfigurationError: there are several, and none of them is chosen.
        """
        if not self.chosen:
            raise ConfigurationError(
                "this command works on one repository at a time, but several [[repositories]] are configured: choose "
                "one with `repository`, by its label"
            )
        return self._repository(0)

    @property
    def repositories(self) -> tuple[RepositoryConnector, ...]:
        """All repositories; where one is chosen, it comes first."""
        # map() would end early, and leave some out, where opening one raises StopIteration
        return tuple([self._repository(number) for number in range(len(self._open_repositories))])

    def _repository(self, number: int) -> RepositoryConnector:
        if number not in self._repositories:
            self._repositories[number] = self._entered(self._open_repositories[number](), "a repository")
        return self._repositories[number]

    @property
    def store(self) -> LiveSetStore:
        """The live-set store."""
        if self._store is None:
            self._store = self._entered(self._open_store(), "the live-set store")
        return self._store

    def _entered(self, opened: AbstractContextManager[T], what: str) -> T:
        """Opens something; that it cannot be closed hides no outcome of a run, and no error of it."""
        with ExitStack() as stack:
            found = stack.enter_context(opened)
            self._stack.enter_context(only_warned(f"{what} cannot be closed"))
            self._stack.enter_context(stack.pop_all())
        return found

    @property
    def engine(self) -> Engine:
        """The engine.

        Raises:
            ConfigurationError: all was closed while it was being opened; it is closed again.
        """
        with self._opening:
            engine = self._engine
            return engine if engine is not None else self._opened_engine()

    def engine_of(self, opened: int) -> Engine:
        """The engine of one of the times they are open, for a thread that may come late.

        Raises:
            ConfigurationError: all was closed since.
        """
        with self._opening:
            if self.opened != opened:
                raise ConfigurationError("the collector was closed before its engine was started")
            return self.engine

    def _opened_engine(self) -> Engine:
        opened = self.opened
        with ExitStack() as stack:
            engine = stack.enter_context(self._open_engine())
            with self._keeping:
                if self.opened == opened:
                    self._stack.enter_context(stack.pop_all())
                    self._engine = engine
                    return engine
        raise ConfigurationError("the collector was closed while its engine was starting")

    def tables(self, catalog: str, *, branch: str | None = None) -> Tables:
        """The tables of a catalog, which stays open as long as the others.

        Raises:
            ConfigurationError: the catalog does not exist, or has no branches.
        """
        return self._stack.enter_context(self._open_tables(self.engine, catalog, branch))

    def close(self) -> None:
        """Closes what is open, and the connectors that were kept; the next use opens it again.

        Where it does not wait for an engine that is being opened, whoever opens it closes it.
        """
        with self._opening if self.waits_for_engine else nullcontext(), self._keeping:
            self._repositories.clear()
            self._store = self._engine = None
            self.opened += 1
            self.workers_reach_store = True
            stack = self._stack.pop_all()
        stack.close()
        KEPT.close_idle()
