"""The files of expired snapshots: which of a sweep's unreferenced files belong to them, and how they are remembered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.algorithms.expand import Expansion, ReadVersions, expand
from nessie_gc_core.algorithms.planned import PLANNED_FILES, PlanFiles
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import Row, to_batches, to_micros, version_rows
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.relations import CONTENT_VERSIONS, FILE_KEYS, PROBLEM, UNKNOWN_TIME, VERSION_FILES
from nessie_gc_core.model.repository import ICEBERG_SNAPSHOT, ContentVersion
from nessie_gc_core.model.text import plural
from nessie_gc_core.model.verdicts import GONE, Verdict
from nessie_gc_core.services.expiry.expected import PlannedTable
from nessie_gc_core.services.file_deletions import (
    file_deletions,
    forget_deletions,
    record_deletions,
    stored_deletions,
)
from nessie_gc_core.services.needed import Needed
from nessie_gc_core.services.report import MAX_NAMES
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.stored_versions import stored_versions

KINDS = pa.schema([*FILE_KEYS, pa.field("kind", pa.string())])
"""Files with what they are to a table, such as ``DATA`` or ``MANIFEST``."""
_FIRST_KEY = pa.schema([pa.field("content_key", pa.string())])


def expired_files(planned: Sequence[PlannedTable], needed: Needed, run: SweepRun) -> Dataset:
    """The files that the snapshots name which are to go (:data:`KINDS`), those among them that are live included.

    What of them cannot be read shows no files, and the report says so: less goes then, never more.
    """
    scope = needed.scope
    named = run.engine.dataset(version_rows(_versions(planned)), CONTENT_VERSIONS).spread(
        ["metadata_location"], together=True
    )
    logged = run.engine.dataset(to_batches(_logged(planned), VERSION_FILES), VERSION_FILES)
    version_files = named.flat_map(ReadVersions(run.choice)).union(logged).checkpoint()
    known = needed.expansion.expanded()
    expansion = expand(version_files, scope.index, run.choice, scope.readers, known=known)
    run.report.files_expanded += expansion.files_read
    _warn_of_unreadable(version_files.where("kind", [PROBLEM]), run)
    _warn_of_unreadable(expansion.problems(), run)
    _warn_of_outside(expansion, needed, run)
    files = expansion.files.where("kind", [PROBLEM], negate=True).present("unit").select(KINDS)
    return files.distinct(list(FILE_KEYS.names)).checkpoint()


def _warn_of_outside(expired: Expansion, needed: Needed, run: SweepRun) -> None:
    """Warns of files that only expired snapshots name and that are outside all swept locations."""
    named = expired.files.where("kind", [PROBLEM], negate=True).distinct(["path"])
    swept = expired.files.where("unit", needed.scope.plan.roots)
    outside = named.anti_join(swept, ["path"]).anti_join(needed.expansion.files, ["path"])
    if count := outside.count():
        example = outside.head(1).to_pylist()[0]["path"]
        run.report.warn(
            f"kept {plural(count, 'file')}, referenced only by expired snapshots but outside the swept locations, "
            f"for example {example}"
        )


def _versions(planned: Iterable[PlannedTable]) -> Iterator[ContentVersion]:
    for each in planned:
        for snapshot_id in sorted(each.removal.snapshot_ids):
            yield ContentVersion(
                content_id=each.table.content_id,
                content_type=ICEBERG_SNAPSHOT,
                metadata_location=each.table.metadata_location,
                snapshot_id=snapshot_id,
                content_key=each.table.content_key,
                commit_id=each.table.commit_id,
                location=each.table.location,
            )


def _logged(planned: Iterable[PlannedTable]) -> Iterator[Row]:
    """Metadata files that fall out of the log, as files that a version names (:data:`VERSION_FILES`)."""
    for each in planned:
        table = each.table
        for path in each.removal.metadata_files:
            content = (ICEBERG_SNAPSHOT, None, table.location, table.content_id)
            yield (path, FileKind.METADATA, *content, None, None, False, None)


def _warn_of_unreadable(problems: Dataset, run: SweepRun) -> None:
    rows = problems.distinct(["path"]).head(MAX_NAMES).to_pylist()
    for row in rows:
        run.report.warn(
            f"some files of the expired snapshots of {row['path']} were not deleted: {row['problem']}; 'gc' finds "
            "the rest"
        )


# ---- what earlier runs left ---------------------------------------------------------------------------
class Unfinished:
    """Files that earlier runs were about to delete when they were stopped."""

    def __init__(self, run: Run) -> None:
        """Finds the live sets of earlier expiries that have records.

        Of a table that is gone since, its commit may never have been made: what it recorded is left alone (S20).
        """
        self._run = run
        mine, live = run.report.live_set_id, list(run.store.content_ids(UUID(run.report.live_set_id)))
        identity = run.repository.identity()
        others = (each.id for each in run.store.live_sets() if each.repository == identity and str(each.id) != mine)
        with_records = (id_ for id_ in others if next(iter(run.store.file_deletions(id_)), None) is not None)
        of_expiries = (id_ for id_ in with_records if run.store.get(id_).is_of_expiry)
        self._live_sets = [id_ for id_ in of_expiries if self._has_all_tables(id_, live)]
        self._found: dict[UUID, Dataset] = {}

    def _has_all_tables(self, live_set_id: UUID, live: Sequence[str]) -> bool:
        versions, _ = stored_versions(self._run, {live_set_id: 0})
        gone = versions.where("content_id", live, negate=True)
        found = gone.aggregate([], {"content_key": ("min", "content_key")}, _FIRST_KEY).summary()
        first = found.column("content_key")[0].as_py()
        if first is not None:
            self._run.report.warn(
                f"files that the expiry of live set {live_set_id} recorded stay: {first} no longer exists"
            )
        return first is None

    @cached_property
    def locations(self) -> frozenset[str]:
        """The raw locations around them."""
        return frozenset(file.location for id_ in self._live_sets for file in self._run.store.file_deletions(id_))

    def keys(self, index: UnitIndex) -> Dataset:
        """Those of them that are in the units of this run (:data:`FILE_KEYS`)."""
        engine, found = self._run.engine, self._found
        for id_ in self._live_sets:
            found[id_] = engine.dataset(to_batches(self._rows(id_, index), PLANNED_FILES), PLANNED_FILES)
        keys = engine.empty(FILE_KEYS)
        for files in found.values():
            keys = keys.union(files.select(FILE_KEYS))
        return keys

    def forget_needed(self, verdicts: Dataset, units: Sequence[str]) -> None:
        """Removes the records of files in some units that are needed by now, or no longer exist."""
        for id_, files in self._found.items():
            for batch in files.where("unit", units).anti_join(verdicts, FILE_KEYS.names).batches():
                self._run.store.remove_file_deletions(id_, file_deletions(batch))

    def forget_gone(self, outcomes: Dataset) -> None:
        """Removes the records of files that are gone."""
        for id_ in self._found:
            for batch in outcomes.where("outcome", GONE).batches():
                self._run.store.remove_file_deletions(id_, file_deletions(batch))

    def _rows(self, live_set_id: UUID, index: UnitIndex) -> Iterator[Row]:
        for file in stored_deletions(self._run.store, live_set_id):
            try:
                key = index.find(file.location + file.path)
            except UnknownLocationError:
                continue
            if key is not None:
                modified = UNKNOWN_TIME if file.modified is None else to_micros(file.modified)
                yield (*key, file.location, file.path, file.size or 0, modified, False)


# ---- what this run is about to delete -----------------------------------------------------------------
def record_plan(verdicts: Dataset, run: SweepRun) -> None:
    """Records the files that some verdicts (:data:`VERDICTS`) let go, before anything is committed."""
    record_deletions(verdicts.where("verdict", [Verdict.UNREFERENCED.value]), run, PlanFiles())


def forget_gone(outcomes: Dataset, run: SweepRun) -> None:
    """Removes the records of files that are gone."""
    forget_deletions(outcomes.where("outcome", GONE), run)
