"""The contract of live-set stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable
from uuid import UUID

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.live_sets import (
    FileDeletion,
    LeaseHolder,
    LiveSet,
    ReferenceHead,
    RepositoryRecords,
    SeenContent,
    SweepStep,
)
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.tags import TagRecord


class LiveSetStore(Connector):
    """Keeps live sets, what a sweep has done, and the registers that outlive live sets.

    Example of a whole plugin::

        from multiprocessing.connection import Client
        from nessie_gc_core import ConnectorOptions, hookimpl, option, options
        from nessie_gc_core.connectors import LiveSetStore
        from nessie_gc_core.errors import StoreError

        @options
        class RemoteOptions(ConnectorOptions):
            socket: str = option("live-sets.sock", help="socket of a process that has a store and answers calls")

        def remote(verb):
            def call(self, *args, **named):
                try:
                    with Client(self.options.socket) as connection:
                        connection.send((verb, args, named))
                        answer, error = connection.recv()
                except (OSError, EOFError) as broken:
                    raise StoreError(f"{self.options.socket} does not answer: {broken}") from broken
                if error is not None:
                    raise error
                return iter(answer) if isinstance(answer, list) else answer

            return call

        verbs = {verb: remote(verb) for verb in LiveSetStore.__abstractmethods__}
        RemoteStore = type("RemoteStore", (LiveSetStore,), {"name": "remote", "Options": RemoteOptions, **verbs})

        @hookimpl
        def nessie_gc_register_live_set_store():
            return RemoteStore

    Every status change is compare-and-set: it raises :class:`LiveSetStateError`, naming the status found and
    the one expected, and changes nothing, when the live set is in another one. An unknown id raises
    :class:`LiveSetNotFoundError` on every verb that changes or gets a live set; verbs that read its rows give
    nothing for an unknown id. Times are aware UTC datetimes with microseconds, and come back equal (S17).
    Text of any length comes back whole. It is used from several threads at once, and where
    ``multi_process`` is true from several processes.
    """

    multi_process: bool = False
    """Whether many processes may write at once, so that executors write to it directly; may depend on the options."""

    # ---- status ---------------------------------------------------------------------------------------
    @abstractmethod
    def start_identify(
        self, live_set_id: UUID, *, repository: str, created: datetime, policies: Sequence[str] = ()
    ) -> None:
        """Creates a live set in IDENTIFY_IN_PROGRESS; an id that exists raises LiveSetStateError."""

    @abstractmethod
    def finish_identify(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        references_listed: datetime | None = None,
        heads: Iterable[ReferenceHead] = (),
        failure: str | None = None,
    ) -> None:
        """IDENTIFY_IN_PROGRESS to IDENTIFY_SUCCESS, or to IDENTIFY_FAILED where a failure is given."""

    @abstractmethod
    def start_expire(self, live_set_id: UUID, *, at: datetime, resume: bool = False) -> None:
        """IDENTIFY_SUCCESS to EXPIRY_IN_PROGRESS; to resume, also from EXPIRY_IN_PROGRESS and EXPIRY_FAILED.

        A resumed sweep keeps its first ``expiry_started``, and has no ``expiry_completed`` and error any more.
        """

    @abstractmethod
    def finish_expire(self, live_set_id: UUID, *, at: datetime, failure: str | None = None) -> None:
        """EXPIRY_IN_PROGRESS to EXPIRY_SUCCESS, or to EXPIRY_FAILED where a failure is given."""

    @abstractmethod
    def get(self, live_set_id: UUID) -> LiveSet:
        """The live set with its heads; LiveSetNotFoundError where there is none."""

    @abstractmethod
    def live_sets(self) -> Iterator[LiveSet]:
        """All live sets, newest first (heads may be left out)."""

    @abstractmethod
    def delete(self, live_set_id: UUID) -> None:
        """Deletes a live set and all rows that belong to it; never a file, never the registers."""

    # ---- content versions -----------------------------------------------------------------------------
    @abstractmethod
    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Adds versions while IDENTIFY_IN_PROGRESS; how many were new (distinct by their identity)."""

    @abstractmethod
    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        """The versions, of all contents or of some (a few thousand at most), streamed, in any order."""

    @abstractmethod
    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        """The distinct content ids."""

    @abstractmethod
    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        """How many versions, and how many distinct content ids."""

    @abstractmethod
    def add_base_locations(self, live_set_id: UUID, locations: Iterable[tuple[str, str]]) -> int:
        """Remembers (content id, raw base location) of a stream; how many were new."""

    @abstractmethod
    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """Distinct (content id, raw base location), of all contents or of one."""

    # ---- sweep ----------------------------------------------------------------------------------------
    @abstractmethod
    def record_steps(self, live_set_id: UUID, steps: Iterable[SweepStep]) -> None:
        """Records (or replaces) the progress of parts of sweep units, durably, while EXPIRY_IN_PROGRESS.

        There may be one for each of a hundred thousand tables; all are recorded when it returns.
        """

    @abstractmethod
    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """All recorded steps."""

    @abstractmethod
    def add_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Records deferred deletions while EXPIRY_IN_PROGRESS; how many were new (by location and path)."""

    @abstractmethod
    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """The deferred deletions, streamed, ordered by location."""

    @abstractmethod
    def remove_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Forgets deferred deletions that are done; how many were there."""

    # ---- registers that outlive live sets -------------------------------------------------------------
    @abstractmethod
    def add_tombstones(self, repository: str, paths: Iterable[str], *, at: datetime) -> None:
        """Remembers canonical paths of metadata files that we are about to delete (S7)."""

    @abstractmethod
    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """Which of the canonical paths have a tombstone."""

    @abstractmethod
    def register_contents(self, repository: str, contents: Iterable[SeenContent]) -> None:
        """Adds contents at locations, or moves their ``last_seen`` (``first_seen`` stays)."""

    @abstractmethod
    def seen_contents(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[SeenContent]:
        """The register of every content and location ever seen, of all contents or of some (a few thousand at most)."""

    @abstractmethod
    def repositories(self) -> Iterator[str]:
        """The identities under which there are live sets or entries of the register, each once."""

    @abstractmethod
    def count_records(self, repository: str) -> RepositoryRecords:
        """How many live sets, tombstones and entries of the register stand under an identity."""

    @abstractmethod
    def move_records(self, source: str, target: str) -> RepositoryRecords:
        """Puts all records of one identity under another, in one step; how many there were.

        What stands under the target already stays: of a content at a location that both have, the earliest first
        and the latest last time are kept. Both identities may be equal; then nothing happens.

        Raises:
            LeaseHeldError: somebody collects under one of the two; nothing is moved.
        """

    # ---- one collector at a time ----------------------------------------------------------------------
    @abstractmethod
    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        """Takes or renews the lease of a repository for an owner, in one step; until when it holds.

        The store's clock alone decides what has run out: that of the database, not that of a machine. The time
        that is given back is for people; a holder measures the duration from before its call, by a clock that
        nobody sets.

        Raises:
            LeaseHeldError: another owner holds a lease that has not run out; the message names its holder.
        """

    @abstractmethod
    def lease(self, repository: str) -> LeaseHolder | None:
        """Who holds the lease of a repository; ``None`` where nobody does, or it ran out."""

    @abstractmethod
    def release_lease(self, repository: str, owner: str) -> None:
        """Gives the lease back; nothing happens where this owner holds none."""


def lease_held(repository: str, holder: LeaseHolder) -> LeaseHeldError:
    """The error for a lease that another process holds, as every store words it."""
    return LeaseHeldError(f"{holder} collects {repository}; wait for it, or stop it")


@runtime_checkable
class SupportsTagRecords(Protocol):
    """A store that remembers which tags a service made; they belong to one repository, and outlive live sets.

    ``count_records`` counts them, and ``move_records`` moves them along: of a tag that both identities have a record
    of, the one that was made stays, else the target's.
    """

    def put_tags(self, repository: str, records: Iterable[TagRecord]) -> None:
        """Adds records of tags, or replaces those with the same holder and name; durably when it returns."""

    def tags(self, repository: str) -> Iterator[TagRecord]:
        """All records, streamed, in any order."""

    def forget_tags(self, repository: str, keys: Iterable[tuple[str, str]]) -> None:
        """Takes the records of some tags out, by holder and name; nothing happens where there is none."""


@runtime_checkable
class SupportsSqlSchema(Protocol):
    """A store whose tables are made on request."""

    def create_schema(self, strategy: str) -> None:
        """Makes the tables.

        ``CREATE`` refuses tables that exist, ``CREATE_IF_NOT_EXISTS`` leaves them and brings those of an earlier
        release up to date, ``DROP_AND_CREATE`` empties them.

        Raises:
            ConfigurationError: the strategy is none of these.
            StoreError: the tables exist already, or the database refuses.
        """

    def schema_script(self) -> str:
        """The statements that make the tables, as text; no connection is needed."""
