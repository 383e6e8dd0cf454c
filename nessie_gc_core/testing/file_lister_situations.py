"""Tests of file listers in situations that are easy to get wrong: failures, links, directories, optional abilities."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from nessie_gc_core.connectors import (
    FileLister,
    ListingPart,
    SupportsCutListing,
    SupportsLeftAlone,
    SupportsListBatches,
    SupportsLookUp,
    SupportsSplitListing,
    SupportsStoreClock,
    SupportsVersioning,
)
from nessie_gc_core.errors import AccessDeniedError, ListingError, ServiceUnavailableError
from nessie_gc_core.model.batches import file_references
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.relations import LISTED_FILES
from nessie_gc_core.testing.demands import demands, not_defined, possible, skip_unless_shareable, skip_without
from nessie_gc_core.testing.file_fixtures import FileStoreFixtures
from nessie_gc_core.testing.not_possible import NotPossible
from nessie_gc_core.testing.paths import PutDirectory, PutFile, PutLink
from nessie_gc_core.testing.traffic import COUNTED_ONCE, check_traffic

NEARLY_NOW = timedelta(minutes=15)
"""How far the clock of a store under test may differ from this machine's: less than time zones do."""
_LISTING_ERRORS = (ListingError, ServiceUnavailableError, AccessDeniedError)


