"""What the service asks of a database of Nessie, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from nessie_gc_core.model.closing import Closing


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReference:
    """A branch, a tag or an internal reference."""

    name: str
    """Its full name, such as ``refs/heads/main`` or ``int/refs``."""
    pointer: bytes
    """The id of the commit that it points to."""
    deleted: bool = False
    """Whether it is being deleted."""
    extended_info: bytes | None = None
    """The id of a record with more about it."""
    previous: Sequence[tuple[bytes, int]] = ()
    """Where it pointed before, each with the time of the change (microseconds since the epoch)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredObject:
    """A record with what it holds."""

    id: bytes
    kind: str
    """Nessie's short name of its kind."""
    data: bytes


@dataclass(frozen=True, slots=True)
class ObjectRow:
    """A record without what it holds."""

    id: bytes
    kind: str
    """Nessie's short name of its kind."""
    version: str | None
    """The version token of records that change."""
    referenced: int | None
    """When someone last tried to write it, in microseconds since the epoch; ``None`` or 0: before Nessie noted it."""
    size: int
    """Bytes that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """The outcome of some records that were to be deleted."""

    deleted: frozenset[bytes]
    """Ids of those that were."""
    changed: frozenset[bytes]
    """Ids of those that stay because they were written again."""


class Deletion(ABC):
    """A short transaction during which nobody else writes records."""

    @abstractmethod
    def pointers(self) -> Mapping[str, bytes]:
        """The commit to which each reference points now, by the reference's name."""

    @abstractmethod
    def delete(self, rows: Sequence[ObjectRow]) -> Deleted:
        """Deletes each record that is still exactly what its row says, its stamp included."""


class ObjectStore(Closing, ABC):
    """One repository in a database of Nessie, open.

    Every method raises a :class:`nessie_gc_core.errors.NessieGcError` where the database cannot be used.
    """

    @property
    @abstractmethod
    def address(self) -> str:
        """Where the database is, without credentials."""

    @property
    @abstractmethod
    def repository_id(self) -> str:
        """Which repository of the database it is."""

    @abstractmethod
    def check(self, *, deletes: bool) -> None:
        """Refuses a database in which records may not be what they seem.

        Args:
            deletes: whether records are to be deleted.

        Raises:
            ConfigurationError: it has no tables of Nessie, or of another version, or there is no such repository.
            AccessDeniedError: a right is missing.
        """

    @abstractmethod
    def now(self) -> int:
        """The database's clock, in microseconds since the epoch."""

    @abstractmethod
    def counts(self) -> Mapping[str, int]:
        """How many records there are of each kind."""

    @abstractmethod
    def references(self) -> list[StoredReference]:
        """All references, as they were at one moment."""

    @abstractmethod
    def fetch(self, ids: Sequence[bytes]) -> list[StoredObject]:
        """The records of these ids that exist, in any order."""

    @abstractmethod
    def written_after(self, time: int) -> Generator[bytes]:
        """The ids of all records whose stamp is later than a time in microseconds since the epoch."""

    @abstractmethod
    def scan(self) -> Generator[ObjectRow]:
        """All records; those that someone writes or deletes meanwhile may be among them."""

    @abstractmethod
    def deletion(self) -> AbstractContextManager[Deletion]:
        """Begins a deletion; it is complete, or nothing of it, when the context ends."""
