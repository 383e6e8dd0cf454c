"""What the metadata file of one table says about its health."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from rich.filesize import decimal

from nessie_gc_core.algorithms.retention import PREVIOUS_VERSIONS_MAX, Retention, expired
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.table_properties import gc_enabled
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import Finding, FindingName, TableHealth, age

TARGET_FILE_SIZE = "write.target-file-size-bytes"
DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
_DEFAULTS = {TARGET_FILE_SIZE: 512 << 20, PREVIOUS_VERSIONS_MAX: 100}
"""What holds where a table says nothing; the same as in Iceberg."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SWEEP = "`nessie-gc gc`"


def examined(
    table: TableMetadata,
    parameters: HealthParameters,
    now: datetime,
    *,
    can_expire: bool,
    has_branches: bool = False,
) -> TableHealth:
    """Measures a table, and says what is due.

    Args:
        table: its metadata.
        parameters: from when on something is due.
        now: the time from which ages count, UTC.
        can_expire: whether its repository can expire snapshots.
        has_branches: whether branches of its repository can get metadata that lists fewer snapshots.
    """
    broken: list[Finding] = []
    health = _measured(table, now, broken)
    found = [*_due(health, parameters, _to_expire(health, can_expire=can_expire, has_branches=has_branches)), *broken]
    return replace(health, findings=tuple(found))


def manifests_of(table: TableMetadata) -> int | None:
    """How many manifests its current snapshot has, by its summary; ``None`` where its writer did not say it."""
    created, kept = (_count(table.summary, f"manifests-{what}") for what in ("created", "kept"))
    return None if created is None or kept is None else created + kept


def counted_files(table: TableMetadata) -> tuple[int | None, int | None]:
    """How many data files and delete files its current snapshot has, by its summary; ``None`` where it is not said."""
    return _count(table.summary, "total-data-files"), _count(table.summary, "total-delete-files")


def unread_finding(types: tuple[str, ...]) -> Finding:
    """What is found about a content that nobody collects."""
    return Finding(
        name=FindingName.UNREAD,
        value=", ".join(types),
        limit=None,
        text=f"it is left alone ({', '.join(types)})",
        action="leave it to whoever manages it",
    )


def sweep_finding(last: datetime | None, now: datetime, interval: timedelta) -> Finding | None:
    """What is found about the last sweep; ``None`` where it is recent."""
    if last is not None and now - last < interval:
        return None
    said = "this live-set store knows of no sweep" if last is None else f"the last sweep is {age(now - last)} ago"
    value = None if last is None else (now - last).total_seconds()
    limit = interval.total_seconds()
    return Finding(name=FindingName.ORPHANS, value=value, limit=limit, text=said, action=_SWEEP)


def _measured(table: TableMetadata, now: datetime, broken: list[Finding]) -> TableHealth:
    """What the metadata says; findings about properties that make no sense go to ``broken``."""
    (data_files, delete_files), total = counted_files(table), _count(table.summary, "total-files-size")
    position = _count(table.summary, "total-position-deletes")
    equality = _count(table.summary, "total-equality-deletes")
    records = _count(table.summary, "total-records")
    deletes = None if position is None or equality is None else position + equality
    times = [snapshot.timestamp_ms for snapshot in table.snapshots]
    return TableHealth(
        table=table.content_key,
        reference=table.reference,
        metadata_location=table.metadata_location,
        gc_enabled=gc_enabled(table.properties),
        snapshots=len(times),
        expirable=_expirable(table, now, broken),
        oldest_snapshot=_EPOCH + timedelta(milliseconds=min(times)) if times else None,
        data_files=data_files,
        average_file_bytes=None if total is None or not data_files else total // data_files,
        target_file_bytes=_property(table, TARGET_FILE_SIZE, broken),
        records=records,
        delete_files=delete_files,
        position_deletes=position,
        equality_deletes=equality,
        delete_file_share=_share(delete_files, data_files),
        delete_ratio=_share(deletes, records),
        manifests=manifests_of(table),
        metadata_bytes=table.metadata_bytes,
        metadata_versions=len(table.metadata_log),
        max_metadata_versions=_property(table, PREVIOUS_VERSIONS_MAX, broken),
        delete_after_commit=table.properties.get(DELETE_AFTER_COMMIT, "false").lower() == "true",
    )


def _to_expire(health: TableHealth, *, can_expire: bool, has_branches: bool) -> str:
    """What to do about snapshots."""
    tables = f"--include {shlex.quote(_pattern(health.table))}"
    if can_expire:
        return f"`nessie-gc expire-snapshots {tables}`"
    sweep = "`nessie-gc gc` with a cut-off policy frees what only they need"
    if has_branches:
        branch = shlex.quote(_pattern(health.reference))
        return f"{sweep}; `nessie-gc expire-snapshots --commit-to {branch} {tables}` then lists them no longer"
    return f"{sweep}; the metadata goes on listing them"


