"""Unread: contents of types that no installed plugin reads are live as a whole, and so is their location (S23)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import to_tuples
from nessie_gc_core.model.locations import home_of_metadata
from nessie_gc_core.model.relations import PROBLEM
from nessie_gc_core.model.repository import ContentVersion


class _Version(NamedTuple):
    """What is read of a content version (:data:`CONTENT_VERSIONS`)."""

    content_type: str
    content_key: str
    location: str | None
    metadata_location: str | None


@dataclass(slots=True)
class UnreadContents:
    """The contents that no plugin reads, by location."""

    located: dict[str, str] = field(default_factory=dict)
    """Raw locations with what is there."""
    unlocated: dict[str, str] = field(default_factory=dict)
    """Name of a content whose location is not known to what it is; nothing can be frozen for it."""
    named_by: set[str | None] = field(default_factory=set)
    """Raw metadata locations of these contents; ``None`` stands for one that has none."""

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.located or self.unlocated)

    def find(self, versions: Dataset, read_types: Iterable[str]) -> None:
        """Adds those of content versions (:data:`CONTENT_VERSIONS`) whose type is none of the read ones."""
        for batch in versions.where("content_type", sorted(read_types), negate=True).batches():
            for row in to_tuples(batch, _Version):
                self._add(row.content_type, row.content_key, row.location, row.metadata_location)

    def add(self, version: ContentVersion) -> None:
        """Adds one content version."""
        self._add(version.content_type, version.content_key, version.location, version.metadata_location)

    def freeze(self, plan: SweepPlan) -> None:
        """Removes every unit that a content touches, and names all in the plan.

        A location that cannot be compared may be anywhere: then nothing is swept.
        """
        for raw, reason in self.located.items():
            plan.unread[raw] = reason
            try:
                plan.freeze([plan.rules.canonical_prefix(raw)], reason, unread=True)
            except UnknownLocationError as error:
                plan.freeze_all(f"{raw} {reason}, and its place is unknown: {error}")
        plan.unread.update(self.unlocated)

    def are_known(self, version_files: Dataset) -> bool:
        """Whether the files of all these contents are known all the same, from versions of a type that is read.

        As those of a table that its catalog also shows under a type nobody reads, so that its location is frozen.
        """
        wanted = {path for path in self.named_by if path is not None}
        if len(wanted) < len(self.named_by):
            return False
        read = version_files.where("kind", [PROBLEM], negate=True).where("path", sorted(wanted)) if wanted else None
        return read is None or read.distinct(["path"]).count() == len(wanted)

    def _add(self, type_: str, key: str, location: str | None, metadata: str | None) -> None:
        self.named_by.add(metadata or None)
        homes = ([location] if location else []) + ([home_of_metadata(metadata)] if metadata else [])
        for raw in homes:
            self.located[raw] = f"holds a content of type {type_}, which no installed plugin reads"
        if not homes:
            self.unlocated[f"content {key}"] = f"is of type {type_}, which no installed plugin reads"
