"""The contract of live-set stores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable
from uuid import UUID

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.java_tables import JavaBaseLocation, JavaContentVersion, JavaFileDeletion, JavaLiveSet
from nessie_gc_core.model.live_sets import (
    DroppedSweep,
    FileDeletion,
    LeaseHolder,
    LiveSet,
    ReachedPlace,
    ReferenceHead,
    RepositoryRecords,
    SeenContent,
    SweepStep,
)
from nessie_gc_core.model.quarantine import HeldFile, HeldState, Quarantine
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.model.tags import TagRecord


class LiveSetStore(Connector):
    """Stores live sets, the progress of sweeps, and the registers that outlive live sets.

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

    Every status change is compare-and-set: if the live set has another status, it changes nothing and raises
    :class:`LiveSetStateError`, which names the status found and the one expected. An unknown id raises
    :class:`LiveSetNotFoundError` on every verb that changes or gets a live set; verbs that read its rows give nothing
    for an unknown id. Times are aware UTC datetimes with microseconds, and come back equal (S17). Text of any length
    comes back complete. A store is used from several threads at once, and from several processes if ``multi_process``
    is true.
    """

    multi_process: bool = False
    """Whether several processes may write at once, so that executors write directly; may depend on the options."""

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
        versions: RowsDigest | None = None,
    ) -> None:
        """IDENTIFY_IN_PROGRESS to IDENTIFY_SUCCESS, or to IDENTIFY_FAILED if a failure is given.

        Records the digest of its content versions, which :meth:`get` and :meth:`live_sets` give back (S34).
        """

    @abstractmethod
    def start_expire(self, live_set_id: UUID, *, at: datetime, resume: bool = False) -> None:
        """IDENTIFY_SUCCESS to EXPIRY_IN_PROGRESS; to resume, also from EXPIRY_IN_PROGRESS and EXPIRY_FAILED.

        A resumed sweep keeps its first ``expiry_started``; ``expiry_completed`` and the error are cleared.
        """

    @abstractmethod
    def finish_expire(
        self,
        live_set_id: UUID,
        *,
        at: datetime,
        failure: str | None = None,
        deletions: RowsDigest | None = None,
        dropped: DroppedSweep | None = None,
    ) -> None:
        """EXPIRY_IN_PROGRESS to EXPIRY_SUCCESS, or to EXPIRY_FAILED if a failure is given.

        Records the digest of its deferred deletions (S34) and what was done about dropped contents (in microseconds),
        which :meth:`get` and :meth:`live_sets` give back.
        """

    @abstractmethod
    def get(self, live_set_id: UUID) -> LiveSet:
        """The live set with its heads; LiveSetNotFoundError if it does not exist."""

    @abstractmethod
    def live_sets(self) -> Iterator[LiveSet]:
        """All live sets, newest first (heads may be left out)."""

    @abstractmethod
    def delete(self, live_set_id: UUID) -> None:
        """Deletes a live set and all rows that belong to it; never a file, never the registers."""

    # ---- content versions -----------------------------------------------------------------------------
    @abstractmethod
    def add_content_versions(self, live_set_id: UUID, versions: Iterable[ContentVersion]) -> int:
        """Adds versions while IDENTIFY_IN_PROGRESS; returns how many were new (distinct by their identity)."""

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
        """Adds (content id, raw base location) pairs of a stream; returns how many were new."""

    @abstractmethod
    def base_locations(self, live_set_id: UUID, content_id: str | None = None) -> Iterator[tuple[str, str]]:
        """Distinct (content id, raw base location), of all contents or of one."""

    # ---- sweep ----------------------------------------------------------------------------------------
    @abstractmethod
    def record_steps(self, live_set_id: UUID, steps: Iterable[SweepStep]) -> None:
        """Records (or replaces) the progress of parts of sweep units, durably, while EXPIRY_IN_PROGRESS.

        There may be 100,000 or more, one for each table; all are recorded when it returns.
        """

    @abstractmethod
    def steps(self, live_set_id: UUID) -> Iterator[SweepStep]:
        """All recorded steps."""

    @abstractmethod
    def add_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Records deferred deletions while EXPIRY_IN_PROGRESS; returns how many were new (by location and path)."""

    @abstractmethod
    def file_deletions(self, live_set_id: UUID) -> Iterator[FileDeletion]:
        """The deferred deletions, streamed, ordered by location."""

    @abstractmethod
    def remove_file_deletions(self, live_set_id: UUID, deletions: Iterable[FileDeletion]) -> int:
        """Removes deferred deletions that are done; returns how many there were.

        In the same step, a recorded digest of them (:meth:`finish_expire`) loses those that are removed.
        """

    # ---- registers that outlive live sets -------------------------------------------------------------
    @abstractmethod
    def add_tombstones(self, repository: str, paths: Iterable[str], *, at: datetime) -> None:
        """Records canonical paths of metadata files that are about to be deleted (S7)."""

    @abstractmethod
    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """Which of the canonical paths have a tombstone."""

    @abstractmethod
    def register_contents(self, repository: str, contents: Iterable[SeenContent]) -> None:
        """Adds contents at locations, or moves their ``last_seen`` (``first_seen`` stays)."""

    @abstractmethod
    def seen_contents(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[SeenContent]:
        """The register of all contents and locations ever seen, of all contents or of some (a few thousand at most)."""

    @abstractmethod
    def register_reached(self, repository: str, reached: Iterable[ReachedPlace]) -> None:
        """Records that contents were read, and where else they had files; nothing is ever taken out (S31)."""

    @abstractmethod
    def reached(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[ReachedPlace]:
        """What was recorded of all contents or of some (a few thousand at most), each once, in any order."""

    @abstractmethod
    def repositories(self) -> Iterator[str]:
        """The identities that have live sets or entries in the register, each once."""

    @abstractmethod
    def count_records(self, repository: str) -> RepositoryRecords:
        """How many live sets, tombstones and register entries an identity has."""

    @abstractmethod
    def move_records(self, source: str, target: str) -> RepositoryRecords:
        """Moves all records of one identity to another, in one step; returns how many there were.

        Existing records of the target stay: for a content at a location that both have, the earliest first and the
        latest last time are kept. If both identities are equal, nothing happens.

        Raises:
            LeaseHeldError: a collection runs under one of the two; nothing is moved.
        """

    # ---- one collector at a time ----------------------------------------------------------------------
    @abstractmethod
    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        """Takes or renews the lease of a repository for an owner, in one step; returns when it expires.

        Only the store's clock (of the database, not of a machine) decides what has expired. The returned time is for
        display; a holder measures the duration from before its call, with a monotonic clock.

        Raises:
            LeaseHeldError: another owner holds a lease that has not expired; the message names its holder.
        """

    @abstractmethod
    def lease(self, repository: str) -> LeaseHolder | None:
        """Who holds the lease of a repository; ``None`` if there is none, or it expired.

        Asked before every batch that is deleted, from several threads, and from executors if ``multi_process`` is true.
        """

    @abstractmethod
    def release_lease(self, repository: str, owner: str) -> None:
        """Releases the lease; nothing happens if this owner does not hold it."""


def lease_held(repository: str, holder: LeaseHolder) -> LeaseHeldError:
    """The error for a lease that another process holds, with the same text in every store."""
    return LeaseHeldError(f"{holder} collects {repository}; wait for it, or stop it")


@runtime_checkable
class SupportsTagRecords(Protocol):
    """A store that records which tags a service created; records belong to one repository, and outlive live sets.

    ``count_records`` counts them, and ``move_records`` moves them: if both identities have a record of a tag, the
    record of a created tag stays, else the target's.
    """

    def put_tags(self, repository: str, records: Iterable[TagRecord]) -> None:
        """Adds records of tags, or replaces those with the same holder and name; durable when it returns."""

    def tags(self, repository: str) -> Iterator[TagRecord]:
        """All records, streamed, in any order."""

    def forget_tags(self, repository: str, keys: Iterable[tuple[str, str]]) -> None:
        """Removes the records of some tags, by holder and name; missing records are ignored."""


@runtime_checkable
class SupportsQuarantine(Protocol):
    """A store that remembers which files are in quarantine; its records outlive live sets.

    ``count_records`` counts them, and ``move_records`` moves them.
    """

    def put_held_files(self, files: Iterable[HeldFile]) -> None:
        """Adds records, or replaces those with the same live set, place and held path; durable when it returns."""

    def held_files(
        self, live_set_id: UUID | None = None, states: Collection[HeldState] = tuple(HeldState)
    ) -> Iterator[HeldFile]:
        """The records of one live set or of all, in these states, streamed, in any order.

        Records may be put and forgotten meanwhile; every other record comes once.
        """

    def forget_held_files(self, files: Iterable[HeldFile]) -> None:
        """Removes records by live set, place and held path; missing ones are ignored."""

    def quarantines(self) -> Iterator[Quarantine]:
        """What is in quarantine: a row for each repository, live set, place, end and state."""

    def remove_tombstones(self, paths: Iterable[str]) -> None:
        """Removes the tombstones of canonical paths, of all repositories: these files are there again (S7)."""


@runtime_checkable
class SupportsVersionParts(Protocol):
    """A store whose content versions several processes read at once, each another part of them.

    Where ``multi_process`` is true, executors then read a large live set themselves.
    """

    def content_versions_of_part(self, live_set_id: UUID, part: int, parts: int) -> Iterator[ContentVersion]:
        """Some of the versions, streamed, in any order; nothing for an unknown id.

        Args:
            live_set_id: the live set.
            part: which part, from 0.
            parts: of how many parts of about the same size; each version is in exactly one of them.
        """


@runtime_checkable
class SupportsJavaTables(Protocol):
    """A store whose database may have the tables of Nessie's Java tool as well.

    It only reads them, gives every row with its values as they are, and needs no tables of its own. All verbs raise
    StoreError if a table is missing.
    """

    def java_live_sets(self) -> Iterator[JavaLiveSet]:
        """All live sets, in any order."""

    def java_content_versions(self, live_set_id: str) -> Iterator[JavaContentVersion]:
        """The content versions of a live set, streamed, in any order."""

    def java_base_locations(self, live_set_id: str) -> Iterator[JavaBaseLocation]:
        """The base locations of a live set, streamed, in any order."""

    def java_file_deletions(self, live_set_id: str) -> Iterator[JavaFileDeletion]:
        """The deferred deletions of a live set, streamed, in any order."""


@runtime_checkable
class SupportsSqlSchema(Protocol):
    """A store whose tables are created on request."""

    def create_schema(self, strategy: str) -> None:
        """Creates the tables.

        ``CREATE`` fails if tables exist, ``CREATE_IF_NOT_EXISTS`` keeps them and upgrades those of an earlier release,
        ``DROP_AND_CREATE`` empties them.

        Raises:
            ConfigurationError: the strategy is not one of these.
            StoreError: the tables already exist, or the database rejects a statement.
        """

    def schema_script(self) -> str:
        """The statements that create the tables, as text; needs no connection."""
