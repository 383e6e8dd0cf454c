"""Goes through all records, counts them, and deletes those that nothing needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass

from nessie_gc_core.errors import ServiceUnavailableError
from nessie_gc_internal.kinds import CONTENT_ID_SPACE, NAMES, UNIQUE_ID, VALUE, kind_name
from nessie_gc_internal.mark import Mark
from nessie_gc_internal.objects import unique_id_space
from nessie_gc_internal.report import InternalGcReport
from nessie_gc_internal.store import Deleted, Deletion, ObjectRow, ObjectStore
from nessie_gc_internal.unseen import UnseenContents
from nessie_gc_internal.wire import FormatError

VALUES_AT_ONCE = 1000
LOOKS_UNDER_THE_LOCK = 3
"""So often references are read under one lock; each time that one moved, what it reaches is walked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeSettings:
    """What is deleted, and how."""

    cutoff: int
    """Records with a later stamp stay, in microseconds since the epoch."""
    dry_run: bool
    purge_unstamped: bool
    batch_size: int
    """Records in one transaction."""
    rate: int | None = None
    """The most records in a second."""
    only: Set[bytes] | None = None
    """The only ids that may be deleted; ``None``: any."""


class Purge:
    """One pass over the records of a repository."""

    def __init__(
        self,
        store: ObjectStore,
        mark: Mark,
        settings: PurgeSettings,
        report: InternalGcReport,
        unseen: UnseenContents | None = None,
    ) -> None:
        """Takes what was marked, the report that it counts in, and what gathers contents, where someone asks."""
        self._store = store
        self._mark = mark
        self._settings = settings
        self._report = report
        self._unseen = unseen
        self._values: list[ObjectRow] = []
        self.sent = False
        """Whether any deletion was sent to the database."""
        self.found: set[bytes] = set()
        """In a dry run, the ids that would be deleted."""

    def run(self, *, tell: Callable[[int], None]) -> None:
        """Does it.

        Args:
            tell: told how many records were looked at, also before every deletion; raises if the run has to end.

        Raises:
            NessieGcError: the database cannot be used, or something newly live is missing or not understood.
        """
        batch: list[ObjectRow] = []
        with closing(self._candidates(tell)) as candidates:
            for row in candidates:
                batch.append(row)
                if len(batch) == self._settings.batch_size:
                    self._end(batch, tell)
                    batch = []
        self._end(batch, tell)

    def _candidates(self, tell: Callable[[int], None]) -> Generator[ObjectRow]:
        """The rows that nothing needs and that are old enough; all others are counted."""
        with closing(self._store.scan()) as rows:
            for number, row in enumerate(rows, start=1):
                if self._is_candidate(row):
                    yield row
                if not number % 10_000:
                    tell(number)
        tell(self._report.total("scanned").records)

    def _is_candidate(self, row: ObjectRow) -> bool:
        tally, settings = self._report.tally(kind_name(row.kind)), self._settings
        tally.scanned.add(row.size)
        if row.id in self._mark.live:
            tally.live.add(row.size)
            return False
        if row.kind == VALUE and self._unseen is not None:
            self._values.append(row)
            if len(self._values) == VALUES_AT_ONCE:
                self._look_at_values()
        if row.kind not in NAMES:
            tally.unknown.add(row.size)
        elif row.id in self._mark.kept or (row.referenced or 0) > settings.cutoff:
            tally.too_young.add(row.size)
        elif not row.referenced and not settings.purge_unstamped:
            tally.unstamped.add(row.size)
        else:
            return True
        return False

    def _end(self, batch: list[ObjectRow], tell: Callable[[int], None]) -> None:
        """Counts and deletes some rows."""
        self._look_at_values()
        rows = self._planned(self._understood(batch))
        if not rows:
            return
        for row in rows:
            self._report.tally(kind_name(row.kind)).unreferenced.add(row.size)
        if self._settings.dry_run:
            self.found.update(row.id for row in rows)
            return
        tell(self._report.total("scanned").records)
        begun = time.monotonic()
        outcome: list[Deleted] = []
        try:
            self._delete(rows, outcome)
        except BaseException:
            for row in rows:
                if outcome and row.id in outcome[-1].deleted:
                    self._report.tally(kind_name(row.kind)).uncertain.add(row.size)
            raise
        self._count(rows, outcome[-1])
        if self._settings.rate is not None:
            time.sleep(max(0.0, len(rows) / self._settings.rate - (time.monotonic() - begun)))

    def _look_at_values(self) -> None:
        """Names the contents that no live commit sees, before their states are deleted."""
        if self._unseen is not None:
            self._unseen.add(self._values)
        self._values = []

    def _understood(self, rows: list[ObjectRow]) -> list[ObjectRow]:
        """The rows without unique ids that are not of contents: nobody knows what they are for."""
        ids = [row.id for row in rows if row.kind == UNIQUE_ID]
        others = {record.id for record in self._store.fetch(ids) if not _is_of_content(record.data)} if ids else set()
        understood = []
        for row in rows:
            if row.id in others:
                self._report.tally(kind_name(row.kind)).unknown.add(row.size)
            else:
                understood.append(row)
        return understood

    def _planned(self, rows: list[ObjectRow]) -> list[ObjectRow]:
        """The rows that the plan has, where there is one."""
        only = self._settings.only
        if only is None:
            return rows
        for row in rows:
            if row.id not in only:
                self._report.tally(kind_name(row.kind)).not_planned.add(row.size)
        return [row for row in rows if row.id in only]

    def _delete(self, rows: Sequence[ObjectRow], outcome: list[Deleted]) -> None:
        """Deletes what is not reached from references as they are now (S9).

        References that moved are walked without the lock first, for that may take long, and under it afterwards, for
        few writers can still move one by then. Those who do are not waited for without an end.

        Args:
            rows: what to delete.
            outcome: gets their outcomes, which holds if this ends without an error: nobody knows before whether
                the transaction was committed.

        Raises:
            ServiceUnavailableError: references move again and again.
        """
        with self._store.deletion() as deletion:
            if not self._mark.unseen(deletion.pointers()):
                self._send(deletion, rows, outcome)
                return
        self._mark.from_references(self._store.references())
        with self._store.deletion() as deletion:
            for _ in range(LOOKS_UNDER_THE_LOCK):
                if not self._mark.unseen(deletion.pointers()):
                    self._send(deletion, [row for row in rows if not self._mark.keeps(row.id)], outcome)
                    return
                self._mark.from_references(self._store.references())
        raise ServiceUnavailableError(
            f"the references of Nessie's database {self._store.address} keep moving; run again later"
        )

    def _send(self, deletion: Deletion, rows: Sequence[ObjectRow], outcome: list[Deleted]) -> None:
        self.sent = True
        outcome.append(deletion.delete(rows))

    def _count(self, rows: Sequence[ObjectRow], outcome: Deleted) -> None:
        for row in rows:
            tally = self._report.tally(kind_name(row.kind))
            if row.id in outcome.deleted:
                tally.purged.add(row.size)
            elif row.id in outcome.changed or self._mark.keeps(row.id):
                tally.referenced_again.add(row.size)
            else:
                tally.already_gone.add(row.size)


def _is_of_content(data: bytes) -> bool:
    try:
        return unique_id_space(data) == CONTENT_ID_SPACE
    except FormatError:
        return False
