from __future__ import annotations

from dataclasses import replace

from faulty import fault
from faulty.readers import GoodReader
from faulty.readers import ReaderTests as _ReaderTests
from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model import FileEntry, FileKind, Manifest, PartitionRange


class ManifestReaderTests(_ReaderTests):
    pass


class Manifests(GoodReader):
    """Says what manifests a snapshot has: its one list."""

    def manifests(self, version):
        path = self.read(version.metadata_location)["lists"][str(version.snapshot_id)]
        count = len(self.read(path)["files"])
        range_ = PartitionRange(lower=5, upper=5, contains_null=False, contains_nan=False)
        yield Manifest(path=path, length=9, added_files=count, existing_files=0, deleted_files=0, partitions=(range_,))

    def entries(self, manifest):
        for path in self.read(manifest.path)["files"]:
            yield FileEntry(
                path=path, kind=FileKind.DATA, file_format="PARQUET", size=1, records=1, spec_id=0, partition=(5,)
            )


class TestGood(ManifestReaderTests):
    connector = Manifests


NAMED = "test_manifests_name_the_files_that_a_version_needs"
COUNTED = "test_manifests_count_their_files"
WITHIN = "test_entries_are_in_the_partitions_of_their_manifest"
OF_UNREADABLE = "test_manifests_of_metadata_that_cannot_be_read_are_an_error"
OF_MISSING = "test_entries_of_a_missing_manifest_are_an_error"


@fault(ManifestReaderTests, NAMED, "SupportsManifests: the entries of a manifest name the files that expand finds in")
class ManifestsOfAnotherSnapshot(Manifests):
    def manifests(self, version):
        return super().manifests(replace(version, snapshot_id=1))


@fault(ManifestReaderTests, NAMED, "SupportsManifests: the entries of a manifest name the files that expand finds in")
class ManifestsWithoutTheirLastFile(Manifests):
    def manifests(self, version):
        return (replace(manifest, added_files=None) for manifest in super().manifests(version))

    def entries(self, manifest):
        return iter(list(super().entries(manifest))[:-1])


@fault(ManifestReaderTests, COUNTED, "SupportsManifests: counts and sizes are those of the files")
class ManifestsThatCountDeletedFiles(Manifests):
    def manifests(self, version):
        return (replace(manifest, existing_files=1) for manifest in super().manifests(version))


@fault(ManifestReaderTests, WITHIN, "SupportsManifests: an entry has the spec of its manifest, and is within the")
class EntriesOfNoSpec(Manifests):
    def entries(self, manifest):
        return (replace(entry, spec_id=7) for entry in super().entries(manifest))


@fault(ManifestReaderTests, WITHIN, "SupportsManifests: an entry has the spec of its manifest, and is within the")
class EntriesElsewhere(Manifests):
    def entries(self, manifest):
        return (replace(entry, partition=(6,)) for entry in super().entries(manifest))


@fault(ManifestReaderTests, OF_UNREADABLE, "S6: SupportsManifests: missing and unreadable metadata raise the same")
class UnreadableHasNoManifests(Manifests):
    def manifests(self, version):
        try:
            yield from super().manifests(version)
        except UnreadableFileError:
            return


@fault(ManifestReaderTests, OF_MISSING, "S6: SupportsManifests: a missing manifest is an error, not a manifest without")
class MissingManifestsAreEmpty(Manifests):
    def entries(self, manifest):
        try:
            yield from super().entries(manifest)
        except MissingFileError:
            return
