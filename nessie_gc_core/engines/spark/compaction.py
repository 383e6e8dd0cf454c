"""Compaction by Iceberg's own Spark actions, through the session's JVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from nessie_gc_core.engines.spark.expressions import PartitionFilters
from nessie_gc_core.engines.spark.java import strings
from nessie_gc_core.model.compaction import FileRewrite, PartitionSet, RewrittenFiles, SortField, Strategy
from nessie_gc_core.model.tables import CurrentTable

TOKEN = "nessie-gc.rewrite"
"""By this word of their summaries the snapshots of one rewrite are found again."""
DANGLING = 1
"""Which of the actions takes out delete files that apply to nothing."""
_LARGE = 1.8
"""Iceberg's own default: files above so many times the target are cut."""
_GLOBAL_DELETES = (
    "dangling delete files were not removed: Iceberg cannot tell them from delete files of an unpartitioned spec, "
    "which apply to files of other specs"
)


class FileRewriter:
    """Rewrites files of one table of a classic session."""

    def __init__(self, gateway: Any, session: Any, partitions: PartitionSet, rewrite: FileRewrite) -> None:
        """Takes what is to be done.

        Args:
            gateway: to the session's JVM.
            session: the session as Java has it.
            partitions: which partitions.
            rewrite: how.
        """
        self._gateway, self._jvm, self._session = gateway, gateway.jvm, session
        self._partitions, self._rewrite, self._token = partitions, rewrite, uuid4().hex

    def actions(self, table: Any) -> list[Any]:
        """What is executed, in its order; each commits to the table."""
        chosen = self._filter(table)
        data_files = self._configured(self._data_files(table), chosen).options(self._options())
        if not self._partitions.with_deletes:
            return [data_files]
        dangling = self._configured(self._actions().removeDanglingDeleteFiles(table), None)
        deletes = self._configured(self._actions().rewritePositionDeletes(table), chosen)
        return [data_files, dangling, deletes.option("rewrite-all", "true")]

    def files_to_rewrite(self, table: Any) -> int:
        """How many data files Iceberg would rewrite."""
        chosen = self._filter(table)
        everything = self._jvm.org.apache.iceberg.expressions.Expressions.alwaysTrue()
        class_ = self._jvm.org.apache.iceberg.actions.BinPackRewriteFilePlanner
        planner = class_(table, everything if chosen is None else chosen)
        options = {key: value for key, value in self._options().items() if not key.startswith("partial")}
        planner.init(self._jvm.java.util.HashMap(options))
        groups, found = planner.plan().groups().iterator(), 0
        while groups.hasNext():
            found += groups.next().inputFileNum()
        return found

    def why_dangling_stay(self, table: Any) -> str | None:
        """Why delete files that seem to apply to nothing must stay; ``None``: they may be removed.

        Iceberg's action compares the files of each partition and spec, and does not know that equality deletes of an
        unpartitioned spec apply to files of all specs: rows that they deleted would be there again. Position deletes of
        such a spec are not told apart from them.
        """
        specs, snapshot = table.specs(), table.currentSnapshot()
        if specs.size() == 1 or snapshot is None:
            return None
        everywhere = {each for each in _live(snapshot.deleteManifests(table.io())) if specs.get(each).isUnpartitioned()}
        if not everywhere:
            return None
        data = _live(snapshot.dataManifests(table.io()))
        return _GLOBAL_DELETES if any(data - {each} for each in everywhere) else None

    def _actions(self) -> Any:
        return self._jvm.org.apache.iceberg.spark.actions.SparkActions.get(self._session)

    def _filter(self, table: Any) -> Any:
        """The partitions; ``None``: all of them."""
        if self._partitions.is_all:
            return None
        chosen = PartitionFilters(self._jvm, table).any_of(self._partitions.partitions)
        binder, schema = self._jvm.org.apache.iceberg.expressions.Binder, table.schema()
        binder.bind(schema.asStruct(), chosen, True)  # an expression that does not fit is refused here
        return chosen

    def _configured(self, action: Any, chosen: Any) -> Any:
        for name, value in {**self._rewrite.summary, TOKEN: self._token}.items():
            action = action.snapshotProperty(name, value)
        return action if chosen is None else action.filter(chosen)

    def _data_files(self, table: Any) -> Any:
        action = self._actions().rewriteDataFiles(table)
        if self._rewrite.strategy is Strategy.ZORDER:
            return action.zOrder(strings(self._gateway, self._rewrite.zorder_columns))
        if self._rewrite.strategy is Strategy.BINPACK:
            return action.binPack()
        order = self._rewrite.sort_order
        return action.sort(self._sort_order(table, order)) if order else action.sort()

    def _sort_order(self, table: Any, fields: Sequence[SortField]) -> Any:
        builder = self._jvm.org.apache.iceberg.SortOrder.builderFor(table.schema())
        for field in fields:
            builder = self._sorted(builder, field)
        return builder.build()

    def _sorted(self, builder: Any, field: SortField) -> Any:
        nulls = self._jvm.org.apache.iceberg.NullOrder
        order = nulls.NULLS_FIRST if field.nulls_first else nulls.NULLS_LAST
        return builder.asc(field.column, order) if field.ascending else builder.desc(field.column, order)

    def _options(self) -> dict[str, str]:
        target = self._rewrite.target_bytes
        return {
            "target-file-size-bytes": str(target),
            "min-file-size-bytes": str(self._rewrite.small_bytes),
            "max-file-size-bytes": str(max(int(_LARGE * target), target + 1, self._partitions.largest_bytes + 1)),
            "min-input-files": "2",
            "partial-progress.enabled": str(self._rewrite.partial_progress).lower(),
            **({"delete-file-threshold": "1"} if self._partitions.with_deletes else {"delete-ratio-threshold": "1.0"}),
        }

    def done(self, table: Any, after: CurrentTable) -> RewrittenFiles:
        """What was committed, by what the snapshots say that are there now.

        Args:
            table: the table, read anew.
            after: the same state.
        """
        mine = [each for each in table.snapshots() if each.summary().get(TOKEN) == self._token]
        said: list[dict[str, str]] = [dict(each.summary()) for each in mine]
        return RewrittenFiles(
            after=after,
            snapshot_ids=tuple(each.snapshotId() for each in mine),
            removed_data_files=_total(said, "deleted-data-files"),
            added_data_files=_total(said, "added-data-files"),
            removed_delete_files=_total(said, "removed-delete-files"),
            added_delete_files=_total(said, "added-delete-files"),
            removed_bytes=_total(said, "removed-files-size"),
            added_bytes=_total(said, "added-files-size"),
        )


def _live(manifests: Any) -> set[int]:
    """The partition specs of manifests that may name live files."""
    return {each.partitionSpecId() for each in manifests if each.hasAddedFiles() or each.hasExistingFiles()}


def _total(summaries: Sequence[Mapping[str, str]], name: str) -> int:
    return sum(int(summary.get(name, "0")) for summary in summaries)
