"""Tests of file deleters that delete files together with their older versions."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from typing import cast

import pytest

from nessie_gc_core.connectors import FileDeleter, SupportsVersionDeletion
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus
from nessie_gc_core.testing.demands import demands, shown, skip_without
from nessie_gc_core.testing.file_deleter_versions import HidingTests, VersionedStore


class VersionDeletionTests(HidingTests):
    """Files that are deleted with their versions."""

    @pytest.fixture
    def deleting(self, deleter: FileDeleter, location: str, versioned: VersionedStore) -> Deleting:
        if not isinstance(deleter, SupportsVersionDeletion):
            skip_without(deleter, SupportsVersionDeletion)
        deleting = cast("SupportsVersionDeletion", deleter)
        refusal = deleting.version_refusal(location)
        if refusal is not None:
            assert len(refusal.splitlines()) == 1
            pytest.skip(f"{shown(deleter)}: {refusal}")
        return Deleting(deleting, versioned)

    @demands("S15, SupportsVersionDeletion: a file is deleted with all its versions and markers, and nothing else is.")
    def test_s15_a_file_goes_with_its_older_versions(self, deleting: Deleting, versioned: VersionedStore) -> None:
        for path, data in (("a", b"1"), ("a", b"22"), ("a2", b"x"), ("a2", b"xx")):
            versioned.put(path, data)
        versioned.hide(versioned.current("a"))
        versioned.put("a", b"333")
        before = versioned.versions("a2")
        outcome = deleting.delete(versioned.current("a"))["a"]
        assert (outcome.status, outcome.older, outcome.older_bytes) == (VersionStatus.DONE, 2, 3)
        assert (versioned.versions("a"), versioned.versions("a2"), versioned.stored()) == ([], before, {"a2"})

    @demands("S8, SupportsVersionDeletion: of a file that was written again every version stays (FAILED).")
    def test_s08_a_file_that_was_written_again_keeps_all_versions(
        self, deleting: Deleting, versioned: VersionedStore
    ) -> None:
        versioned.put("a", b"older")
        versioned.put("a", b"as it was listed")
        listed = versioned.current("a")
        versioned.put("a", b"written again")
        before = versioned.versions("a")
        assert deleting.delete(listed)["a"].status is VersionStatus.FAILED
        assert versioned.versions("a") == before

    @demands("S15, SupportsVersionDeletion: of a file that is deleted already every version stays (MISSING).")
    def test_s15_a_deleted_file_keeps_its_versions(self, deleting: Deleting, versioned: VersionedStore) -> None:
        for data in (b"older", b"newer one"):
            versioned.put("a", data)
        listed = versioned.current("a")
        versioned.hide(listed)
        before = versioned.versions("a")
        assert deleting.delete(listed)["a"].status is VersionStatus.MISSING
        assert versioned.versions("a") == before

    @demands("S15, SupportsVersionDeletion: a killed call is repeated; what is gone is MISSING. No files, no outcomes.")
    def test_s15_deleting_versions_twice_does_no_harm(self, deleting: Deleting, versioned: VersionedStore) -> None:
        assert deleting.delete() == {}
        for data in (b"older", b"newer one"):
            versioned.put("a", data)
        listed = versioned.current("a")
        (older,) = [each for each in versioned.versions("a") if not each.current]
        versioned.delete_version("a", older.version)
        assert deleting.delete(listed)["a"].status is VersionStatus.DONE
        assert deleting.delete(listed)["a"].status is VersionStatus.MISSING
        assert versioned.versions("a") == []


class Deleting:
    """The deleter, asked about files of its location."""

    def __init__(self, deleter: SupportsVersionDeletion, versioned: VersionedStore) -> None:
        self._deleter = deleter
        self._versioned = versioned

    def delete(self, *files: FileVersion) -> dict[str, VersionOutcome]:
        """The outcomes, one for each file."""
        return {each.path: each for each in self._versioned.ask(self._deleter.delete_with_versions, *files)}
