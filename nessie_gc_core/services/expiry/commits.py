"""Commits what expires, table by table: once where it can, again where someone else was faster."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from nessie_gc_core.connectors import SupportsSnapshotExpiry
from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, NessieGcError, RepositoryError
from nessie_gc_core.model.table_metadata import Removal, TableMetadata
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.expiry.expected import Decide, PlannedTable
from nessie_gc_core.services.run import never_stopped

log = logging.getLogger(__name__)

_FEWEST = 100
"""Commits of so few snapshots are not cut further where a server refuses them."""
SECONDS = 0.1
"""How long it waits after the first conflict; twice as long after each further one."""


class Committed(StrEnum):
    """The outcome of the commit to one table."""

    EXPIRED = "expired"
    """It was made; in a dry run it would be."""
    CONFLICT = "conflict"
    """Others were faster each time; nothing was committed."""
    UNKNOWN = "unknown"
    """Nobody can tell; no file of it is deleted unless the table shows that it was made (S19)."""
    REFUSED = "refused"
    """The catalog refused it."""
    LEFT_ALONE = "left alone"
    """It was not asked for: the table is not ours, or not to be judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """The outcome of one table."""

    outcome: Committed
    """What."""
    reason: str | None = None
    """Why nothing was committed."""
    removal: Removal = field(default_factory=Removal)
    """What was removed for certain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committer:
    """Removes from each table what was planned and may still be removed."""

    repository: SupportsSnapshotExpiry
    decide: Decide
    """Decides what may be removed from a table as it is by then."""
    retries: int
    """How often a commit is repeated."""
    wait: Callable[[float], None] = time.sleep
    check: Callable[[], None] = never_stopped
    """Asked before every commit; raises if the run has to end."""

    def commit(self, planned: PlannedTable) -> CommitResult:
        """Commits: in one commit where the server takes it, else in smaller and smaller parts."""
        done, waiting, left_out = Removal(), [planned.removal], ""
        while waiting:
            part = waiting.pop()
            try:
                done = done.with_(self._commit(planned, part))
            except CommitUnknownError as error:
                return CommitResult(outcome=Committed.UNKNOWN, reason=one_line(error), removal=done)
            except CommitConflictError as error:
                return CommitResult(outcome=Committed.CONFLICT, reason=one_line(error), removal=done)
            except NessieGcError as error:
                if part.schemas or part.partition_specs:
                    left_out = f"schemas and partition specs stay: {one_line(error)}"
                    waiting.append(part.with_unused(schemas=(), partition_specs=()))
                    continue
                if not isinstance(error, RepositoryError) or len(part.snapshot_ids) <= _FEWEST:
                    return CommitResult(outcome=Committed.REFUSED, reason=one_line(error), removal=done)
                log.info("%s; trying half as many", error)
                waiting.extend(reversed(part.halves()))
        if not done:
            return CommitResult(
                outcome=Committed.LEFT_ALONE, reason=left_out or "none of its snapshots may expire any more"
            )
        return CommitResult(outcome=Committed.EXPIRED, reason=left_out or None, removal=done)

    def _commit(self, planned: PlannedTable, part: Removal) -> Removal:
        """Commits those removals of a part that are still allowed; returns what was removed."""
        for attempt in range(self.retries + 1):
            table = self._now(planned)
            removal = _without_held(self.decide(table).within(part), table)
            if not removal:
                return removal
            self.check()
            try:
                self.repository.remove_snapshots(table, removal)
            except CommitConflictError as error:
                if attempt == self.retries:
                    raise
                log.info("%s; trying again", error)
                self.wait(SECONDS * 2**attempt)
                continue
            except CommitUnknownError as error:
                try:
                    is_made = self._is_made(planned, removal)
                except NessieGcError as also:  # the catalog that lost the answer does not tell now either
                    raise error from also
                if not is_made:
                    raise
            return removal
        raise AssertionError("the last attempt returns or raises")

    def _now(self, planned: PlannedTable) -> TableMetadata:
        table = self.repository.reload(planned.table)
        if table is None:
            raise CommitConflictError(f"{planned.table.content_key} no longer exists, or another table has its name")
        return table

    def _is_made(self, planned: PlannedTable, removal: Removal) -> bool:
        """Whether the table shows that the commit was made after all."""
        table = self._now(planned)
        listed = {snapshot.snapshot_id for snapshot in table.snapshots}
        left = (listed & removal.snapshot_ids, set(table.refs) & removal.refs)
        return not any((*left, table.schemas & removal.schemas, table.partition_specs & removal.partition_specs))


def _without_held(removal: Removal, table: TableMetadata) -> Removal:
    """The removal without snapshots that a branch or tag holds which stays: one that came since it was planned."""
    held = {ref.snapshot_id for name, ref in table.refs.items() if name not in removal.refs}
    return replace(removal, snapshot_ids=removal.snapshot_ids - held)