def _due(health: TableHealth, parameters: HealthParameters, expire: str) -> Iterator[Finding]:
    most = parameters.snapshot_threshold
    if health.expirable is not None and health.expirable >= most:
        text = f"{health.expirable:,} of {health.snapshots:,} snapshots can expire"
        yield Finding(name=FindingName.SNAPSHOTS, value=health.expirable, limit=most, text=text, action=expire)
    yield from _due_files(health, parameters)
    yield from _due_deletes(health, parameters)
    yield from _due_metadata(health, parameters, expire)


def _due_files(health: TableHealth, parameters: HealthParameters) -> Iterator[Finding]:
    average, target, files = health.average_file_bytes, health.target_file_bytes, health.data_files
    if average is None or target is None or files is None or files < parameters.min_input_files:
        return
    least = int(parameters.min_file_size_ratio * target)
    if average < least:
        text = f"{files:,} data files average {decimal(average)}; the target is {decimal(target)}"
        action = _on_spark("compact", health)
        yield Finding(name=FindingName.SMALL_FILES, value=average, limit=least, text=text, action=action)


def _due_deletes(health: TableHealth, parameters: HealthParameters) -> Iterator[Finding]:
    action = _on_spark("compact", health)
    most, files = parameters.delete_file_threshold, health.delete_files
    if files is not None and files >= most:
        text = f"{files:,} delete files beside {health.data_files or 0:,} data files"
        yield Finding(name=FindingName.DELETE_FILES, value=files, limit=most, text=text, action=action)
    ratio, limit = health.delete_ratio, parameters.delete_ratio_threshold
    if ratio and ratio >= limit:
        text = f"{ratio:.2g} deletes for each of {health.records:,} records"
        yield Finding(name=FindingName.DELETE_RATIO, value=ratio, limit=limit, text=text, action=action)


def _due_metadata(health: TableHealth, parameters: HealthParameters, expire: str) -> Iterator[Finding]:
    most, manifests = parameters.manifest_threshold, health.manifests
    if manifests is not None and manifests >= most:
        text, action = f"{manifests:,} manifests", _on_spark("rewrite-manifests", health)
        yield Finding(name=FindingName.MANIFESTS, value=manifests, limit=most, text=text, action=action)
    name, size, listed = FindingName.METADATA_SIZE, health.metadata_bytes or 0, health.snapshots or 0
    if size >= parameters.metadata_size_threshold:
        text, limit = f"the metadata file is {decimal(size)}", parameters.metadata_size_threshold
        yield Finding(name=name, value=size, limit=limit, text=text, action=expire)
    elif listed >= parameters.listed_snapshot_threshold:
        text, limit = f"the metadata file lists {listed:,} snapshots", parameters.listed_snapshot_threshold
        yield Finding(name=name, value=listed, limit=limit, text=text, action=expire)
    versions, held = health.metadata_versions or 0, health.max_metadata_versions
    if held is not None and versions >= held and not health.delete_after_commit:
        text = f"the metadata log is full ({versions:,}), and nothing deletes the metadata files that fall out"
        yield Finding(name=FindingName.METADATA_VERSIONS, value=versions, limit=held, text=text, action=_SWEEP)


def _expirable(table: TableMetadata, now: datetime, broken: list[Finding]) -> int | None:
    try:
        return len(expired(table, Retention(), now).snapshot_ids)
    except ConfigurationError as error:
        broken.append(_invalid(one_line(error)))
        return None


def _property(table: TableMetadata, name: str, broken: list[Finding]) -> int | None:
    text = table.properties.get(name)
    if text is None:
        return _DEFAULTS[name]
    if text.isdecimal():
        return int(text)
    said = f"the property {name} of {table.content_key} is {text!r}: set a number"
    if not any(said == finding.value for finding in broken):
        broken.append(_invalid(said))
    return None


def _invalid(said: str) -> Finding:
    text, _, action = said.rpartition(": ")
    return Finding(name=FindingName.INVALID_PROPERTY, value=said, limit=None, text=text, action=action)


def _count(summary: Mapping[str, str], name: str) -> int | None:
    """A number of a summary; ``None`` where its writer did not say it, or said nonsense."""
    text = summary.get(name, "")
    return int(text) if text.isdecimal() else None


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole


def _on_spark(command: str, health: TableHealth) -> str:
    """A command that takes a catalog of a Spark session."""
    return f"`nessie-gc {command} --catalog CATALOG --include {shlex.quote(_pattern(health.table))}`"


def _pattern(name: str) -> str:
    """A pattern that matches this name and no other."""
    return re.sub(r"[^\w-]", lambda found: f"\\{found[0]}" if found[0] in "^\\[]" else f"[{found[0]}]", name)
