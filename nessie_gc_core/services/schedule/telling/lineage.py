"""OpenLineage: events of runs that delete or rewrite, sent by the library's own client as its own settings say."""

from __future__ import annotations

from datetime import datetime
from importlib.metadata import version
from typing import Any

import attr
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    DatasetFacet,
    OutputDatasetFacet,
    RunFacet,
    job_type_job,
    nominal_time_run,
    output_statistics_output_dataset,
    symlinks_dataset,
)
from openlineage.client.transport.console import ConsoleTransport

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.model.text import json_time
from nessie_gc_core.services.schedule.outcome import body_of
from nessie_gc_core.services.schedule.telling.changed_tables import ChangedTable, Changes
from nessie_gc_core.services.schedule.telling.library_logs import keep_addresses_out, without_addresses

PRODUCER = f"urn:nessie-gc:{version('nessie-gc-core')}"
SCHEMAS = "urn:nessie-gc:openlineage:1"
"""The id of the schema of our own facets (``docs/reference/openlineage.json``)."""
OUTCOME, DELETION = "nessieGc_outcome", "nessieGc_deletion"
"""The names of our own facets: of a run, and of a dataset."""
SERVICES = frozenset(
    {
        "gc", "sweep", "expire", "deferred-deletes", "delete-unreferenced", "expire-snapshots", "remove-orphan-files",
        "compact", "rewrite-manifests", "purge",
    }
)  # fmt: skip
"""Services that delete or rewrite, by all their names."""
_CLOSE_SECONDS = 10.0
_ENDS = {
    RunStatus.SUCCEEDED: RunState.COMPLETE,
    RunStatus.NOT_DUE: RunState.COMPLETE,
    RunStatus.FAILED: RunState.FAIL,
    RunStatus.TIMED_OUT: RunState.ABORT,
    RunStatus.INTERRUPTED: RunState.ABORT,
    RunStatus.BUSY: RunState.ABORT,
}
"""The event of each status; a run that was skipped has not begun."""


@attr.define
class NessieGcOutcomeRunFacet(RunFacet):
    """How a run ended, and the numbers of its report."""

    service: str
    schedule: str
    attempt: int
    status: str
    exitCode: int | None = None  # noqa: N815 - names of OpenLineage
    dryRun: bool = False  # noqa: N815
    numbers: dict[str, int] = attr.field(factory=dict)
    datasetsLeftOut: int = 0  # noqa: N815

    @staticmethod
    def _get_schema() -> str:
        return f"{SCHEMAS}#/$defs/NessieGcOutcomeRunFacet"


@attr.define
class NessieGcDeletionOutputDatasetFacet(OutputDatasetFacet):
    """What was deleted of a table."""

    deletedFiles: int  # noqa: N815
    deletedBytes: int  # noqa: N815
    expiredSnapshots: int = 0  # noqa: N815
    tablesLeftOut: int = 0  # noqa: N815

    @staticmethod
    def _get_schema() -> str:
        return f"{SCHEMAS}#/$defs/NessieGcDeletionOutputDatasetFacet"


class Lineage:
    """Sends START, and COMPLETE, FAIL or ABORT, for each run of a service that deletes or rewrites."""

    name = "OpenLineage"

    def __init__(self, schedule: str, *, namespace: str, catalog: str | None = None) -> None:
        """Takes the schedule, the namespace of its jobs, and that of the names of tables if reports do not say it.

        Raises:
            ConfigurationError: the settings of the client are wrong, or it has none.
        """
        keep_addresses_out()
        self._schedule, self._namespace, self._catalog = schedule, namespace, catalog
        try:
            self._client = OpenLineageClient()
        except Exception as error:  # noqa: BLE001 - whatever its libraries raise; their texts may show what is secret
            raise ConfigurationError(
                f"the configuration of OpenLineage (openlineage.yml, OPENLINEAGE_...) is wrong: {type(error).__name__}"
            ) from None
        is_named = (self._client.config.transport or {}).get("type")
        if isinstance(self._client.transport, ConsoleTransport) and not is_named:
            raise ConfigurationError(
                "`lineage` has nowhere to send events: set OPENLINEAGE_URL, or name a transport in openlineage.yml"
            )

    def part_of(self, run: JobRun) -> str | None:
        """The tables that it changed."""
        return Changes.of(body_of(run.report)).text() if run.service in SERVICES and run.report else None

    def started(self, run: JobRun) -> None:
        """Sends START."""
        if run.service in SERVICES:
            self._emit(run, RunState.START, run.started, Changes())

    def ended(self, run: JobRun) -> None:
        """Sends how it ended."""
        if run.service in SERVICES and run.status in _ENDS:
            assert run.ended is not None
            self._emit(run, _ENDS[run.status], run.ended, Changes.read(run.report))

    def close(self) -> None:
        """Waits for transports that send later."""
        with without_addresses():
            self._client.close(_CLOSE_SECONDS)

    def _emit(self, run: JobRun, state: RunState, at: datetime, changes: Changes) -> None:
        outcome = NessieGcOutcomeRunFacet(
            producer=PRODUCER,
            service=run.service,
            schedule=self._schedule,
            attempt=run.occasion.attempt,
            status=run.status.value,
            exitCode=run.exit_code,
            dryRun=changes.dry_run,
            numbers=dict(run.numbers),
            datasetsLeftOut=changes.left_out,
        )
        due = nominal_time_run.NominalTimeRunFacet(nominalStartTime=json_time(run.occasion.due), producer=PRODUCER)
        kind = job_type_job.JobTypeJobFacet(
            processingType="BATCH", integration="NESSIE_GC", jobType="JOB", producer=PRODUCER
        )
        event = RunEvent(
            eventType=state,
            eventTime=json_time(at),
            run=Run(runId=str(run.id), facets={OUTCOME: outcome, "nominalTime": due}),
            job=Job(namespace=self._namespace, name=f"{self._schedule}.{run.job}", facets={"jobType": kind}),
            inputs=[],
            outputs=[self._dataset(table) for table in changes.tables],
            producer=PRODUCER,
        )
        with without_addresses():
            self._client.emit(event)

    def _dataset(self, table: ChangedTable) -> OutputDataset:
        facets: dict[str, DatasetFacet] = {}
        catalog = table.catalog if table.catalog is None else self._catalog or table.catalog
        if catalog and table.tables:
            identifiers = [symlinks_dataset.Identifier(catalog, name, "TABLE") for name in table.tables]
            facets["symlinks"] = symlinks_dataset.SymlinksDatasetFacet(identifiers=identifiers, producer=PRODUCER)
        return OutputDataset(namespace=table.namespace, name=table.name, facets=facets, outputFacets=_facets(table))


def _facets(table: ChangedTable) -> dict[str, OutputDatasetFacet]:
    """What was deleted of it, and what was written."""
    deleted: dict[str, Any] = {
        "deletedFiles": table.deleted_files,
        "deletedBytes": table.deleted_bytes,
        "expiredSnapshots": table.snapshots,
        "tablesLeftOut": table.tables_left_out,
    }
    written: dict[str, OutputDatasetFacet] = {
        DELETION: NessieGcDeletionOutputDatasetFacet(**deleted, producer=PRODUCER)
    }
    if table.written_files is not None:
        written["outputStatistics"] = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            size=table.written_bytes, fileCount=table.written_files, producer=PRODUCER
        )
    return written
