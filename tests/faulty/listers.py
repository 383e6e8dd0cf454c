from __future__ import annotations

import itertools
import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote, unquote

import pytest

from faulty import fault
from faulty.disk import DiskTests
from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import FileLister, ListingPart
from nessie_gc_core.errors import ListingError
from nessie_gc_core.model import FileReference
from nessie_gc_core.model.batches import listed_files
from nessie_gc_core.testing.file_lister import FileListerContract


@options
class DiskOptions(ConnectorOptions):
    spare: str = option("", help="nothing")


class GoodLister(FileLister):
    """Lists a disk; each step is a method in which a faulty one can differ."""

    name = "good"
    schemes = frozenset({"file"})
    Options: ClassVar[type[ConnectorOptions]] = DiskOptions

    def list_files(self, location: str) -> Iterator[FileReference]:
        base = location.removeprefix("file://")
        for path in self.walk(base):
            status = os.lstat(path)
            yield FileReference(
                location=location,
                path=path.removeprefix(base),
                size=status.st_size,
                modified=datetime.fromtimestamp(status.st_mtime, UTC),
            )

    def walk(self, folder: str) -> Iterator[str]:
        for entry in self.entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield from self.walk(entry.path + "/")
            elif entry.is_file(follow_symlinks=False):
                yield entry.path

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                return list(found)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ListingError(f"cannot list {folder}: {error.strerror}") from error

    def split_listing(self, location: str, parts: int) -> list[str]:
        self.entries(location.removeprefix("file://"))
        return [str(number) for number in range(parts)]

    def list_part(self, location: str, part: str) -> Iterator[FileReference]:
        if part == "0":
            yield from self.list_files(location)

    def look_up(self, location: str, paths: Sequence[str]) -> Iterator[FileReference]:
        yield from (file for file in self.list_files(location) if file.path in paths)

    def store_time(self, location: str) -> datetime:
        return datetime.now(UTC)

    def keeps_versions(self, location: str) -> bool | None:
        return False


class ListerTests(DiskTests, FileListerContract):
    connector: type[FileLister]

    @pytest.fixture
    def open_lister(self):
        return lambda: self.connector.from_options({})

    @pytest.fixture
    def unlistable(self, put_file):
        """A file where a folder should be, which root cannot list either."""

        def make(location):
            put_file(location, "file", b"x")
            return f"{location}file/"

        return make

    @pytest.fixture
    def many(self):
        return 50


class TestGood(ListerTests):
    connector = GoodLister


class Changed(GoodLister):
    """Changes what is yielded."""

    def list_files(self, location: str) -> Iterator[FileReference]:
        for file in super().list_files(location):
            yield from self.changed(file)

    def changed(self, file: FileReference) -> Iterator[FileReference]:
        yield file


def copy(file: FileReference, **changes: object) -> FileReference:
    fields = {"location": file.location, "path": file.path, "size": file.size, "modified": file.modified}
    return FileReference(**{**fields, **changes})  # type: ignore[arg-type]


TIMES = "test_s08_every_file_has_the_time_of_its_last_modification"
ONCE = "test_every_file_is_listed_once_with_the_asked_location"


@fault(ListerTests, TIMES, "S8: every file has a modification time")
class WithoutTimes(Changed):
    def changed(self, file):
        yield copy(file, modified=None)


@fault(ListerTests, TIMES, "S8: every file has a modification time")
class NaiveTimes(Changed):
    def changed(self, file):
        yield copy(file, modified=file.modified.replace(tzinfo=None))


@fault(ListerTests, TIMES, "S8: every file has a modification time")
class LocalTimesThatAreCalledUtc(Changed):
    def changed(self, file):
        yield copy(file, modified=file.modified + timedelta(hours=2))


@fault(ListerTests, "test_s06_a_location_that_cannot_be_listed_is_an_error_and_not_empty", "S6: what cannot be listed")
class SwallowsErrors(GoodLister):
    def entries(self, folder):
        try:
            return super().entries(folder)
        except ListingError:
            return []


@fault(ListerTests, "test_s06_a_location_that_cannot_be_listed_is_an_error_and_not_empty", "S6: what cannot be listed")
class LetsErrorsThrough(GoodLister):
    def entries(self, folder):
        try:
            return super().entries(folder)
        except ListingError as error:
            assert error.__cause__ is not None
            raise error.__cause__ from None


@fault(ListerTests, "test_s06_parts_of_a_location_that_cannot_be_listed_are_an_error_too", "S6: what cannot be listed")
class SwallowsErrorsOfParts(GoodLister):
    def split_listing(self, location, parts):
        return [str(number) for number in range(parts)]

    def list_part(self, location, part):
        try:
            yield from super().list_part(location, part)
        except ListingError:
            return


