"""The service that says from metadata alone what is due at which table; it changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import Service, SupportsMetadataCommits, SupportsSnapshotExpiry, SupportsTableMetadata
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.health.examination import examined, sweep_finding, unread_finding
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import HealthReport, TableHealth
from nessie_gc_core.services.health.visible import Visible, visible_tables
from nessie_gc_core.services.run import Run


@dataclass(frozen=True, slots=True)
class HealthService(Service[Run]):
    """Say what is due at which table: snapshots, small files, delete files, manifests, metadata, orphans.

    One small file is read for each table, its metadata file. No manifest is read, nothing is listed, and nothing is
    changed. What metadata does not say is shown as not known.
    """

    name: ClassVar[str] = "health"
    Parameters: ClassVar[type[ConnectorOptions]] = HealthParameters
    uses_engine: ClassVar[bool] = False
    lasting_store: ClassVar[bool] = False

    parameters: HealthParameters

    def run(self, run: Run) -> HealthReport:
        """Looks. A table that cannot be read is in the report, and stops no other (S18).

        Raises:
            ConfigurationError: a parameter makes no sense, or no plugin reads metadata of tables.
            NessieGcError: the repository or the live-set store cannot be read.
        """
        started, parameters = run.elapsed(), self.parameters
        run.choice.check_plugins()
        reader = run.registry.reader_of(ICEBERG_TABLE)
        if reader is None or not issubclass(reader, SupportsTableMetadata):
            raise ConfigurationError("no installed plugin reads metadata of tables; install nessie-gc-iceberg-files")
        patterns, now = parameters.patterns, min(times_now(run))
        visible = visible_tables(run.repository, run.registry, tuple(parameters.reference))
        meant = (each for each in visible if patterns.matches(each.table))
        tables = sorted(_looked_at(meant, parameters, now, run), key=lambda table: table.rank)
        last = _last_sweep(run)
        finding = sweep_finding(last, now, parameters.sweep_interval)
        return HealthReport(
            repository=run.repository.address(),
            checked=now,
            last_sweep=last,
            findings=() if finding is None else (finding,),
            tables=tables,
            warnings=tuple(run.report.warnings),
            seconds=run.elapsed() - started,
        )


def _looked_at(
    visible: Iterable[Visible], parameters: HealthParameters, now: datetime, run: Run
) -> Iterator[TableHealth]:
    """Reads metadata files, many at once where they come over a network, and keeps none of them."""
    can_expire = isinstance(run.repository, SupportsSnapshotExpiry)
    has_branches = isinstance(run.repository, SupportsMetadataCommits)

    def look(each: Visible) -> list[TableHealth]:
        nothing = TableHealth(table=each.table, reference=each.reference, unread=each.unread)
        if each.unread:
            nothing = replace(nothing, findings=(unread_finding(each.unread),))
        if each.version is None:
            return [nothing]
        try:
            with connectors.reader(each.version.content_type) as reader:
                assert isinstance(reader, SupportsTableMetadata)
                table = reader.table_metadata(each.version, reference=each.reference)
            if table is None:
                return [nothing] if each.unread else []
            found = examined(table, parameters, now, can_expire=can_expire, has_branches=has_branches)
            return [replace(found, unread=nothing.unread, findings=nothing.findings or found.findings)]
        except Exception as error:  # noqa: BLE001 - whatever a reader raises is about this table alone (S18)
            return [replace(nothing, problem=one_line(error))]

    def at_once(each: Visible) -> int:
        path = None if each.version is None else each.version.metadata_location
        return 1 if path is None else run.choice.reads_at_once(path)

    with OpenConnectors(run.choice) as connectors, closing(read_ahead(visible, look, at_once=at_once)) as found:
        for number, table in enumerate(found, start=1):
            run.tell("health", number, None)
            yield table


def _last_sweep(run: Run) -> datetime | None:
    """When the newest live set was swept to its end; dry runs leave none, and what expiry sweeps is not the whole."""
    identity = run.repository.identity()
    for live_set in run.store.live_sets():
        is_swept = live_set.repository == identity and live_set.status is LiveSetStatus.EXPIRY_SUCCESS
        if is_swept and not run.store.get(live_set.id).is_of_expiry:
            return live_set.expiry_completed
    return None
