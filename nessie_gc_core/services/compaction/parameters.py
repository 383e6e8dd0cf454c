"""The typed parameters of compaction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.compaction import FileRewrite, SortField, Strategy
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.sizes import parse_size
from nessie_gc_core.model.table_metadata import SERVICE
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.compaction.limits import (
    compaction_rules,
    earlier_specs_option,
    max_delete_files_option,
    max_small_files_option,
    small_file_size_option,
    target_rewrite_size_option,
)
from nessie_gc_core.services.compaction.planning import CompactionRules
from nessie_gc_core.services.finding_parameters import (
    TABLES,
    exclude_option,
    include_option,
    session_branch_option,
    session_catalog_option,
)

COMPACTION = "Compaction"
_SORT = re.compile(r"(?P<column>\S+)(\s+(?P<direction>asc|desc))?(\s+nulls\s+(?P<nulls>first|last))?", re.IGNORECASE)


@options
class CompactParameters(ConnectorOptions):
    """What is due, and how it is rewritten."""

    catalog: str | None = session_catalog_option()
    table_branch: str | None = session_branch_option()
    work_branch: str | None = option(
        None,
        section=TABLES,
        metavar="NAME",
        help="In Nessie, work on a new branch with this name, created from --branch (then required).",
    )
    merge: bool = option(
        False, section=TABLES, help="Merge the work branch back and delete it, if every table succeeded."
    )
    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    max_small_files: float = max_small_files_option()
    max_delete_files: float = max_delete_files_option()
    small_file_size: str = small_file_size_option()
    target_rewrite_size: str = target_rewrite_size_option()
    max_bytes: str | None = option(
        None,
        section=COMPACTION,
        metavar="SIZE",
        help="Rewrite at most this much in one run, such as 500GiB, largest gains first (default: no limit).",
    )
    skip_newer_than: timedelta = option(
        timedelta(hours=1),
        section=COMPACTION,
        minimum=0,
        help="Skip partitions to which files were added more recently than this: someone is writing to them.",
    )
    earlier_specs: bool = earlier_specs_option()
    strategy: Strategy = option(Strategy.BINPACK, section=COMPACTION, help="How rows are arranged in new files.")
    sort_order: Sequence[str] = option(
        (),
        section=COMPACTION,
        metavar="COLUMN",
        help="With strategy sort: a column, such as `id` or `ts desc nulls last`; may be repeated (default: the "
        "table's sort order).",
    )
    zorder_columns: Sequence[str] = option(
        (), section=COMPACTION, metavar="COLUMN", help="With strategy zorder: a column; may be repeated."
    )
    partial_progress: bool = option(
        False, section=COMPACTION, help="Commit each table in up to ten parts, so that a conflict undoes one part only."
    )
    commit_retries: int = option(
        4, section=COMPACTION, minimum=0, help="How often to plan and commit a table again after a conflict."
    )
    dry_run: bool = option(False, section=COMPACTION, help="Report what would be compacted; write and commit nothing.")

    @property
    def patterns(self) -> TablePatterns:
        """Which tables are selected."""
        return TablePatterns.parse(self.include, self.exclude)

    @property
    def budget(self) -> int | None:
        """How many bytes are rewritten at most; ``None``: any number.

        Raises:
            ConfigurationError: it is not a size.
        """
        return None if self.max_bytes is None else parse_size(self.max_bytes, "max_bytes")

    def rules(self, now: datetime) -> CompactionRules:
        """What is due.

        Args:
            now: the time from which ages count.

        Raises:
            ConfigurationError: a size is invalid, or the small one is more than half of the target.
        """
        newest = int((now - self.skip_newer_than).timestamp() * 1000) if self.skip_newer_than else None
        return compaction_rules(self, written_since_ms=newest)

    def rewrite(self, service: str) -> FileRewrite:
        """How files are rewritten.

        Args:
            service: the name of the service, for the summaries of snapshots.

        Raises:
            ConfigurationError: parameters do not go together.
        """
        if self.sort_order and self.strategy is not Strategy.SORT:
            raise ConfigurationError("`sort_order` needs `strategy` sort")
        if bool(self.zorder_columns) is not (self.strategy is Strategy.ZORDER):
            raise ConfigurationError(
                "`strategy` zorder and `zorder_columns` must be given together: name at least one column"
            )
        return FileRewrite(
            target_bytes=parse_size(self.target_rewrite_size, "target_rewrite_size"),
            small_bytes=parse_size(self.small_file_size, "small_file_size"),
            strategy=self.strategy,
            sort_order=tuple(map(_sort_field, self.sort_order)),
            zorder_columns=tuple(self.zorder_columns),
            partial_progress=self.partial_progress,
            summary={SERVICE: service},
        )

    def check(self, now: datetime) -> str:
        """Rejects invalid parameters before anything is opened; returns the name of the catalog.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        _ = self.patterns, self.budget, self.rules(now), self.rewrite("")
        if self.work_branch is not None and self.table_branch is None:
            raise ConfigurationError("`work_branch` needs `table_branch`: name the branch to create it from")
        if self.merge and self.work_branch is None:
            raise ConfigurationError("`merge` needs `work_branch`: name the branch to work on")
        if not self.catalog:
            raise ConfigurationError("`catalog` is missing: name the catalog of the Spark session that has the tables")
        return self.catalog


def _sort_field(text: str) -> SortField:
    found = _SORT.fullmatch(text.strip())
    if found is None:
        raise ConfigurationError(
            f"`sort_order` {text!r} is not a column with a direction; write `id`, `id desc` or `id desc nulls last`"
        )
    ascending = (found["direction"] or "asc").lower() == "asc"
    nulls_first = ascending if found["nulls"] is None else found["nulls"].lower() == "first"
    return SortField(column=found["column"], ascending=ascending, nulls_first=nulls_first)
