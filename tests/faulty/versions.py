from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import ClassVar
from urllib.parse import quote, unquote

import pytest

from faulty import fault
from faulty.deleters import GoodDeleter
from nessie_gc_core.model import FileVersion, KeyVersion, VersionOutcome, VersionStatus
from nessie_gc_core.model import versions as rules
from nessie_gc_core.testing.file_deleter_with_versions import VersionDeletionTests

_NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Bucket:
    """All versions of every path, oldest first; a marker has no bytes."""

    def __init__(self) -> None:
        self.kept: dict[str, list[tuple[str, bytes | None, datetime]]] = {}
        self.number = 0

    def put(self, path: str, data: bytes | None) -> str:
        self.number += 1
        kept = self.kept.setdefault(path, [])
        kept.append((f"v{self.number}", data, _NOW + timedelta(seconds=self.number)))
        return kept[-1][0]

    def delete(self, path: str, version: str) -> None:
        self.kept[path] = [each for each in self.kept.get(path, ()) if each[0] != version]

    def versions(self, path: str) -> list[KeyVersion]:
        kept = self.kept.get(path, [])
        return [
            KeyVersion(version=id_, marker=data is None, current=id_ == kept[-1][0], size=len(data or b""), modified=at)
            for id_, data, at in reversed(kept)
        ]


