"""Work on the tables of a Spark session's catalog that Iceberg's own Spark actions do, through the session's JVM."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nessie_gc_core.engines.spark.compaction import DANGLING, FileRewriter
from nessie_gc_core.engines.spark.java import (
    IcebergClasses,
    clusters_of,
    is_caused_by,
    is_java,
    one_line_of,
    predicate_of,
    raised_by,
    strings,
)
from nessie_gc_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigurationError,
    ForeignTableError,
    NessieGcError,
    TableError,
)
from nessie_gc_core.model.compaction import FileRewrite, PartitionSet, RewriteFailure, RewrittenFiles
from nessie_gc_core.model.table_properties import DEFAULT_MANIFEST_TARGET_SIZE, MANIFEST_TARGET_SIZE
from nessie_gc_core.model.tables import CurrentTable, TableName
from nessie_gc_core.tables import Maintenance

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

_GONE = (
    "org.apache.spark.sql.catalyst.analysis.NoSuchTableException",
    "org.apache.iceberg.exceptions.NoSuchTableException",
)
_CHANGED = (
    "org.apache.iceberg.exceptions.CommitFailedException",
    "org.apache.iceberg.exceptions.ValidationException",
    *_GONE,
)
_PACKAGE = "org.apache.iceberg."


class SparkMaintenance(Maintenance):
    """The tables of one catalog of a classic session, as its Iceberg has them."""

    def __init__(self, session: SparkSession, catalog: str, shown: str) -> None:
        """Takes a catalog that the session has.

        Args:
            session: a classic session; one of Spark Connect has no JVM to talk to.
            catalog: its name.
            shown: the name that the user gave it.

        Raises:
            ConfigurationError: Iceberg is missing on the class path of the driver.
        """
        classic: Any = session  # its types do not name what is Java's
        self._session, self._shown = classic._jsparkSession, shown
        self._gateway = classic.sparkContext._gateway
        self._jvm = self._gateway.jvm
        if not hasattr(self._jvm.org.apache.iceberg.spark.actions.SparkActions, "get"):
            raise ConfigurationError(
                "Iceberg is missing in the Spark session; add its runtime with `spark_conf` spark.jars.packages"
            )
        # Spark looks for the catalog's properties in the active session, and a thread of its own has none.
        self._jvm.org.apache.spark.sql.SparkSession.setActiveSession(self._session)
        with Refusals(f"open the catalog {shown!r}"):
            self._catalog: Any = self._session.sessionState().catalogManager().catalog(catalog)
            if not self._catalog.getClass().getName().startswith(_PACKAGE):
                raise ConfigurationError(f"the catalog {shown!r} of the Spark session is not an Iceberg catalog")
            self._iceberg = IcebergClasses(self._jvm, self._catalog)
            self._loses_row_ids = "firstRowId" not in self._iceberg.methods("spark.SparkContentFile")

    @property
    def loses_row_ids(self) -> bool:
        """Whether this Iceberg gives rows of format version 3 new ids where it rewrites manifests (before 1.11.1).

        https://github.com/apache/iceberg/pull/16699
        """
        return self._loses_row_ids

    def names(self) -> Iterator[TableName]:
        """Namespace by namespace, each once; tables without a namespace come first."""
        seen, waiting = set[TableName](), list[TableName]([()])
        with Refusals(f"list the catalog {self._shown!r}"):
            while waiting:
                namespace = waiting.pop()
                waiting.extend(sorted(self._namespaces(namespace), reverse=True))
                for name in self._tables(namespace):
                    if name not in seen:
                        seen.add(name)
                        yield name

    def _namespaces(self, above: TableName) -> list[TableName]:
        found = self._catalog.listNamespaces(strings(self._gateway, above)) if above else self._catalog.listNamespaces()
        return [tuple(each) for each in found]

    def _tables(self, namespace: TableName) -> list[TableName]:
        """Some catalogs have tables in no namespace; others refuse to be asked, or answer with all that they have."""
        try:
            found = self._catalog.listTables(strings(self._gateway, namespace))
        except Exception:
            if namespace:
                raise
            return []
        return sorted((*each.namespace(), each.name()) for each in found)

    def current(self, name: TableName) -> CurrentTable | None:
        """As the catalog has it now, whatever the session remembers."""
        with Refusals(f"read {self._named(name)}"):
            try:
                table = self._load(name)
            except Exception as error:
                if is_java(error, _GONE):
                    return None
                raise
            return _current(name, table)

    def rewrite_manifests(
        self,
        table: CurrentTable,
        manifests: Mapping[int, Set[str]],
        *,
        target_bytes: int,
        summary: Mapping[str, str],
        placed: Mapping[str, int] | None = None,
    ) -> CurrentTable | None:
        """One transaction, which sets the target size in the table's properties only while Iceberg writes."""
        with Refusals(f"rewrite manifests of {self._named(table.name)}"):
            loaded = self._load_as(table)
            transaction = loaded.newTransaction()
            own = loaded.properties().get(MANIFEST_TARGET_SIZE)
            resized = str(target_bytes) != (str(DEFAULT_MANIFEST_TARGET_SIZE) if own is None else own)
            if resized:
                transaction.updateProperties().set(MANIFEST_TARGET_SIZE, str(target_bytes)).commit()
            if placed:
                self._cluster(loaded, transaction, frozenset().union(*manifests.values()), placed, summary)
            for spec_id, paths in sorted(manifests.items()):
                self._rewrite(loaded, transaction.table(), spec_id, paths, summary, deletes_only=placed is not None)
            if resized:
                update = transaction.updateProperties()
                (update.remove(MANIFEST_TARGET_SIZE) if own is None else update.set(MANIFEST_TARGET_SIZE, own)).commit()
                self._check_property(table.name, own)
        self._commit(table.name, transaction)
        try:
            loaded.refresh()
            return _current(table.name, loaded)
        except Exception as error:  # noqa: BLE001 - the commit is made whatever can be read of it
            log.warning("%s: the committed state cannot be read: %s", self._named(table.name), one_line_of(error))
            return None

    def rewrite_files(self, table: CurrentTable, partitions: PartitionSet, rewrite: FileRewrite) -> RewrittenFiles:
        """One commit for data files and up to two for delete files; what snapshots say counts, whatever Spark says."""
        rewriter = FileRewriter(self._gateway, self._session, partitions, rewrite)
        with Refusals(f"compact {self._named(table.name)}"):
            loaded = self._load_as(table)
        with Refusals(f"compact {self._named(table.name)}", conflicts=_GONE):  # nobody's commit makes a column unknown
            actions = rewriter.actions(loaded)
            wanted = rewriter.files_to_rewrite(loaded) if rewrite.partial_progress else None
        done, kept = RewrittenFiles(after=table), None
        try:
            for number, action in enumerate(actions):
                if number == DANGLING:
                    kept = _why_dangling_stay(rewriter, loaded)
                    if kept is not None:
                        continue
                done, result = self._executed(table.name, loaded, rewriter, action, done)
                if number == 0 and wanted is not None:
                    self._check_complete(table.name, wanted - done.removed_data_files, wanted, result)
        except NessieGcError as error:  # nothing is committed upon it
            if not done.snapshot_ids:
                raise
            return replace(done, failed=str(error), failure=_kind_of(error))
        return replace(done, kept=kept)

    def _executed(
        self, name: TableName, loaded: Any, rewriter: FileRewriter, action: Any, before: RewrittenFiles
    ) -> tuple[RewrittenFiles, Any]:
        """What all commits did so far, and what an action says of itself, if it does."""
        result, raised = None, None
        try:
            result = action.execute()
        except Exception as error:  # noqa: BLE001 - the class is that of Py4J; it is looked at below
            raised = error
        try:
            loaded.refresh()
            done = rewriter.done(loaded, _current(name, loaded))
            if raised is None or len(done.snapshot_ids) > len(before.snapshot_ids):  # its commit is there to be seen
                return done, result
            failure = self._action_failed(name, raised)
        except Exception as error:
            said = one_line_of(error if raised is None else raised)
            raise CommitUnknownError(f"cannot tell what was committed to {self._named(name)}: {said}") from error
        raise failure from raised

    def _check_complete(self, name: TableName, missing: int, wanted: int, result: Any) -> None:
        """With partial progress Iceberg continues after a failure, and says why only in Spark's log."""
        if missing <= 0:
            return
        said = f"{missing:,} of {wanted:,} data files of {self._named(name)} were not rewritten"
        try:
            unwritten = 0 if result is None else int(result.failedDataFilesCount())
        except Exception as error:
            raise CommitUnknownError(f"{said}: {one_line_of(error)}") from error
        if unwritten >= missing:
            raise TableError(f"{said}: Spark could not rewrite them; see its log")
        raise CommitUnknownError(f"{said}, according to the table: a commit failed; see Spark's log")

    def _action_failed(self, name: TableName, error: Exception) -> NessieGcError:
        return self._failed(name, error, is_certain=self._iceberg.action_committed_nothing(error))

    def _load_as(self, table: CurrentTable) -> Any:
        """The table of Iceberg in a state that was looked at."""
        loaded = self._load(table.name)
        if _current(table.name, loaded) != table:
            raise CommitConflictError(f"{self._named(table.name)} changed after it was planned")
        return loaded

    def _rewrite(
        self,
        loaded: Any,
        table: Any,
        spec_id: int,
        paths: Set[str],
        summary: Mapping[str, str],
        *,
        deletes_only: bool,
    ) -> None:
        """Has Iceberg write new manifests in place of some, in the transaction to which a table belongs."""
        snapshot = loaded.currentSnapshot()
        there = snapshot.deleteManifests(loaded.io()) if deletes_only else snapshot.allManifests(loaded.io())
        chosen = self._chosen(there, paths)
        if chosen.isEmpty():
            return
        action = self._jvm.org.apache.iceberg.spark.actions.SparkActions.get(self._session).rewriteManifests(table)
        action = action.specId(spec_id).rewriteIf(predicate_of(self._jvm, chosen))
        for name, value in summary.items():
            action = action.snapshotProperty(name, value)
        action.execute()

    def _cluster(
        self, loaded: Any, transaction: Any, paths: Set[str], placed: Mapping[str, int], summary: Mapping[str, str]
    ) -> None:
        """Has Iceberg's core do the same for data manifests of all specs, on the driver; rows keep their ids."""
        chosen = self._chosen(loaded.currentSnapshot().dataManifests(loaded.io()), paths)
        update = transaction.rewriteManifests().rewriteIf(predicate_of(self._jvm, chosen))
        update = update.clusterBy(clusters_of(self._jvm, self._iceberg, placed))
        for name, value in summary.items():
            update = update.set(name, value)
        update.commit()

    def _chosen(self, manifests: Any, paths: Set[str]) -> Any:
        chosen = self._jvm.java.util.HashSet()
        for manifest in manifests:
            if manifest.path() in paths:
                chosen.add(manifest)
        return chosen

    def _check_property(self, name: TableName, own: str | None) -> None:
        """The commit sets it to what it was: if someone changes it at this moment, theirs must stay."""
        if self._load(name).properties().get(MANIFEST_TARGET_SIZE) != own:
            raise CommitConflictError(
                f"the property {MANIFEST_TARGET_SIZE} of {self._named(name)} changed in the meantime"
            )

    def _commit(self, name: TableName, transaction: Any) -> None:
        try:
            transaction.commitTransaction()
        except Exception as error:  # the class is that of Py4J
            raise self._failed(name, error, is_certain=self._iceberg.is_certain_failure(error)) from error

    def _failed(self, name: TableName, error: Exception, *, is_certain: bool) -> NessieGcError:
        """What is known of a commit that failed."""
        if not is_certain:
            said = f"cannot tell whether the commit to {self._named(name)} succeeded: {one_line_of(error)}"
            return CommitUnknownError(said)
        if is_caused_by(error, _CHANGED):
            return CommitConflictError(f"{self._named(name)} changed: {one_line_of(error)}")
        return TableError(f"the commit to {self._named(name)} was refused: {one_line_of(error)}")

    def _load(self, name: TableName) -> Any:
        """The table of Iceberg, read anew."""
        identifier = self._identifier(name)
        self._catalog.invalidateTable(identifier)
        found = self._catalog.loadTable(identifier)
        if not found.getClass().getName().startswith(_PACKAGE):
            raise ForeignTableError(f"{self._named(name)} is not an Iceberg table")
        return found.table()

    def _identifier(self, name: TableName) -> Any:
        *namespace, last = name
        identifier = self._jvm.org.apache.spark.sql.connector.catalog.Identifier
        return identifier.of(strings(self._gateway, namespace), last)

    def _named(self, name: Sequence[str]) -> str:
        return f"table {'.'.join(name)} of catalog {self._shown!r}"


