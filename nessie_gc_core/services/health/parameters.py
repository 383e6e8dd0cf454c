"""The typed parameters of health: which tables, and from when on something is due.

The names are those of Iceberg's maintenance where it has one: the options of ``rewrite_data_files``, and the triggers
of Flink's table maintenance.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.table_patterns import TablePatterns

TABLES = "Tables"
DUE = "When something is due"


@options
class HealthParameters(ConnectorOptions):
    """Which tables are looked at, and from when on something is due."""

    include: Sequence[str] = option(
        (),
        section=TABLES,
        metavar="PATTERN",
        whole=True,
        help="Only tables whose whole name NAMESPACE.TABLE matches a regular expression.",
    )
    exclude: Sequence[str] = option(
        (), section=TABLES, metavar="PATTERN", whole=True, help="No tables whose whole name matches."
    )
    reference: Sequence[str] = option(
        (),
        section=TABLES,
        metavar="NAME",
        whole=True,
        help="Look at this branch or tag (default: the default branch of Nessie, every table of a plain catalog).",
    )
    snapshot_threshold: int = option(
        20, section=DUE, minimum=1, help="So many snapshots can expire by the table's own retention rules."
    )
    min_file_size_ratio: float = option(
        0.75,
        section=DUE,
        minimum=0,
        maximum=1,
        help="Data files are smaller on average than this part of write.target-file-size-bytes.",
    )
    min_input_files: int = option(5, section=DUE, minimum=1, help="With fewer data files, their size does not matter.")
    delete_file_threshold: int = option(128, section=DUE, minimum=1, help="The table has so many delete files.")
    delete_ratio_threshold: float = option(
        0.3, section=DUE, minimum=0, help="The table has so many deletes per record."
    )
    manifest_threshold: int = option(100, section=DUE, minimum=1, help="The current snapshot has so many manifests.")
    metadata_size_threshold: int = option(16 << 20, section=DUE, minimum=1, help="The metadata file has so many bytes.")
    listed_snapshot_threshold: int = option(
        10_000, section=DUE, minimum=1, help="The metadata file lists so many snapshots."
    )
    sweep_interval: timedelta = option(
        timedelta(days=7), section=DUE, minimum=0, help="The last sweep of the repository is so long ago."
    )

    @property
    def patterns(self) -> TablePatterns:
        """Which tables are looked at."""
        return TablePatterns.parse(self.include, self.exclude)
