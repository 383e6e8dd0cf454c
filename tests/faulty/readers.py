from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import ClassVar
from uuid import uuid4

import pytest

from faulty import fault
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.errors import MissingFileError, SafetyError, UnreadableFileError
from nessie_gc_core.model import ContentVersion, ReachableFile, StoredNames, TableMetadata, Traffic
from nessie_gc_core.model.batches import named_files
from nessie_gc_core.testing.content_to_files import ContentToFilesContract, WrittenContent


class GoodReader(ContentToFiles):
    """Tables whose metadata is JSON, with lists of files for each snapshot."""

    name = "good"
    content_types = frozenset({"SIMPLE"})
    expandable_kinds: ClassVar[tuple[str, ...]] = ("LIST",)
    stored_names = MappingProxyType({"SIMPLE": StoredNames(metadata="metadata")})

    def files(self, version):
        path = version.metadata_location
        found = self.read(path)
        yield ReachableFile(path=path, kind="METADATA", location=found["location"])
        for place in found["writes_to"]:
            yield ReachableFile(path=path, kind="METADATA", location=place, shared=True)
        for number, listed in found["lists"].items():
            if version.snapshot_id is None or str(version.snapshot_id) == number:
                yield ReachableFile(path=listed, kind="LIST", location=found["location"])

    def expand(self, file):
        for path in self.read(file.path)["files"]:
            yield ReachableFile(path=path, kind="DATA")

    def named_places(self, version):
        try:
            found = self.read(version.metadata_location)
        except UnreadableFileError:
            return None
        return [found["location"], *found["lists"].values()]

    def read(self, path):
        try:
            found = json.loads(Path(path).read_text())
        except FileNotFoundError as error:
            raise MissingFileError(path, "it does not exist") from error
        except (OSError, ValueError) as error:
            raise UnreadableFileError(path, f"it is not JSON: {type(error).__name__}") from error
        if not isinstance(found, dict):
            raise UnreadableFileError(path, "it is not a JSON object")
        return found


class ReaderTests(ContentToFilesContract):
    connector: type[ContentToFiles] = GoodReader

    @pytest.fixture
    def open_reader(self):
        return lambda: self.connector.from_options({})

    @pytest.fixture
    def contents(self, tmp_path):
        base = f"{tmp_path}/t"
        lists = {}
        for number in (1, 2):
            lists[number] = f"{tmp_path}/list-{number}"
            Path(lists[number]).write_text(json.dumps({"files": [f"{base}/{number}.parquet"]}))
        metadata = tmp_path / "t" / "metadata"
        metadata.parent.mkdir()
        metadata.write_text(json.dumps({"location": base, "lists": lists, "writes_to": [f"{tmp_path}/all"]}))
        version = ContentVersion(
            content_id="id",
            content_type="SIMPLE",
            metadata_location=str(metadata),
            snapshot_id=2,
            content_key="t",
            commit_id="c",
        )
        older = frozenset({lists[1], f"{base}/1.parquet"})
        needed = frozenset({str(metadata), lists[2], f"{base}/2.parquet"})
        shared = frozenset({f"{tmp_path}/all"})
        return [WrittenContent(version=version, location=base, needed=needed, dead=older, listed=older, shared=shared)]

    @pytest.fixture
    def missing(self, contents, tmp_path):
        return replace(contents[0].version, metadata_location=f"{tmp_path}/none")

    @pytest.fixture
    def unreadable(self, missing, tmp_path):
        for name, text in (("empty", ""), ("cut", '{"location": '), ("list", "[]")):
            (tmp_path / name).write_text(text)
        return [replace(missing, metadata_location=f"{tmp_path}/{name}") for name in ("empty", "cut", "list")]

    @pytest.fixture
    def missing_file(self, tmp_path):
        return ReachableFile(path=f"{tmp_path}/none", kind="LIST")

    @pytest.fixture
    def unreadable_files(self, unreadable):
        return [ReachableFile(path=version.metadata_location, kind="LIST") for version in unreadable]


class TestGood(ReaderTests):
    pass


NAMES = "test_metadata_files_have_the_names_that_it_says"
OTHERS = "test_contents_are_not_kept_by_others"
MISSING = "test_missing_metadata_is_an_error_that_names_the_file"
UNREADABLE = "test_unreadable_metadata_is_an_error_and_not_missing"
SHARED = "test_s13_places_that_others_may_use_are_told_apart_from_the_base_location"
FIRST_HAND = "test_files_at_first_hand_carry_a_location_and_the_base_location_comes"


