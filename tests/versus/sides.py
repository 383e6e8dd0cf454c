"""The two sides: Iceberg's procedures, and ours."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from collecting import LakeServices
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.report import ExpiryReport
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from versus.cases import Asked, Procedure
from versus.stage import NAMESPACE, Stage, local


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What one side did."""

    deleted: frozenset[str]
    """Files of before that are gone, or were named in a dry run."""
    sidecars: frozenset[str]
    """Hadoop's sidecars that are gone."""
    kept: dict[str, tuple[Any, ...]]
    """Snapshots and refs that each table lists afterwards."""
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds of ours by phase."""
    peak_mb: int | None = None
    """The most memory of this process while ours ran, in megabytes; ``None`` where the system does not say."""
    error: str | None = None
    """Why it did not come to its end; of ours also what it could not do."""


def theirs(stage: Stage, procedure: Procedure, asked: Asked) -> Done:
    """Runs the procedure for each table, and looks what is left."""
    before, sidecars = stage.files(), stage.sidecars()
    started = time.perf_counter()
    error: str | None = None
    named: set[str] = set()
    for table in asked.tables:
        try:
            named.update(_call(stage, procedure, asked, table))
            if asked.then_orphans:
                stage.call(Procedure.ORPHANS, f"table => '{NAMESPACE}.{table}', older_than => {_literal(_day_ago())}")
        except Exception as failed:  # noqa: BLE001 - a procedure that fails is a result
            error = _first_line(failed)
    seconds = time.perf_counter() - started
    deleted = frozenset(map(stage.below, named)) if asked.dry_run else before - stage.files()
    gone = sidecars - stage.sidecars()
    return Done(deleted=deleted, sidecars=gone, kept=_kept(stage), seconds=seconds, error=error)


def _call(stage: Stage, procedure: Procedure, asked: Asked, table: str) -> list[str]:
    """Calls it once; gives the files that it named."""
    if procedure is Procedure.JAVA_API:
        expiry = stage.java(table).expireSnapshots()
        if asked.older_than is not None:
            expiry = expiry.expireOlderThan(int(asked.older_than.timestamp() * 1000))
        if asked.retain_last is not None:
            expiry = expiry.retainLast(asked.retain_last)
        expiry.commit()
        return []
    arguments = [f"table => '{NAMESPACE}.{table}'", *_arguments(asked), *[asked.more] * bool(asked.more)]
    if procedure is Procedure.ORPHANS and asked.dry_run:
        arguments.append("dry_run => true")
    rows = stage.call(procedure, ", ".join(arguments))
    return [row[0] for row in rows] if procedure is Procedure.ORPHANS else []


def _arguments(asked: Asked) -> Iterator[str]:
    if asked.older_than is not None:
        yield f"older_than => {_literal(asked.older_than)}"
    if asked.retain_last is not None:
        yield f"retain_last => {asked.retain_last}"
    if asked.snapshot_ids:
        yield f"snapshot_ids => ARRAY({', '.join(f'{id_}L' for id_ in asked.snapshot_ids)})"


def _literal(instant: datetime) -> str:
    return f"TIMESTAMP '{instant.astimezone(UTC).strftime('%Y-%m-%d %H:%M:%S.%f')}'"


def _day_ago() -> datetime:
    return datetime.now(UTC) - timedelta(days=1, minutes=1)


def ours(stage: Stage, procedure: Procedure, asked: Asked, engine: Engine) -> Done:
    """Runs our service once, and looks what is left."""
    before, sidecars = stage.files(), stage.sidecars()
    _forget_peak()
    started = time.perf_counter()
    error: str | None = None
    phases: dict[str, float] = {}
    outcomes = stage.folder / "outcomes.jsonl"
    options: dict[str, Any] = {"catalog_name": stage.catalog, "uri": stage.uri}
    with IcebergCatalogConnector.from_options(options) as repository, MemoryLiveSetStore.from_options({}) as store:
        services = LakeServices(repository=repository, store=store, engine=engine, clock=utc_now)
        try:
            collection = _collect(services, procedure, asked, str(outcomes))
            phases = dict(collection.phases)
        except Exception as failed:  # noqa: BLE001 - what fails is a result
            error = _first_line(failed)
    seconds, peak_mb = time.perf_counter() - started, _peak_mb()
    named = _would_delete(outcomes) if outcomes.exists() and error is None else []
    outcomes.unlink(missing_ok=True)
    deleted = frozenset(map(stage.below, named)) if _is_plan(asked) else before - stage.files()
    gone = sidecars - stage.sidecars()
    return Done(
        deleted=deleted,
        sidecars=gone,
        kept=_kept(stage),
        seconds=seconds,
        phases=phases,
        peak_mb=peak_mb,
        error=error,
    )


def _forget_peak() -> None:
    """Has Linux measure the most memory of this process anew."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_mb() -> int | None:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) // 1024 if found else None


