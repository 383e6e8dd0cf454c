"""What is due of the files and manifests of one table, by the rules of ``compact`` and ``rewrite-manifests``.

Where the manifests were read, it is what these services would rewrite. Else the rules are asked about the table as a
whole, as far as its summary counts files.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import fields

from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.model.sizes import size_text
from nessie_gc_core.services.compaction.estimating import delete_files_due, least_small_files, small_files_due
from nessie_gc_core.services.compaction.planning import PartitionPlan, delete_ratio, small_ratio
from nessie_gc_core.services.health.manifests_read import ManifestsRead
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import Finding, FindingName, TableHealth

_FILE_LIMITS = ("max_small_files", "max_delete_files", "small_file_size", "target_rewrite_size")
_MANIFEST_LIMITS = ("effort", "target_manifest_size", "partition_priority")


def files_due(
    health: TableHealth, counts: FileCounts, read: ManifestsRead | None, parameters: HealthParameters
) -> Iterator[Finding]:
    """What is due of files and manifests.

    Args:
        health: the figures of the table.
        counts: what its summary counts.
        read: what its manifests say; ``None``: they were not read.
        parameters: from when on something is due.
    """
    if read is None:
        yield from _estimated(health, counts, parameters)
    else:
        yield from _planned(health, read, parameters)
    ratio, limit = health.delete_ratio, parameters.delete_ratio_threshold
    if ratio and ratio >= limit and health.delete_files != 0:
        text = f"{ratio:.2g} deletes for each of {health.records:,} records"
        action = _command("compact --max-delete-files 0", (), health, parameters)
        yield Finding(name=FindingName.DELETE_RATIO, value=ratio, limit=limit, text=text, action=action)


def _estimated(health: TableHealth, counts: FileCounts, parameters: HealthParameters) -> Iterator[Finding]:
    """By the summary: files of the table as a whole, and the number of its manifests."""
    rules, compact = parameters.rules, _command("compact", _FILE_LIMITS, health, parameters)
    small, files = least_small_files(counts, rules) or 0, counts.data_files or 0
    together = ", in all partitions together" if health.partitioned else ""
    if small_files_due(counts, rules):
        text = f"at least {small:,} of {files:,} data files are smaller than {size_text(rules.small_bytes)}{together}"
        yield _finding(FindingName.SMALL_FILES, small_ratio(small, files), rules.max_small_files, text, compact)
    deletes = counts.delete_files or 0
    if delete_files_due(counts, rules):
        text = f"{deletes:,} delete files beside {files:,} data files{together}"
        yield _finding(FindingName.DELETE_FILES, delete_ratio(deletes, files), rules.max_delete_files, text, compact)
    manifests, most = counts.manifests or 0, parameters.manifest_threshold
    if manifests >= most:
        action = _command("rewrite-manifests", _MANIFEST_LIMITS, health, parameters)
        yield _finding(FindingName.MANIFESTS, manifests, most, f"{manifests:,} manifests", action)


def _planned(health: TableHealth, read: ManifestsRead, parameters: HealthParameters) -> Iterator[Finding]:
    """What the services would rewrite."""
    rules, compact = parameters.rules, _command("compact", _FILE_LIMITS, health, parameters)
    small = [plan for plan in read.plans if plan.small_due]
    if small:
        worst = max(small_ratio(plan.tally.small, plan.tally.data_files) for plan in small)
        files = sum(plan.tally.small for plan in small)
        text = f"{files:,} data files smaller than {size_text(rules.small_bytes)} in {_partitions(small, read)}"
        yield _finding(FindingName.SMALL_FILES, worst, rules.max_small_files, text, compact)
    deletes = [plan for plan in read.plans if plan.deletes_due]
    if deletes:
        worst = max(delete_ratio(plan.tally.delete_files, plan.tally.data_files) for plan in deletes)
        merged = sum(plan.tally.delete_files for plan in deletes)
        text = f"{merged:,} delete files in {_partitions(deletes, read)}"
        yield _finding(FindingName.DELETE_FILES, worst, rules.max_delete_files, text, compact)
    if read.groups:
        action = _command("rewrite-manifests", _MANIFEST_LIMITS, health, parameters)
        yield _finding(FindingName.MANIFESTS, read.manifests, None, _of_manifests(read), action)


def _of_manifests(read: ManifestsRead) -> str:
    """What would become of manifests."""
    chosen, expected = sum(len(group.chosen) for group in read.groups), sum(group.expected for group in read.groups)
    overlap = "" if read.overlap is None else f"; a query for one partition opens {read.overlap:.1f}"
    return f"{chosen:,} of {read.manifests:,} manifests would become about {expected:,}{overlap}"


def _partitions(plans: Sequence[PartitionPlan], read: ManifestsRead) -> str:
    """So many of all partitions."""
    whole = len(plans) if read.files is None else read.files.partitions
    return f"{len(plans):,} of {whole:,} partition" + ("" if whole == 1 else "s")


def _finding(name: FindingName, value: float, limit: float | None, text: str, action: str) -> Finding:
    return Finding(name=name, value=value, limit=limit, text=text, action=action)


def _command(name: str, limits: Sequence[str], health: TableHealth, parameters: HealthParameters) -> str:
    """A command that takes a catalog of a Spark session, with the limits that are not the usual ones."""
    usual = {field.name: field.default for field in fields(parameters)}
    given = ((limit, getattr(parameters, limit)) for limit in limits)
    flags = (
        f" --{limit.replace('_', '-')} {shlex.quote(str(value))}" for limit, value in given if value != usual[limit]
    )
    return f"`nessie-gc {name} --catalog CATALOG --include {shlex.quote(exactly(health.table))}{''.join(flags)}`"


def exactly(name: str) -> str:
    """A pattern that matches this name and no other."""
    return re.sub(r"[^\w-]", lambda found: f"\\{found[0]}" if found[0] in "^\\[]" else f"[{found[0]}]", name)