@fault(ReaderTests, NAMES, "S20: stored_names says how metadata files of a type are named")
class OtherNames(GoodReader):
    stored_names = MappingProxyType({"SIMPLE": StoredNames(metadata="meta")})


@fault(ReaderTests, NAMES, "S20: stored_names says how metadata files of a type are named")
class NamesOfOtherTypes(GoodReader):
    stored_names = MappingProxyType({"ANOTHER": StoredNames(metadata="metadata")})


@fault(ReaderTests, OTHERS, "S20: content without any sign of another owner is not kept by others")
class KeptByOthersWithoutAReason(GoodReader):
    def kept_by_others(self, version):
        return ""


@fault(ReaderTests, MISSING, "S7: missing metadata never counts as a table without files")
class MissingIsEmpty(GoodReader):
    def files(self, version):
        if Path(version.metadata_location).exists():
            yield from super().files(version)


@fault(ReaderTests, MISSING, "S7: missing metadata never counts as a table without files")
class MissingIsABareError(GoodReader):
    def read(self, path):
        Path(path).stat()
        return super().read(path)


@fault(ReaderTests, MISSING, "S7: missing metadata never counts as a table without files")
class MissingIsUnreadable(GoodReader):
    def read(self, path):
        try:
            return super().read(path)
        except MissingFileError as error:
            raise UnreadableFileError(path, "it cannot be read") from error


@fault(ReaderTests, UNREADABLE, "S6: unreadable metadata never counts as a table without files, or as missing")
class UnreadableIsEmpty(GoodReader):
    def files(self, version):
        try:
            yield from super().files(version)
        except MissingFileError:
            raise
        except UnreadableFileError:
            return


@fault(ReaderTests, UNREADABLE, "S6: unreadable metadata never counts as a table without files, or as missing")
class UnreadableIsMissing(GoodReader):
    def read(self, path):
        try:
            return super().read(path)
        except UnreadableFileError as error:
            raise MissingFileError(path, "it is not there") from error


@fault(ReaderTests, UNREADABLE, "S6: unreadable metadata never counts as a table without files, or as missing")
class ErrorOfTheParser(GoodReader):
    def read(self, path):
        if not Path(path).exists():
            raise MissingFileError(path, "it does not exist")
        return json.loads(Path(path).read_text())


@fault(ReaderTests, "test_batches_name_the_files_that_expand_yields", "SupportsExpandBatches: the batches have the")
class BatchesLackAFile(GoodReader):
    def expand_batches(self, file):
        for batch in named_files(self.expand(file)):
            yield batch.slice(1)


@fault(ReaderTests, "test_a_missing_file_has_no_batches", "SupportsExpandBatches: a file that does not exist")
class MissingBatchesAreEmpty(GoodReader):
    def expand_batches(self, file):
        if Path(file.path).exists():
            yield from named_files(self.expand(file))


@fault(ReaderTests, "test_a_missing_file_is_never_taken_for_an_empty_one", "S6: a missing file never counts as one")
class MissingListsAreEmpty(GoodReader):
    def expand(self, file):
        if Path(file.path).exists():
            yield from super().expand(file)


@fault(ReaderTests, "test_an_unreadable_file_is_never_taken_for_an_empty_one", "S6: a file that cannot be read to its")
class UnreadableListsAreEmpty(GoodReader):
    def expand(self, file):
        try:
            yield from super().expand(file)
        except MissingFileError:
            raise
        except UnreadableFileError:
            return


@fault(ReaderTests, "test_it_finds_every_file_that_a_version_needs", "S6: every file that a version needs is found")
class LeavesDataFilesOut(GoodReader):
    def expand(self, file):
        self.read(file.path)
        return iter(())


@fault(ReaderTests, "test_it_leaves_out_files_that_are_known_to_be_dead", "Files that are known to be unreferenced")
class KeepsEverything(GoodReader):
    def files(self, version):
        return super().files(replace(version, snapshot_id=None))


@fault(
    ReaderTests,
    "test_s25_a_version_without_a_snapshot_id_keeps_all_that_its_metadata_lists",
    "S25: a version without a snapshot id keeps every snapshot",
)
class KeepsTheNewestOnly(GoodReader):
    def files(self, version):
        return super().files(replace(version, snapshot_id=2 if version.snapshot_id is None else version.snapshot_id))


@fault(ReaderTests, "test_the_metadata_file_is_among_the_files", "S7: the metadata file is live too")
class LeavesMetadataOut(GoodReader):
    def files(self, version):
        return (file for file in super().files(version) if file.kind != "METADATA")


