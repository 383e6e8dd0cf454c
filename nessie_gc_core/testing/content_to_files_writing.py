"""Tests of content readers that can write as well (:class:`nessie_gc_core.connectors.SupportsSnapshotRemoval`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

import pytest

from nessie_gc_core.connectors import ContentToFiles, SupportsSnapshotRemoval, SupportsTableMetadata
from nessie_gc_core.errors import MissingFileError, SafetyError, UnreadableFileError
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.testing.demands import demands, skip_without

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class _Written(Protocol):
    @property
    def version(self) -> ContentVersion: ...


class WritingReaderTests:
    """The fixtures are described at ``ContentToFilesContract``."""

    @demands(
        "SupportsSnapshotRemoval: new metadata lists all snapshots except the removed ones, and is otherwise the "
        "same. Existing files stay as they are."
    )
    def test_metadata_without_a_snapshot_says_the_same_of_all_else(
        self, reader: ContentToFiles, contents: Sequence[_Written]
    ) -> None:
        if not isinstance(reader, SupportsSnapshotRemoval):
            skip_without(reader, SupportsSnapshotRemoval)
        version, before, gone = _with_removable(reader, contents)
        files, folder = _files(reader, version), _folder(version)
        path = reader.write_without(version, {gone}, folder=folder, now=NOON)
        assert path.startswith(folder)
        written = replace(version, metadata_location=path)
        after = _listed(reader, written)
        assert [each for each in before.snapshots if each.snapshot_id != gone] == list(after.snapshots)
        assert (before.refs, before.held) == (after.refs, after.held)
        assert (before.location, before.properties, before.summary) == (after.location, after.properties, after.summary)
        assert (before.schemas, before.partition_specs) == (after.schemas, after.partition_specs)
        assert before == _listed(reader, version)
        assert files == _files(reader, version) == _files(reader, written)

    @demands("SupportsSnapshotRemoval: each new metadata file has a new name, whatever was written before.")
    def test_nothing_is_written_over(self, reader: ContentToFiles, contents: Sequence[_Written]) -> None:
        if not isinstance(reader, SupportsSnapshotRemoval):
            skip_without(reader, SupportsSnapshotRemoval)
        version, _, gone = _with_removable(reader, contents)
        paths = [reader.write_without(version, {gone}, folder=_folder(version), now=NOON) for _ in range(3)]
        assert len({version.metadata_location, *paths}) == 4

    @demands("S25: SupportsSnapshotRemoval: raise SafetyError if a version needs a snapshot that is to be removed.")
    def test_s25_metadata_is_never_without_what_its_version_needs(
        self, reader: ContentToFiles, contents: Sequence[_Written]
    ) -> None:
        if not isinstance(reader, SupportsSnapshotRemoval):
            skip_without(reader, SupportsSnapshotRemoval)
        version, before, gone = _with_removable(reader, contents)
        assert version.snapshot_id is not None
        for needed in {version.snapshot_id, *before.held}:
            with pytest.raises(SafetyError):
                reader.write_without(version, {gone, needed}, folder=_folder(version), now=NOON)

    @demands("S6: SupportsSnapshotRemoval: missing and unreadable metadata raise the same errors as in files.")
    def test_nothing_is_written_of_metadata_that_cannot_be_read(
        self,
        reader: ContentToFiles,
        contents: Sequence[_Written],
        missing: ContentVersion,
        unreadable: Sequence[ContentVersion],
    ) -> None:
        if not isinstance(reader, SupportsSnapshotRemoval):
            skip_without(reader, SupportsSnapshotRemoval)
        table, _, _ = _with_removable(reader, contents)
        for version in (missing, *unreadable):
            if version.content_type == table.content_type:
                with pytest.raises(UnreadableFileError) as caught:
                    reader.write_without(version, set(), folder=_folder(version), now=NOON)
                assert isinstance(caught.value, MissingFileError) is (version is missing)


def _listed(reader: ContentToFiles, version: ContentVersion) -> TableMetadata:
    assert isinstance(reader, SupportsTableMetadata), "a reader that writes metadata needs SupportsTableMetadata, too"
    table = reader.table_metadata(version, reference="dev")
    assert table is not None
    return table


def _with_removable(reader: ContentToFiles, contents: Sequence[_Written]) -> tuple[ContentVersion, TableMetadata, int]:
    """A version that names its snapshot, what its metadata lists, and a snapshot that it does not need."""
    assert isinstance(reader, SupportsTableMetadata), "a reader that writes metadata needs SupportsTableMetadata, too"
    for content in contents:
        version = content.version
        table = reader.table_metadata(version, reference="dev")
        if table is None or version.snapshot_id is None:
            continue
        needed = {version.snapshot_id, *table.held, *(ref.snapshot_id for ref in table.refs.values())}
        for snapshot in table.snapshots:
            if snapshot.snapshot_id not in needed:
                return version, table, snapshot.snapshot_id
    raise AssertionError("no table of the fixture contents lists a snapshot that it does not need")


def _files(reader: ContentToFiles, version: ContentVersion) -> set[ReachableFile]:
    """The files of a version, whatever its metadata file is called."""
    own = version.metadata_location
    return {replace(file, path="" if file.path == own else file.path) for file in reader.files(version)}


def _folder(version: ContentVersion) -> str:
    assert version.metadata_location is not None
    return version.metadata_location.rpartition("/")[0] + "/"
