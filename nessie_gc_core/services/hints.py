"""What a run says of its own accord because it is probably not what was meant."""

from __future__ import annotations

from collections.abc import Collection

from nessie_gc_core.algorithms.unknown import Problems
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import PROBLEM
from nessie_gc_core.services.run import SweepRun

MISSING_METADATA = (
    "metadata files are missing, and this live-set store has no record of an earlier run that deleted them. If an "
    "earlier run used another store, use that store (`jdbc_url`); otherwise restore the files, or use a "
    "shorter cut-off policy that excludes the versions that need them"
)
"""The message if a new store cannot tell a deleted file from a lost one."""


def warn_of_missing_metadata(problems: Problems, version_files: Dataset, run: SweepRun) -> None:
    """Says what tombstones are where metadata is missing and the store is too new to have any (S7)."""
    if not problems.reasons or problems.tolerated or problems.in_quarantine:
        return
    missing = version_files.where("kind", [PROBLEM]).where("missing", [True])
    if missing.head(1).num_rows == 0:
        return
    mine = {member.live_set.id for member in run.members}
    repositories = {member.live_set.repository for member in run.members}
    others = (other for other in run.store.live_sets() if other.id not in mine and not other.is_imported)
    if not any(other.repository in repositories for other in others):
        run.report.warn(MISSING_METADATA)


def unmatched_patterns(policies: ReferencePolicies, names: Collection[str]) -> list[str]:
    """Warnings about patterns of cut-off policies that match no reference, such as a misspelt one."""
    return [
        f"the pattern {pattern.pattern!r} of `cutoff` matches no reference, so its policy {policy.text} has no effect"
        for pattern, policy in policies.patterns
        if not any(pattern.fullmatch(name) for name in names)
    ]