def _is_plan(asked: Asked) -> bool:
    """Whether ours names only."""
    return asked.dry_run or bool(asked.only_plan)


def _collect(services: LakeServices, procedure: Procedure, asked: Asked, outcomes: str) -> GcReport:
    """Runs it; gives the last report of what was collected.

    Raises:
        UnfinishedError: the report says that not everything could be done.
    """
    collection = GcReport()
    steps: list[Callable[[LakeServices, Asked, str], GcReport | ExpiryReport]]
    steps = [_gc] if procedure is Procedure.ORPHANS else [_expire, *[_gc] * asked.then_orphans]
    for step in steps:
        report = step(services, asked, outcomes)
        if report.exit_code:
            raise UnfinishedError(_what_is_wrong(report))
        collection = report.collection if isinstance(report, ExpiryReport) else report
    return collection


class UnfinishedError(Exception):
    """Ours ended with an exit code that is not 0."""


def _gc(services: LakeServices, asked: Asked, outcomes: str) -> GcReport:
    min_age = timedelta() if asked.older_than is None else max(datetime.now(UTC) - asked.older_than, timedelta())
    more: dict[str, Any] = {"outcomes_to": outcomes} if _is_plan(asked) and asked.names else {}
    sweep = SweepParameters(min_age=min_age, no_age_floor=True, dry_run=_is_plan(asked), **more)
    return services.collect(sweep=sweep)


def _expire(services: LakeServices, asked: Asked, outcomes: str) -> ExpiryReport:
    parameters = ExpireSnapshotsParameters(
        older_than=None if asked.older_than is None else asked.older_than.isoformat(),
        retain_last=asked.retain_last,
        snapshot_ids=tuple(map(str, asked.snapshot_ids)),
        allow=tuple(asked.allow),
        include=tuple(f"{NAMESPACE}.{table}" for table in asked.tables),
        min_age=timedelta(),
        no_age_floor=True,
        dry_run=_is_plan(asked),
        outcomes_to=outcomes if _is_plan(asked) else None,
    )
    run: Run = services.run()
    return ExpireSnapshotsService(parameters).run(run)


def _what_is_wrong(report: GcReport | ExpiryReport) -> str:
    collection = report.collection if isinstance(report, ExpiryReport) else report
    tables = report.tables if isinstance(report, ExpiryReport) else ()
    reasons = [str(table) for table in tables if table.reason] + list(collection.unknown.values())
    return "; ".join([*reasons, *collection.warnings]) or str(report)


def _would_delete(outcomes: Path) -> list[str]:
    rows = [json.loads(line) for line in outcomes.read_text(encoding="utf-8").splitlines()]
    return [
        f"{row['location']}{row['path']}"
        for row in rows
        if row["outcome"] == Outcome.WOULD_DELETE.value and not row["sidecar"]
    ]


def _kept(stage: Stage) -> dict[str, tuple[Any, ...]]:
    """What the metadata of every table lists."""
    found: dict[str, tuple[Any, ...]] = {}
    for table in stage.tables():
        if not local(stage.metadata_location(table)).exists():
            found[table] = ()
            continue
        metadata = stage.metadata(table)
        refs = {name: ref["snapshot-id"] for name, ref in metadata.get("refs", {}).items()}
        found[table] = (sorted(each["snapshot-id"] for each in metadata.get("snapshots", ())), sorted(refs.items()))
    return found


def _first_line(error: Exception) -> str:
    java = getattr(error, "java_exception", None)
    text = str(error if java is None else java.toString()).strip()
    return (text.splitlines() or [type(error).__name__])[0][:300]