class ListerSituationTests(FileStoreFixtures):
    """The fixtures are described at ``FileListerContract``."""

    part_counts: ClassVar[Sequence[int]] = (1, 2, 7, 64)
    """The numbers of parts to request from a lister that splits."""

    opener: ClassVar[str] = "open_lister"

    @pytest.fixture
    def open_lister(self) -> Callable[[], FileLister]:
        raise not_defined("open_lister")

    @pytest.fixture
    def unlistable(self) -> Callable[[str], str] | NotPossible:
        raise not_defined("unlistable", situation=True)

    @pytest.fixture
    def has_times(self) -> bool | NotPossible:
        return True

    @pytest.fixture
    def has_clock(self) -> bool | NotPossible:
        return True

    @pytest.fixture
    def many(self) -> int:
        return 1100

    @pytest.fixture
    def lister(self, open_lister: Callable[[], FileLister]) -> Iterator[FileLister]:
        with open_lister() as lister:
            yield lister

    # ---- times ----------------------------------------------------------------------------------------
    @demands(
        "S8: every file has a modification time, aware and in UTC: a file without one is never deleted. Set "
        "FileReference.modified from what the store says, or return NotPossible from has_times if it keeps no times."
    )
    def test_s08_every_file_has_the_time_of_its_last_modification(
        self, lister: FileLister, location: str, put_file: PutFile, has_times: bool | NotPossible
    ) -> None:
        put_file(location, "file", b"now")
        (file,) = lister.list_files(location)
        if isinstance(has_times, NotPossible):
            assert file.modified is None, "the time is made up: the fixture has_times says that there is none"
        possible(has_times, "has_times", lister)
        assert file.modified is not None
        assert timedelta(0) == file.modified.utcoffset()
        assert abs(datetime.now(UTC) - file.modified) < NEARLY_NOW

    # ---- failures -------------------------------------------------------------------------------------
    @demands(
        "S6: what cannot be listed is unknown, never empty. Raise ListingError, AccessDeniedError or "
        "ServiceUnavailableError, in one line, wherever a part of the location cannot be read."
    )
    def test_s06_a_location_that_cannot_be_listed_is_an_error_and_not_empty(
        self, lister: FileLister, location: str, unlistable: Callable[[str], str] | NotPossible
    ) -> None:
        broken = possible(unlistable, "unlistable", lister)(location)
        with pytest.raises(_LISTING_ERRORS) as caught:
            list(lister.list_files(broken))
        assert len(str(caught.value).splitlines()) == 1

    @demands(
        "S6: what cannot be listed is unknown, never empty, in parts as in the whole. Raise ListingError, "
        "AccessDeniedError or ServiceUnavailableError from split_listing or list_part."
    )
    def test_s06_parts_of_a_location_that_cannot_be_listed_are_an_error_too(
        self, lister: FileLister, location: str, unlistable: Callable[[str], str] | NotPossible
    ) -> None:
        if not isinstance(lister, SupportsSplitListing):
            skip_without(lister, SupportsSplitListing)
        broken = possible(unlistable, "unlistable", lister)(location)
        with pytest.raises(_LISTING_ERRORS):
            _in_parts(lister, broken, 4)

    # ---- directories and links ------------------------------------------------------------------------
    @demands("S22: only files are listed. Leave out directories and the markers that stand for them.")
    def test_directories_and_their_markers_are_not_listed(
        self, lister: FileLister, location: str, put_file: PutFile, put_directory: PutDirectory | NotPossible
    ) -> None:
        put = possible(put_directory, "put_directory", lister)
        put_file(location, "full/file", b"x")
        put(location, "empty")
        put(location, "nested/empty")
        assert once(["full/file"]) == paths(lister.list_files(location))

    @demands(
        "S5 and S24: links to folders are not followed, because their contents belong to another location. Leave "
        "the link out (SupportsLeftAlone counts such names)."
    )
    def test_s24_a_link_to_a_folder_is_not_followed(
        self, lister: FileLister, location: str, put_file: PutFile, put_link: PutLink | NotPossible
    ) -> None:
        link = possible(put_link, "put_link", lister)
        put_file(f"{location}other/", "elsewhere", b"x")
        put_file(f"{location}t/", "here", b"x")
        link(f"{location}t/", "link", f"{location}other/")
        link(f"{location}t/", "loop", f"{location}t/")
        assert once(["here"]) == paths(lister.list_files(f"{location}t/"))
        if isinstance(lister, SupportsSplitListing):
            assert once(["here"]) == paths(_in_parts(lister, f"{location}t/", 4))

    # ---- optional abilities ---------------------------------------------------------------------------
    @demands(
        "SupportsSplitListing: the parts together are the whole location, and each file is in exactly one of them."
    )
    def test_parts_of_a_listing_are_the_whole_each_file_once(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str]
    ) -> None:
        if not isinstance(lister, SupportsSplitListing):
            skip_without(lister, SupportsSplitListing)
        wanted = [*odd_paths, *(f"data/p={number % 3}/{number}.parquet" for number in range(30)), "top", "zz/last"]
        for path in wanted:
            put_file(location, path, b"x")
        put_file(location.rstrip("/") + "2/", "neighbour", b"")
        for count in self.part_counts:
            found = list(_in_parts(lister, location, count))
            assert once(wanted) == paths(found)
            assert {location} == {file.location for file in found}

    @demands("SupportsSplitListing: the parts of an empty or missing location are empty.")
    def test_parts_of_an_empty_location_are_empty(self, lister: FileLister, location: str) -> None:
        if not isinstance(lister, SupportsSplitListing):
            skip_without(lister, SupportsSplitListing)
        for place in (location, location + "never/made/"):
            assert list(_in_parts(lister, place, 4)) == []

    @demands(
        "SupportsCutListing: the files listed at once and those of the returned parts together make up the location "
        "or part, each file once, whoever lists the parts and in whatever order."
    )
    def test_a_location_that_is_cut_is_the_whole_each_file_once(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str], many: int
    ) -> None:
        if not isinstance(lister, SupportsCutListing):
            skip_without(lister, SupportsCutListing)
        wanted = [*odd_paths, *(f"data/p={number % 7}/{number}.parquet" for number in range(many)), "top", "zz/last"]
        for path in wanted:
            put_file(location, path, b"x")
        put_file(location.rstrip("/") + "2/", "neighbour", b"")
        assert once(wanted) == paths(_cut(lister, location, [None]))
        parts = lister.split_listing(location, 7) if isinstance(lister, SupportsSplitListing) else [None]
        found = _cut(lister, location, parts)
        assert once(wanted) == paths(found)
        assert {location} == {file.location for file in found}

    @demands("SupportsListBatches: the batches have the files of the listing, and the columns of LISTED_FILES.")
    def test_batches_have_the_files_of_the_listing(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str], many: int
    ) -> None:
        if not isinstance(lister, SupportsListBatches):
            skip_without(lister, SupportsListBatches)
        wanted = [*odd_paths, *(f"data/p={number % 7}/{number}.parquet" for number in range(many)), "top"]
        for path in wanted:
            put_file(location, path, b"x")
        in_parts: list[Sequence[str | None]] = [[None]]
        if isinstance(lister, SupportsSplitListing):
            in_parts.append(lister.split_listing(location, 5))
        for parts in in_parts:
            assert Counter(lister.list_files(location)) == Counter(_in_batches(lister, location, parts))
        assert _in_batches(lister, location + "never/made/", [None]) == []

    @demands(
        "SupportsLookUp: the files of the given paths come as a listing gives them, each once; files that do not "
        "exist are left out. Compare whole names: `a` is not `a.parquet`."
    )
    def test_files_that_are_looked_up_are_those_of_the_listing(
        self, lister: FileLister, location: str, put_file: PutFile, odd_paths: Sequence[str]
    ) -> None:
        if not isinstance(lister, SupportsLookUp):
            skip_without(lister, SupportsLookUp)
        wanted = [*odd_paths, "top", "data/a.parquet"]
        for path in (*wanted, "data/a.parquet.crc", "data/b.parquet", "topmost"):
            put_file(location, path, b"x")
        put_file(location.rstrip("/") + "2/", "top", b"")
        missing = ["data", "data/a", "data/c.parquet", "to", "top/", "top/a", "never/made/a", "..", ""]
        listed = {file.path: file for file in lister.list_files(location)}
        found = list(lister.look_up(location, [*wanted, *missing]))
        assert once(wanted) == paths(found)
        assert [listed[file.path] for file in found] == found
        assert list(lister.look_up(location + "never/made/", ["a"])) == []

    @demands(
        "SupportsLookUp: what a listing leaves out is left out: directories, their markers, and the contents of "
        "linked folders (S22, S24)."
    )
    def test_what_is_not_listed_is_not_looked_up(
        self,
        lister: FileLister,
        location: str,
        put_file: PutFile,
        put_directory: PutDirectory | NotPossible,
        put_link: PutLink | NotPossible,
    ) -> None:
        if not isinstance(lister, SupportsLookUp):
            skip_without(lister, SupportsLookUp)
        put_file(f"{location}t/", "here", b"x")
        asked = ["here"]
        if not isinstance(put_directory, NotPossible):
            put_directory(f"{location}t/", "empty")
            asked += ["empty", "empty/"]
        if not isinstance(put_link, NotPossible):
            put_file(f"{location}other/", "in/elsewhere", b"x")
            put_link(f"{location}t/", "link", f"{location}other/")
            asked += ["link", "link/in/elsewhere"]
        assert once(["here"]) == paths(lister.look_up(f"{location}t/", asked))

    @demands("A shareable lister is used from several threads at once. Keep no state that changes an answer.")
    def test_threads_get_the_same_listings(self, lister: FileLister, location: str, put_file: PutFile) -> None:
        skip_unless_shareable(lister)
        places = [f"{location}t{number}/" for number in range(8)]
        for number, place in enumerate(places):
            for file in range(number + 1):
                put_file(place, f"data/{file}", b"x")
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda place: paths(lister.list_files(place)), places * 4))
        assert [once(f"data/{file}" for file in range(number + 1)) for number in range(8)] * 4 == found

    @demands(
        "S8: the clock of the store gives its current time, aware and in UTC, and reading it writes nothing. If the "
        "store does not tell the time, raise ServiceUnavailableError; never make up a time."
    )
    def test_the_clock_of_the_store_is_aware_utc_and_leaves_no_trace(
        self, lister: FileLister, location: str, has_clock: bool | NotPossible
    ) -> None:
        if not isinstance(lister, SupportsStoreClock):
            skip_without(lister, SupportsStoreClock)
        if isinstance(has_clock, NotPossible):
            with pytest.raises(ServiceUnavailableError):
                lister.store_time(location)
        possible(has_clock, "has_clock", lister)
        now = lister.store_time(location)
        assert timedelta(0) == now.utcoffset()
        assert abs(datetime.now(UTC) - now) < NEARLY_NOW
        assert list(lister.list_files(location)) == []

    @demands("SupportsVersioning: keeps_versions answers True, False or None, and never raises for a store that fails.")
    def test_whether_versions_are_kept_is_answered_without_an_error(
        self, lister: FileLister, location: str, unlistable: Callable[[str], str] | NotPossible
    ) -> None:
        if not isinstance(lister, SupportsVersioning):
            skip_without(lister, SupportsVersioning)
        assert lister.keeps_versions(location) in (True, False, None)
        broken = possible(unlistable, "unlistable", lister)(location)
        assert lister.keeps_versions(broken) in (True, False, None)

    @demands(COUNTED_ONCE)
    def test_traffic_is_told_once(self, lister: FileLister, location: str, put_file: PutFile) -> None:
        put_file(location, "a", b"x")
        check_traffic(lister, lambda: list(lister.list_files(location)))

    @demands("SupportsLeftAlone: names that were left out are counted once: reading the count resets it.")
    def test_names_that_are_left_alone_are_counted_once(
        self, lister: FileLister, location: str, put_file: PutFile, put_link: PutLink | NotPossible
    ) -> None:
        if not isinstance(lister, SupportsLeftAlone):
            skip_without(lister, SupportsLeftAlone)
        link = possible(put_link, "put_link", lister)
        put_file(f"{location}other/", "elsewhere", b"x")
        put_file(f"{location}t/", "here", b"x")
        link(f"{location}t/", "link", f"{location}other/")
        lister.take_left_alone()  # of listings before this one, where the lister is not new
        list(lister.list_files(f"{location}t/"))
        counts = [lister.take_left_alone() for _ in range(2)]
        assert counts == [1, 0]


