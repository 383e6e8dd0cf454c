"""The service that purges records of Nessie's database that nothing reaches."""

from __future__ import annotations

import time
from collections.abc import Callable, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Protocol

from nessie_gc_core import ConnectorOptions
from nessie_gc_core.connectors import Service
from nessie_gc_core.errors import NessieGcError
from nessie_gc_internal.mark import Mark
from nessie_gc_internal.parameters import InternalGcParameters
from nessie_gc_internal.postgresql import PostgresqlStore
from nessie_gc_internal.purge import Purge, PurgeSettings
from nessie_gc_internal.report import InternalGcReport
from nessie_gc_internal.store import ObjectStore
from nessie_gc_internal.unseen import UnseenContents

Tell = Callable[[str, int, "int | None"], None]
"""Told the phase, how much of it is done, and of how much, where that is known."""


class Told(Protocol):
    """What this service asks of a run."""

    def tell(self, phase: str, done: int, total: int | None) -> None:
        """Tells progress."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """The outcome of one pass."""

    report: InternalGcReport
    found: Set[bytes]
    """In a dry run, the ids that would be deleted."""


@dataclass(frozen=True, slots=True)
class InternalGcService(Service[Told]):
    """Purge records of Nessie's own database that no reference reaches: commits, contents, indexes.

    Works on the PostgreSQL database of Nessie's version store JDBC2, while Nessie keeps running. Table files are not
    touched; use 'gc' for them. Other version stores of Nessie (RocksDB, MongoDB, DynamoDB, Cassandra, BigTable) are not
    supported.
    """

    name: ClassVar[str] = "internal-gc"
    Parameters: ClassVar[type[ConnectorOptions]] = InternalGcParameters
    uses_repository: ClassVar[bool] = False
    uses_files: ClassVar[bool] = False
    lasting_store: ClassVar[bool] = False

    parameters: InternalGcParameters

    def run(self, run: Told) -> InternalGcReport:
        """Does it.

        Raises:
            ConfigurationError: a parameter is invalid, or the database is not one that is known.
            AccessDeniedError: the database refuses the user, or a right is missing.
            RepositoryError: something live is missing or not understood; nothing was purged.
            ServiceUnavailableError: the database does not answer.
        """
        return clean(self.parameters, tell=run.tell).report


def clean(parameters: InternalGcParameters, *, tell: Tell, only: Set[bytes] | None = None) -> Cleaned:
    """Marks and purges.

    Args:
        parameters: which database, and what stays.
        tell: called with the progress.
        only: the only ids that may be deleted; ``None``: any.
    """
    parameters.check()
    connection, dry_run = parameters.connection(), parameters.dry_run
    with PostgresqlStore(connection, parameters.nessie_repository_id, read_only=dry_run) as store:
        store.check(deletes=not dry_run)
        return clean_store(store, parameters, tell=tell, only=only)


def clean_store(
    store: ObjectStore,
    parameters: InternalGcParameters,
    *,
    tell: Tell,
    only: Set[bytes] | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Cleaned:
    """Marks and purges in a store that is open and was checked."""
    begun = time.monotonic()
    now = min(int(clock().timestamp() * 1_000_000), store.now())  # a clock that is ahead must not shorten the grace
    cutoff = now - int(parameters.referenced_grace.total_seconds() * 1_000_000)
    counts = store.counts()
    mark = Mark(store, cutoff, counts, tell=lambda done: tell("mark", done, None))
    references = store.references()
    report = InternalGcReport(
        database=store.address,
        repository_id=store.repository_id,
        dry_run=parameters.dry_run,
        started=datetime.fromtimestamp(now / 1_000_000, UTC),
        cutoff=datetime.fromtimestamp(cutoff / 1_000_000, UTC),
        references=len(references),
    )
    mark.from_references(references)
    mark.from_young()
    report.phases["mark"] = time.monotonic() - begun
    unseen = UnseenContents(store, mark.contents) if parameters.contents else None
    purge = Purge(store, mark, _settings(parameters, cutoff, only), report, unseen)
    _run(purge, report, lambda done: tell("purge", done, max(done, sum(counts.values()))))
    report.phases["purge"] = time.monotonic() - begun - report.phases["mark"]
    if unseen is not None:
        report.contents, report.contents_found = unseen.named(), unseen.count
    return Cleaned(report, purge.found)


def _run(purge: Purge, report: InternalGcReport, tell: Callable[[int], None]) -> None:
    """Purges; where that ends early after a deletion was sent, the report says so."""
    try:
        purge.run(tell=tell)
    except NessieGcError as error:
        if not purge.sent:
            raise
        report.failed = str(error)


def _settings(parameters: InternalGcParameters, cutoff: int, only: Set[bytes] | None) -> PurgeSettings:
    return PurgeSettings(
        cutoff=cutoff,
        dry_run=parameters.dry_run,
        purge_unstamped=parameters.purge_unstamped,
        batch_size=parameters.purge_batch_size,
        rate=parameters.purge_rate,
        only=only,
    )
