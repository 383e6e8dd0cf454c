"""Iceberg's procedures ``expire_snapshots`` and ``remove_orphan_files``, with their arguments and result columns.

They work with or without a Spark session, on every catalog that a repository connector can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from nessie_gc_core.api.collector import Collector
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, SafetyError
from nessie_gc_core.model.batches import to_batches, to_rows
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.text import json_time
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COUNTED = {
    "deleted_data_files_count": (FileKind.DATA,),
    "deleted_position_delete_files_count": (FileKind.POSITION_DELETES, FileKind.DELETION_VECTOR),
    "deleted_equality_delete_files_count": (FileKind.EQUALITY_DELETES,),
    "deleted_manifest_files_count": (FileKind.MANIFEST,),
    "deleted_manifest_lists_count": (FileKind.MANIFEST_LIST,),
    "deleted_statistics_files_count": (FileKind.STATISTICS, FileKind.PARTITION_STATISTICS),
}
"""Column of the procedure to what it counts."""
_COUNTS = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in _COUNTED])
_ORPHANS = pa.schema([pa.field("orphan_file_location", pa.string(), nullable=False)])
_FOUND = (Outcome.DELETED.value, Outcome.ALREADY_GONE.value, Outcome.WOULD_DELETE.value)


def expire_snapshots(
    spark: SparkSession | None = None,
    *,
    table: str,
    older_than: datetime | str | None = None,
    retain_last: int | None = None,
    max_concurrent_deletes: int | None = None,
    stream_results: bool | None = None,
    snapshot_ids: Iterable[int] = (),
    clean_expired_metadata: bool = False,
    dry_run: bool = False,
    **settings: Any,
) -> object:
    """Expires snapshots of one table like the procedure ``expire_snapshots``, and returns its row of counts.

    Args:
        spark: the session to run on; without one, give ``engine="local"``.
        table: the table, by its dotted name in the repository.
        older_than: an instant with an offset, or a duration (default: the table's properties).
        retain_last: how many snapshots of each branch to keep, whatever their age.
        max_concurrent_deletes: ignored; use the setting ``expiry_parallelism``.
        stream_results: ignored; results are always streamed.
        snapshot_ids: snapshots to expire whatever their age.
        clean_expired_metadata: whether to remove unused schemas and partition specs.
        dry_run: if true, nothing is committed or deleted; the counts say what would be deleted.
        settings: those of the collector and of ``expire-snapshots``, such as ``repository``, ``uri`` or ``allow``.

    Returns:
        One row with six ``bigint`` columns: a DataFrame, or the local engine's frame.

    Raises:
        ConfigurationError: a setting is invalid, or the table does not exist.
        SafetyError: some or all of the snapshots may not expire; the message says why.
        IncompleteError: a commit or a deletion failed, or something is unknown; the rest is done.
        NessieGcError: something needed for the decision could not be read.
    """
    del max_concurrent_deletes, stream_results
    collector = Collector(spark=spark, **settings)
    report = collector.expire_snapshots(
        delete=not dry_run,
        include=[re.escape(table)],
        older_than=_text(older_than),
        retain_last=retain_last,
        snapshot_ids=[str(id_) for id_ in snapshot_ids],
        clean_expired_metadata=clean_expired_metadata or None,
    )
    if not report.looked_at:
        raise ConfigurationError(f"the repository has no table {table!r} that can be read; give its full dotted name")
    report.raise_for_status()
    for each in report.tables:
        if each.reason is not None:
            raise SafetyError(f"{each.table}: {each.reason}")
    files = report.files_by_kind
    counts = tuple(sum(files[kind].files for kind in kinds if kind in files) for kinds in _COUNTED.values())
    return _frame(collector.new_run().engine.dataset(to_batches([counts], _COUNTS), _COUNTS), collector)


def remove_orphan_files(
    spark: SparkSession | None = None,
    *,
    table: str,
    older_than: datetime | str | None = None,
    location: str | None = None,
    dry_run: bool = False,
    max_concurrent_deletes: int | None = None,
    file_list: Sequence[str] = (),
    equal_schemes: Mapping[str, str] | None = None,
    equal_authorities: Mapping[str, str] | None = None,
    prefix_mismatch_mode: str | None = None,
    prefix_listing: bool | None = None,
    stream_results: bool | None = None,
    **settings: Any,
) -> object:
    """Removes orphan files of one table like the procedure ``remove_orphan_files``, and returns their locations.

    Args:
        spark: the session to run on; without one, give ``engine="local"``.
        table: the table, by its dotted name in the repository.
        older_than: an instant with an offset, or a duration of at least one day (default: three days).
        location: a location inside the table's location, to look only below it.
        dry_run: if true, nothing is deleted.
        max_concurrent_deletes: ignored; use the setting ``expiry_parallelism``.
        file_list: files with a list of stored files, instead of a listing; replaces the procedure's ``file_list_view``.
        equal_schemes: schemes that mean the same.
        equal_authorities: authorities that mean the same.
        prefix_mismatch_mode: ``ERROR`` (the default) or ``IGNORE``; ``DELETE`` is refused.
        prefix_listing: ignored; every listing is a prefix listing.
        stream_results: ignored; results are always streamed.
        settings: those of the collector and of ``remove-orphan-files``, such as ``repository``, ``uri`` or ``allow``.

    Returns:
        One column ``orphan_file_location``: a DataFrame, or the local engine's frame.

    Raises:
        ConfigurationError: a setting is invalid.
        SafetyError: metadata names the path of such a file with another scheme or authority.
        IncompleteError: a deletion failed, or something is unknown; the rest is done.
        NessieGcError: something needed for the decision could not be read.
    """
    del max_concurrent_deletes, stream_results, prefix_listing
    given = {
        "table": table,
        "older_than": _text(older_than),
        "location": location,
        "file_list": list(file_list) or None,
        "equal_schemes": equal_schemes,
        "equal_authorities": equal_authorities,
        "prefix_mismatch_mode": prefix_mismatch_mode,
    }
    collector = Collector(spark=spark, **settings)
    run = collector.new_run()
    parameters = collector.deleting(RemoveOrphanFilesParameters, given, delete=not dry_run)
    outcomes = RemoveOrphanFilesService(parameters).outcomes(run)
    run.report.raise_for_status()
    return _frame(_orphans(outcomes), collector)


def _frame(rows: Dataset, collector: Collector) -> object:
    """The rows, which stay valid as long as they are referenced."""
    from nessie_gc_core.engines.local.frame import LocalFrame

    frame = rows.to_frame()
    return frame.owned_by(collector) if isinstance(frame, LocalFrame) else frame


def _orphans(outcomes: Dataset) -> Dataset:
    return outcomes.where("outcome", _FOUND).where("sidecar", [False]).flat_map(_Locations())


class _Locations:
    """Outcomes to where their files are, or were."""

    schema = _ORPHANS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, "location", "path"))
        yield from to_batches(((f"{location!s}{path!s}",) for location, path in rows), self.schema)


def _text(time: datetime | str | None) -> str | None:
    """An instant as the settings have it.

    Raises:
        ConfigurationError: it has no offset.
    """
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise ConfigurationError(f"`older_than` {time!s} has no offset; give a time with a time zone")
    return json_time(time)