@fault(ListerTests, "test_s24_a_link_to_a_folder_is_not_followed", "S5 and S24: links to folders are not followed")
class FollowsLinks(GoodLister):
    def walk(self, folder):
        for found, folders, files in os.walk(folder, followlinks=folder.count("loop") < 1):
            folders[:] = [name for name in folders if name != "loop"]
            yield from (os.path.join(found, name) for name in files)  # noqa: PTH118


@fault(ListerTests, "test_directories_and_their_markers_are_not_listed", "S22: only files are listed")
class ListsDirectories(GoodLister):
    def walk(self, folder):
        for entry in self.entries(folder):
            if entry.is_dir(follow_symlinks=False):
                yield entry.path
        yield from super().walk(folder)


@fault(ListerTests, ONCE, "S4: every file below the location is listed exactly once")
class ListsTwice(Changed):
    def changed(self, file):
        yield from (file, file)


@fault(ListerTests, ONCE, "S4: every file below the location is listed exactly once")
class NotRecursive(GoodLister):
    def walk(self, folder):
        return (entry.path for entry in self.entries(folder) if entry.is_file(follow_symlinks=False))


@fault(ListerTests, ONCE, "S4: every file below the location is listed exactly once")
class AnotherLocation(Changed):
    def changed(self, file):
        yield copy(file, location=file.location.rstrip("/"))


@fault(ListerTests, "test_odd_keys_come_back_raw", "S4: keys come back raw")
class Encodes(Changed):
    def changed(self, file):
        yield copy(file, path=quote(file.path))


@fault(ListerTests, "test_odd_keys_come_back_raw", "S4: keys come back raw")
class LeavesHiddenFilesOut(Changed):
    def changed(self, file):
        yield from () if re.search(r"(^|/)\.", file.path) else (file,)


@fault(ListerTests, "test_a_location_with_odd_characters_is_listed", "S4: a location is raw too")
class DecodesTheLocation(GoodLister):
    def list_files(self, location):
        for file in super().list_files(unquote(location)):
            yield copy(file, location=location)


@fault(ListerTests, "test_a_neighbour_with_the_same_beginning_is_not_listed", "S2 and S5: `t/` never lists")
class ListsNeighbours(GoodLister):
    def list_files(self, location):
        base = Path(location.removeprefix("file://"))
        for folder in sorted(base.parent.glob(f"{base.name}*/")):
            for file in super().list_files(f"file://{folder}/"):
                yield copy(file, location=location)


@fault(ListerTests, "test_many_files_are_listed_to_the_end", "S6: a listing continues to its last page")
class StopsAfterOnePage(GoodLister):
    def list_files(self, location):
        for number, file in enumerate(super().list_files(location)):
            if number < 40:
                yield file


@fault(ListerTests, "test_a_location_that_holds_nothing_or_does_not_exist_is_empty", "A location that does not exist")
class RefusesWhatDoesNotExist(GoodLister):
    def entries(self, folder):
        try:
            with os.scandir(folder) as found:
                return list(found)
        except OSError as error:
            raise ListingError(f"cannot list {folder}: {error.strerror}") from error