@fault(ReaderTests, FIRST_HAND, "S1: every file from files carries the base location")
class WithoutLocation(GoodReader):
    def files(self, version):
        return (replace(file, location=None) for file in super().files(version))


@fault(ReaderTests, FIRST_HAND, "S1: every file from files carries the base location")
class TidiesTheLocation(GoodReader):
    def files(self, version):
        return (replace(file, location=f"file://{file.location}/") for file in super().files(version))


@fault(ReaderTests, SHARED, "S13: other places that a content writes to come as shared files, with the path of a")
class LeavesOtherPlacesOut(GoodReader):
    def files(self, version):
        return (file for file in super().files(version) if not file.shared)


@fault(ReaderTests, SHARED, "S13: other places that a content writes to come as shared files, with the path of a")
class TakesOtherPlacesForBaseLocations(GoodReader):
    def files(self, version):
        return (replace(file, shared=False) for file in super().files(version))


@fault(ReaderTests, SHARED, "S13: other places that a content writes to come as shared files, with the path of a")
class NamesFilesThatAreNotNeeded(GoodReader):
    def files(self, version):
        for file in super().files(version):
            yield replace(file, path=f"{file.location}/") if file.shared else file


@fault(ReaderTests, FIRST_HAND, "S1: every file from files carries the base location")
class SharesItsBaseLocation(GoodReader):
    def files(self, version):
        return (replace(file, shared=True) for file in super().files(version))


@fault(ReaderTests, "test_a_kind_expands_only_to_later_kinds", "A kind expands only to kinds that come later")
class ExpandsToItsOwnKind(GoodReader):
    def expand(self, file):
        yield from super().expand(file)
        yield file


@fault(ReaderTests, "test_answers_do_not_depend_on_what_was_asked_before", "S16: the caller asks once for each file")
class RemembersWhatItGave(GoodReader):
    def __init__(self, options):
        super().__init__(options)
        self.given = set()

    def expand(self, file):
        found = list(super().expand(file))
        yield from (each for each in found if each not in self.given)
        self.given.update(found)


@fault(ReaderTests, "test_asking_broken_metadata_for_its_places_is_no_error", "S6: named_places is also called for")
class PlacesThatRaise(GoodReader):
    def named_places(self, version):
        return [self.read(version.metadata_location)["location"]]


@fault(ReaderTests, "test_places_that_metadata_names_are_given_or_not_known", "S6: named_places gives every place")
class NoPlaces(GoodReader):
    def named_places(self, version):
        return []


@fault(ReaderTests, "test_what_a_version_points_to_may_be_a_root", "S7: may_be_root is true for every metadata file")
class NeverARoot(GoodReader):
    def may_be_root(self, path):
        return False


@fault(ReaderTests, "test_it_has_a_content_for_every_type_that_it_claims", "The fixture contents has at least one")
class ClaimsMore(GoodReader):
    content_types = frozenset({"SIMPLE", "ANOTHER"})


@fault(ReaderTests, "test_it_names_each_expandable_kind_once", "expandable_kinds names each kind once")
class KindsTwice(GoodReader):
    expandable_kinds = ("LIST", "LIST")


class Counts(GoodReader):
    """Counts what it reads."""

    shareable = True

    def __init__(self, options):
        super().__init__(options)
        self.counted = self.counter()
        self.counted.requests = 0

    def counter(self):
        return threading.local()

    def read(self, path):
        self.counted.requests = getattr(self.counted, "requests", 0) + 1
        return super().read(path)

    def take_traffic(self):
        requests, self.counted.requests = getattr(self.counted, "requests", 0), 0
        return Traffic(requests=requests)


class TestCounts(ReaderTests):
    connector = Counts


TOLD_ONCE = "test_traffic_is_told_once"


@fault(ReaderTests, TOLD_ONCE, "SupportsTraffic: requests are counted once")
class TellsTrafficToAnyThread(Counts):
    def counter(self):
        return SimpleNamespace()


@fault(ReaderTests, TOLD_ONCE, "SupportsTraffic: requests are counted once")
class TellsTrafficAgain(Counts):
    def take_traffic(self):
        return Traffic(requests=getattr(self.counted, "requests", 0))


@fault(ReaderTests, TOLD_ONCE, "SupportsTraffic: requests are counted once")
class TellsNoTraffic(Counts):
    def take_traffic(self):
        return Traffic()


