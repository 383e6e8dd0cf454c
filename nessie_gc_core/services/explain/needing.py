"""Which live content versions need a file, and on which references they are live."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.algorithms.mark import mark
from nessie_gc_core.algorithms.parents import climb
from nessie_gc_core.algorithms.visited import NoneVisited
from nessie_gc_core.model.batches import from_micros
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import CONTENT_VERSIONS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.explain.report import NeedingVersion
from nessie_gc_core.services.needed import Located, Needed
from nessie_gc_core.services.run import Member, SweepRun

MAX_PARENTS = 10_000
MAX_VERSIONS = 100
"""Versions that are named for one file."""
MAX_REFERENCES = 1_000
"""References that are walked for each repository."""
_CARRIED = ("metadata_location", "snapshot_id", "content_key", "commit_id", "commit_time")
_VERSION = pa.schema([CONTENT_VERSIONS.field(name) for name in _CARRIED])
_NEEDING = pa.schema([CONTENT_VERSIONS.field("content_id"), *_VERSION])
_IDENTITY = ("content_id", "metadata_location", "snapshot_id")

Identity = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needing:
    """What needs one file."""

    parents: Sequence[str]
    """Raw paths of the files that name it, sorted."""
    versions: int
    found: Sequence[Mapping[str, object]]
    """Rows of ``_NEEDING``, their content ids qualified, the newest first."""


def needing(paths: Collection[str], located: Located, needed: Needed, run: SweepRun) -> Needing:
    """The versions that need a file which metadata names by some raw paths."""
    known, parents = set(paths), frozenset[str]()
    expanded = needed.expansion.expanded()
    for found in climb(expanded, needed.scope.readers, run.choice, paths, most=MAX_PARENTS):
        known |= found
        parents = parents or found
    files = located.version_files.where("path", sorted(known))
    ids = [str(value) for value in files.distinct(["content_id"]).head(MAX_PARENTS).column("content_id").to_pylist()]
    versions = located.versions.where("content_id", ids).spread(["metadata_location"], together=True)
    read = versions.flat_map(ReadVersions(run.choice, carried=_VERSION)).where("path", sorted(known))
    rows = read.select(_NEEDING).distinct(list(_IDENTITY)).checkpoint()
    found_rows = sorted(rows.head(MAX_PARENTS).to_pylist(), key=lambda row: -(row["commit_time"] or 0))
    return Needing(parents=sorted(parents), versions=rows.count(), found=found_rows[:MAX_VERSIONS])


class References:
    """Knows on which references some content versions are live."""

    def __init__(self, wanted: Collection[Identity], policies: ReferencePolicies, run: SweepRun) -> None:
        """Walks every reference of the repositories that have one of them.

        Args:
            wanted: qualified content id, metadata location and snapshot id of each.
            policies: how far references are walked.
            run: the run.
        """
        self._names: dict[Identity, set[str]] = {identity: set() for identity in wanted}
        for member in run.read:
            if any(member.own(str(identity[0])) is not None for identity in wanted):
                self._walk(member, policies, run)

    def _walk(self, member: Member, policies: ReferencePolicies, run: SweepRun) -> None:
        references = list(member.repository.references())
        if len(references) > MAX_REFERENCES:
            run.report.warn(f"of {len(references):,} references, only the first {MAX_REFERENCES:,} are examined")
        for done, reference in enumerate(references[:MAX_REFERENCES]):
            run.tell("references", done, min(len(references), MAX_REFERENCES))
            name = reference.name

            def seen(versions: Sequence[ContentVersion], name: str = name) -> None:
                for version in versions:
                    identity = (member.qualified(version.content_id), version.metadata_location, version.snapshot_id)
                    if identity in self._names:
                        self._names[identity].add(name)

            mark(member.repository, policies, NoneVisited(ConnectorOptions()), seen, references=[reference])

    def of(self, needing: Needing, run: SweepRun) -> Iterator[NeedingVersion]:
        """The versions with their references."""
        for row in needing.found:
            member = next(each for each in run.members if each.own(str(row["content_id"])) is not None)
            time = row["commit_time"]
            yield NeedingVersion(
                repository=member.repository.address(),
                content_key=str(row["content_key"]),
                content_id=str(member.own(str(row["content_id"]))),
                metadata_location=_text(row["metadata_location"]),
                snapshot_id=row["snapshot_id"] if isinstance(row["snapshot_id"], int) else None,
                commit_id=str(row["commit_id"]),
                commit_time=from_micros(time) if isinstance(time, int) else None,
                references=sorted(self._names[identity_of(row)]),
            )


def identity_of(row: Mapping[str, object]) -> Identity:
    """What identifies a version."""
    return tuple(row[name] for name in _IDENTITY)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
