"""What one run of a service works with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds, utc_now
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.lease import Lease
from nessie_gc_core.services.parameters import DeletionParameters
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.resources import Resources

Progress = Callable[[str, int, "int | None"], None]
"""Told the phase, how much of it is done, and of how much, where that is known."""


GoOn = Callable[[], None]
"""Asked between steps, from any thread; raises if a run has to end, as an interrupt does."""


def no_progress(phase: str, done: int, total: int | None) -> None:
    """Shows nothing."""


def never_stopped() -> None:
    """Lets a run go on to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: what it works on, by which clocks, and where it says what it found."""

    resources: Resources
    """The repositories, the live-set store and the engine; each is opened when a service first asks for it."""
    choice: ConnectorChoice
    """Readers, listers and deleters with their options, and the plugins that bring them."""
    report: GcReport = field(default_factory=GcReport)
    clock: Clock = utc_now
    elapsed: Elapsed = elapsed_seconds
    """Says how much time passed; a clock that someone sets would make a lease last too long."""
    progress: Progress = no_progress
    go_on: GoOn = never_stopped
    """Asked before every step that deletes or commits, and whenever progress is told; what it raises ends the run."""

    telling: threading.RLock = field(default_factory=threading.RLock, repr=False)
    """Held while progress is reported, because several threads may report it."""

    def tell(self, phase: str, done: int, total: int | None) -> None:
        """Tells progress, one thread at a time, unless the run has to end."""
        self.go_on()
        with self.telling:
            self.progress(phase, done, total)

    @property
    def repository(self) -> RepositoryConnector:
        """The repository that is worked on.

        Raises:
            ConfigurationError: there are several, and none of them is chosen.
        """
        return self.resources.repository

    @property
    def repositories(self) -> tuple[RepositoryConnector, ...]:
        """All repositories whose files are needed (S1); where one is chosen, it comes first."""
        return self.resources.repositories

    @property
    def store(self) -> LiveSetStore:
        """The live-set store."""
        return self.resources.store

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.resources.engine

    @property
    def registry(self) -> PluginRegistry:
        """The plugins of this run."""
        return self.choice.registry()

    def seeing(self, repository: RepositoryConnector, *, alone: bool = False) -> Run:
        """The same run over another view of its repository; other repositories stay what they are, or are left out."""
        others = () if alone else self.repositories[1:]
        return replace(self, resources=self.resources.over(repository, *others))

    def aside(self, store: LiveSetStore) -> Run:
        """The same run with another live-set store."""
        return replace(self, resources=self.resources.beside(store))

    def of(self, members: Sequence[Member], lease: Lease, parameters: DeletionParameters) -> SweepRun:
        """The same run, at work on live sets; the first of them is one of a repository that can be read."""
        mine = {field.name: getattr(self, field.name) for field in fields(Run)}
        return SweepRun(**mine, members=tuple(members), lease=lease, parameters=parameters)


_PARTS = "\x1f"
"""Parts the number of a repository from the id of a content; no server gives such an id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One of the repositories that are swept together, and what is known of it."""

    repository: RepositoryConnector
    live_set: LiveSet
    """What was marked of it together with the others; where it could not be read, the newest that was ever marked."""
    number: int = 0
    """Tells it from the others of a run; the first is 0."""
    unread: str | None = None
    """Why it could not be read: then all that it ever had is left alone (S6)."""

    def qualified(self, content_id: str) -> str:
        """A content id of this repository, as relations have it: others may have the same one (S1).

        Those of the first are what they are.
        """
        return qualified_id(content_id, self.number)

    def own(self, content_id: str) -> str | None:
        """The same way back; ``None`` for a content of another repository."""
        number, parts, own = content_id.partition(_PARTS)
        if not parts or not number.isdigit():
            return content_id if not self.number else None
        return own if int(number) == self.number else None

    def mine(self, table: pa.Table) -> pa.Table:
        """The rows of a table with ``content_id`` that are of this repository, their ids as it has them."""
        own = [self.own(content_id) for content_id in table.column("content_id").to_pylist()]
        column = table.schema.get_field_index("content_id")
        ids = pa.array(own, pa.string())
        return table.set_column(column, table.schema.field(column), ids.fill_null("")).filter(ids.is_valid())


def qualified_id(content_id: str, number: int) -> str:
    """A content id of the repository with a number (:meth:`Member.qualified`)."""
    return f"{number}{_PARTS}{content_id}" if number else content_id


def qualified(versions: Iterable[ContentVersion], number: int) -> Iterator[ContentVersion]:
    """The same content versions of the repository with a number, their ids qualified."""
    if not number:
        yield from versions
        return
    for version in versions:
        yield replace(version, content_id=qualified_id(version.content_id, number))


def number_of(qualified: str) -> int:
    """The number of the repository that a qualified content id is of."""
    number, parts, _ = qualified.partition(_PARTS)
    return int(number) if parts and number.isdigit() else 0


def own_id(qualified: str, number: int) -> str:
    """The same way back, of a content id that is known to be of that repository."""
    return qualified.removeprefix(f"{number}{_PARTS}") if number else qualified


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRun(Run):
    """A run that deletes what no live set needs."""

    members: tuple[Member, ...]
    """What is swept together: one live set of each repository, the one that keeps the records of the sweep first."""
    lease: Lease
    """Held for every repository; asked before every step that deletes."""
    parameters: DeletionParameters

    @property
    def live_set(self) -> LiveSet:
        """The live set that keeps the records of the sweep."""
        return self.members[0].live_set

    @property
    def repository(self) -> RepositoryConnector:
        """The repository of that live set."""
        return self.members[0].repository

    @property
    def numbers(self) -> Mapping[UUID, int]:
        """The number of every member by the id of its live set."""
        return {member.live_set.id: member.number for member in self.members}

    @property
    def read(self) -> tuple[Member, ...]:
        """The members whose repositories could be read."""
        return tuple(member for member in self.members if member.unread is None)

    @property
    def chosen(self) -> Member | None:
        """The one of several members that is worked on; ``None``: all are, alike."""
        if len(self.members) == 1 or not self.resources.chosen:
            return None
        return next(member for member in self.members if member.repository is self.repositories[0])

    @property
    def worked_on(self) -> tuple[Member, ...]:
        """The members of which this is the sweep; the others only say what they need."""
        return self.read if self.chosen is None else (self.chosen,)

    def each(self) -> Iterator[SweepRun]:
        """The same run for every repository that could be read, as if it were the only one."""
        return (replace(self, members=(member,)) for member in self.read)
