"""Where contents are, or were, as live sets and metadata tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import in_schema, to_texts, version_rows
from nessie_gc_core.model.relations import CONTENT_VERSIONS, PROBLEM, VERSION_FILES
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import readers_of

_SAID = pa.schema([pa.field("folder", pa.string()), CONTENT_VERSIONS.field("location")])
_HOMES = pa.schema([VERSION_FILES.field("content_id"), VERSION_FILES.field("location")])
_UNREADABLE = pa.schema([VERSION_FILES.field("path"), VERSION_FILES.field("missing")])


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """A content that is gone, and where it was."""

    location: str
    """Raw: as its metadata had it, or as it is listed."""
    name: str
    """Its dotted key; empty if it is unknown."""
    metadata_location: str | None = None
    """Raw path of the metadata file without which nobody finds the place again; ``None``: live sets know it."""
    listed: bool = False
    """Whether nothing but the listing of a warehouse shows it."""

    @property
    def reason(self) -> str:
        """What was there, for people."""
        if self.listed:
            return "a table that is in no catalog"
        return f"{self.name or 'a content'} is dropped"


class Homes:
    """The base locations of some content versions, by their metadata."""

    def __init__(self, versions: Sequence[ContentVersion], run: SweepRun) -> None:
        self._files: Dataset | None = None
        if versions:
            readers = readers_of({version.content_type for version in versions}, run)
            types = sorted(type_ for reader in readers for type_ in reader.content_types)
            rows = run.engine.dataset(version_rows(iter(versions)), CONTENT_VERSIONS).where("content_type", types)
            self._files = (
                rows.spread(["metadata_location"], together=True).flat_map(ReadVersions(run.choice)).checkpoint()
            )

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Content ids and raw base locations; nothing of the versions that cannot be read."""
        if self._files is None:
            return
        files = self._files.where("kind", [PROBLEM], negate=True).where("shared", [False])
        found = files.present("location").select(_HOMES)
        for batch in found.distinct(_HOMES.names).batches():
            yield from ((content_id, location) for content_id, location in to_texts(batch, *_HOMES.names))

    @property
    def unreadable(self) -> str | None:
        """The metadata file of a version, if it exists but cannot be read; otherwise ``None``."""
        if self._files is None:
            return None
        problems = self._files.where("kind", [PROBLEM]).where("missing", [True], negate=True)
        found = problems.select(_UNREADABLE).head(1).to_pylist()
        return str(found[0]["path"]) if found else None


def placed(*homes: pa.Table) -> Iterator[tuple[str, str]]:
    """Content ids and raw locations of some homes, where they have one."""
    for table in homes:
        rows = zip(table.column("content_id").to_pylist(), table.column("location").to_pylist(), strict=True)
        yield from ((content_id, location) for content_id, location in rows if location is not None)


def located_homes(run: SweepRun) -> Iterator[tuple[str, str]]:
    """The contents of the run's live sets and their raw base locations, as a sweep located them."""
    for member in run.members:
        for content_id, location in run.store.base_locations(member.live_set.id):
            yield member.qualified(content_id), location


def said_places(version: ContentVersion) -> Iterator[str]:
    """Raw places that a content version itself names: the folder of its metadata, and its location."""
    if version.metadata_location is not None:
        yield _folder_of(version.metadata_location)
    if version.location is not None:
        yield version.location


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0] + "/"


class WithFolders:
    """Content versions, to the same with the raw folders of their metadata."""

    schema = pa.schema([*CONTENT_VERSIONS, pa.field("folder", pa.string())])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Adds them."""
        for batch in batches:
            paths = batch.column("metadata_location").to_pylist()
            folders = pa.array([None if path is None else _folder_of(path) for path in paths], pa.string())
            yield in_schema(batch, self.schema, {"folder": folders})


def distinct_places(versions: Dataset) -> Iterator[tuple[str | None, str | None]]:
    """The distinct folders and locations of content versions with folders."""
    with closing(versions.select(_SAID).distinct(_SAID.names).batches()) as batches:
        for batch in batches:
            yield from zip(*(batch.column(name).to_pylist() for name in _SAID.names), strict=True)