class Hides(GoodDeleter):
    """Hides files of a bucket in this process; each step is a method in which a faulty one can differ."""

    name = "hides"
    bucket: ClassVar[Bucket]

    def hide_refusal(self, location: str) -> str | None:
        return None

    def release_refusal(self, location: str) -> str | None:
        return None

    def hide_warnings(self, locations: Sequence[str], duration: timedelta) -> Sequence[str]:
        return ()

    def hide_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        for file in files:
            path = self.key(location + file.path)
            before = self.bucket.versions(path)
            said = self.to_hide(before, file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            marker = self.bucket.put(path, None)
            yield rules.hidden(before, self.bucket.versions(path), file, said, marker)

    def show_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        for file in files:
            path = self.key(location + file.path)
            found = self.bucket.versions(path)
            said = self.to_show(found, file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            self.bucket.delete(path, said.version)
            yield rules.shown(self.bucket.versions(path), file, rules.visible(found))

    def purge_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        for file in files:
            path = self.key(location + file.path)
            said = self.to_purge(self.bucket.versions(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            for id_ in said:
                self.bucket.delete(path, id_)
            yield VersionOutcome(path=file.path, status=VersionStatus.DONE)

    def version_refusal(self, location: str) -> str | None:
        return None

    def delete_with_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        for file in files:
            path = location + file.path
            said = self.to_delete(self.bucket.versions(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            for each in (*said.older, said.current, *said.markers):
                self.bucket.delete(path, each.version)
            yield said.done(file)

    def to_delete(self, found, file):
        return rules.to_delete(found, file)

    def key(self, path: str) -> str:
        return path

    def to_hide(self, found, file):
        return rules.to_hide(found, file)

    def to_show(self, found, file):
        return rules.to_show(found, file)

    def to_purge(self, found, file):
        return rules.to_purge(found, file)


class HidesTests(VersionDeletionTests):
    connector: type[Hides]
    opener = "open_deleter"

    @pytest.fixture
    def bucket(self):
        self.connector.bucket = Bucket()
        return self.connector.bucket

    @pytest.fixture
    def open_deleter(self, bucket):
        return lambda: self.connector.from_options({})

    @pytest.fixture
    def deleter(self, open_deleter):
        with open_deleter() as deleter:
            yield deleter

    @pytest.fixture
    def location(self):
        return "file:///bucket/t/"

    @pytest.fixture
    def put_file(self, bucket):
        return lambda location, path, data: bucket.put(location + path, data)

    @pytest.fixture
    def stored_paths(self, bucket):
        return lambda location: [
            path.removeprefix(location) for path, kept in bucket.kept.items() if kept and kept[-1][1] is not None
        ]

    @pytest.fixture
    def read_file(self, bucket):
        return lambda location, path: bucket.kept[location + path][-1][1]

    @pytest.fixture
    def key_versions(self, bucket):
        return lambda location, path: bucket.versions(location + path)

    @pytest.fixture
    def delete_version(self, bucket):
        return lambda location, path, version: bucket.delete(location + path, version)


class TestGood(HidesTests):
    connector = Hides


@fault(HidesTests, "test_s15_a_file_is_hidden_and_comes_back", "S15, SupportsHiding: a hidden file is not listed")
class DeletesTheVersion(Hides):
    def hide_files(self, location, files):
        for outcome in super().hide_files(location, files):
            self.bucket.delete(location + outcome.path, outcome.version)
            yield outcome


@fault(HidesTests, "test_s15_a_hidden_file_is_purged", "S15, SupportsHiding: a purge deletes the version")
class LeavesTheMarker(Hides):
    def to_purge(self, found, file):
        said = super().to_purge(found, file)
        return said if isinstance(said, VersionOutcome) else said._replace(marker="")


@fault(HidesTests, "test_s15_a_file_that_was_written_again_is_not_hidden", "S15, SupportsHiding: only what was listed")
class HidesWhateverIsThere(Hides):
    def to_hide(self, found, file):
        return next((each for each in found if each.current and not each.marker), None) or super().to_hide(found, file)


@fault(HidesTests, "test_s15_hiding_twice_makes_one_marker", "S15, SupportsHiding: what is hidden already")
class MakesAMarkerEachTime(Hides):
    def hide_files(self, location, files):
        for outcome in super().hide_files(location, files):
            if outcome.status is VersionStatus.MISSING:
                self.bucket.put(location + outcome.path, None)
            yield outcome


@fault(HidesTests, "test_s15_a_visible_version_is_never_purged", "S15, SupportsHiding: showing or purging twice")
class PurgesWhatIsVisible(Hides):
    def to_purge(self, found, file):
        said = super().to_purge(found, file)
        released = isinstance(said, VersionOutcome) and said.status is VersionStatus.RELEASED
        return rules.ToPurge(file.version, "") if released else said


@fault(HidesTests, "test_s15_a_newer_file_stays", "S15, SupportsHiding: a newer file is never touched")
class RemovesWhatIsNewer(Hides):
    def to_show(self, found, file):
        said = super().to_show(found, file)
        exists = isinstance(said, VersionOutcome) and said.status is VersionStatus.EXISTS
        return found[0] if exists else said


@fault(HidesTests, "test_s15_the_marker_of_somebody_else_stays", "S15, SupportsHiding: only the marker of the")
class RemovesAnyMarker(Hides):
    def to_show(self, found, file):
        return next((each for each in found if each.marker), None) or super().to_show(found, file)


@fault(HidesTests, "test_s15_a_killed_call_is_repeated", "S15, SupportsHiding: a killed call is repeated")
class NeedsTheIds(Hides):
    def to_show(self, found, file):
        if file.marker:
            return super().to_show(found, file)
        return VersionOutcome(path=file.path, status=VersionStatus.MISSING)


@fault(HidesTests, "test_s15_a_purge_makes_no_older_version_visible", "S15, SupportsHiding: a marker stays where")
class RemovesEveryMarker(Hides):
    def to_purge(self, found, file):
        said = super().to_purge(found, file)
        return said if isinstance(said, VersionOutcome) else said._replace(marker=file.marker)


@fault(HidesTests, "test_s04_odd_keys_are_hidden_and_come_back", "S4: keys are raw")
class Decodes(Hides):
    def key(self, path):
        return quote(unquote(path), safe="/:")


@fault(HidesTests, "test_more_than_one_batch_is_hidden", "SupportsHiding: no files, no outcomes; one call may get more")
class OnlyOneBatch(Hides):
    def hide_files(self, location, files):
        yield from super().hide_files(location, files[: self.batch_size])


@fault(HidesTests, "test_refusals_and_warnings_are_one_line", "SupportsHiding: what refuses and what warns")
class WarnsAtLength(Hides):
    def hide_warnings(self, locations, duration):
        return ("a rule\ndeletes versions",)


@fault(
    HidesTests,
    "test_s15_a_file_goes_with_its_older_versions",
    "S15, SupportsVersionDeletion: a file is deleted with all",
)
class LeavesOlderVersions(Hides):
    def to_delete(self, found, file):
        said = super().to_delete(found, file)
        return said if isinstance(said, VersionOutcome) else said._replace(older=())


@fault(
    HidesTests,
    "test_s08_a_file_that_was_written_again_keeps_all_versions",
    "S8, SupportsVersionDeletion: of a file that was written again",
)
class DeletesWhatIsNewer(Hides):
    def to_delete(self, found, file):
        now = found[0] if found else None
        newer = None if now is None or now.marker else FileVersion(path=file.path, size=now.size, modified=now.modified)
        return super().to_delete(found, newer or file)


@fault(
    HidesTests,
    "test_s15_a_deleted_file_keeps_its_versions",
    "S15, SupportsVersionDeletion: of a file that is deleted already",
)
class DeletesVersionsOfDeletedFiles(Hides):
    def to_delete(self, found, file):
        versions = [each for each in found if not each.marker]
        return rules.ToDelete(versions[1:], versions[0], ()) if versions else super().to_delete(found, file)


@fault(
    HidesTests,
    "test_s15_deleting_versions_twice_does_no_harm",
    "S15, SupportsVersionDeletion: a killed call is repeated",
)
class CannotRepeat(Hides):
    def to_delete(self, found, file):
        if len(found) < 2:
            raise OSError("its older versions are gone")
        return super().to_delete(found, file)
