"""What the rules of compaction say about a table by its summary alone, before any manifest is opened.

A summary counts the files of the table as a whole, and the rules look at each partition. What they report as due
for a table without partitions is due.
"""

from __future__ import annotations

from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.services.compaction.planning import CompactionRules, delete_ratio, small_ratio


def nothing_due(counts: FileCounts, rules: CompactionRules, *, specs: int = 1) -> bool:
    """Whether so few files, of so many partition specs, can have no partition that is due."""
    data_files, delete_files = counts.data_files, counts.delete_files
    if data_files is None or delete_files is None or (rules.earlier_specs and specs > 1):
        return False
    few = data_files < 2 or data_files <= rules.max_small_files
    return few and (delete_files == 0 or delete_files <= rules.max_delete_files)


def least_small_files(counts: FileCounts, rules: CompactionRules) -> int | None:
    """A lower bound for the number of small data files: with fewer, the large ones would exceed the total bytes.

    ``None``: not known.
    """
    if counts.data_files is None or counts.bytes is None:
        return None
    return max(counts.data_files - counts.bytes // rules.small_bytes, 0)


def small_files_due(counts: FileCounts, rules: CompactionRules) -> bool:
    """Whether the table as a whole has too many small files, by that lower bound."""
    small, files = least_small_files(counts, rules), counts.data_files
    if small is None or files is None or small < 2:
        return False
    return small_ratio(small, files) > rules.max_small_files


def delete_files_due(counts: FileCounts, rules: CompactionRules) -> bool:
    """Whether the table as a whole has too many delete files; if all partitions have data files, one has, then."""
    deletes, files = counts.delete_files, counts.data_files
    return deletes is not None and files is not None and delete_ratio(deletes, files) > rules.max_delete_files
