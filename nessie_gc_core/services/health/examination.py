"""What the metadata file of one table says about its health, and its manifests where they were read."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace
from datetime import datetime, timedelta

from nessie_gc_core.algorithms.retention import PREVIOUS_VERSIONS_MAX, Retention, ancestors, expired
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.model.next_steps import next_command
from nessie_gc_core.model.repository import UNKNOWN_CONTENT
from nessie_gc_core.model.table_metadata import MAIN, TableMetadata
from nessie_gc_core.model.table_properties import gc_enabled, product_of
from nessie_gc_core.model.text import duration_text, one_line, plural, size_text
from nessie_gc_core.model.times import from_millis
from nessie_gc_core.services.compaction.estimating import least_small_files
from nessie_gc_core.services.health.files_due import FilesDue, exactly
from nessie_gc_core.services.health.manifests_read import ManifestsRead
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import Finding, FindingName, TableHealth
from nessie_gc_core.services.manifests.levels import target_of

TARGET_FILE_SIZE = "write.target-file-size-bytes"
DELETE_AFTER_COMMIT = "write.metadata.delete-after-commit.enabled"
_DEFAULTS = {TARGET_FILE_SIZE: 512 << 20, PREVIOUS_VERSIONS_MAX: 100}
"""What holds where a table says nothing; the same as in Iceberg."""
_SWEEP = f"{next_command('gc')} deletes what nothing needs"


def examined(
    table: TableMetadata,
    parameters: HealthParameters,
    now: datetime,
    *,
    can_expire: bool,
    has_branches: bool = False,
    read: ManifestsRead | None = None,
) -> TableHealth:
    """Measures a table, and says what is due.

    Args:
        table: its metadata.
        parameters: from when on something is due.
        now: the time from which ages count, UTC.
        read: what the manifests of its current snapshot say; ``None``: they were not read.
        can_expire: whether its repository can expire snapshots.
        has_branches: whether branches of its repository can get metadata that lists fewer snapshots.
    """
    broken: list[Finding] = []
    counts = FileCounts.of(table.summary)
    health = _measured(table, counts, now, broken)
    _check_target(table, broken)
    if has_branches:  # states on other branches, and those until the cut-off, need files as well
        health = replace(health, reclaimable_bytes=None)
    health = replace(health, small_files=least_small_files(counts, parameters.rules))
    health = health if read is None else _read(health, read)
    product = product_of(table.location, table.properties)
    if product is not None:
        return replace(health, findings=(unread_finding((product,)),))
    expire = _to_expire(health, can_expire=can_expire, has_branches=has_branches)
    files = FilesDue(health=health, parameters=parameters, branch=table.reference if has_branches else None)
    found = (
        *_due_snapshots(health, parameters, expire),
        *files.found(counts, read),
        *_due_metadata(health, parameters, expire),
    )
    return replace(health, findings=(*found, *broken))


def unread_finding(types: tuple[str, ...]) -> Finding:
    """The findings on a content that nobody collects, or that its repository could not read just now."""
    if UNKNOWN_CONTENT in types:
        return Finding(
            name=FindingName.UNREAD,
            value=", ".join(types),
            limit=None,
            text="its catalog lists it and could not read it; the log says why",
            action="run again when its store is less busy; if it is broken for good, repair or drop it",
        )
    return Finding(
        name=FindingName.UNREAD,
        value=", ".join(types),
        limit=None,
        text=f"it is skipped ({', '.join(types)})",
        action="leave it to whoever manages it",
    )


def sweep_finding(last: datetime | None, now: datetime, interval: timedelta) -> Finding | None:
    """What is found about the last sweep; ``None`` if it is recent."""
    if last is not None and now - last < interval:
        return None
    ago = None if last is None else now - last
    said = (
        f"the last sweep was {duration_text(ago)} ago"
        if ago is not None
        else "this live-set store has no record of a sweep"
    )
    value = None if ago is None else ago.total_seconds()
    limit = interval.total_seconds()
    return Finding(name=FindingName.ORPHANS, value=value, limit=limit, text=said, action=_SWEEP)


def _check_target(table: TableMetadata, broken: list[Finding]) -> None:
    try:
        target_of(table)
    except ConfigurationError as error:
        broken.append(_invalid(one_line(error)))


def _measured(table: TableMetadata, counts: FileCounts, now: datetime, broken: list[Finding]) -> TableHealth:
    """What the metadata says; findings about properties that are invalid go to ``broken``."""
    position, equality = counts.position_deletes, counts.equality_deletes
    deletes = None if position is None or equality is None else position + equality
    leaving = _expirable(table, now, broken)
    times = [snapshot.timestamp_ms for snapshot in table.snapshots]
    return TableHealth(
        table=table.content_key,
        reference=table.reference,
        metadata_location=table.metadata_location,
        gc_enabled=gc_enabled(table.properties),
        snapshots=len(times),
        expirable=None if leaving is None else len(leaving),
        oldest_snapshot=from_millis(min(times)) if times else None,
        reclaimable_bytes=None if leaving is None else _reclaimable(table, leaving),
        partitioned=any(each.transform != "void" for spec in table.spec_fields.values() for each in spec),
        data_files=counts.data_files,
        average_file_bytes=None if counts.bytes is None or not counts.data_files else counts.bytes // counts.data_files,
        target_file_bytes=_property(table, TARGET_FILE_SIZE, broken),
        records=counts.records,
        delete_files=counts.delete_files,
        position_deletes=position,
        equality_deletes=equality,
        delete_file_share=_share(counts.delete_files, counts.data_files),
        delete_ratio=_share(deletes, counts.records),
        manifests=counts.manifests,
        metadata_bytes=table.metadata_bytes,
        metadata_versions=len(table.metadata_log),
        max_metadata_versions=_property(table, PREVIOUS_VERSIONS_MAX, broken),
        delete_after_commit=table.properties.get(DELETE_AFTER_COMMIT, "false").lower() == "true",
    )


def _to_expire(health: TableHealth, *, can_expire: bool, has_branches: bool) -> str:
    """What to do about snapshots."""
    tables = ("--include", exactly(health.table))
    if can_expire:
        return f"{next_command('expire-snapshots', *tables)} removes them and deletes the files that only they need"
    sweep = f"{next_command('gc')} with a cut-off policy deletes the files that only they need"
    if has_branches:
        then = next_command("expire-snapshots", "--commit-to", exactly(health.reference), *tables)
        return f"{sweep}; {then} then removes them from the metadata"
    return f"{sweep}; the metadata still lists them"


def _due_snapshots(health: TableHealth, parameters: HealthParameters, expire: str) -> Iterator[Finding]:
    most = parameters.snapshot_threshold
    if health.expirable is not None and health.expirable >= most:
        text = f"{health.expirable:,} of {plural(health.snapshots, 'snapshot')} can expire"
        text += f", which frees about {size_text(health.reclaimable_bytes)}" if health.reclaimable_bytes else ""
        yield Finding(name=FindingName.SNAPSHOTS, value=health.expirable, limit=most, text=text, action=expire)


def _due_metadata(health: TableHealth, parameters: HealthParameters, expire: str) -> Iterator[Finding]:
    name, size, listed = FindingName.METADATA_SIZE, health.metadata_bytes or 0, health.snapshots or 0
    if size >= parameters.metadata_size_threshold:
        text, limit = f"the metadata file is {size_text(size)}", parameters.metadata_size_threshold
        yield Finding(name=name, value=size, limit=limit, text=text, action=expire)
    elif listed >= parameters.listed_snapshot_threshold:
        text, limit = f"the metadata file lists {plural(listed, 'snapshot')}", parameters.listed_snapshot_threshold
        yield Finding(name=name, value=listed, limit=limit, text=text, action=expire)
    versions, held = health.metadata_versions or 0, health.max_metadata_versions
    if held is not None and versions >= held and not health.delete_after_commit:
        text = f"the metadata log is full ({versions:,}), and nothing deletes older metadata files"
        yield Finding(name=FindingName.METADATA_VERSIONS, value=versions, limit=held, text=text, action=_SWEEP)


def _read(health: TableHealth, read: ManifestsRead) -> TableHealth:
    """The same with what manifests say."""
    health = replace(
        health,
        manifests_read=True,
        manifests=read.manifests,
        manifest_overlap=read.overlap,
        due_partitions=len(read.chosen),
        held_partitions=len(read.held),
        due_bytes=sum(plan.input_bytes for plan in read.chosen),
    )
    files = read.files
    if files is None:
        return health
    return replace(
        health,
        partitions=files.partitions,
        data_files=files.data_files,
        small_files=files.small_files,
        average_file_bytes=files.bytes // files.data_files if files.data_files else None,
        delete_files=files.delete_files,
        delete_file_share=_share(files.delete_files, files.data_files),
    )


def _reclaimable(table: TableMetadata, leaving: Set[int]) -> int | None:
    """Size of the files that only snapshots need that can expire, by the summaries of those after them.

    It is known where the snapshots are one line, each made from the one before, and nothing else holds one: what a
    snapshot took out is then in no later one, if the one before it expires.
    """
    removed = [each.removed_bytes for each in table.snapshots if each.parent_id in leaving]
    if set(table.refs) - {MAIN} or not _is_one_line(table) or None in removed:
        return None
    return sum(filter(None, removed))


def _is_one_line(table: TableMetadata) -> bool:
    """Whether all snapshots lead to the current one."""
    listed = {each.snapshot_id: each for each in table.snapshots}
    main = table.refs.get(MAIN)
    return sum(1 for _ in ancestors(listed, None if main is None else main.snapshot_id)) == len(listed)


def _expirable(table: TableMetadata, now: datetime, broken: list[Finding]) -> Set[int] | None:
    """The snapshots that can expire; ``None`` if a property is invalid."""
    try:
        return expired(table, Retention(), now).snapshot_ids
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


def _share(part: int | None, whole: int | None) -> float | None:
    return None if part is None or not whole else part / whole