@fault(ListerTests, "test_sizes_are_bytes_or_unknown", "A size is the number of bytes")
class SizesInBlocks(Changed):
    def changed(self, file):
        yield copy(file, size=(file.size + 511) // 512)


@fault(ListerTests, "test_a_listing_is_a_stream_that_can_be_left", "A listing is a stream")
class GivesAList(GoodLister):
    def list_files(self, location):
        return list(super().list_files(location))


@fault(ListerTests, "test_parts_of_a_listing_are_the_whole_each_file_once", "SupportsSplitListing: the parts together")
class OverlappingParts(GoodLister):
    def list_part(self, location, part):
        yield from self.list_files(location)


@fault(ListerTests, "test_the_clock_of_the_store_is_aware_utc_and_leaves_no_trace", "S8: the clock of the store")
class ClockThatWrites(GoodLister):
    def store_time(self, location):
        probe = Path(location.removeprefix("file://")) / "probe"
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        return datetime.fromtimestamp(probe.stat().st_mtime, UTC)


@fault(ListerTests, "test_whether_versions_are_kept_is_answered_without_an_error", "SupportsVersioning: keeps_versions")
class VersioningThatRaises(GoodLister):
    def keeps_versions(self, location):
        self.entries(location.removeprefix("file://"))
        return False


@fault(ListerTests, "test_it_claims_the_scheme_of_its_locations", "The lister claims the scheme")
class ClaimsAnotherScheme(GoodLister):
    schemes = frozenset({"FILE"})


@options
class WithoutHelpOptions(ConnectorOptions):
    folder: str = ""


@fault(ListerTests, "test_every_option_has_help", "Every option has a help text, which the reference shows: write")
class OptionWithoutHelp(GoodLister):
    Options = WithoutHelpOptions


@fault(ListerTests, "test_an_unknown_option_is_refused_by_name", "S27: an unknown option is refused")
class IgnoresUnknownOptions(GoodLister):
    @classmethod
    def from_options(cls, values):
        return cls(cls.Options.from_mapping({k: v for k, v in values.items() if k == "spare"}))


@fault(ListerTests, "test_closing_twice_does_no_harm", "A lister can be closed twice")
class ClosesOnce(GoodLister):
    closed = False

    def close(self):
        if self.closed:
            raise ValueError("it is closed")
        self.closed = True


@fault(
    ListerTests, "test_a_location_that_is_cut_is_the_whole_each_file_once", "SupportsCutListing: the files listed at"
)
class CutsWhatItLists(GoodLister):
    def list_or_cut(self, location, part):
        if part is None:
            yield ListingPart("0")
        yield from self.list_files(location)


@fault(
    ListerTests, "test_a_location_that_is_cut_is_the_whole_each_file_once", "SupportsCutListing: the files listed at"
)
class ForgetsWhatItCut(GoodLister):
    def list_or_cut(self, location, part):
        if part is None:
            yield from itertools.islice(self.list_files(location), 5)
            yield ListingPart("rest")


@fault(ListerTests, "test_batches_have_the_files_of_the_listing", "SupportsListBatches: the batches have the files of")
class BatchesLackTheTime(GoodLister):
    def list_batches(self, location, part):
        yield from listed_files(replace(file, modified=None) for file in self.list_files(location))


LOOKED_UP = "test_files_that_are_looked_up_are_those_of_the_listing"


@fault(ListerTests, LOOKED_UP, "SupportsLookUp: the files of the given paths come as a listing gives them, each once")
class LooksUpPrefixes(GoodLister):
    def look_up(self, location, paths):
        return (file for file in self.list_files(location) if file.path.startswith(tuple(paths)))


@fault(ListerTests, LOOKED_UP, "SupportsLookUp: the files of the given paths come as a listing gives them, each once")
class LooksUpWhatIsNotThere(GoodLister):
    def look_up(self, location, paths):
        return (FileReference(location=location, path=path, size=1, modified=datetime.now(UTC)) for path in paths)


@fault(ListerTests, LOOKED_UP, "SupportsLookUp: the files of the given paths come as a listing gives them, each once")
class LooksUpWithoutTimes(GoodLister):
    def look_up(self, location, paths):
        return (copy(file, modified=None) for file in super().look_up(location, paths))


@fault(ListerTests, "test_what_is_not_listed_is_not_looked_up", "SupportsLookUp: what a listing leaves out is left")
class LooksUpThroughLinks(GoodLister):
    def look_up(self, location, paths):
        seen = {file.path for file in super().look_up(location, paths)}
        yield from super().look_up(location, paths)
        for path in paths:
            if path not in seen and "/in/" in path:
                yield FileReference(location=location, path=path, size=1, modified=datetime.now(UTC))


@fault(ListerTests, "test_threads_get_the_same_listings", "A shareable lister is used from several threads")
class RemembersItsLocation(GoodLister):
    shareable = True

    def entries(self, folder):
        if folder == self.base:
            time.sleep(0.01)
        return super().entries(self.base)

    def walk(self, folder):
        self.base = folder
        return super().walk(folder)


class GoodSource(GoodLister):
    """Asks a repository for credentials, and does without."""

    source = None

    def use_credentials(self, source):
        self.source = source

    def list_files(self, location):
        if self.source is not None:
            self.asked(self.source.credential(location))
        return super().list_files(location)

    def asked(self, credential):
        """Takes what it was given."""


class TestGoodSource(ListerTests):
    connector = GoodSource


NO_CREDENTIALS = "test_without_credentials_of_a_repository_files_are_listed_as_ever"


@fault(
    ListerTests, NO_CREDENTIALS, "SupportsCredentialSource: what a repository has no credentials for is reached with"
)
class NeedsCredentials(GoodSource):
    def asked(self, credential):
        if credential is None:
            raise ListingError("there are no credentials")


@fault(
    ListerTests, NO_CREDENTIALS, "SupportsCredentialSource: what a repository has no credentials for is reached with"
)
class ListsNothingWithoutCredentials(GoodSource):
    def list_files(self, location):
        return iter(()) if self.source is not None else super().list_files(location)
