"""What every content reader must do (:class:`nessie_gc_core.connectors.ContentToFiles`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest

from nessie_gc_core.connectors import ContentToFiles, SupportsKindOfName, SupportsTableMetadata, SupportsVersionHints
from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.locations import with_slash
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.testing.content_to_files_batches import BatchesTests
from nessie_gc_core.testing.content_to_files_manifests import ManifestsTests
from nessie_gc_core.testing.content_to_files_writing import WritingReaderTests
from nessie_gc_core.testing.demands import demands, not_defined, shown, skip_unless_shareable, skip_without
from nessie_gc_core.testing.options import OptionsTests
from nessie_gc_core.testing.traffic import COUNTED_ONCE, check_traffic


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenContent:
    """A content version that is stored for the test, and what is known about it."""

    version: ContentVersion
    location: str
    """The content's raw base location, as its metadata spells it."""
    needed: frozenset[str]
    """Raw paths of every file that the version needs, its metadata file included."""
    dead: frozenset[str] = frozenset()
    """Raw paths of unneeded files near it that the reader can tell from the needed ones."""
    listed: frozenset[str] = frozenset()
    """Raw paths of files of other snapshots that its metadata lists, with their statistics: needed by a version
    without a snapshot id. Give some if a content type has snapshots."""
    shared: frozenset[str] = frozenset()
    """Raw places that its metadata names for new files beside the base location, and that others may use as well."""