def paths(files: Iterable[FileReference]) -> Counter[str]:
    """How often each path was listed."""
    return Counter(file.path for file in files)


def once(paths: Iterable[str]) -> Counter[str]:
    """Each path once."""
    return Counter(dict.fromkeys(paths, 1))


def _cut(lister: SupportsCutListing, location: str, parts: Sequence[str | None]) -> list[FileReference]:
    """Lists parts of a location in reverse order."""
    files, waiting = [], list(parts)
    while waiting:
        for found in lister.list_or_cut(location, waiting.pop()):
            if isinstance(found, ListingPart):
                waiting.append(found.name)
            else:
                files.append(found)
    return files


def _in_batches(lister: SupportsListBatches, location: str, parts: Sequence[str | None]) -> list[FileReference]:
    """Lists parts of a location by columns."""
    files, waiting = list[FileReference](), list(parts)
    while waiting:
        for found in lister.list_batches(location, waiting.pop()):
            if isinstance(found, ListingPart):
                waiting.append(found.name)
            else:
                assert found.schema == LISTED_FILES
                files.extend(file_references(location, found))
    return files


def _in_parts(lister: SupportsSplitListing, location: str, count: int) -> Sequence[FileReference]:
    parts = lister.split_listing(location, count)
    return [file for part in parts for file in lister.list_part(location, part)]
