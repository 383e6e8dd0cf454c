"""Tests of content readers that describe manifests (:class:`nessie_gc_core.connectors.SupportsManifests`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import pytest

from nessie_gc_core.connectors import ContentToFiles, SupportsManifests
from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.manifests import FileEntry, Manifest
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.testing.demands import demands, skip_without


class _Written(Protocol):
    @property
    def version(self) -> ContentVersion: ...


class ManifestsTests:
    """The fixtures are described at ``ContentToFilesContract``."""

    @demands("SupportsManifests: the entries of a manifest name the files that expand finds in it.")
    def test_manifests_name_the_files_that_a_version_needs(
        self, reader: ContentToFiles, contents: Sequence[_Written]
    ) -> None:
        if not isinstance(reader, SupportsManifests):
            skip_without(reader, SupportsManifests)
        for version, manifests in _described(reader, reader, contents):
            files = {file.path: file for file in _walked(reader, version)}
            assert {manifest.path for manifest in manifests} <= files.keys()
            for manifest in manifests:
                named = {file.path for file in reader.expand(files[manifest.path])}
                assert named == {entry.path for entry in reader.entries(manifest)}

    @demands("SupportsManifests: counts and sizes are those of the files; leave a count None if it is not known.")
    def test_manifests_count_their_files(self, reader: ContentToFiles, contents: Sequence[_Written]) -> None:
        if not isinstance(reader, SupportsManifests):
            skip_without(reader, SupportsManifests)
        for _, manifests in _described(reader, reader, contents):
            for manifest in manifests:
                entries = list(reader.entries(manifest))
                assert manifest.files in (None, len(entries))
                assert manifest.length >= 0
                assert [entry for entry in entries if min(entry.size, entry.records) < 0] == []

    @demands("SupportsManifests: an entry has the spec of its manifest, and is within the ranges of the manifest list.")
    def test_entries_are_in_the_partitions_of_their_manifest(
        self, reader: ContentToFiles, contents: Sequence[_Written]
    ) -> None:
        if not isinstance(reader, SupportsManifests):
            skip_without(reader, SupportsManifests)
        for _, manifests in _described(reader, reader, contents):
            for manifest in manifests:
                outside = [entry for entry in reader.entries(manifest) if not _is_within(entry, manifest)]
                assert outside == []

    @demands("S6: SupportsManifests: missing and unreadable metadata raise the same errors as in files.")
    def test_manifests_of_metadata_that_cannot_be_read_are_an_error(
        self,
        reader: ContentToFiles,
        contents: Sequence[_Written],
        missing: ContentVersion,
        unreadable: Sequence[ContentVersion],
    ) -> None:
        if not isinstance(reader, SupportsManifests):
            skip_without(reader, SupportsManifests)
        types = {version.content_type for version, _ in _described(reader, reader, contents)}
        for version in (missing, *unreadable):
            if version.content_type in types:
                with pytest.raises(UnreadableFileError) as caught:
                    list(reader.manifests(version))
                assert isinstance(caught.value, MissingFileError) is (version is missing)

    @demands("S6: SupportsManifests: a missing manifest is an error, not a manifest without entries.")
    def test_entries_of_a_missing_manifest_are_an_error(
        self, reader: ContentToFiles, contents: Sequence[_Written]
    ) -> None:
        if not isinstance(reader, SupportsManifests):
            skip_without(reader, SupportsManifests)
        _, manifests = next(_described(reader, reader, contents))
        with pytest.raises(MissingFileError):
            list(reader.entries(replace(manifests[0], path=f"{manifests[0].path}.gone")))


def _described(
    reader: SupportsManifests, same: ContentToFiles, contents: Sequence[_Written]
) -> Iterator[tuple[ContentVersion, list[Manifest]]]:
    """The versions that have manifests, one at least."""
    found = [(content.version, list(reader.manifests(content.version))) for content in contents]
    described = [(version, manifests) for version, manifests in found if manifests]
    assert described, f"no content of the fixture contents has manifests for {same.name!r}"
    yield from described


def _walked(reader: ContentToFiles, version: ContentVersion) -> Iterator[ReachableFile]:
    waiting = list(reader.files(version))
    while waiting:
        file = waiting.pop()
        yield file
        if file.kind in reader.expandable_kinds:
            waiting.extend(reader.expand(file))


def _is_within(entry: FileEntry, manifest: Manifest) -> bool:
    if entry.spec_id != manifest.spec_id:
        return False
    if manifest.partitions is None:
        return True
    if len(entry.partition) != len(manifest.partitions):
        return False
    for value, range_ in zip(entry.partition, manifest.partitions, strict=True):
        if value is None and not range_.contains_null:
            return False
        is_nan = value != value
        if is_nan and not range_.contains_nan:
            return False
        is_compared = value is not None and not is_nan and range_.lower is not None and range_.upper is not None
        if is_compared and not range_.lower <= value <= range_.upper:  # type: ignore[operator]  # all of one type
            return False
    return True
