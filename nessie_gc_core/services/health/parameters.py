"""The typed parameters of health: which tables, and from when on something is due.

The names are those of Iceberg's maintenance where it has one: the options of ``rewrite_data_files``, and the triggers
of Flink's table maintenance.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.finding_parameters import TABLES, exclude_option, include_option

DUE = "When something is due"


@options
class HealthParameters(ConnectorOptions):
    """Which tables are looked at, and from when on something is due."""

    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    reference: Sequence[str] = option(
        (),
        section=TABLES,
        metavar="NAME",
        whole=True,
        help="Look at this branch or tag (default: the default branch of Nessie, every table of a plain catalog).",
    )
    snapshot_threshold: int = option(
        20, section=DUE, minimum=1, help="Report tables with at least this many snapshots that can expire."
    )
    min_file_size_ratio: float = option(
        0.75,
        section=DUE,
        minimum=0,
        maximum=1,
        help="Report tables whose average data file is smaller than this share of write.target-file-size-bytes.",
    )
    min_input_files: int = option(
        5, section=DUE, minimum=1, help="Ignore the file size of tables with fewer data files than this."
    )
    delete_file_threshold: int = option(
        128, section=DUE, minimum=1, help="Report tables with at least this many delete files."
    )
    delete_ratio_threshold: float = option(
        0.3, section=DUE, minimum=0, help="Report tables with at least this many deletes per record."
    )
    manifest_threshold: int = option(
        100, section=DUE, minimum=1, help="Report current snapshots with at least this many manifests."
    )
    metadata_size_threshold: int = option(
        16 << 20, section=DUE, minimum=1, help="Report metadata files of at least this many bytes."
    )
    listed_snapshot_threshold: int = option(
        10_000, section=DUE, minimum=1, help="Report metadata files that list at least this many snapshots."
    )
    sweep_interval: timedelta = option(
        timedelta(days=7), section=DUE, minimum=0, help="Report a repository that was not swept for this long."
    )

    @property
    def patterns(self) -> TablePatterns:
        """Which tables are looked at."""
        return TablePatterns.parse(self.include, self.exclude)