class Refusals:
    """Turns what the JVM raises before anything is committed into one line."""

    def __init__(self, what: str, *, conflicts: Sequence[str] = _CHANGED) -> None:
        self._what, self._conflicts = what, conflicts

    def __enter__(self) -> None:
        """Begins."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Ends."""
        if error is None or raised_by(error) is None:
            return
        kind = CommitConflictError if is_java(error, self._conflicts) else TableError
        raise kind(f"cannot {self._what}: {one_line_of(error)}") from error


def _why_dangling_stay(rewriter: FileRewriter, loaded: Any) -> str | None:
    """Why, or what is in the way of telling: what is committed by now must be reported whatever it is."""
    try:
        return rewriter.why_dangling_stay(loaded)
    except Exception as error:  # noqa: BLE001 - the class is that of Py4J
        return f"dangling delete files were not removed: {one_line_of(error)}"


def _kind_of(error: NessieGcError) -> RewriteFailure:
    if isinstance(error, CommitUnknownError):
        return RewriteFailure.UNKNOWN
    return RewriteFailure.CONFLICT if isinstance(error, CommitConflictError) else RewriteFailure.REFUSED


def _current(name: TableName, table: Any) -> CurrentTable:
    metadata, snapshot = table.operations().current(), table.currentSnapshot()
    return CurrentTable(
        name=name,
        uuid=metadata.uuid() or "",  # early tables have none
        metadata_location=metadata.metadataFileLocation(),
        snapshot_id=None if snapshot is None else snapshot.snapshotId(),
        format_version=metadata.formatVersion(),
    )
