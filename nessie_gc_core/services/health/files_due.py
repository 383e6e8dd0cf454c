"""What is due of the files and manifests of one table, by the rules of ``compact`` and ``rewrite-manifests``.

If the manifests were read, it is what these services would rewrite. Otherwise the rules are applied to the table as a
whole, with the file counts of its summary.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from nessie_gc_core.model.file_counts import FileCounts
from nessie_gc_core.model.next_steps import next_command
from nessie_gc_core.model.text import plural, size_text
from nessie_gc_core.services.compaction.estimating import delete_files_due, small_files_due
from nessie_gc_core.services.compaction.planning import PartitionPlan, delete_ratio, small_ratio
from nessie_gc_core.services.health.manifests_read import ManifestsRead
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import Finding, FindingName, TableHealth

_FILE_LIMITS = ("max_small_files", "max_delete_files", "small_file_size", "target_rewrite_size", "earlier_specs")
_MANIFEST_LIMITS = ("effort", "target_manifest_size", "partition_priority")


def _finding(name: FindingName, value: float, limit: float | None, text: str, action: str) -> Finding:
    return Finding(name=name, value=value, limit=limit, text=text, action=action)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesDue:
    """Finds what is due of the files and manifests of one table."""

    health: TableHealth
    """The figures of the table."""
    parameters: HealthParameters
    """From when on something is due."""
    branch: str | None = None
    """The branch to commit to, where the repository has branches."""

    def found(self, counts: FileCounts, read: ManifestsRead | None) -> Iterator[Finding]:
        """What is due.

        Args:
            counts: what the summary counts.
            read: what the manifests say; ``None``: they were not read.
        """
        yield from self._estimated(counts) if read is None else self._planned(read)
        ratio, limit, health = self.health.delete_ratio, self.parameters.delete_ratio_threshold, self.health
        if ratio and ratio >= limit and health.delete_files != 0:
            text = f"{ratio:.2g} deletes for each of {health.records:,} records"
            action = self._command("compact --max-delete-files 0")
            yield _finding(FindingName.DELETE_RATIO, ratio, limit, text, action)

    def _estimated(self, counts: FileCounts) -> Iterator[Finding]:
        """By the summary: files of the table as a whole, and the number of its manifests."""
        rules, compact = self.parameters.rules, self._command("compact", *_FILE_LIMITS)
        small, files = self.health.small_files or 0, counts.data_files or 0
        together = ", in all partitions together" if self.health.partitioned else ""
        if small_files_due(counts, rules):
            text = f"at least {small:,} of {files:,} data files are smaller than {size_text(rules.small_bytes)}"
            ratio, limit = small_ratio(small, files), rules.max_small_files
            yield _finding(FindingName.SMALL_FILES, ratio, limit, text + together, compact)
        deletes = counts.delete_files or 0
        if delete_files_due(counts, rules):
            text = f"{plural(deletes, 'delete file')} for {plural(files, 'data file')}{together}"
            ratio, limit = delete_ratio(deletes, files), rules.max_delete_files
            yield _finding(FindingName.DELETE_FILES, ratio, limit, text, compact)
        manifests, most = counts.manifests or 0, self.parameters.manifest_threshold
        if manifests >= most:
            action = self._command("rewrite-manifests", *_MANIFEST_LIMITS)
            yield _finding(FindingName.MANIFESTS, manifests, most, f"{plural(manifests, 'manifest')}", action)

    def _planned(self, read: ManifestsRead) -> Iterator[Finding]:
        """What the services would rewrite, and what they would leave though it is due."""
        rules, compact = self.parameters.rules, self._command("compact", *_FILE_LIMITS)
        small = [plan for plan in read.chosen if plan.small_due]
        if small:
            size = size_text(rules.small_bytes)
            text = f"{plural(_small(small), 'data file')} smaller than {size}{_within(small, read)}"
            worst = max(small_ratio(plan.tally.small, plan.tally.data_files) for plan in small)
            yield _finding(FindingName.SMALL_FILES, worst, rules.max_small_files, text, compact)
        deletes = [plan for plan in read.chosen if plan.deletes_due]
        if deletes:
            text = f"{plural(_deletes(deletes), 'delete file')}{_within(deletes, read)}"
            worst = max(delete_ratio(plan.tally.delete_files, plan.tally.data_files) for plan in deletes)
            yield _finding(FindingName.DELETE_FILES, worst, rules.max_delete_files, text, compact)
        if read.held:
            yield self._held_back(read)
        if read.groups:
            action = self._command("rewrite-manifests", *_MANIFEST_LIMITS)
            yield _finding(FindingName.MANIFESTS, read.manifests, None, _of_manifests(read), action)

    def _held_back(self, read: ManifestsRead) -> Finding:
        first = next((plan for plan in read.held if plan.remedy is not None), read.held[0])
        action = "nothing can be done"
        if first.remedy is not None:
            action = self._command("compact --earlier-specs", *_FILE_LIMITS)
        counts = {"small data files": _small(read.held), "delete files": _deletes(read.held)}
        what = " and ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        text = f"{what}{_within(read.held, read)} are due but cannot be rewritten: {first.reason}"
        return _finding(FindingName.HELD_BACK, len(read.held), None, text, action)

    def _command(self, name: str, *limits: str) -> str:
        """A command that takes a catalog of a Spark session, with the limits that are not the usual ones."""
        usual = {field.name: field.default for field in fields(self.parameters)}
        words = ["--catalog", "CATALOG", "--include", exactly(self.health.table)]
        words += [] if self.branch is None else ["--branch", self.branch]
        for limit in limits:
            value = getattr(self.parameters, limit)
            if value != usual[limit]:
                words.append(f"--{limit.replace('_', '-')}")
                words += [] if value is True else [str(value)]
        return next_command(*name.split(), *words)


def _small(plans: Sequence[PartitionPlan]) -> int:
    return sum(plan.tally.small for plan in plans)


def _deletes(plans: Sequence[PartitionPlan]) -> int:
    return sum(plan.tally.delete_files for plan in plans)


def _of_manifests(read: ManifestsRead) -> str:
    """What would become of manifests."""
    chosen, expected = sum(len(group.chosen) for group in read.groups), sum(group.expected for group in read.groups)
    overlap = "" if read.overlap is None else f"; a query for one partition opens {read.overlap:.1f}"
    return f"{chosen:,} of {read.manifests:,} manifests would become about {expected:,}{overlap}"


def _within(plans: Sequence[PartitionPlan], read: ManifestsRead) -> str:
    """In so many of all partitions; of a table with one there is nothing to say."""
    whole = len(plans) if read.files is None else read.files.partitions
    return "" if whole == 1 else f" in {len(plans):,} of {whole:,} partitions"


def exactly(name: str) -> str:
    """A pattern that matches only this name."""
    return re.sub(r"[^\w-]", lambda found: f"\\{found[0]}" if found[0] in "^\\[]" else f"[{found[0]}]", name)