class ContentToFilesContract(OptionsTests, WritingReaderTests, ManifestsTests, BatchesTests):
    """Inherit it and give it these fixtures.

    Required:
        ``open_reader``: a function that makes a reader; it may be called several times.
        ``contents``: a sequence of :class:`WrittenContent`, at least one for each content type that it reads: a
        version, its raw base location, the raw paths of all files that it needs and, if there are any, those of
        unreferenced files near it and those of other snapshots that its metadata lists.
        ``missing``: a :class:`ContentVersion` whose metadata file does not exist.
        ``unreadable``: content versions whose metadata files exist but are invalid (empty, truncated, garbage).

    Required only for readers with expandable kinds:
        ``missing_file``: an expandable :class:`ReachableFile` that does not exist.
        ``unreadable_files``: expandable files that exist but are invalid (empty, truncated, garbage).
    """

    opener: ClassVar[str] = "open_reader"

    @pytest.fixture
    def open_reader(self) -> Callable[[], ContentToFiles]:
        raise not_defined("open_reader")

    @pytest.fixture
    def contents(self) -> Sequence[WrittenContent]:
        raise not_defined("contents")

    @pytest.fixture
    def missing(self) -> ContentVersion:
        raise not_defined("missing")

    @pytest.fixture
    def unreadable(self) -> Sequence[ContentVersion]:
        raise not_defined("unreadable")

    @pytest.fixture
    def missing_file(self) -> ReachableFile | None:
        return None

    @pytest.fixture
    def unreadable_files(self) -> Sequence[ReachableFile]:
        return ()

    @pytest.fixture
    def reader(self, open_reader: Callable[[], ContentToFiles]) -> Iterator[ContentToFiles]:
        with open_reader() as reader:
            yield reader

    @demands("The fixture contents has at least one content of each type in content_types, and of no other type.")
    def test_it_has_a_content_for_every_type_that_it_claims(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        assert reader.content_types
        assert reader.content_types == {content.version.content_type for content in contents}

    @demands("expandable_kinds names each kind once.")
    def test_it_names_each_expandable_kind_once(self, reader: ContentToFiles) -> None:
        assert len(reader.expandable_kinds) == len(set(reader.expandable_kinds))

    @demands("S20: stored_names says how metadata files of a type are named below their base location.")
    def test_metadata_files_have_the_names_that_it_says(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        if not reader.stored_names:
            pytest.skip(f"{shown(reader)} does not say how files are named (stored_names)")
        assert reader.content_types >= reader.stored_names.keys()
        for content in contents:
            names, path = reader.stored_names.get(content.version.content_type), content.version.metadata_location
            if names is not None:
                assert names.base_location(path or "") == with_slash(content.location)

    @demands(
        "S20: content without any sign of another owner is not kept by others. Answer None, or a reason in one line."
    )
    def test_contents_are_not_kept_by_others(self, reader: ContentToFiles, contents: Sequence[WrittenContent]) -> None:
        found = [content.version for content in contents if content.version.content_type in reader.stored_names]
        assert [reader.kept_by_others(version) for version in found] == [None] * len(found)

    @demands("S6: every file that a version needs is found, or it would be deleted. Yield it from files or expand.")
    def test_it_finds_every_file_that_a_version_needs(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        for content in contents:
            assert content.needed <= {file.path for file in walk(reader, content.version)}

    @demands("SupportsKindOfName: if a name reveals a kind, it is the kind of the file. Answer None in case of doubt.")
    def test_a_name_says_the_kind_of_its_file_or_nothing(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        if not isinstance(reader, SupportsKindOfName):
            skip_without(reader, SupportsKindOfName)
        files = [file for content in contents for file in walk(reader, content.version)]
        said = {file.path: (file.kind, reader.kind_of_name(file.path)) for file in files}
        assert {path: kinds for path, kinds in said.items() if kinds[1] not in (None, kinds[0])} == {}
        assert reader.kind_of_name("no habit names a file like this") is None

    @demands("SupportsVersionHints: no metadata is apart from itself; files that do not exist are MissingFileErrors.")
    def test_no_metadata_is_apart_from_itself_and_a_hint_that_is_missing_is_an_error(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent], missing: ContentVersion
    ) -> None:
        if not isinstance(reader, SupportsVersionHints):
            skip_without(reader, SupportsVersionHints)
        given = (content.version for content in contents if content.version.content_type == missing.content_type)
        live = [path for version in given if (path := version.metadata_location) is not None]
        gone = missing.metadata_location
        assert live
        assert gone is not None
        assert [path for path in live if reader.is_apart(path, path)] == []
        with pytest.raises(MissingFileError):
            reader.hinted(gone)
        with pytest.raises(MissingFileError):
            reader.is_apart(gone, live[0])

    @demands("Files that are known to be unreferenced are left out, or they would be kept forever.")
    def test_it_leaves_out_files_that_are_known_to_be_dead(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        for content in contents:
            assert set() == content.dead & {file.path for file in walk(reader, content.version)}

    @demands(
        "S25: a version without a snapshot id keeps every snapshot that its metadata lists, with their statistics."
    )
    def test_s25_a_version_without_a_snapshot_id_keeps_all_that_its_metadata_lists(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        if not any(content.listed for content in contents):
            pytest.skip(f"{shown(reader)}: in the fixture contents no content has several snapshots (listed)")
        for content in contents:
            if content.listed:
                found = {file.path for file in walk(reader, replace(content.version, snapshot_id=None))}
                assert content.needed | content.listed <= found

    @demands("S7: the metadata file is live too. Yield it from files, spelled as in metadata_location.")
    def test_the_metadata_file_is_among_the_files(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        for content in contents:
            if content.version.metadata_location is not None:
                assert content.version.metadata_location in {file.path for file in reader.files(content.version)}

    @demands("S1: every file from files carries the base location of its content, as the metadata spells it.")
    def test_files_at_first_hand_carry_a_location_and_the_base_location_comes(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        for content in contents:
            files = list(reader.files(content.version))
            assert None not in {file.location for file in files}
            assert content.location in {file.location for file in files if not file.shared}

    @demands(
        "S13: other places that a content writes to come as shared files, with the path of a needed file; base "
        "locations do not."
    )
    def test_s13_places_that_others_may_use_are_told_apart_from_the_base_location(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        for content in contents:
            files = list(reader.files(content.version))
            assert content.shared == {file.location for file in files if file.shared}
            assert content.shared.isdisjoint({file.location for file in files if not file.shared})
            assert content.needed >= {file.path for file in files if file.shared}

    @demands("A kind expands only to kinds that come later in expandable_kinds, or the walk would not end.")
    def test_a_kind_expands_only_to_later_kinds(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        order = {kind: position for position, kind in enumerate(reader.expandable_kinds)}
        for content in contents:
            for file in walk(reader, content.version):
                if file.kind in order:
                    for child in reader.expand(file):
                        assert order.get(child.kind, len(order)) > order[file.kind]

    @demands("S16: the caller asks once for each file, in any order. Keep no state that changes an answer.")
    def test_answers_do_not_depend_on_what_was_asked_before(
        self, open_reader: Callable[[], ContentToFiles], contents: Sequence[WrittenContent]
    ) -> None:
        with open_reader() as used:
            first = [walk(used, content.version) for content in contents]
            again = [walk(used, content.version) for content in reversed(contents)]
        with open_reader() as other:
            fresh = [walk(other, content.version) for content in contents]
        assert first == again[::-1]
        assert first == fresh

    @demands("A shareable reader is used from several threads at once. Keep no state that changes an answer.")
    def test_threads_get_the_same_answers(self, reader: ContentToFiles, contents: Sequence[WrittenContent]) -> None:
        skip_unless_shareable(reader)
        versions = [content.version for content in contents] * 4
        with ThreadPoolExecutor(4) as pool:
            walked = list(pool.map(lambda version: walk(reader, version), versions))
        assert [walk(reader, version) for version in versions] == walked

    @demands(COUNTED_ONCE)
    def test_traffic_is_told_once(self, reader: ContentToFiles, contents: Sequence[WrittenContent]) -> None:
        check_traffic(reader, lambda: [walk(reader, content.version) for content in contents])

    @demands(
        "S7: missing metadata never counts as a table without files. Raise MissingFileError(path, reason), in one line."
    )
    def test_missing_metadata_is_an_error_that_names_the_file(
        self, reader: ContentToFiles, missing: ContentVersion
    ) -> None:
        with pytest.raises(MissingFileError) as caught:
            walk(reader, missing)
        _names(caught.value, missing.metadata_location)

    @demands(
        "S6: unreadable metadata never counts as a table without files, or as missing. Raise "
        "UnreadableFileError(path, reason), in one line."
    )
    def test_unreadable_metadata_is_an_error_and_not_missing(
        self, reader: ContentToFiles, unreadable: Sequence[ContentVersion]
    ) -> None:
        assert unreadable, "the fixture unreadable is empty"
        for version in unreadable:
            with pytest.raises(UnreadableFileError) as caught:
                walk(reader, version)
            assert not isinstance(caught.value, MissingFileError)
            _names(caught.value, version.metadata_location)

    @demands(
        "S6: a missing file never counts as one that names nothing. Raise MissingFileError(path, reason), in one line."
    )
    def test_a_missing_file_is_never_taken_for_an_empty_one(
        self, reader: ContentToFiles, missing_file: ReachableFile | None
    ) -> None:
        if not reader.expandable_kinds:
            pytest.skip(f"{shown(reader)} has no expandable kinds")
        assert missing_file is not None, "the subclass has to define the fixture missing_file"
        with pytest.raises(MissingFileError) as caught:
            list(reader.expand(missing_file))
        _names(caught.value, missing_file.path)

    @demands(
        "S6: a file that cannot be read to its end never counts as one that names nothing, or as missing. Raise "
        "UnreadableFileError(path, reason), in one line."
    )
    def test_an_unreadable_file_is_never_taken_for_an_empty_one(
        self, reader: ContentToFiles, unreadable_files: Sequence[ReachableFile]
    ) -> None:
        if not reader.expandable_kinds:
            pytest.skip(f"{shown(reader)} has no expandable kinds")
        assert unreadable_files, "the subclass has to define the fixture unreadable_files"
        for file in unreadable_files:
            with pytest.raises(UnreadableFileError) as caught:
                list(reader.expand(file))
            assert not isinstance(caught.value, MissingFileError)
            _names(caught.value, file.path)

    @demands("SupportsTableMetadata: the answer describes the table by its metadata, with the names from the version.")
    def test_the_metadata_of_a_table_is_that_of_the_version(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        if not isinstance(reader, SupportsTableMetadata):
            skip_without(reader, SupportsTableMetadata)
        asked = ((content, reader.table_metadata(content.version, reference="dev")) for content in contents)
        tables = [(content, table) for content, table in asked if table is not None]
        assert tables, "no content of the fixture contents is a table"
        for content, table in tables:
            version = content.version
            assert (content.location, "dev", version.commit_id) == (table.location, table.reference, table.commit_id)
            assert (version.content_key, version.content_id) == (table.content_key, table.content_id)
            assert version.metadata_location == table.metadata_location
            if version.snapshot_id is not None and version.snapshot_id >= 0:
                assert version.snapshot_id == table.refs["main"].snapshot_id

    @demands(
        "S6: SupportsTableMetadata: missing and unreadable metadata raise the same errors as in files; never return "
        "None."
    )
    def test_metadata_of_a_table_that_cannot_be_read_is_an_error(
        self,
        reader: ContentToFiles,
        contents: Sequence[WrittenContent],
        missing: ContentVersion,
        unreadable: Sequence[ContentVersion],
    ) -> None:
        if not isinstance(reader, SupportsTableMetadata):
            skip_without(reader, SupportsTableMetadata)
        given = (content.version for content in contents)
        types = {each.content_type for each in given if reader.table_metadata(each, reference="dev") is not None}
        for version in (missing, *unreadable):
            if version.content_type in types:
                with pytest.raises(UnreadableFileError) as caught:
                    reader.table_metadata(version, reference="dev")
                assert isinstance(caught.value, MissingFileError) is (version is missing)
                _names(caught.value, version.metadata_location)

    @demands(
        "S6: named_places gives every place that the metadata names, with the base location, or None if it cannot tell."
    )
    def test_places_that_metadata_names_are_given_or_not_known(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        for content in contents:
            places = reader.named_places(content.version)
            if places is not None:
                assert content.location.rstrip("/") in {place.rstrip("/") for place in places}

    @demands(
        "S6: named_places is also called for unreadable metadata. Return None if not even the text can be read; do "
        "not raise."
    )
    def test_asking_broken_metadata_for_its_places_is_no_error(
        self, reader: ContentToFiles, missing: ContentVersion, unreadable: Sequence[ContentVersion]
    ) -> None:
        for version in (missing, *unreadable):
            places = reader.named_places(version)
            assert places is None or all(isinstance(place, str) for place in places)

    @demands(
        "S7: may_be_root is true for every metadata file, so that its deletion is remembered. In case of doubt, "
        "answer True."
    )
    def test_what_a_version_points_to_may_be_a_root(
        self, reader: ContentToFiles, contents: Sequence[WrittenContent]
    ) -> None:
        for content in contents:
            if content.version.metadata_location is not None:
                assert reader.may_be_root(content.version.metadata_location)

    @demands("A reader can be closed twice.")
    def test_closing_twice_does_no_harm(self, open_reader: Callable[[], ContentToFiles]) -> None:
        reader = open_reader()
        reader.close()
        reader.close()


def walk(reader: ContentToFiles, version: ContentVersion) -> set[ReachableFile]:
    """All files that a version needs, each expandable file expanded once."""
    found: set[ReachableFile] = set()
    waiting = list(reader.files(version))
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            if file.kind in reader.expandable_kinds:
                waiting.extend(reader.expand(file))
    return found


def _names(error: UnreadableFileError, path: str | None) -> None:
    """The error says in one line which file it is."""
    assert path == error.path
    assert path in str(error)
    assert len(str(error).splitlines()) == 1