class Tables(GoodReader):
    """Says what the metadata of a table lists."""

    def table_metadata(self, version, *, reference):
        found = self.read(version.metadata_location)
        numbers = map(int, found["lists"])
        fields = {
            "location": found["location"],
            "format-version": 2,
            "snapshots": [{"snapshot-id": number, "timestamp-ms": number} for number in numbers],
        }
        seen = {"commit_id": version.commit_id, "content_key": version.content_key, "content_id": version.content_id}
        place = {"metadata_location": version.metadata_location, "reference": reference}
        return TableMetadata.parse(fields, **seen, **place, snapshot_id=version.snapshot_id)


class TestTables(ReaderTests):
    connector = Tables


class Writes(Tables):
    """Writes new metadata beside the old."""

    def write_without(self, version, snapshot_ids, *, folder, now):
        found = self.read(version.metadata_location)
        if version.snapshot_id in snapshot_ids:
            raise SafetyError(f"{version.content_key} needs the snapshot {version.snapshot_id}")
        found["lists"] = {key: path for key, path in found["lists"].items() if int(key) not in snapshot_ids}
        return self.write(f"{folder}{uuid4()}", found)

    def write(self, path, found):
        Path(path).write_text(json.dumps(found))
        return path


class TestWrites(ReaderTests):
    connector = Writes


SAYS_THE_SAME = "test_metadata_without_a_snapshot_says_the_same_of_all_else"
NOT_OVER = "test_nothing_is_written_over"
NEEDED = "test_s25_metadata_is_never_without_what_its_version_needs"
NOT_OF_UNREADABLE = "test_nothing_is_written_of_metadata_that_cannot_be_read"


@fault(ReaderTests, SAYS_THE_SAME, "SupportsSnapshotRemoval: new metadata lists all snapshots except the removed ones")
class LeavesNothingOut(Writes):
    def write_without(self, version, snapshot_ids, *, folder, now):
        return super().write_without(version, (), folder=folder, now=now)


@fault(ReaderTests, SAYS_THE_SAME, "SupportsSnapshotRemoval: new metadata lists all snapshots except the removed ones")
class ForgetsWhatItDoesNotKnow(Writes):
    def write(self, path, found):
        return super().write(path, {**found, "writes_to": []})


@fault(ReaderTests, NOT_OVER, "SupportsSnapshotRemoval: each new metadata file has a new name, whatever was written")
class WritesOver(Writes):
    def write(self, path, found):
        return super().write(path.rpartition("/")[0] + "/next", found)


@fault(ReaderTests, NEEDED, "S25: SupportsSnapshotRemoval: raise SafetyError if a version needs a snapshot that is to")
class WritesWithoutTheCurrent(Writes):
    def write_without(self, version, snapshot_ids, *, folder, now):
        return super().write_without(replace(version, snapshot_id=None), snapshot_ids, folder=folder, now=now)


@fault(ReaderTests, NOT_OF_UNREADABLE, "S6: SupportsSnapshotRemoval: missing and unreadable metadata raise the same")
class WritesOfNothing(Writes):
    def read(self, path):
        try:
            return super().read(path)
        except UnreadableFileError:
            return {"location": "file:///t", "lists": {}, "writes_to": []}


OF_THE_VERSION = "test_the_metadata_of_a_table_is_that_of_the_version"
CANNOT_BE_READ = "test_metadata_of_a_table_that_cannot_be_read_is_an_error"


@fault(ReaderTests, OF_THE_VERSION, "SupportsTableMetadata: the answer describes the table by its metadata, with the")
class TablesOfNoReference(Tables):
    def table_metadata(self, version, *, reference):
        return super().table_metadata(version, reference="main")


@fault(ReaderTests, OF_THE_VERSION, "SupportsTableMetadata: the answer describes the table by its metadata, with the")
class TablesAtAnotherSnapshot(Tables):
    def table_metadata(self, version, *, reference):
        return super().table_metadata(replace(version, snapshot_id=1), reference=reference)


@fault(ReaderTests, CANNOT_BE_READ, "S6: SupportsTableMetadata: missing and unreadable metadata raise the same errors")
class UnreadableIsNoTable(Tables):
    def table_metadata(self, version, *, reference):
        try:
            return super().table_metadata(version, reference=reference)
        except UnreadableFileError:
            return None


@fault(ReaderTests, CANNOT_BE_READ, "S6: SupportsTableMetadata: missing and unreadable metadata raise the same errors")
class MissingIsAnUnreadableTable(Tables):
    def table_metadata(self, version, *, reference):
        try:
            return super().table_metadata(version, reference=reference)
        except MissingFileError as error:
            raise UnreadableFileError(version.metadata_location, "it cannot be read") from error
