"""What every file lister has to do (:class:`nessie_gc_core.connectors.FileLister`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from nessie_gc_core.connectors import Connector, FileLister, SupportsSplitListing, SupportsStoreClock
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import scheme_of
from nessie_gc_core.testing.options import OptionsTests
from nessie_gc_core.testing.paths import ODD_PATHS, PutFile


class FileListerContract(OptionsTests):
    """Inherit it and give it these fixtures.

    Required:
        ``open_lister``: a function that makes a lister of the store; it may be called several times.
        ``location``: a raw location in the store that ends in a slash, below which nothing is stored.
        ``put_file``: the back door, ``put_file(location, path, data)``.

    Optional:
        ``odd_paths``: keys that the store can hold; ``ODD_PATHS`` unless overridden.
        ``put_directory``: ``put_directory(location, path)`` makes an empty directory, or the marker that tools
        of the store make for one; ``None`` (the default) for a store that knows neither.
        ``many``: how many files make more than one page of a listing; 1,100 unless overridden.
    """

    part_counts: ClassVar[Sequence[int]] = (1, 2, 7, 64)
    """How many parts are wished of a lister that splits."""

    @pytest.fixture
    def open_lister(self) -> Callable[[], FileLister]:
        raise NotImplementedError("the subclass has to define the fixture open_lister")

    @pytest.fixture
    def connector_class(self, open_lister: Callable[[], FileLister]) -> type[Connector]:
        with open_lister() as opened:
            return type(opened)

    @pytest.fixture
    def location(self) -> str:
        raise NotImplementedError("the subclass has to define the fixture location")

    @pytest.fixture
    def put_file(self) -> PutFile:
        raise NotImplementedError("the subclass has to define the fixture put_file")

    @pytest.fixture
    def odd_paths(self) -> Sequence[str]:
        return ODD_PATHS

    @pytest.fixture
    def put_directory(self) -> Callable[[str, str], None] | None:
        return None

    @pytest.fixture
    def many(self) -> int:
        return 1100

    @pytest.fixture
    def lister(self, open_lister: Callable[[], FileLister]) -> Iterator[FileLister]:
        with open_lister() as lister:
            yield lister

    def test_it_claims_the_scheme_of_its_locations(self, lister: FileLister, location: str) -> None:
        assert scheme_of(location) in lister.schemes
        assert {scheme.lower() for scheme in lister.schemes} == set(lister.schemes)

    def test_a_location_that_holds_nothing_or_does_not_exist_is_empty(self, lister: FileLister, location: str) -> None:
        assert list(lister.list_files(location)) == []
        assert list(lister.list_files(location + "never/made/")) == []

    def test_every_file_is_listed_once_with_the_asked_location(
        self, lister: FileLister, location: str, put_file: PutFile
    ) -> None:
        paths = ["top", "data/a.parquet", "data/b.parquet", "data/deep/er/still/c.parquet", "metadata/v1.metadata.json"]
        _put_all(put_file, location, paths)
        found = list(lister.list_files(location))
        assert _once(paths) == _paths(found)
        assert {location} == {file.location for file in found}

    def test_sizes_are_bytes_or_unknown(self, lister: FileLister, location: str, put_file: PutFile) -> None:
        for size in (0, 1, 1000):
            put_file(location, f"of-{size}", b"x" * size)
        for file in lister.list_files(location):
            assert file.size in (None, int(file.path.removeprefix("of-")))

    def test_modification_times_are_aware_utc_or_unknown(
        self, lister: FileLister, location: str, put_file: PutFile
    ) -> None:
        put_file(location, "file", b"now")
        (file,) = lister.list_files(location)
        if file.modified is not None:
            assert timedelta(0) == file.modified.utcoffset()
            assert abs(datetime.now(UTC) - file.modified) < timedelta(days=1)

    def test_odd_keys_come_back_raw(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str]
    ) -> None:
        _put_all(put_file, location, odd_paths)
        assert _once(odd_paths) == _paths(lister.list_files(location))

    def test_a_neighbour_with_the_same_beginning_is_not_listed(
        self, lister: FileLister, location: str, put_file: PutFile
    ) -> None:
        for neighbour in ("t", "t2", "t.old", "t-1"):
            put_file(f"{location}{neighbour}/", "file", b"")
        assert _once(["file"]) == _paths(lister.list_files(location + "t/"))
        assert _once(["t/file", "t2/file", "t.old/file", "t-1/file"]) == _paths(lister.list_files(location))

    def test_a_location_with_odd_characters_is_listed(
        self, lister: FileLister, location: str, put_file: PutFile
    ) -> None:
        odd = location + "a b%20c#d?e:f/"
        put_file(odd, "sub dir/file.parquet", b"")
        assert [FileReference(location=odd, path="sub dir/file.parquet")] == [
            FileReference(location=file.location, path=file.path) for file in lister.list_files(odd)
        ]

    def test_directories_and_their_markers_are_not_listed(
        self,
        lister: FileLister,
        location: str,
        put_file: PutFile,
        put_directory: Callable[[str, str], None] | None,
    ) -> None:
        put_file(location, "full/file", b"x")
        if put_directory is not None:
            put_directory(location, "empty")
            put_directory(location, "nested/empty")
        assert _once(["full/file"]) == _paths(lister.list_files(location))

    def test_many_files_are_listed_to_the_end(
        self, lister: FileLister, location: str, put_file: PutFile, many: int
    ) -> None:
        paths = [f"part={number % 10}/{number:06}.parquet" for number in range(many)]
        _put_all(put_file, location, paths)
        assert _once(paths) == _paths(lister.list_files(location))

    def test_a_listing_is_a_stream_that_can_be_left(self, lister: FileLister, location: str, put_file: PutFile) -> None:
        _put_all(put_file, location, ["a", "b", "c"])
        listing = lister.list_files(location)
        assert iter(listing) is listing
        next(listing)
        close = getattr(listing, "close", None)
        if close is not None:
            close()
        assert _once(["a", "b", "c"]) == _paths(lister.list_files(location))

    def test_two_listers_of_the_same_options_see_the_same(
        self, open_lister: Callable[[], FileLister], location: str, put_file: PutFile
    ) -> None:
        _put_all(put_file, location, ["a", "b/c"])
        with open_lister() as one, open_lister() as other:
            assert _paths(one.list_files(location)) == _paths(other.list_files(location))

    def test_closing_twice_does_no_harm(self, open_lister: Callable[[], FileLister], location: str) -> None:
        lister = open_lister()
        with closing(lister):
            list(lister.list_files(location))
        lister.close()

    def test_parts_of_a_listing_are_the_whole_each_file_once(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str]
    ) -> None:
        if not isinstance(lister, SupportsSplitListing):
            return
        paths = [*odd_paths, *(f"data/p={number % 3}/{number}.parquet" for number in range(30)), "top", "zz/last"]
        _put_all(put_file, location, paths)
        put_file(location.rstrip("/") + "2/", "neighbour", b"")
        for count in self.part_counts:
            parts = lister.split_listing(location, count)
            found = [file for part in parts for file in lister.list_part(location, part)]
            assert _once(paths) == _paths(found)
            assert {location} == {file.location for file in found}

    def test_parts_of_an_empty_location_are_empty(self, lister: FileLister, location: str) -> None:
        if isinstance(lister, SupportsSplitListing):
            for place in (location, location + "never/made/"):
                parts = lister.split_listing(place, 4)
                assert [file for part in parts for file in lister.list_part(place, part)] == []

    def test_the_clock_of_the_store_is_aware_utc_and_leaves_no_trace(self, lister: FileLister, location: str) -> None:
        if isinstance(lister, SupportsStoreClock):
            now = lister.store_time(location)
            assert timedelta(0) == now.utcoffset()
            assert abs(datetime.now(UTC) - now) < timedelta(days=1)
            assert list(lister.list_files(location)) == []


def _put_all(put_file: PutFile, location: str, paths: Iterable[str]) -> None:
    for path in paths:
        put_file(location, path, b"x")


def _paths(files: Iterable[FileReference]) -> Counter[str]:
    return Counter(file.path for file in files)


def _once(paths: Iterable[str]) -> Counter[str]:
    return Counter(dict.fromkeys(paths, 1))
