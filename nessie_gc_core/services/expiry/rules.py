"""Which tables an expiry is about, what holds for each of them, and which of the words given meant nothing."""

from __future__ import annotations

import threading
from datetime import datetime

from nessie_gc_core.algorithms.retention import Retention, expired, kept_for_positions
from nessie_gc_core.model.table_metadata import Removal, TableMetadata
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.report import GcReport


class ExpiryRules:
    """The patterns and the rules of one run; asked from several threads."""

    def __init__(self, parameters: ExpireSnapshotsParameters, now: datetime) -> None:
        self.now = now
        self._patterns = parameters.patterns
        self._retentions = parameters.retentions(now)
        self._lock = threading.Lock()
        self._names: set[str] = set()
        self._asked = self._retentions.overall.snapshot_ids
        self._seen: set[int] = set()
        self.kept_for_positions: dict[str, int] = {}
        """Selected tables with the number of snapshots that stay only for positions of streaming writers."""

    def is_meant(self, name: str) -> bool:
        """Whether a table is selected; its name is remembered."""
        with self._lock:
            self._names.add(name)
        return self._patterns.matches(name)

    def of(self, table: TableMetadata) -> Retention:
        """The rules for a selected table; remembers which of the requested snapshots it has."""
        if self._asked:
            with self._lock:
                self._seen |= self._asked & {snapshot.snapshot_id for snapshot in table.snapshots}
        return self._retentions.of(table.content_key)

    def expired(self, table: TableMetadata, retention: Retention) -> Removal:
        """What these rules remove from a table; remembers what stays for streaming writers.

        Raises:
            ConfigurationError, SafetyError: as for :func:`nessie_gc_core.algorithms.retention.expired`.
        """
        removal = expired(table, retention, self.now)
        kept = kept_for_positions(table, retention, removal, self.now)
        with self._lock:
            if kept:
                self.kept_for_positions[table.content_key] = kept
            else:
                self.kept_for_positions.pop(table.content_key, None)
        return removal

    def warn_of_unmatched(self, report: GcReport) -> None:
        """Says which snapshots that were asked for no table has, and which patterns match no table."""
        for asked in sorted(self._asked - self._seen):
            report.warn(f"no selected table has a snapshot {asked}")
        given = (*self._patterns.include, *self._patterns.exclude, *self._retentions.patterns)
        for pattern in given:
            if not any(pattern.fullmatch(name) for name in self._names):
                report.warn(f"the pattern {pattern.pattern!r} matches no table")
