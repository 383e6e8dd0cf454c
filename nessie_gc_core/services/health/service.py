"""The service that says from metadata alone what is due at which table; it changes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import (
    Service,
    SupportsManifests,
    SupportsMetadataCommits,
    SupportsSnapshotExpiry,
    SupportsTableMetadata,
)
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.current_tables import AT_ONCE
from nessie_gc_core.services.health.commits import commits_since
from nessie_gc_core.services.health.examination import sweep_finding
from nessie_gc_core.services.health.looking import TableLook
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import HealthReport, TableHealth
from nessie_gc_core.services.health.visible import Visible, chosen_references, visible_tables
from nessie_gc_core.services.run import Run


@dataclass(frozen=True, slots=True)
class HealthService(Service[Run]):
    """Report which tables need maintenance: snapshots, small files, delete files, manifests, metadata, orphans.

    Reads one metadata file for each table and, with --read-manifests, each manifest of its current snapshot. Lists no
    storage, and changes nothing. Figures that the metadata lacks are shown as not known.
    """

    name: ClassVar[str] = "health"
    Parameters: ClassVar[type[ConnectorOptions]] = HealthParameters
    uses_engine: ClassVar[bool] = False
    lasting_store: ClassVar[bool] = False

    parameters: HealthParameters

    def run(self, run: Run) -> HealthReport:
        """Examines. A table that cannot be read is in the report, and does not stop the others (S18).

        Raises:
            ConfigurationError: a parameter is invalid, or no plugin reads metadata of tables.
            NessieGcError: the repository or the live-set store cannot be read.
        """
        started, parameters = run.elapsed(), self.parameters
        parameters.check()
        run.choice.check_plugins()
        _check_reader(run, parameters)
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
            commits=_commits(run, parameters),
            warnings=tuple(run.report.warnings),
            seconds=run.elapsed() - started,
        )


def _check_reader(run: Run, parameters: HealthParameters) -> None:
    """Refuses to look where no plugin reads what is asked for."""
    reader = run.registry.reader_of(ICEBERG_TABLE)
    if reader is None or not issubclass(reader, SupportsTableMetadata):
        raise ConfigurationError("no installed plugin reads metadata of tables; install nessie-gc-iceberg-files")
    if parameters.read_manifests and not issubclass(reader, SupportsManifests):
        raise ConfigurationError("no installed plugin reads manifest lists; install nessie-gc-iceberg-files")


def _looked_at(
    visible: Iterable[Visible], parameters: HealthParameters, now: datetime, run: Run
) -> Iterator[TableHealth]:
    """Reads files, those of many tables at once where they come over a network, and keeps none of them."""

    def at_once(each: Visible) -> int:
        path = None if each.version is None else each.version.metadata_location
        reads = 1 if path is None else run.choice.reads_at_once(path)
        return min(reads, AT_ONCE) if parameters.read_manifests else reads  # each keeps what its manifests say

    with OpenConnectors(run.choice) as connectors:
        look = TableLook(
            connectors=connectors,
            parameters=parameters,
            now=now,
            can_expire=isinstance(run.repository, SupportsSnapshotExpiry),
            has_branches=isinstance(run.repository, SupportsMetadataCommits),
        )
        with closing(read_ahead(visible, look.looked, at_once=at_once, kind="tables")) as found:
            for number, table in enumerate(found, start=1):
                run.tell("health", number, None)
                yield table


def _commits(run: Run, parameters: HealthParameters) -> int | None:
    if parameters.commits_since is None:
        return None
    references = chosen_references(run.repository, tuple(parameters.reference))
    return commits_since(run.repository, references, parameters.commits_since, most=parameters.max_commits)


def _last_sweep(run: Run) -> datetime | None:
    """When the newest live set was swept completely; dry runs leave none, and what expiry sweeps is not the whole."""
    identity = run.repository.identity()
    for live_set in run.store.live_sets():
        is_swept = live_set.repository == identity and live_set.status is LiveSetStatus.EXPIRY_SUCCESS
        if is_swept and not run.store.get(live_set.id).is_of_expiry:
            return live_set.expiry_completed
    return None
