"""Unread: contents of types that no installed plugin reads are live as a whole, and so is their location (S23).

What its repository could not read itself is one of them, and unknown (S6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.remembered import Remembered
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import to_tuples
from nessie_gc_core.model.locations import home_of_metadata
from nessie_gc_core.model.relations import PROBLEM, VERSION_FILES
from nessie_gc_core.model.repository import UNKNOWN_CONTENT, ContentVersion

_NOT_READ = "holds {}, which its catalog lists and could not read; the log says why"
_NOWHERE = "cannot tell where the files of {} are, which its catalog lists and could not read; the log says why"
_PLACES = pa.schema([VERSION_FILES.field(name) for name in ("content_id", "location")])


class _Version(NamedTuple):
    """What is read of a content version (:data:`CONTENT_VERSIONS`)."""

    content_id: str
    content_type: str
    content_key: str
    location: str | None
    metadata_location: str | None


class _Place(NamedTuple):
    """Where a content is (:data:`_PLACES`)."""

    content_id: str
    location: str


def types_read_by(readers: Iterable[type[ContentToFiles]]) -> frozenset[str]:
    """The content types of some readers; what a repository could not read is unread whoever claims it (S6)."""
    return frozenset(type_ for reader in readers for type_ in reader.content_types) - {UNKNOWN_CONTENT}


@dataclass(slots=True)
class UnreadContents:
    """The contents that no plugin reads, by location."""

    located: dict[str, str] = field(default_factory=dict)
    """Raw locations with what is there."""
    unlocated: dict[str, str] = field(default_factory=dict)
    """Name of a content whose location is not known to what it is; nothing can be frozen for it."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Raw locations of what its repository could not read, with what is there."""
    nowhere: dict[str, str] = field(default_factory=dict)
    """Ids and names of what its repository could not read and where nobody knows, which may be anywhere."""
    unknown_ids: dict[str, str] = field(default_factory=dict)
    """Ids of what its repository could not read, with what each is."""
    set_aside: frozenset[str] = frozenset()
    """Ids of contents that a person sets aside; they do not count here."""
    named_by: set[str | None] = field(default_factory=set)
    """Raw metadata locations of these contents; ``None`` stands for one that has none."""

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.located or self.unlocated or self.is_unknown)

    @property
    def is_unknown(self) -> bool:
        """Whether one could not be read by its repository."""
        return bool(self.unknown or self.nowhere)

    def find(self, versions: Dataset, read_types: Iterable[str]) -> None:
        """Adds those of content versions (:data:`CONTENT_VERSIONS`) whose type is none of the read ones."""
        for batch in versions.where("content_type", sorted(read_types), negate=True).batches():
            for row in to_tuples(batch, _Version):
                self._add(row)

    def add(self, version: ContentVersion) -> None:
        """Adds one content version."""
        self._add(
            _Version(
                content_id=version.content_id,
                content_type=version.content_type,
                content_key=version.content_key,
                location=version.location,
                metadata_location=version.metadata_location,
            )
        )

    def find_places(self, version_files: Dataset) -> None:
        """Adds all places where a reader (:data:`VERSION_FILES`) finds what its repository could not read.

        What the repository says of its place is a guess then: the metadata may be anywhere else.
        """
        if not self.unknown_ids:
            return
        found = version_files.where("content_id", sorted(self.unknown_ids)).present("location")
        for batch in found.select(_PLACES).distinct(list(_PLACES.names)).batches():
            for place in to_tuples(batch, _Place):
                self.unknown[place.location] = self.unknown_ids[place.content_id]

    def find_earlier(self, remembered: Iterable[Remembered]) -> None:
        """Adds where a content was that its repository knows by nothing but its name now, and could read before."""
        for each in remembered if self.nowhere else ():
            now = {earlier: content_id for content_id, earlier in each.earlier_ids(self.nowhere)}  # one id by name
            for earlier, location in each.locations_of(sorted(now)):
                self.unknown[location] = self.unknown_ids[now[earlier]]
                self.nowhere.pop(now[earlier], None)

    def freeze(self, plan: SweepPlan, *, strict: bool) -> None:
        """Removes every unit that a content touches, and names all in the plan; what is unknown comes first.

        A location that cannot be compared may be anywhere: then nothing is swept.

        Args:
            plan: the units.
            strict: whether one that is unknown removes all of them.
        """
        self._freeze(plan, self.unknown, unread=False)
        for reason in map(_NOWHERE.format, self.nowhere.values()):
            plan.unknown[reason] = reason
        if self.nowhere or (strict and self.unknown):
            plan.freeze_all(self.example())
        self._freeze(plan, self.located, unread=True)
        plan.unread.update(self.unlocated)

    def _freeze(self, plan: SweepPlan, located: Mapping[str, str], *, unread: bool) -> None:
        named = plan.unread if unread else plan.unknown
        for raw, reason in located.items():
            try:
                place = plan.rules.canonical_prefix(raw)
            except UnknownLocationError as error:
                named[raw] = reason
                plan.freeze_all(f"{raw} {reason}, and its place is unknown: {error}")
                continue
            plan.freeze([place], reason, unread=unread)
            if unread or place not in named:  # else it is a unit, which the plan names already
                named[raw] = reason

    def example(self) -> str:
        """What is wrong with one of them."""
        if self.nowhere:
            return _NOWHERE.format(next(iter(self.nowhere.values())))
        if self.unknown:
            return " ".join(min(self.unknown.items()))
        return "no installed plugin reads some of the live contents"

    def are_known(self, version_files: Dataset) -> bool:
        """Whether the files of all these contents are known all the same, from versions of a type that is read.

        As those of a table that its catalog also shows under a type nobody reads, so that its location is frozen.
        """
        wanted = {path for path in self.named_by if path is not None}
        if len(wanted) < len(self.named_by):
            return False
        read = version_files.where("kind", [PROBLEM], negate=True).where("path", sorted(wanted)) if wanted else None
        return read is None or read.distinct(["path"]).count() == len(wanted)

    def _add(self, version: _Version) -> None:
        if version.content_id in self.set_aside:
            return
        type_, key, metadata = version.content_type, version.content_key, version.metadata_location
        self.named_by.add(metadata or None)
        homes = ([version.location] if version.location else []) + ([home_of_metadata(metadata)] if metadata else [])
        if type_ == UNKNOWN_CONTENT:
            self._add_unknown(version, homes)
            return
        for raw in homes:
            self.located[raw] = f"holds a content of type {type_}, which no installed plugin reads"
        if not homes:
            self.unlocated[f"content {key}"] = f"is of type {type_}, which no installed plugin reads"

    def _add_unknown(self, version: _Version, homes: Sequence[str]) -> None:
        reason = self.unknown_ids[version.content_id] = _NOT_READ.format(version.content_key)
        self.unknown.update(dict.fromkeys(homes, reason))
        if not homes:
            self.nowhere[version.content_id] = version.content_key
